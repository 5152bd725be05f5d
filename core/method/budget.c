#include "core/method/budget.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/engine/blas.h"
#include "core/engine/kernel.h"
#include "core/method/slots.h"

static const struct budget defaults = {
    .on = true, .target = 8, .every = 1, .beta1 = 0.85, .beta2 = 0.85, .orthogonal = 0.5
};

#define AT(member) .offset = offsetof(struct budget, member)
static const struct key keys[] = {
    { "target", AT(target), .kind = KEY_WHOLE, .least = 1,
      .description = "Average number of singular values per SVD after pruning." },
    { "begin", AT(begin), .kind = KEY_WHOLE, .description = "Steps before the first pruning." },
    { "end", AT(end), .kind = KEY_WHOLE, .description = "Steps after the last pruning." },
    { "every", AT(every), .kind = KEY_WHOLE, .least = 1,
      .description = "Steps between prunings." },
    { "beta1", AT(beta1), .kind = KEY_NUMBER,
      .description = "Decay rate of the moving average of importance." },
    { "beta2", AT(beta2), .kind = KEY_NUMBER,
      .description = "Decay rate of the moving average of uncertainty." },
    { "orthogonal", AT(orthogonal), .kind = KEY_NUMBER,
      .description = "Weight of the orthogonality regularization of W_d and W_u in the loss." },
};
const struct network budget_network = { "budget",
                                        "budget",
                                        offsetof(struct method, budget),
                                        sizeof defaults,
                                        &defaults,
                                        keys,
                                        COUNT_OF(keys) };

const char *budget_fault(const struct method *m, int64_t steps) {
    const struct budget *b = &m->budget;
    if (!b->on || (b->beta1 < 1 && b->beta2 < 1 && b->begin + b->end < steps)) return NULL;
    return b->begin + b->end < steps ? "V26: beta1 and beta2 of the budget must be below 1"
                                     : "V26: begin + end of the budget must be below the number of "
                                       "training steps, or nothing is pruned: train for more steps, or "
                                       "lower begin or end";
}

static bool is_svd(const struct plan *p, const struct plan_tensor *t) {
    return t->kind == PLAN_OWN && p->method.module[t->module].fn == FN_SVD;
}

/* Returns whether t is the vector e of SVDs at one place, with one row per task that has a separate one. */
static bool is_values(const struct plan *p, const struct plan_tensor *t) {
    return is_svd(p, t) && t->role == SLOT_SINGULAR;
}

/* ---- loss component ---- */

/* Returns ‖x - I‖ for the Gram matrix x of the columns of w (of its rows for W_d); adds its gradient times
 * `weight`. */
static double one_term(bool of_rows, int rows, int cols, const real *w, double weight, real *grad) {
    int r = of_rows ? rows : cols;
    size_t n = (size_t)r * (size_t)r;
    real *x = xcalloc(n, sizeof *x);
    if (of_rows) blas_gemm(false, true, r, r, cols, 1, w, cols, w, cols, 0, x, r);
    else blas_gemm(true, false, r, r, rows, 1, w, cols, w, cols, 0, x, r);
    for (int i = 0; i < r; i++) x[(size_t)i * (size_t)r + (size_t)i] -= 1;
    double norm = sqrt(kernel_dot(n, x, x));
    real s = norm > 0 ? (real)(2 * weight / norm) : 0;
    if (of_rows) blas_gemm(false, false, r, cols, r, s, x, r, w, cols, 1, grad, cols);
    else blas_gemm(false, false, rows, r, r, s, w, r, x, r, 1, grad, r);
    free(x);
    return norm;
}

double budget_orthogonality(const struct plan *p, const real *params, real *grads) {
    double sum = 0;
    int count = 0;
    for (int i = 0; i < p->tensors; i++)
        if (is_svd(p, &p->tensor[i]) && p->tensor[i].decays) count += p->tensor[i].blocks;
    for (int i = 0; i < p->tensors; i++) {
        const struct plan_tensor *t = &p->tensor[i];
        if (!is_svd(p, t) || !t->decays) continue;
        size_t each = t->count / (size_t)t->blocks;
        for (size_t at = t->offset; at < t->offset + t->count; at += each)
            sum += one_term(t->role == SLOT_DOWN_W, t->rows / t->blocks, t->cols, params + at,
                            p->method.budget.orthogonal / count, grads + at);
    }
    return count ? sum / count : 0;
}

/* ---- pruning schedule ---- */

/* The number of values of e, and the number that remain in the end. */
struct ranks {
    int all, target;
};

static struct ranks count_ranks(const struct plan *p) {
    struct ranks x = { 0, 0 };
    for (int i = 0; i < p->tensors; i++) {
        if (!is_values(p, &p->tensor[i])) continue;
        int r = p->tensor[i].cols, places = p->tensor[i].blocks;
        x.all += places * r;
        x.target += places * (r < p->method.budget.target ? r : p->method.budget.target);
    }
    return x;
}

/* Returns how many values remain at a step (a cubic schedule); *prunes: whether this step prunes. */
static int staying(const struct budget *b, struct ranks x, int64_t step, int64_t steps, bool *prunes) {
    *prunes = false;
    if (step <= b->begin) return x.all;
    *prunes = step % b->every == 0 || step == steps - b->end;
    double left = 1 - (double)(step - b->begin) / (double)(steps - b->end - b->begin);
    return (int)((x.all - x.target) * (left * left * left) + x.target);
}

static void smooth(const struct budget *b, const struct plan_tensor *t, const real *params, const real *grads,
                   real *mean, real *spread) {
    for (size_t i = t->offset; i < t->offset + t->count; i++) {
        real now = (real)fabs((double)params[i] * (double)grads[i]);
        mean[i] = (real)(b->beta1 * (double)mean[i] + (1 - b->beta1) * (double)now);
        spread[i] = (real)(b->beta2 * (double)spread[i] +
                           (1 - b->beta2) * fabs((double)now - (double)mean[i]));
    }
}

/* Computes the importance of each value of one e: its own plus the means over its row of W_d and its column
 * of W_u. With several tasks the rows of W_d are concatenated by task, and the columns of W_u belong to the
 * block of the task. */
static void score(const struct plan *p, const struct plan_tensor *e, const real *mean, const real *spread,
                  double *out) {
    const struct plan_tensor *d = plan_slot(p, e->module, SLOT_DOWN_W, e->stack, e->site, e->layer),
                             *u = plan_slot(p, e->module, SLOT_UP_W, e->stack, e->site, e->layer);
    int r = e->cols, outputs = u->rows / u->blocks;
    for (int k = 0; k < (int)e->count; k++) {
        double down = 0, up = 0;
        for (int c = 0; c < d->cols; c++) {
            size_t i = d->offset + (size_t)k * (size_t)d->cols + (size_t)c;
            down += (double)mean[i] * (double)spread[i];
        }
        for (int c = 0; c < outputs; c++) {
            size_t i = u->offset + (size_t)(k / r * outputs + c) * (size_t)r + (size_t)(k % r);
            up += (double)mean[i] * (double)spread[i];
        }
        size_t own = e->offset + (size_t)k;
        out[k] = (double)mean[own] * (double)spread[own] + down / d->cols + up / outputs;
    }
}

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Sets the least important values to 0 so that `stay` remain; ties are pruned too. */
static void prune(const struct plan *p, struct ranks x, int stay, real *params, const real *mean,
                  const real *spread) {
    double *all = xcalloc(2 * (size_t)x.all + 1, sizeof *all), *sorted = all + x.all;
    size_t n = 0;
    for (int i = 0; i < p->tensors; i++) {
        if (!is_values(p, &p->tensor[i])) continue;
        score(p, &p->tensor[i], mean, spread, all + n);
        n += p->tensor[i].count;
    }
    memcpy(sorted, all, n * sizeof *all);
    if (n) qsort(sorted, n, sizeof *sorted, by_size);
    double least = stay < x.all ? sorted[x.all - stay - 1] : -1;
    n = 0;
    for (int i = 0; i < p->tensors; i++) {
        const struct plan_tensor *t = &p->tensor[i];
        if (!is_values(p, t)) continue;
        for (size_t k = 0; k < t->count; k++, n++)
            if (all[n] <= least) params[t->offset + k] = 0;
    }
    free(all);
}

void budget_step(const struct plan *p, int64_t step, int64_t steps, real *params, const real *grads,
                 real *mean, real *spread) {
    const struct budget *b = &p->method.budget;
    bool prunes, last = step == steps - b->end;
    if (!b->on) return;
    struct ranks x = count_ranks(p);
    for (int i = 0; i < p->tensors && step < steps - b->end; i++)
        if (is_svd(p, &p->tensor[i])) smooth(b, &p->tensor[i], params, grads, mean, spread);
    if (step <= steps - b->end) {
        int stay = staying(b, x, step, steps, &prunes);
        if (prunes) prune(p, x, stay, params, mean, spread);
    }
    for (int i = 0; i < p->tensors && step >= steps - b->end; i++) {
        const struct plan_tensor *t = &p->tensor[i];
        if (!is_values(p, t)) continue;
        for (size_t k = t->offset; k < t->offset + t->count; k++)
            if (last) mean[k] = params[k] != 0;
            else params[k] *= mean[k];
    }
}

int budget_left(const struct plan *p, const real *params) {
    int n = 0;
    for (int i = 0; i < p->tensors; i++) {
        const struct plan_tensor *t = &p->tensor[i];
        if (!is_values(p, t)) continue;
        for (size_t k = 0; k < t->count; k++) n += params[t->offset + k] != 0;
    }
    return n;
}
