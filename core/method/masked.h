/* Diff pruning (Guo et al. 2021): the model's tensors, each with a change w of which a mask lets few values
 * through. While the mask is learned every value has a hard-concrete gate (and, with groups, every tensor one
 * more), and a term of the loss counts the gates that are open; a mask that is fixed has as many places as
 * `keep` says, and their values alone train.  Weights are made of that in the prologue: θ = θ₀ + z ⊙ w. */
#ifndef CORE_METHOD_MASKED_H
#define CORE_METHOD_MASKED_H

#include "core/method/build.h"
#include "core/method/network.h"
#include "core/method/plan.h"

extern const struct network pruning_network;

/* Why the method cannot be, or NULL; *module: whose fault it is, -1: the whole. */
const char *masked_fault(const struct method *m, int *module);
/* Whether its mask is one that a stage before must have learned. */
bool masked_is_fixed(const struct method *m);
/* Whether gates are learned, with a term of the loss. */
bool masked_has_gates(const struct method *m);

/* Tensors of a module of this function, selected among the model's. */
void masked_plan(struct build *b, int module, const struct tensor_info *list, int n);
bool masked_is_own(const struct plan_tensor *t);
/* Start values of such a tensor. */
void masked_init(const struct plan *p, const struct plan_tensor *t, real *out);
/* The weight that made tensor x->first is, on a tape of its own or the prologue's. */
node masked_make(const struct making *x);
/* "2·22,713,216 = …" */
char *masked_arithmetic(const struct plan *p, int module, size_t trained);

/* How many gates are expected to be open; its gradient times the weight is added to grads.  *open: those that
 * are, without noise. */
double masked_expected(const struct plan *p, const real *params, real *grads, double *open);
/* Chooses the fixed mask of p: where the changes of `from`, whose mask is learned, are largest over all
 * tensors; the values there are p's start.  Returns how many values of `from` that took, 0: it is no such
 * pair of plans. */
size_t masked_choose(const struct plan *p, real *params, const struct plan *from, const real *values);
/* What the run's rate is times for this tensor: gates have a rate of their own. */
double masked_rate(const struct plan *p, const struct plan_tensor *t, double rate);
/* Bytes of a run for each value that the module selects, with so many workers. */
double masked_bytes(const struct method *m, int workers);

#endif
