/* A method's budget of ranks (AdaLoRA): how many of the values e of all its SVDs stay, how they are chosen
 * while it trains, and a term of the loss that holds the factors near orthogonal.  Steps count from 1.  An
 * SVD that each task has for itself is as many places as there are tasks. */
#ifndef CORE_METHOD_BUDGET_H
#define CORE_METHOD_BUDGET_H

#include "core/method/network.h"
#include "core/method/plan.h"

extern const struct network budget_network;

/* Why such a run cannot be, or NULL: between begin and steps - end nothing would be pruned (V26). */
const char *budget_fault(const struct method *m, int64_t steps);

/* The mean over all W_d and W_u of ‖W_d W_dᵀ - I‖ and ‖W_uᵀ W_u - I‖ (Frobenius); its gradient times the
 * budget's weight is added to grads. */
double budget_orthogonality(const struct plan *p, const real *params, real *grads);

/* After the optimizer's step: sensitivities |value · gradient|, smoothed into `mean`, and how they vary into
 * `spread` (both of p->trained values, zeros at first); then e is pruned where the schedule has it.  From
 * step steps - end on the choice is final, and kept in `mean` in the place of e. */
void budget_step(const struct plan *p, int64_t step, int64_t steps, real *params, const real *grads,
                 real *mean, real *spread);
/* How many values of e are not 0. */
int budget_left(const struct plan *p, const real *params);

#endif
