/* Losses between the rows of a whole batch: one vector a row, rows of one task are each other's positives.
 * Values and gradients in double; f is the cosine, τ the temperature. */
#ifndef CORE_TRAIN_RUN_CONTRAST_H
#define CORE_TRAIN_RUN_CONTRAST_H

#include "core/engine/real.h"
#include "core/method/space.h"

/* The mean over anchors that have a positive of −(1/|P|) Σ_p log(e^{f(z,z_p)/τ} / D), where D is
 *   supcon     the sum of e^{f/τ} over all other rows (Khosla et al. 2020 eq. 2; PHA's code),
 *   negatives  over rows of other tasks alone (PHA eq. 3 as it is written).
 * z: rows×width, task[i]: row i's.  grad (rows×width) gets weight · the gradient.  An anchor whose D is empty
 * is left out as one without a positive is; *anchors: how many are left.  0 when none is. */
double contrast_instances(enum instance_loss kind, double temperature, double weight, int rows, int width,
                          const real *z, const int *task, real *grad, int *anchors);

/* The mean over rows of −(f(z,k_own)/τ − log Σ e^{f(z,k)/τ}), the sum over the prototypes of other tasks
 * alone (decoupled: PHA eq. 5 and its code) or over all (softmax).  k: tasks×width; grad_k gets weight · its
 * gradient; two tasks at least. */
double contrast_prototypes(enum prototype_loss kind, double temperature, double weight, int rows, int width,
                           const real *z, const int *task, int tasks, const real *k, real *grad,
                           real *grad_k);

#endif
