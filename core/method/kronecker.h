/* Source kronecker: the maps of a bottleneck are sums of Kronecker products of what is trained (Compacter).
 *
 *   W_dᵀ = Σ_i A_i ⊗ L_i R_i,  i = 1…n;  A_i n×n, L_i (in/n)×k, R_i k×(out/n);  W_u likewise
 *
 * The A_i are one set for all maps of all such modules of a method ("A", counted with the first of them), or
 * each map's own. With k = 0 the products L_i R_i themselves are trained.  Biases and norms are as of any
 * bottleneck.  What is made is made again from what makes it, never kept.  Private to core/method. */
#ifndef CORE_METHOD_KRONECKER_H
#define CORE_METHOD_KRONECKER_H

#include "core/method/build.h"
#include "core/method/check.h"

void kronecker_plan(struct build *b, int module, const struct span *s);
int kronecker_make(const struct making *x);
/* Start: A N(0, 1e-4), own ones N(0, 0.01); L, R and products N(0, √(2/(rows + cols))) of each. */
void kronecker_init(struct rng_key key, const struct module *m, const struct plan_tensor *t, real *out);
/* V25: sizes that do not divide, or sets that all have and that differ. */
void kronecker_check(struct check *c, const struct module *m);
/* "(2·k·(d+r) + r + d)·2·L + n³ = …"; caller frees. */
char *kronecker_arithmetic(const struct plan *p, const struct arch *a, int module, size_t trained);
/* Whether the slot is of what makes maps. */
bool kronecker_is_factor(int slot);

#endif
