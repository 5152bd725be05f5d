/* Shared by sweep.c, sweep_text.c, sweep_cells.c and sweep_extend.c. */
#ifndef CORE_TRAIN_CONFIG_SWEEP_PRIVATE_H
#define CORE_TRAIN_CONFIG_SWEEP_PRIVATE_H

#include "core/train/config/sweep.h"

extern const char *const SWEEP_DRAW[];

/* The axis of that name, or -1. */
int sweep__find_axis(const struct sweep_spec *s, const char *key, size_t n);
/* The key (owned), or with the first number that makes it another axis's: "r", "r2". */
char *sweep__own_key(const struct sweep_spec *s, char *key);
void sweep__add_value(struct sweep_axis *a, const char *value, size_t n);
/* n even values from a->from to a->to; in the log, between whole numbers, rounded to whole ones, each
 * once. */
int sweep__fill_range(struct sweep_axis *a, int n, struct err *e);
/* The text with what `of` says in place of each {AXIS}. */
typedef void sweep_filler(const struct sweep_spec *s, int axis, void *self, struct buf *out);
void sweep__put_in(const struct sweep_spec *s, const char *text, sweep_filler *of, void *self,
                   struct buf *out);

#endif
