/* The kernels of one processor: kernel_body.h is compiled once for each (kernel_base.c, kernel_avx2.c,
 * kernel_avx512.c), and kernel.c selects a table when the program starts. */
#ifndef CORE_ENGINE_KERNEL_TABLE_H
#define CORE_ENGINE_KERNEL_TABLE_H

#include "core/engine/kernel.h"

/* As the functions of kernel.h. */
struct kernels {
    void (*add)(size_t n, const real *a, const real *b, real *y);
    void (*add_scaled)(size_t n, const real *a, real s, const real *b, real *y);
    void (*mul)(size_t n, const real *a, const real *b, real *y);
    void (*mul_to)(size_t n, const real *a, const real *b, real *y);
    void (*scale)(size_t n, real s, const real *a, real *y);
    double (*dot)(size_t n, const real *a, const real *b);
    void (*col_sum)(int rows, int cols, real s, const real *x, const real *z, real beta, real *out,
                    double *sums);
    void (*act)(enum act act, size_t n, const real *x, real *y);
    void (*act_back)(enum act act, size_t n, const real *x, const real *dy, real *dx);
    void (*act_slope)(enum act act, size_t n, real *x, real *y);
    void (*norm)(int rows, int cols, bool center, double eps, const real *x, const real *residual,
                 const real *gamma, const real *beta, real *y, real *normed, real *inverse);
    void (*norm_back)(int rows, int cols, bool center, const real *gamma, const real *normed,
                      const real *inverse, const real *dy, real *dz);
    void (*softmax)(int rows, int cols, int first, int more, real *s);
    void (*softmax_back)(int rows, int cols, const real *p, const real *dp, real *ds);
    void (*few_rows)(int m, int n, int k, real s, const real *a, int lda, const real *b, int ldb,
                     bool add, real *c, int ldc);
    void (*thin_add)(int n, int r, int cols, real s, const real *u, int ldu, const real *w, const real *plus,
                     int ldp, real *y, int ldy);
    void (*thin_sum)(int n, int r, int cols, const real *u, int ldu, const real *v, int ldv, real *sum);
    real (*largest)(size_t n, const real *x);
    real (*log_sum)(size_t n, real top, const real *x);
    double (*exp_sum)(size_t n, real top, real *x, double *above);
    void (*scale_shift)(size_t n, real s, real shift, real *x);
    void (*bf16)(size_t n, real s, const real *x, uint16_t *y);
    void (*adam)(const struct kernel_adam *k, size_t n, real *p, const real *g, real *m, real *v);
    void (*dropout)(uint64_t key, uint32_t drop, real keep, size_t n, const real *x, real *y);
    /* One function on an array, for tests of its accuracy. */
    void (*exp)(size_t n, const real *x, real *y);
    void (*tanh)(size_t n, const real *x, real *y);
    void (*normal)(size_t n, const real *x, real *y); /* Φ */
};

extern const struct kernels kernels_base;
#if defined(__x86_64__) && !REAL_IS_DOUBLE
extern const struct kernels kernels_avx2, kernels_avx512;
#endif

/* The table in use. */
const struct kernels *kernels_in_use(void);

#endif
