/* The training curve that the Trainer of transformers saved next to an adapter, in trainer_state.json. */
#ifndef CORE_EXCHANGE_CURVE_H
#define CORE_EXCHANGE_CURVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct notes;

enum { CURVE_VALUES = 8, CURVE_NAME = 48 };
/* The log entry of a step: of training ("loss", "lr", "grad_norm") or of an evaluation ("accuracy", …). */
struct curve_entry {
    int64_t step;
    bool evaluation;
    int count;
    char name[CURVE_VALUES][CURVE_NAME];
    double value[CURVE_VALUES];
};
struct curve {
    struct curve_entry *entry;
    size_t count, room;
};
/* Reads the entries in the order of the file and notes that it was read, or why not: the curve is
 * optional. */
void curve_read(const char *folder, struct curve *out, struct notes *read, struct notes *ignored);
void curve_release(struct curve *c);

#endif
