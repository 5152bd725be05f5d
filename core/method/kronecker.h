/* Source kronecker: the maps of a bottleneck are sums of Kronecker products of trained matrices (Compacter).
 *
 *   W_dᵀ = Σ_i A_i ⊗ L_i R_i,  i = 1…n;  A_i n×n, L_i (in/n)×k, R_i k×(out/n);  W_u likewise
 *
 * The A_i are shared by all maps of all such modules of a method ("A", counted with the first of them), or
 * separate per map. With k = 0 the products L_i R_i themselves are trained.  Biases and norms are those of
 * any bottleneck. The generated maps are recomputed from the factors, never stored.  Private to
 * core/method. */
#ifndef CORE_METHOD_KRONECKER_H
#define CORE_METHOD_KRONECKER_H

#include "core/method/build.h"
#include "core/method/check.h"

void kronecker_plan(struct build *b, int module, const struct span *s);
int kronecker_make(const struct prologue *x);
/* Initializes A from N(0, 1e-4), separate ones from N(0, 0.01); L, R and products from N(0, √(2/(rows +
 * cols))). */
void kronecker_init(struct rng_key key, const struct module *m, const struct plan_tensor *t, real *out);
/* Checks rule V25: sizes that do not divide, or shared sets that differ. */
void kronecker_check(struct check *c, const struct module *m);
/* Returns "(2·k·(d+r) + r + d)·2·L + n³ = …"; the caller frees it. */
char *kronecker_arithmetic(const struct plan *p, const struct arch *a, int module, size_t trained);
/* Returns whether the slot is a factor of generated maps. */
bool kronecker_is_factor(int slot);

#endif
