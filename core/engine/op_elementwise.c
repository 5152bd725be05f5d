#include "core/base/mem.h"
#include "core/engine/groups.h"
#include "core/engine/kernel.h"

static size_t op_elementwise_size_of(const struct tape *t, node n) {
    return (size_t)tape_rows_of(t, n) * (size_t)tape_cols_of(t, n);
}

static void same_shape(const struct tape *t, node a, node b) {
    BUG_IF(tape_rows_of(t, a) != tape_rows_of(t, b) || tape_cols_of(t, a) != tape_cols_of(t, b));
}

static void one_row(const struct tape *t, node x, node b) {
    BUG_IF(tape_rows_of(t, b) != 1 || tape_cols_of(t, b) != tape_cols_of(t, x));
}

static node run_like(struct tape *t, enum op_id op, int operands, const node *in, const void *params,
                     size_t size) {
    return record_run(t, op, tape_rows_of(t, in[0]), tape_cols_of(t, in[0]), operands, in, params,
                      size);
}

/* ---- a + b ---- */

node op_add(struct tape *t, node a, node b) {
    same_shape(t, a, b);
    return run_like(t, OP_add, 2, (node[]){ a, b }, NULL, 0);
}

void add_forward(struct tape *t, struct record *r) {
    kernel_add(op_elementwise_size_of(t, r->out), tape_value(t, r->in[0]), tape_value(t, r->in[1]),
               record_result(t, r));
}

void add_backward(struct tape *t, const struct record *r) {
    grad_pass(t, r, r->in[0]);
    grad_pass(t, r, r->in[1]);
}

/* ---- a + s·scale·b ---- */

node op_add_scaled(struct tape *t, node a, node b, double s, node scale) {
    same_shape(t, a, b);
    BUG_IF(scale != NODE_NONE && op_elementwise_size_of(t, scale) != 1);
    return run_like(t, OP_add_scaled, 3, (node[]){ a, b, scale }, &s, sizeof s);
}

static double op_elementwise_factor_of(const struct tape *t, const struct record *r) {
    double s = *(const double *)r->saved;
    return r->in[2] == NODE_NONE ? s : s * (double)tape_value(t, r->in[2])[0];
}

void add_scaled_forward(struct tape *t, struct record *r) {
    record_reads(t, r, r->in[1], tape_needs_grad(t, r->in[2]));
    record_reads(t, r, r->in[2], true);
    kernel_add_scaled(op_elementwise_size_of(t, r->out), tape_value(t, r->in[0]),
                      (real)op_elementwise_factor_of(t, r),
                      tape_value(t, r->in[1]), record_result(t, r));
}

void add_scaled_backward(struct tape *t, const struct record *r) {
    node b = r->in[1];
    size_t n = op_elementwise_size_of(t, b);
    real f = (real)op_elementwise_factor_of(t, r), beta;
    const real *dy = grad_out(t, r);
    real *ds = grad_slot(t, r->in[2], &beta);
    if (ds) {
        double d = *(const double *)r->saved * kernel_dot(n, dy, tape_value(t, b));
        ds[0] = (real)d + (beta == 0 ? 0 : ds[0]);
    }
    real *db = grad_slot(t, b, &beta);
    if (db && beta == 0) kernel_scale(n, f, dy, db);
    else if (db) kernel_add_to(n, f, dy, db);
    grad_pass(t, r, r->in[0]);
}

/* ---- x + b on each row ---- */

node op_bias(struct tape *t, node x, node b) {
    one_row(t, x, b);
    return run_like(t, OP_bias, 2, (node[]){ x, b }, NULL, 0);
}

void bias_forward(struct tape *t, struct record *r) {
    kernel_add_rows(tape_rows_of(t, r->out), tape_cols_of(t, r->out), tape_value(t, r->in[0]),
                    tape_value(t, r->in[1]), record_result(t, r));
}

void bias_backward(struct tape *t, const struct record *r) {
    const struct row_groups all = { 1, 1, (int[]){ 0, tape_rows_of(t, r->out) }, (int[]){ 0 } };
    groups_col_sum(t, r->in[1], &all, tape_cols_of(t, r->out), 1, grad_out(t, r), NULL);
    grad_pass(t, r, r->in[0]);
}

/* ---- x ⊙ l on each row ---- */

node op_channel_scale_groups(struct tape *t, node x, node l, const struct row_groups *g) {
    struct row_groups kept = groups_keep(t, g, tape_rows_of(t, x));
    BUG_IF(tape_rows_of(t, l) != kept.blocks || tape_cols_of(t, l) != tape_cols_of(t, x));
    return run_like(t, OP_channel_scale, 2, (node[]){ x, l }, &kept, sizeof kept);
}

/* y = x ⊙ l, run by run. */
static void times_rows(const struct tape *t, const struct row_groups *g, node l, const real *x, real *y) {
    int cols = tape_cols_of(t, l);
    for (int i = 0; i < g->count; i++) {
        struct row_run at = groups_run(g, i);
        size_t first = (size_t)at.first * (size_t)cols;
        kernel_mul_rows(at.rows, cols, x + first, tape_value(t, l) + (size_t)at.block * (size_t)cols,
                        y + first);
    }
}

void channel_scale_forward(struct tape *t, struct record *r) {
    for (int i = 0; i < 2; i++) record_reads(t, r, r->in[i], tape_needs_grad(t, r->in[1 - i]));
    times_rows(t, r->saved, r->in[1], tape_value(t, r->in[0]), record_result(t, r));
}

void channel_scale_backward(struct tape *t, const struct record *r) {
    node x = r->in[0], l = r->in[1];
    if (tape_needs_grad(t, l))
        groups_col_sum(t, l, r->saved, tape_cols_of(t, l), 1, grad_out(t, r), tape_value(t, x));
    if (!tape_needs_grad(t, x)) return;
    real *dx = grad_own(t, r);
    times_rows(t, r->saved, l, dx, dx);
    grad_pass(t, r, x);
}

/* ---- b + (x - b) ⊙ g on each row ---- */

enum { GAIN_X, GAIN_B, GAIN_G };

node op_gain(struct tape *t, node x, node b, node g) {
    one_row(t, x, g);
    if (b != NODE_NONE) one_row(t, x, b);
    return run_like(t, OP_gain, 3, (node[]){ x, b, g }, NULL, 0);
}

void gain_forward(struct tape *t, struct record *r) {
    node x = r->in[GAIN_X], b = r->in[GAIN_B], g = r->in[GAIN_G];
    int n = tape_rows_of(t, r->out), d = tape_cols_of(t, r->out);
    real *y = record_result(t, r);
    record_reads(t, r, x, tape_needs_grad(t, g));
    record_reads(t, r, b, tape_needs_grad(t, g));
    record_reads(t, r, g, true);
    kernel_mul_rows(n, d, tape_value(t, x), tape_value(t, g), y);
    if (b == NODE_NONE) return;
    struct arena *a = record_arena(t);
    struct arena_mark m = arena_mark(a);
    real *rest = arena_scratch(a, (size_t)d * sizeof *rest); /* b ⊙ (1 - g) */
    for (int j = 0; j < d; j++) rest[j] = tape_value(t, b)[j] * (1 - tape_value(t, g)[j]);
    kernel_add_rows(n, d, y, rest, y);
    arena_scratch_release(a, m);
}

/* Sums of dy go to b times 1 - g, and to g times -b; those of dy ⊙ x to g. */
static void gain_back_rows(struct tape *t, const struct record *r, const real *dy) {
    node x = r->in[GAIN_X], b = r->in[GAIN_B], g = r->in[GAIN_G];
    int n = tape_rows_of(t, r->out), d = tape_cols_of(t, r->out);
    struct arena *a = record_arena(t);
    struct arena_mark m = arena_mark(a);
    double *sums = arena_scratch(a, (size_t)d * sizeof *sums);
    real *all = arena_scratch(a, (size_t)d * sizeof *all), beta, *to = grad_slot(t, g, &beta);
    kernel_col_sum(n, d, 1, dy, NULL, 0, all, sums);
    if (to) kernel_col_sum(n, d, 1, dy, tape_value(t, x), beta, to, sums);
    for (int j = 0; to && b != NODE_NONE && j < d; j++) to[j] -= tape_value(t, b)[j] * all[j];
    to = grad_slot(t, b, &beta);
    for (int j = 0; to && j < d; j++) to[j] = (beta == 0 ? 0 : to[j]) + all[j] * (1 - tape_value(t, g)[j]);
    arena_scratch_release(a, m);
}

void gain_backward(struct tape *t, const struct record *r) {
    node x = r->in[GAIN_X], b = r->in[GAIN_B], g = r->in[GAIN_G];
    if (tape_needs_grad(t, g) || tape_needs_grad(t, b)) gain_back_rows(t, r, grad_out(t, r));
    if (!tape_needs_grad(t, x)) return;
    real *dx = grad_own(t, r);
    kernel_mul_rows(tape_rows_of(t, r->out), tape_cols_of(t, r->out), dx, tape_value(t, g), dx);
    grad_pass(t, r, x);
}

/* ---- a ⊙ b ---- */

node op_mul(struct tape *t, node a, node b) {
    same_shape(t, a, b);
    return run_like(t, OP_mul, 2, (node[]){ a, b }, NULL, 0);
}

void mul_forward(struct tape *t, struct record *r) {
    for (int i = 0; i < 2; i++) record_reads(t, r, r->in[i], tape_needs_grad(t, r->in[1 - i]));
    kernel_mul(op_elementwise_size_of(t, r->out), tape_value(t, r->in[0]), tape_value(t, r->in[1]),
               record_result(t, r));
}

void mul_backward(struct tape *t, const struct record *r) {
    const real *dy = grad_out(t, r);
    for (int i = 0; i < 2; i++) {
        real beta, *d = grad_slot(t, r->in[i], &beta);
        if (!d) continue;
        const real *other = tape_value(t, r->in[1 - i]);
        if (beta == 0) kernel_mul(op_elementwise_size_of(t, r->out), dy, other, d);
        else kernel_mul_to(op_elementwise_size_of(t, r->out), dy, other, d);
    }
}

/* ---- s·a ---- */

node op_scale(struct tape *t, node a, double s) {
    return run_like(t, OP_scale, 1, &a, &s, sizeof s);
}

void scale_forward(struct tape *t, struct record *r) {
    kernel_scale(op_elementwise_size_of(t, r->out), (real) * (const double *)r->saved,
                 tape_value(t, r->in[0]),
                 record_result(t, r));
}

void scale_backward(struct tape *t, const struct record *r) {
    real *d = grad_own(t, r);
    kernel_scale(op_elementwise_size_of(t, r->out), (real) * (const double *)r->saved, d, d);
    grad_pass(t, r, r->in[0]);
}

/* ---- act(x) ---- */

node op_act(struct tape *t, node x, enum act act) {
    if (act == ACT_NONE) return x;
    BUG_IF((int)act < 0 || act >= ACT_COUNT);
    return run_like(t, OP_act, 1, &x, &act, sizeof act);
}

void act_forward(struct tape *t, struct record *r) {
    record_reads(t, r, r->in[0], true);
    kernel_act(*(const enum act *)r->saved, op_elementwise_size_of(t, r->out), tape_value(t, r->in[0]),
               record_result(t, r));
}

void act_backward(struct tape *t, const struct record *r) {
    real *d = grad_own(t, r);
    kernel_act_back(*(const enum act *)r->saved, op_elementwise_size_of(t, r->out), tape_value(t, r->in[0]),
                    d, d);
    grad_pass(t, r, r->in[0]);
}

/* ---- dropout ---- */

struct dropout {
    const struct tape_rows *rows;
    double p;
    struct rng_key key;
};

node op_dropout(struct tape *t, node x, const struct tape_rows *rows, double p, uint64_t site) {
    if (p == 0 || !tape_training(t)) return x;
    BUG_IF(!(p > 0 && p < 1));
    int n = tape_rows_of(t, x);
    BUG_IF(n != rows->start[rows->count] && n != rows->count);
    struct dropout s = { rows, p, record_rng(t, site) };
    return run_like(t, OP_dropout, 1, &x, &s, sizeof s);
}

/* y = x with dropped elements; the mask is a function of (row id, token, channel), so that backward
 * recomputes it. */
static void op_elementwise_drop(const struct dropout *s, int n, int cols, const real *x, real *y) {
    const struct tape_rows *rows = s->rows;
    bool pooled = n != rows->start[rows->count]; /* one row per sequence, like its token 0 */
    for (int i = 0; i < rows->count; i++) {
        struct rng_key key = { rng_bits(s->key, rows->id[i]) };
        int from = pooled ? i : rows->start[i], to = pooled ? i + 1 : rows->start[i + 1];
        for (int j = from; j < to; j++) {
            size_t at = (size_t)j * (size_t)cols;
            kernel_dropout(key, (uint64_t)(j - from), s->p, (size_t)cols, x + at, y + at);
        }
    }
}

void dropout_forward(struct tape *t, struct record *r) {
    op_elementwise_drop(r->saved, tape_rows_of(t, r->out), tape_cols_of(t, r->out), tape_value(t, r->in[0]),
                        record_result(t, r));
}

void dropout_backward(struct tape *t, const struct record *r) {
    real *d = grad_own(t, r);
    op_elementwise_drop(r->saved, tape_rows_of(t, r->out), tape_cols_of(t, r->out), d, d);
    grad_pass(t, r, r->in[0]);
}
