#include "core/base/mem.h"
#include "core/engine/groups.h"
#include "core/engine/kernel.h"

/* LayerNorm and RMSNorm are the same computation, with and without the mean. */

enum { NORM_X, NORM_RESIDUAL, NORM_GAMMA, NORM_BETA };

struct norm_saved {
    double eps;
    struct row_groups groups;
    real *normed;  /* n×d: (z - mean)/σ */
    real *inverse; /* n: 1/σ */
};

static node run_norm(struct tape *t, enum op_id op, node x, node residual, node gamma, node beta,
                     double eps, const struct row_groups *g) {
    int n = tape_rows_of(t, x), d = tape_cols_of(t, x);
    BUG_IF(residual != NODE_NONE &&
           (tape_rows_of(t, residual) != n || tape_cols_of(t, residual) != d));
    int width = tape_cols_of(t, gamma);
    BUG_IF(d % width || (d != width && (g || residual != NODE_NONE)));
    struct norm_saved s = { .eps = eps, .groups = groups_keep(t, g, n * (d / width)) };
    int blocks = s.groups.blocks;
    BUG_IF(tape_rows_of(t, gamma) != blocks);
    BUG_IF(beta != NODE_NONE && (tape_rows_of(t, beta) != blocks || tape_cols_of(t, beta) != d));
    return record_run(t, op, n, d, 4, (node[]){ x, residual, gamma, beta }, &s, sizeof s);
}

node op_layernorm(struct tape *t, node x, node residual, node gamma, node beta, double eps) {
    return run_norm(t, OP_layernorm, x, residual, gamma, beta, eps, NULL);
}

node op_layernorm_groups(struct tape *t, node x, node residual, node gamma, node beta, double eps,
                         const struct row_groups *g) {
    return run_norm(t, OP_layernorm, x, residual, gamma, beta, eps, g);
}

node op_rmsnorm(struct tape *t, node x, node residual, node gamma, double eps) {
    return run_norm(t, OP_rmsnorm, x, residual, gamma, NODE_NONE, eps, NULL);
}

/* Row `first` of an operand, or NULL if it is omitted. */
static const real *op_norm_row_of(const struct tape *t, node n, int first) {
    return n == NODE_NONE ? NULL : tape_value(t, n) + (size_t)first * (size_t)tape_cols_of(t, n);
}

static void norm_forward(struct tape *t, struct record *r, bool center) {
    struct norm_saved *s = r->saved;
    int d = tape_cols_of(t, r->in[NORM_GAMMA]), n = tape_rows_of(t, r->out) * (tape_cols_of(t, r->out) / d);
    record_reads(t, r, r->in[NORM_GAMMA], true);
    if (record_needs(t, r)) {
        s->normed = arena_keep(record_arena(t), (size_t)n * (size_t)d * sizeof(real));
        s->inverse = arena_keep(record_arena(t), (size_t)n * sizeof(real));
    }
    for (int i = 0; i < s->groups.count; i++) {
        struct row_run at = groups_run(&s->groups, i);
        size_t first = (size_t)at.first * (size_t)d;
        kernel_norm(at.rows, d, center, s->eps, tape_value(t, r->in[NORM_X]) + first,
                    op_norm_row_of(t, r->in[NORM_RESIDUAL], at.first),
                    op_norm_row_of(t, r->in[NORM_GAMMA], at.block),
                    op_norm_row_of(t, r->in[NORM_BETA], at.block), record_result(t, r) + first,
                    s->normed ? s->normed + first : NULL, s->inverse ? s->inverse + at.first : NULL);
    }
}

static void norm_backward(struct tape *t, const struct record *r, bool center) {
    const struct norm_saved *s = r->saved;
    node x = r->in[NORM_X], residual = r->in[NORM_RESIDUAL];
    int cols = tape_cols_of(t, r->in[NORM_GAMMA]);
    groups_col_sum(t, r->in[NORM_GAMMA], &s->groups, cols, 1, grad_out(t, r), s->normed);
    groups_col_sum(t, r->in[NORM_BETA], &s->groups, cols, 1, grad_out(t, r), NULL);
    if (!tape_needs_grad(t, x) && !tape_needs_grad(t, residual)) return;
    real *d = grad_own(t, r);
    for (int i = 0; i < s->groups.count; i++) {
        struct row_run at = groups_run(&s->groups, i);
        size_t first = (size_t)at.first * (size_t)cols;
        kernel_norm_back(at.rows, cols, center, op_norm_row_of(t, r->in[NORM_GAMMA], at.block),
                         s->normed + first,
                         s->inverse + at.first, d + first, d + first);
    }
    grad_pass(t, r, x);
    grad_pass(t, r, residual);
}

void layernorm_forward(struct tape *t, struct record *r) { norm_forward(t, r, true); }
void layernorm_backward(struct tape *t, const struct record *r) { norm_backward(t, r, true); }
void rmsnorm_forward(struct tape *t, struct record *r) { norm_forward(t, r, false); }
void rmsnorm_backward(struct tape *t, const struct record *r) { norm_backward(t, r, false); }
