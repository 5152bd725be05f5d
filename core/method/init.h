/* Random initial values; those of tensor i depend only on its key and the element. Private to core/method. */
#ifndef CORE_METHOD_INIT_H
#define CORE_METHOD_INIT_H

#include "core/base/rng.h"
#include "core/engine/real.h"

/* Fill with U(-bound, bound), N(0, sigma), v. */
void init_uniform(struct rng_key key, real *out, size_t n, double bound);
void init_normal(struct rng_key key, real *out, size_t n, double sigma);
/* Fills with N(0, sigma), truncated at two sigma. */
void init_truncated(struct rng_key key, real *out, size_t n, double sigma);
void init_fill(real *out, size_t n, double v);

#endif
