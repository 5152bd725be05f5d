/* The projection of projected modules: two random matrices that all of them share and none trains, A r×in and
 * B out×r, of the widest map.  Their values follow from the module's seed as PyTorch's generator and
 * Kaiming's uniform rule give them, to the bit in 32 bits.  Private to core/method. */
#ifndef CORE_METHOD_PROJECTION_H
#define CORE_METHOD_PROJECTION_H

#include "core/method/build.h"

/* Adds both where the method has such modules. */
void projection_plan(struct build *b);
/* The values of one of them. */
void projection_start(const struct plan *p, const struct plan_tensor *t, real *out);

#endif
