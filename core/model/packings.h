/* The weights of a model as they are in memory: float32, packed in bfloat16, both, or neither.
 *
 * A packed tensor's float32 values are released when nothing has read them, and read again from the model's
 * files when something does (model_weight); from then on they remain.
 *
 * With WEIGHTS_FILE nothing is in memory after loading.  A matrix is unpacked, or packed, when a product takes it
 * (model_lender), once for all threads that use it at the same time, into memory of a limited size that is reused.
 * What model_weight returns remains, as above.  Private to core/model; the rest of
 * the interface is in model.h. */
#ifndef CORE_MODEL_PACKINGS_H
#define CORE_MODEL_PACKINGS_H

#include "core/model/entries.h"
#include "core/model/model.h"

/* Takes ownership of the open files and their entries, from which the values of m were read; without them
 * nothing is released. */
void packings_read_from(struct model *m, struct weights *files, struct entries *found);
/* Returns the value that weight[i] has with WEIGHTS_FILE. */
real *packings_elsewhere(void);
/* Reads tensor i as st_read does, with its checks. */
int packings_read(const struct model *m, int i, real *out, struct err *e);
/* Returns n values of tensor i from `first` on, in memory or read into `room`; they need not remain in
 * memory. NULL if they cannot be read again. */
const real *packings_look(const struct model *m, int i, size_t first, size_t n, real *room);

#endif
