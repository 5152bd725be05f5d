/* A split's rows through the lowest layers of a model, which stay as they are: each row by itself, as in
 * evaluation, once for all steps, runs and processes.
 *
 * What a row comes to depends on the row and the model alone, so it is the same whether it was kept or is
 * made anew.  It is kept in a shelf (core/base/shelf.h) in the user's cache, which is keyed by all that
 * decides it; a shelf's first record that is read is made again beside it, and where the two differ the shelf
 * is not believed. */
#ifndef CORE_TRAIN_RUN_FROZEN_H
#define CORE_TRAIN_RUN_FROZEN_H

#include "core/data/dataset.h"
#include "core/model/model.h"

struct frozen;

/* Of an encoded split (borrowed, as the model) and so many layers of the encoder (at least 1).  `limit`: MB
 * of everything that is kept, of all splits and runs; 0: nothing is.  Nothing is opened or computed yet. */
struct frozen *frozen_new(const struct model *m, int layers, const struct dataset *d, int limit);
void frozen_free(struct frozen *f); /* NULL: nothing */
int frozen_layers(const struct frozen *f);
/* A row's tokens behind these layers, tokens × width, into out.  Any thread. */
void frozen_row(struct frozen *f, uint32_t row, real *out);
/* Why rows are not kept, once it is known: true once, with the reason in *out. */
bool frozen_trouble(struct frozen *f, struct err *out);

/* Where it is kept: $XDG_CACHE_HOME/petri/frozen, or ~/.cache/petri/frozen; NULL where neither is an absolute
 * path. Caller frees. */
char *frozen_folder(void);

#endif
