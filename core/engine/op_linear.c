#include "core/base/mem.h"
#include "core/engine/blas.h"
#include "core/engine/kernel.h"
#include "core/engine/ops.h"
#include "core/engine/record.h"

enum { FEW = 48 }; /* rows: with more of them packing a weight pays */

static double product(double a, double b, double c) { return 2 * a * b * c; }

/* Flops of y = x·w forward and back, given who needs a gradient. */
static double product_flops(const struct tape *t, node x, node w, double n, double in, double out) {
    int times = 1 + tape_needs_grad(t, x) + tape_needs_grad(t, w);
    return times * product(n, in, out);
}

/* What backward of y = x·w reads. */
static void product_reads(struct tape *t, const struct record *r, node x, node w) {
    record_reads(t, r, x, tape_needs_grad(t, w));
    record_reads(t, r, w, tape_needs_grad(t, x));
}

/* Adds s·(column sums of dy) to the gradient of a bias, when it needs one. */
static void bias_back(struct tape *t, node b, int rows, int cols, real s, const real *dy) {
    real beta, *db = grad_slot(t, b, &beta);
    if (!db) return;
    struct arena *a = record_arena(t);
    struct arena_mark m = arena_mark(a);
    kernel_col_sum(rows, cols, s, dy, NULL, beta, db, arena_scratch(a, (size_t)cols * sizeof(double)));
    arena_scratch_release(a, m);
}

/* ---- y = act(x Wᵀ + b) ---- */

enum { LINEAR_X, LINEAR_W, LINEAR_B };

struct linear {
    enum act act;
    real *before; /* x Wᵀ + b, kept for backward when there is an act */
};

node op_linear_act(struct tape *t, node x, node w, node b, enum act act) {
    int n = tape_rows_of(t, x), in = tape_cols_of(t, x), out = tape_rows_of(t, w);
    BUG_IF(tape_cols_of(t, w) != in);
    BUG_IF(b != NODE_NONE && (tape_rows_of(t, b) != 1 || tape_cols_of(t, b) != out));
    struct linear s = { act, NULL };
    return record_run(t, OP_linear, n, out, 3, (node[]){ x, w, b }, &s, sizeof s);
}

node op_linear(struct tape *t, node x, node w, node b) { return op_linear_act(t, x, w, b, ACT_NONE); }

/* y = s·(x Wᵀ), added to what y holds when `add`. */
static void times_transposed(struct tape *t, node x, node w, real s, bool add, real *y) {
    int n = tape_rows_of(t, x), in = tape_cols_of(t, x), out = tape_rows_of(t, w);
    if (n <= FEW && tape_has_few_rows(t))
        kernel_few_rows(n, out, in, s, tape_value(t, x), in, tape_value(t, w), in, add, y, out);
    else blas_gemm(false, true, n, out, in, s, tape_value(t, x), in, tape_value(t, w), in, add, y, out);
}

void linear_forward(struct tape *t, struct record *r) {
    struct linear *s = r->saved;
    node x = r->in[LINEAR_X], w = r->in[LINEAR_W], b = r->in[LINEAR_B];
    int n = tape_rows_of(t, x), out = tape_rows_of(t, w);
    size_t size = (size_t)n * (size_t)out;
    product_reads(t, r, x, w);
    real *y = record_result(t, r), *z = y;
    if (s->act != ACT_NONE && record_needs(t, r))
        z = s->before = arena_keep(record_arena(t), size * sizeof(real));
    /* The product adds to rows that hold the bias: no pass of its own. */
    if (b != NODE_NONE) kernel_fill_rows(n, out, 1, tape_value(t, b), z);
    times_transposed(t, x, w, 1, b != NODE_NONE, z);
    if (s->act != ACT_NONE) kernel_act(s->act, size, z, y);
}

/* Contributions of y = x Wᵀ: s·dy W to x, s·dyᵀ x to W. */
static void product_back(struct tape *t, node x, node w, real s, const real *dy) {
    int n = tape_rows_of(t, x), in = tape_cols_of(t, x), out = tape_rows_of(t, w);
    real beta, *dx = grad_slot(t, x, &beta);
    if (dx) blas_gemm(false, false, n, in, out, s, dy, out, tape_value(t, w), in, beta, dx, in);
    real *dw = grad_slot(t, w, &beta);
    if (dw) blas_gemm(true, false, out, in, n, s, dy, out, tape_value(t, x), in, beta, dw, in);
}

void linear_backward(struct tape *t, const struct record *r) {
    const struct linear *s = r->saved;
    node x = r->in[LINEAR_X], w = r->in[LINEAR_W], b = r->in[LINEAR_B];
    int n = tape_rows_of(t, x), out = tape_rows_of(t, w);
    const real *dy = grad_out(t, r);
    if (s->act != ACT_NONE) {
        real *dz = grad_own(t, r);
        kernel_act_back(s->act, (size_t)n * (size_t)out, s->before, dz, dz);
        dy = dz;
    }
    product_back(t, x, w, 1, dy);
    bias_back(t, b, n, out, 1, dy);
}

double linear_flops(const struct tape *t, const struct record *r) {
    node x = r->in[LINEAR_X], w = r->in[LINEAR_W];
    return product_flops(t, x, w, tape_rows_of(t, x), tape_cols_of(t, x), tape_rows_of(t, w));
}

/* ---- y = base + s·scale·(x Wᵀ + b) ---- */

enum { ADD_BASE, ADD_X, ADD_W, ADD_B, ADD_SCALE };

node op_linear_add(struct tape *t, node base, node x, node w, node b, double s, node scale) {
    int n = tape_rows_of(t, x), in = tape_cols_of(t, x), out = tape_rows_of(t, w);
    BUG_IF(tape_cols_of(t, w) != in);
    BUG_IF(tape_rows_of(t, base) != n || tape_cols_of(t, base) != out);
    BUG_IF(b != NODE_NONE && (tape_rows_of(t, b) != 1 || tape_cols_of(t, b) != out));
    BUG_IF(scale != NODE_NONE && (tape_rows_of(t, scale) != 1 || tape_cols_of(t, scale) != 1));
    return record_run(t, OP_linear_add, n, out, 5, (node[]){ base, x, w, b, scale }, &s, sizeof s);
}

static real factor_of(const struct tape *t, double s, node scale) {
    return (real)(scale == NODE_NONE ? s : s * (double)tape_value(t, scale)[0]);
}

void linear_add_forward(struct tape *t, struct record *r) {
    node base = r->in[ADD_BASE], x = r->in[ADD_X], w = r->in[ADD_W], b = r->in[ADD_B];
    int n = tape_rows_of(t, x), out = tape_rows_of(t, w);
    real f = factor_of(t, *(const double *)r->saved, r->in[ADD_SCALE]);
    real *y = record_result(t, r);
    size_t size = (size_t)n * (size_t)out;
    bool scale_needs = tape_needs_grad(t, r->in[ADD_SCALE]);
    product_reads(t, r, x, w);
    record_reads(t, r, x, scale_needs);
    record_reads(t, r, w, scale_needs);
    record_reads(t, r, b, scale_needs);
    record_reads(t, r, r->in[ADD_SCALE], true);
    if (b != NODE_NONE) {
        kernel_fill_rows(n, out, f, tape_value(t, b), y);
        kernel_add(size, y, tape_value(t, base), y);
    } else {
        kernel_copy(size, tape_value(t, base), y);
    }
    times_transposed(t, x, w, f, true, y);
}

/* ⟨dy, x Wᵀ + b⟩ = ⟨dy W, x⟩ + ⟨Σ_rows dy, b⟩; dy W is left in `back` (n×in). */
static double scale_back(struct tape *t, const struct record *r, const real *dy, real *back) {
    node x = r->in[ADD_X], w = r->in[ADD_W], b = r->in[ADD_B];
    int n = tape_rows_of(t, x), in = tape_cols_of(t, x), out = tape_rows_of(t, w);
    blas_gemm(false, false, n, in, out, 1, dy, out, tape_value(t, w), in, 0, back, in);
    double dot = kernel_dot((size_t)n * (size_t)in, back, tape_value(t, x));
    if (b == NODE_NONE) return dot;
    for (int i = 0; i < n; i++)
        dot += kernel_dot((size_t)out, dy + (size_t)i * (size_t)out, tape_value(t, b));
    return dot;
}

void linear_add_backward(struct tape *t, const struct record *r) {
    node x = r->in[ADD_X], w = r->in[ADD_W], b = r->in[ADD_B], scale = r->in[ADD_SCALE];
    int n = tape_rows_of(t, x), in = tape_cols_of(t, x), out = tape_rows_of(t, w);
    double s = *(const double *)r->saved;
    real f = factor_of(t, s, scale), beta;
    const real *dy = grad_out(t, r);
    if (tape_needs_grad(t, scale)) {
        struct arena *a = record_arena(t);
        struct arena_mark m = arena_mark(a);
        real *back = arena_scratch(a, (size_t)n * (size_t)in * sizeof(real));
        double ds = s * scale_back(t, r, dy, back);
        real *to = grad_slot(t, scale, &beta);
        to[0] = (real)ds + (beta == 0 ? 0 : to[0]);
        arena_scratch_release(a, m);
    }
    product_back(t, x, w, f, dy);
    bias_back(t, b, n, out, f, dy);
    grad_pass(t, r, r->in[ADD_BASE]);
}

double linear_add_flops(const struct tape *t, const struct record *r) {
    node x = r->in[ADD_X], w = r->in[ADD_W];
    double n = tape_rows_of(t, x), in = tape_cols_of(t, x), out = tape_rows_of(t, w);
    return product_flops(t, x, w, n, in, out) +
           (tape_needs_grad(t, r->in[ADD_SCALE]) ? product(n, in, out) : 0);
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
    blas_gemm(false, false, n, m, k, 1, tape_value(t, x), k, tape_value(t, w), m, 0,
              record_result(t, r), m);
}

void matmul_backward(struct tape *t, const struct record *r) {
    node x = r->in[0], w = r->in[1];
    int n = tape_rows_of(t, x), k = tape_cols_of(t, x), m = tape_cols_of(t, w);
    const real *dy = grad_out(t, r);
    real beta, *dx = grad_slot(t, x, &beta);
    if (dx) blas_gemm(false, true, n, k, m, 1, dy, m, tape_value(t, w), m, beta, dx, k);
    real *dw = grad_slot(t, w, &beta);
    if (dw) blas_gemm(true, false, k, m, n, 1, tape_value(t, x), k, dy, m, beta, dw, m);
}

double matmul_flops(const struct tape *t, const struct record *r) {
    node x = r->in[0], w = r->in[1];
    return product_flops(t, x, w, tape_rows_of(t, x), tape_cols_of(t, x), tape_cols_of(t, w));
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
        blas_gemm(false, true, n, b, a, 1, tape_value(t, x) + h * a, in,
                  tape_value(t, w) + (size_t)h * b * a, a, 0, record_result(t, r) + h * b, out);
}

void head_linear_backward(struct tape *t, const struct record *r) {
    node x = r->in[0], w = r->in[1];
    int heads = *(const int *)r->saved, n = tape_rows_of(t, x), in = tape_cols_of(t, x);
    int out = tape_rows_of(t, w), a = in / heads, b = out / heads;
    const real *dy = grad_out(t, r);
    real beta, *dx = grad_slot(t, x, &beta);
    for (int h = 0; dx && h < heads; h++)
        blas_gemm(false, false, n, a, b, 1, dy + h * b, out,
                  tape_value(t, w) + (size_t)h * b * a, a, beta, dx + h * a, in);
    real *dw = grad_slot(t, w, &beta);
    for (int h = 0; dw && h < heads; h++)
        blas_gemm(true, false, b, a, n, 1, dy + h * b, out, tape_value(t, x) + h * a, in, beta,
                  dw + (size_t)h * b * a, a);
}

double head_linear_flops(const struct tape *t, const struct record *r) {
    node x = r->in[0], w = r->in[1];
    int heads = *(const int *)r->saved;
    return product_flops(t, x, w, tape_rows_of(t, x), tape_cols_of(t, x) / heads,
                         tape_rows_of(t, w));
}
