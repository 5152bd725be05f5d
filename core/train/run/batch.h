/* Rows of splits packed for the transformer. */
#ifndef CORE_TRAIN_RUN_BATCH_H
#define CORE_TRAIN_RUN_BATCH_H

#include "core/data/dataset.h"
#include "core/engine/arena.h"
#include "core/model/model.h"
#include "core/train/run/frozen.h"

/* A row of one of a run's tasks, and what it weighs in the loss. */
struct batch_row {
    const struct dataset *data; /* encoded */
    uint32_t row;
    struct frozen *
        frozen; /* of `data`: its lowest layers do not run.  NULL: they do; the same of all rows of a batch */
    int task;
    real weight;        /* of its label's loss */
    real token_weight;  /* of each of its target's tokens */
};

/* Fills *b with n rows, those of a task next to each other, in ranges.  All arrays are kept on the
 * arena: pack after tape_reset.  Row ids of different tasks differ. */
void batch_pack_rows(struct batch *b, struct arena *a, const struct arch *arch, const struct batch_row *rows,
                     int n);
/* The target side of the same rows (core/train/config/target.h says what the decoder reads). */
void batch_pack_targets(struct batch *b, struct arena *a, const struct arch *arch,
                        const struct batch_row *rows, int n);

/* rows[0…n-1] of one split, weighing nothing: for what is only scored.  The batch has no ranges.  `frozen`:
 * as struct batch_row's; `targets`: with the target side. */
void batch_pack(struct batch *b, struct arena *a, const struct arch *arch, const struct dataset *d,
                struct frozen *frozen, const uint32_t *rows, int n, bool targets);

#endif
