/* The projection of projected modules: two shared, frozen random matrices, A r×in and B out×r, of the widest
 * map. Their values equal those of PyTorch's generator with Kaiming-uniform initialization and the module's
 * seed, bit for bit in 32 bits.  Private to core/method. */
#ifndef CORE_METHOD_PROJECTION_H
#define CORE_METHOD_PROJECTION_H

#include "core/method/build.h"

/* Adds both if the method has such modules. */
void projection_plan(struct build *b);
/* Sets the values of one of them. */
void projection_start(const struct plan *p, const struct plan_tensor *t, real *out);

#endif
