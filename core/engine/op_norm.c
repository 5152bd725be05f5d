#include "core/base/mem.h"
#include "core/engine/kernel.h"
#include "core/engine/ops.h"
#include "core/engine/record.h"

/* LayerNorm and RMSNorm are one computation, with and without the mean. */

enum { NORM_X, NORM_RESIDUAL, NORM_GAMMA, NORM_BETA };

struct norm {
    double eps;
    real *normed;  /* n×d: (z - mean)/σ */
    real *inverse; /* n: 1/σ */
};

static node run_norm(struct tape *t, enum op_id op, node x, node residual, node gamma, node beta,
                     double eps) {
    int n = tape_rows_of(t, x), d = tape_cols_of(t, x);
    BUG_IF(residual != NODE_NONE &&
           (tape_rows_of(t, residual) != n || tape_cols_of(t, residual) != d));
    BUG_IF(tape_rows_of(t, gamma) != 1 || tape_cols_of(t, gamma) != d);
    BUG_IF(beta != NODE_NONE && (tape_rows_of(t, beta) != 1 || tape_cols_of(t, beta) != d));
    struct norm s = { eps, NULL, NULL };
    return record_run(t, op, n, d, 4, (node[]){ x, residual, gamma, beta }, &s, sizeof s);
}

node op_layernorm(struct tape *t, node x, node residual, node gamma, node beta, double eps) {
    return run_norm(t, OP_layernorm, x, residual, gamma, beta, eps);
}

node op_rmsnorm(struct tape *t, node x, node residual, node gamma, double eps) {
    return run_norm(t, OP_rmsnorm, x, residual, gamma, NODE_NONE, eps);
}

static const real *value_or_null(const struct tape *t, node n) {
    return n == NODE_NONE ? NULL : tape_value(t, n);
}

static void norm_forward(struct tape *t, struct record *r, bool centre) {
    struct norm *s = r->saved;
    int n = tape_rows_of(t, r->out), d = tape_cols_of(t, r->out);
    record_reads(t, r, r->in[NORM_GAMMA], true);
    if (record_needs(t, r)) {
        s->normed = arena_keep(record_arena(t), (size_t)n * (size_t)d * sizeof(real));
        s->inverse = arena_keep(record_arena(t), (size_t)n * sizeof(real));
    }
    kernel_norm(n, d, centre, s->eps, tape_value(t, r->in[NORM_X]),
                value_or_null(t, r->in[NORM_RESIDUAL]), tape_value(t, r->in[NORM_GAMMA]),
                value_or_null(t, r->in[NORM_BETA]), record_result(t, r), s->normed, s->inverse);
}

static void col_sum(struct tape *t, const struct record *r, const real *z, node to) {
    real beta, *out = grad_slot(t, to, &beta);
    if (!out) return;
    struct arena *a = record_arena(t);
    struct arena_mark m = arena_mark(a);
    int rows = tape_rows_of(t, r->out), cols = tape_cols_of(t, r->out);
    kernel_col_sum(rows, cols, 1, grad_out(t, r), z, beta, out,
                   arena_scratch(a, (size_t)cols * sizeof(double)));
    arena_scratch_release(a, m);
}

static void norm_backward(struct tape *t, const struct record *r, bool centre) {
    const struct norm *s = r->saved;
    node x = r->in[NORM_X], residual = r->in[NORM_RESIDUAL];
    col_sum(t, r, s->normed, r->in[NORM_GAMMA]);
    col_sum(t, r, NULL, r->in[NORM_BETA]);
    if (!tape_needs_grad(t, x) && !tape_needs_grad(t, residual)) return;
    real *d = grad_own(t, r);
    kernel_norm_back(tape_rows_of(t, r->out), tape_cols_of(t, r->out), centre,
                     tape_value(t, r->in[NORM_GAMMA]), s->normed, s->inverse, d, d);
    grad_pass(t, r, x);
    grad_pass(t, r, residual);
}

void layernorm_forward(struct tape *t, struct record *r) { norm_forward(t, r, true); }
void layernorm_backward(struct tape *t, const struct record *r) { norm_backward(t, r, true); }
void rmsnorm_forward(struct tape *t, struct record *r) { norm_forward(t, r, false); }
void rmsnorm_backward(struct tape *t, const struct record *r) { norm_backward(t, r, false); }
