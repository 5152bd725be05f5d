/* A method's budget of ranks (AdaLoRA): the number of singular values e that remain in all its SVDs, their
 * pruning during training, and a loss component that keeps the factors near orthogonal. Steps count from 1.
 * An SVD with weights per task counts as one place per task. */
#ifndef CORE_METHOD_BUDGET_H
#define CORE_METHOD_BUDGET_H

#include "core/method/network.h"
#include "core/method/plan.h"

extern const struct network budget_network;

/* Returns why such a run is invalid, or NULL: no pruning step between begin and steps - end (V26). */
const char *budget_fault(const struct method *m, int64_t steps);

/* Returns the mean over all W_d and W_u of ‖W_d W_dᵀ - I‖ and ‖W_uᵀ W_u - I‖ (Frobenius); adds its
 * gradient, times the budget's weight, to grads. */
double budget_orthogonality(const struct plan *p, const real *params, real *grads);

/* Called after the optimizer's step: updates the moving averages of the sensitivities |value · gradient| in
 * `mean` and of their variation in `spread` (both with p->trained elements, initially 0), then prunes e as
 * scheduled. From step steps - end on the selection is final and stored in `mean` in the place of e. */
void budget_step(const struct plan *p, int64_t step, int64_t steps, real *params, const real *grads,
                 real *mean, real *spread);
/* Returns the number of values of e that are not 0. */
int budget_left(const struct plan *p, const real *params);

#endif
