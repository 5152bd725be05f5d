#include <math.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/engine/kernel.h"
#include "core/engine/ops.h"
#include "core/engine/record.h"

static void *keep_copy(struct tape *t, const void *from, size_t count, size_t size) {
    if (!from) return NULL;
    void *to = arena_keep(record_arena(t), count * size);
    if (count) memcpy(to, from, count * size);
    return to;
}

/* ---- Σ w_i·(-log softmax(logits_i)[label_i]) ---- */

struct cross_entropy {
    int32_t *label;
    real *weight;      /* NULL: all ones */
    real *probability; /* n×classes, stored for backward */
};

node op_cross_entropy(struct tape *t, node logits, const int32_t *labels, const real *weights) {
    int n = tape_rows_of(t, logits), classes = tape_cols_of(t, logits);
    for (int i = 0; i < n; i++)
        if (labels[i] < 0 || labels[i] >= classes)
            BUG("label %d is out of range: there are %d classes", (int)labels[i], classes);
    struct cross_entropy s = { keep_copy(t, labels, (size_t)n, sizeof *labels),
                               keep_copy(t, weights, (size_t)n, sizeof *weights), NULL };
    return record_run(t, OP_cross_entropy, 1, 1, 1, &logits, &s, sizeof s);
}

void cross_entropy_forward(struct tape *t, struct record *r) {
    struct cross_entropy *s = r->saved;
    int n = tape_rows_of(t, r->in[0]), classes = tape_cols_of(t, r->in[0]);
    const real *x = tape_value(t, r->in[0]);
    real *p = NULL;
    if (record_needs(t, r))
        p = s->probability =
            arena_keep(record_arena(t), (size_t)n * (size_t)classes * sizeof(real));
    double loss = 0;
    for (int i = 0; i < n; i++, x += classes) {
        double top = (double)x[0], sum = 0;
        for (int j = 1; j < classes; j++)
            if ((double)x[j] > top) top = (double)x[j];
        for (int j = 0; j < classes; j++) sum += exp((double)x[j] - top);
        for (int j = 0; p && j < classes; j++) *p++ = (real)(exp((double)x[j] - top) / sum);
        double w = s->weight ? (double)s->weight[i] : 1;
        loss += w * (log(sum) + top - (double)x[s->label[i]]);
    }
    record_result(t, r)[0] = (real)loss;
}

void cross_entropy_backward(struct tape *t, const struct record *r) {
    const struct cross_entropy *s = r->saved;
    int n = tape_rows_of(t, r->in[0]), classes = tape_cols_of(t, r->in[0]);
    real dy = grad_out(t, r)[0], beta, *dx = grad_slot(t, r->in[0], &beta);
    const real *p = s->probability;
    for (int i = 0; i < n; i++) {
        real w = dy * (s->weight ? s->weight[i] : 1);
        for (int j = 0; j < classes; j++, p++, dx++)
            *dx = w * (*p - (j == s->label[i])) + (beta == 0 ? 0 : *dx);
    }
}

/* ---- Σ w_i·KL(softmax(target_i) ‖ softmax(logits_i)) ---- */

struct divergence_op {
    real *target, *weight; /* weight NULL: all ones */
    real *apart;           /* n×classes: the second distribution minus the first, stored for backward */
};

node op_divergence(struct tape *t, node logits, const real *targets, const real *weights) {
    size_t n = (size_t)tape_rows_of(t, logits), classes = (size_t)tape_cols_of(t, logits);
    struct divergence_op s = { keep_copy(t, targets, n * classes, sizeof *targets),
                               keep_copy(t, weights, n, sizeof *weights), NULL };
    return record_run(t, OP_divergence, 1, 1, 1, &logits, &s, sizeof s);
}

/* log Σ exp(x_j) of n logits. */
static double loss_log_sum(int n, const real *x) {
    double top = (double)x[0], sum = 0;
    for (int j = 1; j < n; j++)
        if ((double)x[j] > top) top = (double)x[j];
    for (int j = 0; j < n; j++) sum += exp((double)x[j] - top);
    return top + log(sum);
}

void divergence_forward(struct tape *t, struct record *r) {
    struct divergence_op *s = r->saved;
    int n = tape_rows_of(t, r->in[0]), classes = tape_cols_of(t, r->in[0]);
    const real *x = tape_value(t, r->in[0]), *y = s->target;
    real *apart = NULL;
    if (record_needs(t, r))
        apart = s->apart = arena_keep(record_arena(t), (size_t)n * (size_t)classes * sizeof *apart);
    double loss = 0;
    for (int i = 0; i < n; i++, x += classes, y += classes) {
        double own = loss_log_sum(classes, x), other = loss_log_sum(classes, y), sum = 0;
        for (int j = 0; j < classes; j++) {
            double q = (double)x[j] - own, p = (double)y[j] - other;
            sum += exp(p) * (p - q);
            if (apart) *apart++ = (real)(exp(q) - exp(p));
        }
        loss += (s->weight ? (double)s->weight[i] : 1) * sum;
    }
    record_result(t, r)[0] = (real)loss;
}

void divergence_backward(struct tape *t, const struct record *r) {
    const struct divergence_op *s = r->saved;
    int n = tape_rows_of(t, r->in[0]), classes = tape_cols_of(t, r->in[0]);
    real dy = grad_out(t, r)[0], beta, *dx = grad_slot(t, r->in[0], &beta);
    const real *apart = s->apart;
    for (int i = 0; i < n; i++) {
        real w = dy * (s->weight ? s->weight[i] : 1);
        for (int j = 0; j < classes; j++, apart++, dx++) *dx = w * *apart + (beta == 0 ? 0 : *dx);
    }
}

/* ---- Σ w_i·|prediction_i - target_i|² ---- */

struct squared_error {
    real *target, *weight; /* weight NULL: all ones */
};

node op_squared_error(struct tape *t, node predictions, const real *targets, const real *weights) {
    size_t n = (size_t)tape_rows_of(t, predictions), cols = (size_t)tape_cols_of(t, predictions);
    struct squared_error s = { keep_copy(t, targets, n * cols, sizeof *targets),
                               keep_copy(t, weights, n, sizeof *weights) };
    return record_run(t, OP_squared_error, 1, 1, 1, &predictions, &s, sizeof s);
}

void squared_error_forward(struct tape *t, struct record *r) {
    const struct squared_error *s = r->saved;
    record_reads(t, r, r->in[0], true);
    int n = tape_rows_of(t, r->in[0]), cols = tape_cols_of(t, r->in[0]);
    const real *x = tape_value(t, r->in[0]), *y = s->target;
    double loss = 0;
    for (int i = 0; i < n; i++) {
        double w = s->weight ? (double)s->weight[i] : 1;
        for (int j = 0; j < cols; j++, x++, y++) {
            double d = (double)*x - (double)*y;
            loss += w * d * d;
        }
    }
    record_result(t, r)[0] = (real)loss;
}

void squared_error_backward(struct tape *t, const struct record *r) {
    const struct squared_error *s = r->saved;
    int n = tape_rows_of(t, r->in[0]), cols = tape_cols_of(t, r->in[0]);
    const real *x = tape_value(t, r->in[0]), *y = s->target;
    real dy = grad_out(t, r)[0], beta, *dx = grad_slot(t, r->in[0], &beta);
    for (int i = 0; i < n; i++) {
        real w = dy * (s->weight ? s->weight[i] : 1);
        for (int j = 0; j < cols; j++, x++, y++, dx++) *dx = 2 * w * (*x - *y) + (beta == 0 ? 0 : *dx);
    }
}
