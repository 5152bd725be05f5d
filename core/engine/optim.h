/* Optimizers over one flat block of parameters, learning rate schedules, and gradient clipping.
 *
 * A block has a gradient and two moments of the same length (initialized to zeros).  Groups define which
 * ranges are updated, and with which factors.  Thread-safe; the same bits for any order of the groups. */
#ifndef CORE_ENGINE_OPTIM_H
#define CORE_ENGINE_OPTIM_H

#include <stddef.h>
#include <stdint.h>

#include "core/engine/real.h"

struct optim_group {
    size_t offset, count;        /* elements of the block */
    double lr_factor;            /* multiplies the learning rate of the step */
    double weight_decay_factor;  /* multiplies the weight decay of the optimizer; 0 for vectors */
};

/* AdamW (Loshchilov and Hutter 2019, algorithm 2): p loses lr·wd·p, then
 * lr·m̂/(√v̂ + eps) with bias-corrected moments, as torch.optim.AdamW. */
struct adamw {
    double beta1, beta2, eps, weight_decay;
};
#define ADAMW_DEFAULT { 0.9, 0.999, 1e-8, 0.01 }
/* Step `step` counts from 1. */
void optim_adamw(const struct adamw *o, double lr, uint64_t step, size_t groups,
                 const struct optim_group *group, real *param, const real *grad, real *m, real *v);

/* Stochastic gradient descent like torch.optim.SGD: g += wd·p, m = momentum·m + g, p -= lr·m.  m may be NULL
 * when momentum is 0. */
struct sgd {
    double momentum, weight_decay;
};
void optim_sgd(const struct sgd *o, double lr, size_t groups, const struct optim_group *group,
               real *param, const real *grad, real *m);

/* Returns the part of a group within the elements first … end-1; its count may be 0. */
struct optim_group optim_slice(const struct optim_group *group, size_t first, size_t end);

/* Returns the Euclidean norm, summed in double in a fixed order; NaN and infinity propagate. */
double optim_norm(size_t n, const real *grad);
/* Returns the factor by which a gradient of this norm is scaled so that its norm is at most `most`, or 1:
 * most/(norm + 1e-6), like torch.nn.utils.clip_grad_norm_; most 0 disables. */
double optim_clip_factor(double norm, double most);

enum lr_schedule { LR_LINEAR, LR_COSINE, LR_CONSTANT };
/* Returns the factor of the learning rate at step i (from 0) of `total`: i/warmup during the warm-up, then
 * linear or half a cosine from 1 down to 0 at `total`, or 1.  Like the schedules of transformers, except that
 * a warm-up as long as the run or longer is reduced to total-1 steps, so that a run of one step trains. */
double lr_schedule_factor(enum lr_schedule shape, uint64_t i, uint64_t warmup, uint64_t total);

#endif
