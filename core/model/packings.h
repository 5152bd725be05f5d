/* The weights of a model as they are in memory: float32, packed in bfloat16, or both.
 *
 * A packed tensor's float32 values are released when nothing has read them, and read again from the model's
 * files when something does (model_weight); from then on they remain.  Private to core/model; the rest of
 * the interface is in model.h. */
#ifndef CORE_MODEL_PACKINGS_H
#define CORE_MODEL_PACKINGS_H

#include "core/model/entries.h"
#include "core/model/model.h"

/* Takes ownership of the open files and their entries, from which the values of m were read; without them
 * nothing is released. */
void packings_read_from(struct model *m, struct weights *files, struct entries *found);
/* Returns n values of tensor i from `first` on, in memory or read into `room`; they need not remain in
 * memory. NULL if they cannot be read again. */
const real *packings_look(const struct model *m, int i, size_t first, size_t n, real *room);

#endif
