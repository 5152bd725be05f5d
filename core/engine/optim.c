#include "core/engine/optim.h"

#include <math.h>

#include "core/base/mem.h"
#include "core/engine/kernel.h"

void optim_adamw(const struct adamw *o, double lr, uint64_t step, size_t groups,
                 const struct optim_group *group, real *param, const real *grad, real *m, real *v) {
    BUG_IF(step == 0);
    double correct1 = 1 - pow(o->beta1, (double)step), correct2 = 1 - pow(o->beta2, (double)step);
    for (size_t i = 0; i < groups; i++) {
        const struct optim_group *g = &group[i];
        double rate = lr * g->lr_factor;
        struct kernel_adam k = {
            .keep1 = (real)o->beta1,
            .take1 = (real)(1 - o->beta1),
            .keep2 = (real)o->beta2,
            .take2 = (real)(1 - o->beta2),
            .decay = (real)(1 - rate * o->weight_decay * g->weight_decay_factor),
            .step = (real)(rate / correct1),
            .root = (real)(1 / sqrt(correct2)),
            .eps = (real)o->eps,
        };
        kernel_adam(&k, g->count, param + g->offset, grad + g->offset, m + g->offset,
                    v + g->offset);
    }
}

void optim_sgd(const struct sgd *o, double lr, size_t groups, const struct optim_group *group,
               real *param, const real *grad, real *m) {
    BUG_IF(o->momentum != 0 && !m);
    for (size_t i = 0; i < groups; i++) {
        const struct optim_group *g = &group[i];
        real rate = (real)(lr * g->lr_factor), momentum = (real)o->momentum;
        real decay = (real)(o->weight_decay * g->weight_decay_factor);
        for (size_t j = g->offset; j < g->offset + g->count; j++) {
            real d = grad[j] + decay * param[j];
            if (m) d = m[j] = momentum * m[j] + d;
            param[j] -= rate * d;
        }
    }
}

double optim_norm(size_t n, const real *grad) { return sqrt(kernel_dot(n, grad, grad)); }

double optim_clip_factor(double norm, double most) {
    double factor = most / (norm + 1e-6);
    /* A NaN norm fails the comparison and stays visible. */
    return most > 0 && factor < 1 ? factor : 1;
}

struct optim_group optim_slice(const struct optim_group *group, size_t first, size_t end) {
    struct optim_group part = *group;
    size_t last = part.offset + part.count;
    if (part.offset < first) part.offset = first;
    if (last > end) last = end;
    part.count = last > part.offset ? last - part.offset : 0;
    return part;
}

double lr_schedule_factor(enum lr_schedule shape, uint64_t i, uint64_t warmup, uint64_t total) {
    if (total && warmup >= total) warmup = total - 1;
    if (i < warmup) return (double)i / (double)warmup;
    if (shape == LR_CONSTANT) return 1;
    if (i >= total) return 0;
    double done = (double)(i - warmup) / (double)(total - warmup);
    return shape == LR_LINEAR ? (double)(total - i) / (double)(total - warmup)
                                : 0.5 * (1 + cos(M_PI * done));
}
