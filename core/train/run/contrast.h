/* Contrastive losses over a whole batch: one vector per example; examples of the same task are positives.
 * Values and gradients in double; f is the cosine similarity, τ the temperature. */
#ifndef CORE_TRAIN_RUN_CONTRAST_H
#define CORE_TRAIN_RUN_CONTRAST_H

#include "core/engine/real.h"
#include "core/method/space.h"

/* Returns the mean over anchors with a positive of −(1/|P|) Σ_p log(e^{f(z,z_p)/τ} / D), where D is supcon
 * the sum of e^{f/τ} over all other examples (Khosla et al. 2020 eq. 2; PHA's code), negatives over examples
 * of other tasks only (PHA eq. 3 as published). z: rows×width; task[i]: task of row i. weight · gradient is
 * added to grad (rows×width). Anchors with an empty D or without a positive are skipped; *anchors is set to
 * the number of the others. Returns 0 without anchors. */
double contrast_instances(enum instance_loss kind, double temperature, double weight, int rows, int width,
                          const real *z, const int *task, real *grad, int *anchors);

/* Returns the mean over rows of −(f(z,k_own)/τ − log Σ e^{f(z,k)/τ}), with the sum over the prototypes of
 * other tasks only (decoupled: PHA eq. 5 and its code) or over all (softmax). k: tasks×width; weight · its
 * gradient is added to grad_k; needs at least two tasks. */
double contrast_prototypes(enum prototype_loss kind, double temperature, double weight, int rows, int width,
                           const real *z, const int *task, int tasks, const real *k, real *grad,
                           real *grad_k);

#endif
