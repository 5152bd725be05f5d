#include "core/base/mem.h"
#include "core/engine/groups.h"
#include "core/engine/kernel.h"
#include "core/engine/ops.h"
#include "core/engine/product.h"
#include "core/engine/record.h"

/* What backward of y = x·w reads. */
static void product_reads(struct tape *t, const struct record *r, node x, node w) {
    record_reads(t, r, x, tape_needs_grad(t, w));
    record_reads(t, r, w, tape_needs_grad(t, x));
}

/* The columns of the result: the rows of one block of w. */
static int linear_cols(const struct tape *t, node x, node w, node b, const struct row_groups *g) {
    int out = groups_block_rows(t, w, g);
    BUG_IF(tape_cols_of(t, w) != tape_cols_of(t, x));
    BUG_IF(b != NODE_NONE && (tape_rows_of(t, b) != g->blocks || tape_cols_of(t, b) != out));
    return out;
}

/* ---- y = act(x Wᵀ + b) ---- */

enum { LINEAR_X, LINEAR_W, LINEAR_B };

struct linear {
    enum act act;
    struct row_groups groups;
    int out;      /* columns of x Wᵀ; the result may split them into shorter rows */
    real *slope;  /* act'(x Wᵀ + b), stored for backward if there is an activation */
};

node op_linear_groups(struct tape *t, node x, node w, node b, enum act act, const struct row_groups *g) {
    int n = tape_rows_of(t, x);
    struct linear s = { act, groups_keep(t, g, n), 0, NULL };
    s.out = linear_cols(t, x, w, b, &s.groups);
    return record_run(t, OP_linear, n, s.out, 3, (node[]){ x, w, b }, &s, sizeof s);
}

node op_linear_generated(struct tape *t, node x, node w, node b, int cols) {
    int n = tape_rows_of(t, x);
    struct linear s = { ACT_NONE, groups_keep(t, NULL, n), 0, NULL };
    s.out = linear_cols(t, x, w, b, &s.groups);
    BUG_IF(cols < 1 || s.out % cols);
    return record_run(t, OP_linear, n * (s.out / cols), cols, 3, (node[]){ x, w, b }, &s, sizeof s);
}

node op_linear_act(struct tape *t, node x, node w, node b, enum act act) {
    return op_linear_groups(t, x, w, b, act, NULL);
}

node op_linear(struct tape *t, node x, node w, node b) { return op_linear_act(t, x, w, b, ACT_NONE); }

/* The block of w that a run of rows uses. */
static struct product_weight block_of(node w, int rows, struct row_run at) {
    return (struct product_weight){ w, at.block * rows, rows };
}

/* y = s·(x Wᵀ) + plus for a run of rows; y is the whole result, `plus` its part or as in product_forward. */
static void times_transposed(struct tape *t, node x, node w, int out, struct row_run at, real s,
                             const real *plus, int ldp, real *y) {
    int in = tape_cols_of(t, x);
    product_forward(t, block_of(w, out, at), at.rows, s, tape_value(t, x) + (size_t)at.first * (size_t)in, in,
                    plus, ldp, y + (size_t)at.first * (size_t)out, out);
}

void linear_forward(struct tape *t, struct record *r) {
    struct linear *s = r->saved;
    node x = r->in[LINEAR_X], w = r->in[LINEAR_W], b = r->in[LINEAR_B];
    int n = tape_rows_of(t, x), out = s->out;
    size_t size = (size_t)n * (size_t)out;
    product_reads(t, r, x, w);
    real *y = record_result(t, r), *z = y;
    if (s->act != ACT_NONE && record_needs(t, r))
        z = s->slope = arena_keep(record_arena(t), size * sizeof(real));
    for (int i = 0; i < s->groups.count; i++) {
        struct row_run at = groups_run(&s->groups, i);
        const real *bias = b == NODE_NONE ? NULL : tape_value(t, b) + (size_t)at.block * (size_t)out;
        times_transposed(t, x, w, out, at, 1, bias, 0, z);
    }
    if (s->slope) kernel_act_slope(s->act, size, z, y);
    else if (s->act != ACT_NONE) kernel_act(s->act, size, y, y);
}

/* Contributions of y = x Wᵀ: s·dy W to x, s·dyᵀ x to W, run by run. */
static void product_back(struct tape *t, node x, node w, real s, const real *dy, const struct row_groups *g) {
    int in = tape_cols_of(t, x), out = groups_block_rows(t, w, g);
    real beta, *dx = grad_slot(t, x, &beta);
    for (int i = 0; dx && i < g->count; i++) {
        struct row_run at = groups_run(g, i);
        product_to_input(t, block_of(w, out, at), at.rows, s, dy + (size_t)at.first * (size_t)out, out,
                         beta != 0, dx + (size_t)at.first * (size_t)in, in);
    }
    real *dw = groups_slot(t, w, g, &beta);
    for (int i = 0; dw && i < g->count; i++) {
        struct row_run at = groups_run(g, i);
        product_to_weight(t, block_of(w, out, at), at.rows, s, dy + (size_t)at.first * (size_t)out, out,
                          tape_value(t, x) + (size_t)at.first * (size_t)in, in, beta != 0,
                          dw + (size_t)at.block * (size_t)out * (size_t)in);
    }
}

void linear_backward(struct tape *t, const struct record *r) {
    const struct linear *s = r->saved;
    node x = r->in[LINEAR_X], w = r->in[LINEAR_W], b = r->in[LINEAR_B];
    int n = tape_rows_of(t, x), out = s->out;
    const real *dy = grad_out(t, r);
    if (s->act != ACT_NONE) {
        real *dz = grad_own(t, r);
        kernel_mul((size_t)n * (size_t)out, dz, s->slope, dz);
        dy = dz;
    }
    product_back(t, x, w, 1, dy, &s->groups);
    groups_col_sum(t, b, &s->groups, out, 1, dy, NULL);
}

/* ---- y = base + s·scale·(x Wᵀ + b) ---- */

enum { ADD_BASE, ADD_X, ADD_W, ADD_B, ADD_SCALE };

struct linear_add {
    double s;
    struct row_groups groups;
};

node op_linear_add_groups(struct tape *t, node base, node x, node w, node b, double s, node scale,
                          const struct row_groups *g) {
    int n = tape_rows_of(t, x), out = tape_cols_of(t, base);
    struct linear_add saved = { s, groups_keep(t, g, n) };
    BUG_IF(tape_rows_of(t, base) != n || linear_cols(t, x, w, b, &saved.groups) != out);
    BUG_IF(scale != NODE_NONE && tape_cols_of(t, scale) != 1);
    BUG_IF(scale != NODE_NONE && tape_rows_of(t, scale) != 1 &&
           tape_rows_of(t, scale) != saved.groups.blocks);
    return record_run(t, OP_linear_add, n, out, 5, (node[]){ base, x, w, b, scale }, &saved, sizeof saved);
}

node op_linear_add(struct tape *t, node base, node x, node w, node b, double s, node scale) {
    return op_linear_add_groups(t, base, x, w, b, s, scale, NULL);
}

/* The factor of a block: s, times its learned value or the shared one. */
static real op_linear_factor_of(const struct tape *t, double s, node scale, int block) {
    if (scale == NODE_NONE) return (real)s;
    return (real)(s * (double)tape_value(t, scale)[tape_rows_of(t, scale) > 1 ? block : 0]);
}

void linear_add_forward(struct tape *t, struct record *r) {
    const struct linear_add *s = r->saved;
    node base = r->in[ADD_BASE], x = r->in[ADD_X], w = r->in[ADD_W], b = r->in[ADD_B];
    int out = tape_cols_of(t, r->out);
    real *y = record_result(t, r);
    bool scale_needs = tape_needs_grad(t, r->in[ADD_SCALE]);
    product_reads(t, r, x, w);
    record_reads(t, r, x, scale_needs);
    record_reads(t, r, w, scale_needs);
    record_reads(t, r, b, scale_needs);
    record_reads(t, r, r->in[ADD_SCALE], true);
    for (int i = 0; i < s->groups.count; i++) {
        struct row_run at = groups_run(&s->groups, i);
        real f = op_linear_factor_of(t, s->s, r->in[ADD_SCALE], at.block);
        size_t first = (size_t)at.first * (size_t)out;
        const real *plus = tape_value(t, base) + first;
        if (b != NODE_NONE) {
            kernel_fill_rows(at.rows, out, f, tape_value(t, b) + (size_t)at.block * (size_t)out, y + first);
            kernel_add((size_t)at.rows * (size_t)out, y + first, plus, y + first);
            plus = y + first;
        }
        times_transposed(t, x, w, out, at, f, plus, out, y);
    }
}

/* ⟨dy, x Wᵀ + b⟩ = ⟨dy W, x⟩ + ⟨Σ_rows dy, b⟩ over a run; dy W is returned in `back` (rows × in). */
static double scale_back(struct tape *t, const struct record *r, struct row_run at, const real *dy,
                         real *back) {
    node x = r->in[ADD_X], w = r->in[ADD_W], b = r->in[ADD_B];
    int in = tape_cols_of(t, x), out = tape_cols_of(t, r->out);
    dy += (size_t)at.first * (size_t)out;
    product_to_input(t, block_of(w, out, at), at.rows, 1, dy, out, false, back, in);
    double dot = kernel_dot((size_t)at.rows * (size_t)in, back,
                            tape_value(t, x) + (size_t)at.first * (size_t)in);
    if (b == NODE_NONE) return dot;
    for (int i = 0; i < at.rows; i++)
        dot += kernel_dot((size_t)out, dy + (size_t)i * (size_t)out,
                          tape_value(t, b) + (size_t)at.block * (size_t)out);
    return dot;
}

static void scales_back(struct tape *t, const struct record *r, const real *dy) {
    const struct linear_add *s = r->saved;
    node x = r->in[ADD_X], scale = r->in[ADD_SCALE];
    bool one = tape_rows_of(t, scale) == 1;
    struct arena *a = record_arena(t);
    struct arena_mark m = arena_mark(a);
    real *back = arena_scratch(a, (size_t)tape_rows_of(t, x) * (size_t)tape_cols_of(t, x) * sizeof(real));
    double *sum = arena_scratch(a, (size_t)tape_rows_of(t, scale) * sizeof *sum);
    for (int i = 0; i < tape_rows_of(t, scale); i++) sum[i] = 0;
    for (int i = 0; i < s->groups.count; i++) {
        struct row_run at = groups_run(&s->groups, i);
        sum[one ? 0 : at.block] += scale_back(t, r, at, dy, back);
    }
    real beta, *to = grad_slot(t, scale, &beta);
    for (int i = 0; i < tape_rows_of(t, scale); i++)
        to[i] = (real)(s->s * sum[i]) + (beta == 0 ? 0 : to[i]);
    arena_scratch_release(a, m);
}

/* With a factor per block, dy times the factor of its run is passed on. */
static void scaled_back(struct tape *t, const struct record *r, const real *dy) {
    const struct linear_add *s = r->saved;
    int out = tape_cols_of(t, r->out);
    size_t size = (size_t)tape_rows_of(t, r->out) * (size_t)out;
    struct arena *a = record_arena(t);
    struct arena_mark m = arena_mark(a);
    real *scaled = arena_scratch(a, size * sizeof *scaled);
    for (int i = 0; i < s->groups.count; i++) {
        struct row_run at = groups_run(&s->groups, i);
        size_t first = (size_t)at.first * (size_t)out;
        kernel_scale((size_t)at.rows * (size_t)out, op_linear_factor_of(t, s->s, r->in[ADD_SCALE], at.block),
                     dy + first, scaled + first);
    }
    product_back(t, r->in[ADD_X], r->in[ADD_W], 1, scaled, &s->groups);
    groups_col_sum(t, r->in[ADD_B], &s->groups, out, 1, scaled, NULL);
    arena_scratch_release(a, m);
}

void linear_add_backward(struct tape *t, const struct record *r) {
    const struct linear_add *s = r->saved;
    node x = r->in[ADD_X], w = r->in[ADD_W], b = r->in[ADD_B], scale = r->in[ADD_SCALE];
    int out = tape_cols_of(t, r->out);
    const real *dy = grad_out(t, r);
    if (tape_needs_grad(t, scale)) scales_back(t, r, dy);
    if (scale == NODE_NONE || tape_rows_of(t, scale) == 1) {
        real f = op_linear_factor_of(t, s->s, scale, 0);
        product_back(t, x, w, f, dy, &s->groups);
        groups_col_sum(t, b, &s->groups, out, f, dy, NULL);
    } else {
        scaled_back(t, r, dy);
    }
    grad_pass(t, r, r->in[ADD_BASE]);
}

/* ---- y = x W ---- */

node op_matmul(struct tape *t, node x, node w) {
    BUG_IF(tape_cols_of(t, x) != tape_rows_of(t, w));
    return record_run(t, OP_matmul, tape_rows_of(t, x), tape_cols_of(t, w), 2, (node[]){ x, w },
                      NULL, 0);
}

void matmul_forward(struct tape *t, struct record *r) {
    node x = r->in[0], w = r->in[1];
    int n = tape_rows_of(t, x), k = tape_cols_of(t, x), m = tape_cols_of(t, w);
    product_reads(t, r, x, w);
    product_to_input(t, (struct product_weight){ w, 0, k }, n, 1, tape_value(t, x), k, false,
                     record_result(t, r), m);
}

void matmul_backward(struct tape *t, const struct record *r) {
    node x = r->in[0], w = r->in[1];
    int n = tape_rows_of(t, x), k = tape_cols_of(t, x), m = tape_cols_of(t, w);
    const real *dy = grad_out(t, r);
    real beta, *dx = grad_slot(t, x, &beta);
    const struct product_weight all = { w, 0, k };
    if (dx) product_forward(t, all, n, 1, dy, m, beta != 0 ? dx : NULL, k, dx, k);
    real *dw = grad_slot(t, w, &beta);
    if (dw) product_to_weight(t, all, n, 1, tape_value(t, x), k, dy, m, beta != 0, dw);
}

/* ---- each head's columns through its own block of w ---- */

node op_head_linear(struct tape *t, node x, node w, int heads) {
    int n = tape_rows_of(t, x), a = tape_cols_of(t, w);
    BUG_IF(heads <= 0 || tape_cols_of(t, x) != heads * a || tape_rows_of(t, w) % heads);
    return record_run(t, OP_head_linear, n, tape_rows_of(t, w), 2, (node[]){ x, w }, &heads,
                      sizeof heads);
}

void head_linear_forward(struct tape *t, struct record *r) {
    node x = r->in[0], w = r->in[1];
    int heads = *(const int *)r->saved, n = tape_rows_of(t, x), in = tape_cols_of(t, x);
    int out = tape_rows_of(t, w), a = in / heads, b = out / heads;
    product_reads(t, r, x, w);
    for (int h = 0; h < heads; h++)
        product_forward(t, (struct product_weight){ w, h * b, b }, n, 1, tape_value(t, x) + h * a, in, NULL,
                        0, record_result(t, r) + h * b, out);
}

void head_linear_backward(struct tape *t, const struct record *r) {
    node x = r->in[0], w = r->in[1];
    int heads = *(const int *)r->saved, n = tape_rows_of(t, x), in = tape_cols_of(t, x);
    int out = tape_rows_of(t, w), a = in / heads, b = out / heads;
    const real *dy = grad_out(t, r);
    real beta, *dx = grad_slot(t, x, &beta);
    for (int h = 0; dx && h < heads; h++)
        product_to_input(t, (struct product_weight){ w, h * b, b }, n, 1, dy + h * b, out, beta != 0,
                         dx + h * a, in);
    real *dw = grad_slot(t, w, &beta);
    for (int h = 0; dw && h < heads; h++)
        product_to_weight(t, (struct product_weight){ w, h * b, b }, n, 1, dy + h * b, out,
                          tape_value(t, x) + h * a, in, beta != 0, dw + (size_t)h * b * a);
}
