#include "core/engine/kernel.h"

#include <string.h>

#include "core/engine/kernel_table.h"

static const struct kernels *use = &kernels_base;

#if defined(__x86_64__) && !REAL_IS_DOUBLE
/* Runs before main, so that no thread sees a change.  The compiler's check includes the registers saved by
 * the operating system. */
__attribute__((constructor)) static void kernel_choose(void) {
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
        __builtin_cpu_supports("bmi2")) {
        use = &kernels_avx2;
        if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
            __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"))
            use = &kernels_avx512;
    }
}
#endif

const struct kernels *kernels_in_use(void) { return use; }

void kernel_copy(size_t n, const real *a, real *y) {
    if (n) memcpy(y, a, n * sizeof *y);
}

void kernel_add(size_t n, const real *a, const real *b, real *y) { use->add(n, a, b, y); }

void kernel_add_scaled(size_t n, const real *a, real s, const real *b, real *y) {
    use->add_scaled(n, a, s, b, y);
}

void kernel_mul(size_t n, const real *a, const real *b, real *y) { use->mul(n, a, b, y); }
void kernel_scale(size_t n, real s, const real *a, real *y) { use->scale(n, s, a, y); }
void kernel_add_to(size_t n, real s, const real *x, real *y) { use->add_scaled(n, y, s, x, y); }
void kernel_mul_to(size_t n, const real *a, const real *b, real *y) { use->mul_to(n, a, b, y); }
double kernel_dot(size_t n, const real *a, const real *b) { return use->dot(n, a, b); }

void kernel_fill_rows(int rows, int cols, real s, const real *b, real *y) {
    size_t d = (size_t)cols;
    for (size_t i = 0; i < (size_t)rows; i++) {
        if (i == 0) use->scale(d, s, b, y);
        else kernel_copy(d, y, y + i * d);
    }
}

void kernel_add_rows(int rows, int cols, const real *x, const real *b, real *y) {
    size_t d = (size_t)cols;
    for (size_t i = 0; i < (size_t)rows; i++) use->add(d, x + i * d, b, y + i * d);
}

void kernel_mul_rows(int rows, int cols, const real *x, const real *l, real *y) {
    size_t d = (size_t)cols;
    for (size_t i = 0; i < (size_t)rows; i++) use->mul(d, x + i * d, l, y + i * d);
}

void kernel_col_sum(int rows, int cols, real s, const real *x, const real *z, real beta, real *out,
                    double *sums) {
    use->col_sum(rows, cols, s, x, z, beta, out, sums);
}

void kernel_act(enum act act, size_t n, const real *x, real *y) { use->act(act, n, x, y); }

void kernel_act_back(enum act act, size_t n, const real *x, const real *dy, real *dx) {
    use->act_back(act, n, x, dy, dx);
}

void kernel_act_slope(enum act act, size_t n, real *x, real *y) { use->act_slope(act, n, x, y); }

void kernel_norm(int rows, int cols, bool center, double eps, const real *x, const real *residual,
                 const real *gamma, const real *beta, real *y, real *normed, real *inverse) {
    use->norm(rows, cols, center, eps, x, residual, gamma, beta, y, normed, inverse);
}

void kernel_norm_back(int rows, int cols, bool center, const real *gamma, const real *normed,
                      const real *inverse, const real *dy, real *dz) {
    use->norm_back(rows, cols, center, gamma, normed, inverse, dy, dz);
}

void kernel_softmax(int rows, int cols, int first, int more, real *s) {
    use->softmax(rows, cols, first, more, s);
}

void kernel_softmax_back(int rows, int cols, const real *p, const real *dp, real *ds) {
    use->softmax_back(rows, cols, p, dp, ds);
}

void kernel_few_rows(int m, int n, int k, real s, const real *a, int lda, const real *b, int ldb,
                     bool add, real *c, int ldc) {
    use->few_rows(m, n, k, s, a, lda, b, ldb, add, c, ldc);
}

void kernel_thin_add(int n, int r, int cols, real s, const real *u, int ldu, const real *w, const real *plus,
                     int ldp, real *y, int ldy) {
    use->thin_add(n, r, cols, s, u, ldu, w, plus, ldp, y, ldy);
}

void kernel_thin_sum(int n, int r, int cols, const real *u, int ldu, const real *v, int ldv, real *sum) {
    use->thin_sum(n, r, cols, u, ldu, v, ldv, sum);
}

real kernel_largest(size_t n, const real *x) { return use->largest(n, x); }
real kernel_log_sum(size_t n, real top, const real *x) { return use->log_sum(n, top, x); }

double kernel_exp_sum(size_t n, real top, real *x, double *above) {
    return use->exp_sum(n, top, x, above);
}

void kernel_scale_shift(size_t n, real s, real shift, real *x) { use->scale_shift(n, s, shift, x); }

void kernel_bf16(size_t n, real s, const real *x, uint16_t *y) { use->bf16(n, s, x, y); }

void kernel_round_bf16(size_t n, real s, const real *x, real *y) {
    enum { FEW = 256 };
    uint16_t few[FEW];
    for (size_t from = 0; from < n; from += FEW) {
        size_t count = n - from < FEW ? n - from : FEW;
        kernel_bf16(count, s, x + from, few);
        for (size_t i = 0; i < count; i++) {
            union {
                uint32_t bits;
                float value;
            } u = { (uint32_t)few[i] << 16 };
            y[from + i] = (real)u.value;
        }
    }
}

void kernel_adam(const struct kernel_adam *k, size_t n, real *p, const real *g, real *m, real *v) {
    use->adam(k, n, p, g, m, v);
}

void kernel_dropout(struct rng_key key, uint64_t row, double p, size_t n, const real *x, real *y) {
    uint32_t drop = (uint32_t)(p * 0x1p24 + 0.5);
    use->dropout(rng_bits(key, row), drop, (real)(1 / (1 - p)), n, x, y);
}
