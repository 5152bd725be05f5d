/* Shared cache of frozen layers: outputs of the lowest layers of a model, which are not trained, for the
 * examples of a split. Each example is computed alone and in evaluation mode, once for all steps, runs and
 * processes. The output depends only on the example and the model, so it is the same whether it is cached or
 * recomputed. It is stored in a shelf (core/base/shelf.h) in the user's cache folder, keyed by everything
 * that determines it; the first record read from a shelf is recomputed, and if they differ the shelf is not
 * used. */
#ifndef CORE_TRAIN_RUN_FROZEN_H
#define CORE_TRAIN_RUN_FROZEN_H

#include "core/data/dataset.h"
#include "core/model/model.h"

struct frozen;

/* Creates the cache for a tokenized split (borrowed, like the model) and the first `layers` layers of the
 * encoder (at least 1). `limit`: MB on disk over all splits and runs; 0: no cache. Nothing is opened or
 * computed yet. */
struct frozen *frozen_new(const struct model *m, int layers, enum precision precision,
                          const struct dataset *d, int limit);
void frozen_free(struct frozen *f); /* NULL: nothing */
int frozen_layers(const struct frozen *f);
/* Writes the output of these layers for an example, tokens × width, to `out`. Thread-safe. */
void frozen_row(struct frozen *f, uint32_t row, real *out);
/* Returns true once if outputs cannot be cached, with the reason in *out. */
bool frozen_trouble(struct frozen *f, struct err *out);

/* Returns the cache folder: $XDG_CACHE_HOME/petri/frozen, or ~/.cache/petri/frozen; NULL where neither is an
 * absolute path. Caller frees. */
char *frozen_folder(void);

#endif
