/* Diff pruning (Guo et al. 2021): the model's tensors, each with a change w that a mask makes sparse. While
 * the mask is learned, every parameter has a hard-concrete gate (and with groups every tensor another one),
 * and a loss component penalizes open gates; a fixed mask keeps the share `keep` of the parameters, and only
 * these are trained. The prologue computes the weights: θ = θ₀ + z ⊙ w. */
#ifndef CORE_METHOD_MASKED_H
#define CORE_METHOD_MASKED_H

#include "core/method/build.h"
#include "core/method/network.h"
#include "core/method/plan.h"

extern const struct network pruning_network;

/* Returns why the method is invalid, or NULL; sets *module to the module concerned, -1 for the whole
 * method. */
const char *masked_fault(const struct method *m, int *module);
/* Returns whether its mask is fixed, and so must have been learned in an earlier stage. */
bool masked_is_fixed(const struct method *m);
/* Returns whether gates are learned, with a loss component. */
bool masked_has_gates(const struct method *m);

/* Adds the tensors of a module of this function, selected among the model's. */
void masked_plan(struct build *b, int module, const struct tensor_info *list, int n);
bool masked_is_own(const struct plan_tensor *t);
/* Sets the initial values of such a tensor. */
void masked_init(const struct plan *p, const struct plan_tensor *t, real *out);
/* Returns the weight of generated tensor x->first, on a separate tape or the prologue's. */
node masked_make(const struct prologue *x);
/* "2·22,713,216 = …" */
char *masked_arithmetic(const struct plan *p, int module, size_t trained);

/* Returns the expected number of open gates; adds its gradient, times the weight, to grads. *open: the
 * number of open gates without noise. */
double masked_expected(const struct plan *p, const real *params, real *grads, double *open);
/* Selects the fixed mask of p: the largest changes of `from`, whose mask is learned, over all tensors;
 * initializes p with them. Returns the number of parameters selected, 0 for plans that do not match. */
size_t masked_choose(const struct plan *p, real *params, const struct plan *from, const real *values);
/* Returns the learning rate of this tensor if that of the run is `rate`: gates have a separate one. */
double masked_rate(const struct plan *p, const struct plan_tensor *t, double rate);
/* Returns the bytes of a run per selected parameter, with `workers` workers. */
double masked_bytes(const struct method *m, int workers);

#endif
