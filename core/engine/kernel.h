/* Loops over arrays: the vector math of the ops and of the optimizers.
 *
 * NaN and infinity propagate through every kernel, so that a diverged run is detected.  One processor
 * computes the same bits every time; the result of an element does not depend on its position in an array.
 * Thread-safe.  Arrays may be identical but must not overlap otherwise. */
#ifndef CORE_ENGINE_KERNEL_H
#define CORE_ENGINE_KERNEL_H

#include <stddef.h>
#include <stdint.h>

#include "core/engine/ops.h"

void kernel_add(size_t n, const real *a, const real *b, real *y);       /* y = a + b */
void kernel_add_scaled(size_t n, const real *a, real s, const real *b, real *y); /* a + s·b */
void kernel_mul(size_t n, const real *a, const real *b, real *y);       /* y = a·b */
void kernel_copy(size_t n, const real *a, real *y);
void kernel_scale(size_t n, real s, const real *a, real *y);            /* y = s·a */
void kernel_add_to(size_t n, real s, const real *x, real *y);           /* y += s·x */
void kernel_mul_to(size_t n, const real *a, const real *b, real *y);    /* y += a·b */
double kernel_dot(size_t n, const real *a, const real *b);

/* Sets each row of y (rows×cols) to b·s. */
void kernel_fill_rows(int rows, int cols, real s, const real *b, real *y);
/* y = x + b and y = x·l on each row. */
void kernel_add_rows(int rows, int cols, const real *x, const real *b, real *y);
void kernel_mul_rows(int rows, int cols, const real *x, const real *l, real *y);
/* out = beta·out + s·Σ_rows x (·z if given), with sums in double.  `sums`: scratch for cols values. */
void kernel_col_sum(int rows, int cols, real s, const real *x, const real *z, real beta, real *out,
                    double *sums);

/* y = act(x), and dx = dy·act'(x) (dx may be dy). */
void kernel_act(enum act act, size_t n, const real *x, real *y);
void kernel_act_back(enum act act, size_t n, const real *x, const real *dy, real *dx);
/* y = act(x), and x is replaced by act'(x): kernel_act_back is then a product. */
void kernel_act_slope(enum act act, size_t n, real *x, real *y);

/* Rows of z = x + residual (NULL: none): normed = (z - mean)/sqrt(var + eps) (mean 0 and
 * the mean of squares without `center`), y = γ·normed + β.  normed and inverse (one a row)
 * may be NULL. */
void kernel_norm(int rows, int cols, bool center, double eps, const real *x, const real *residual,
                 const real *gamma, const real *beta, real *y, real *normed, real *inverse);
/* dz from dy (may be the same). */
void kernel_norm_back(int rows, int cols, bool center, const real *gamma, const real *normed,
                      const real *inverse, const real *dy, real *dz);

/* Replaces rows of s (rows×cols, packed) by the softmax of their live columns, the first min(cols, first +
 * i·more) of row i; the others become 0. */
void kernel_softmax(int rows, int cols, int first, int more, real *s);
/* ds = p·(dp - Σ_row p·dp); ds may be dp. */
void kernel_softmax_back(int rows, int cols, const real *p, const real *dp, real *ds);

/* c = s·a bᵀ (+ c with `add`): a m×k, b n×k, c m×n with row lengths lda, ldb, ldc.  For few rows m: the
 * weight b is streamed once and not packed.  A row of c has the same bits for any other rows and any number
 * of them. */
void kernel_few_rows(int m, int n, int k, real s, const real *a, int lda, const real *b, int ldb,
                     bool add, real *c, int ldc);

/* Products with a short side r ≤ THIN: u is n×r with rows ldu apart; w, r×cols, and sum, r×cols, are packed.
 * y = s·u w + plus, whose rows are ldp apart; plus may be y, or NULL for none.  sum = uᵀ v, v n×cols.  A row
 * of y has the same bits for any other rows and any number of them. */
enum { THIN = 16 };
void kernel_thin_add(int n, int r, int cols, real s, const real *u, int ldu, const real *w, const real *plus,
                     int ldp, real *y, int ldy);
void kernel_thin_sum(int n, int r, int cols, const real *u, int ldu, const real *v, int ldv, real *sum);

/* Returns the greatest of n values (-∞ for none); NaNs are skipped. */
real kernel_largest(size_t n, const real *x);
/* Returns log Σ exp(x - top), summed in double in blocks; NaN if there is a NaN. */
real kernel_log_sum(size_t n, real top, const real *x);
/* Replaces x by exp(x - top); returns its sum, and Σ(x - top) in *above, both summed in double in blocks. */
double kernel_exp_sum(size_t n, real top, real *x, double *above);
/* x = s·x + shift. */
void kernel_scale_shift(size_t n, real s, real shift, real *x);

/* y = s·x rounded to bfloat16 (to nearest, ties to even; NaN stays NaN): the upper half of a float32. */
void kernel_bf16(size_t n, real s, const real *x, uint16_t *y);
/* The same, as numbers. */
void kernel_round_bf16(size_t n, real s, const real *x, real *y);

/* m = keep1·m + take1·g, v = keep2·v + take2·g², p = decay·p - step·m/(root·√v + eps). */
struct kernel_adam {
    real keep1, take1, keep2, take2, decay, step, root, eps;
};
void kernel_adam(const struct kernel_adam *k, size_t n, real *p, const real *g, real *m, real *v);

/* y[i] = x[i]/(1-p) where element i of the row `key` is not dropped, otherwise 0. */
void kernel_dropout(struct rng_key key, uint64_t row, double p, size_t n, const real *x, real *y);

#endif
