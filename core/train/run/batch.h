/* Packs examples of splits into batches for the transformer. */
#ifndef CORE_TRAIN_RUN_BATCH_H
#define CORE_TRAIN_RUN_BATCH_H

#include "core/data/dataset.h"
#include "core/engine/arena.h"
#include "core/model/model.h"
#include "core/train/run/frozen.h"

/* An example of one of a run's tasks, and its weight in the loss. */
struct batch_example {
    const struct dataset *data; /* encoded */
    uint32_t index;
    struct frozen *frozen; /* shared frozen layers of `data`, or NULL: all layers run; equal for all examples
                              of a batch */
    int task;
    real weight;        /* of the loss of its label */
    real token_weight;  /* of each of its target tokens */
};

/* Packs n examples into *b, those of a task next to each other, in ranges. All arrays are allocated on the
 * arena: pack after tape_reset. Row ids of different tasks differ. */
void batch_pack_examples(struct batch *b, struct arena *a, const struct arch *arch,
                         const struct batch_example *rows, int n);
/* Packs the target side of the same examples (core/train/config/target.h). */
void batch_pack_targets(struct batch *b, struct arena *a, const struct arch *arch,
                        const struct batch_example *rows, int n);

/* Packs rows[0…n-1] of one split without weights, for evaluation. The batch has no ranges. `frozen`: as in
 * struct batch_example; `targets`: with the target side. */
void batch_pack(struct batch *b, struct arena *a, const struct arch *arch, const struct dataset *d,
                struct frozen *frozen, const uint32_t *rows, int n, bool targets);

#endif
