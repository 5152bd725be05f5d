/* Rows of a split packed for the transformer. */
#ifndef CORE_TRAIN_BATCH_H
#define CORE_TRAIN_BATCH_H

#include "core/data/dataset.h"
#include "core/engine/arena.h"
#include "core/model/model.h"

/* Fills *b with rows[0…n-1] of an encoded split, each with `weight` in the loss.  All arrays
 * are kept on the arena: pack after tape_reset. */
void batch_pack(struct batch *b, struct arena *a, const struct arch *arch, const struct dataset *d,
                const uint32_t *rows, int n, real weight);

#endif
