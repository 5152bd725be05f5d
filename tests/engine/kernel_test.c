#include <math.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/mem.h"
#include "core/engine/kernel_table.h"
#include "tests/support/test.h"

enum { MOST = 1000 };

/* Returns the tables that this processor supports. */
static size_t tables(const struct kernels *out[3]) {
    size_t n = 0;
    out[n++] = &kernels_base;
#if defined(__x86_64__)
    if (kernels_in_use() != &kernels_base) out[n++] = &kernels_avx2;
    if (kernels_in_use() == &kernels_avx512) out[n++] = &kernels_avx512;
#endif
    return n;
}

static double phi(double x) { return 0.5 * erfc(-x * M_SQRT1_2); }

/* Returns the largest error of f over [lo, hi], relative or absolute. */
static double error_of(void (*f)(size_t, const real *, real *), double (*want)(double), double lo,
                       double hi, bool relative) {
    enum { STEPS = 400000 };
    double most = 0;
    for (int from = 0; from < STEPS; from += MOST) {
        real x[MOST], y[MOST];
        for (int i = 0; i < MOST; i++) x[i] = (real)(lo + (hi - lo) * (from + i) / STEPS);
        f(MOST, x, y);
        for (int i = 0; i < MOST; i++) {
            double w = want((double)x[i]), e = fabs((double)y[i] - w);
            if (relative) e = w == 0 ? e : e / fabs(w);
            if (!(e <= most)) most = e;
        }
    }
    return most;
}

static void test_accuracy(void **state) {
    (void)state;
    const struct kernels *k[3];
    for (size_t i = tables(k); i-- > 0;) {
        double e = error_of(k[i]->exp, exp, -86.9, 88.7, true);
        if (!(e < 2.5e-7)) fail_msg("exp of table %zu: %g", i, e);
        e = error_of(k[i]->tanh, tanh, -10, 10, true);
        if (!(e < 1e-6)) fail_msg("tanh of table %zu: %g", i, e);
        e = error_of(k[i]->tanh, tanh, -1e-3, 1e-3, true);
        if (!(e < 1e-6)) fail_msg("tanh of table %zu near 0: %g", i, e);
        e = error_of(k[i]->normal, phi, -14, 14, false);
        if (!(e < 3e-7)) fail_msg("normal of table %zu: %g", i, e);
        e = error_of(k[i]->normal, phi, -3, 0, true);
        if (!(e < 3e-6)) fail_msg("normal's tail of table %zu: %g", i, e);
    }
}

static void test_ends(void **state) {
    (void)state;
    const struct kernels *k[3];
    const real x[] = { (real)NAN, (real)INFINITY, (real)-INFINITY, 0, 1000, -1000, (real)88.7, (real)3e38 };
    for (size_t i = tables(k); i-- > 0;) {
        real y[8];
        k[i]->exp(8, x, y);
        assert_true(isnan(y[0]) && isinf(y[1]) && y[2] == 0 && isinf(y[4]) && y[5] == 0);
        assert_true(isfinite(y[6]) && y[6] > (real)3.2e38 && isinf(y[7]));
        k[i]->tanh(8, x, y);
        assert_true(isnan(y[0]) && y[1] == 1 && y[2] == -1 && y[3] == 0 && y[4] == 1 && y[5] == -1);
        k[i]->normal(8, x, y);
        assert_true(isnan(y[0]) && y[1] == 1 && y[2] == 0 && y[4] == 1 && y[5] == 0);
        for (int act = ACT_RELU; act < ACT_COUNT; act++) {
            k[i]->act((enum act)act, 8, x, y);
            assert_true(isnan(y[0]));
            const real one[8] = { 1, 1, 1, 1, 1, 1, 1, 1 };
            k[i]->act_back((enum act)act, 8, x, one, y);
            assert_true(isnan(y[0]));
        }
    }
}

/* Nothing is written past the end, and the result of an element does not depend on its position or on the
 * length of the array. */
static void test_places(void **state) {
    (void)state;
    const struct kernels *k[3];
    real x[MOST], whole[MOST], part[MOST];
    for (int i = 0; i < MOST; i++) x[i] = (real)(4 * rng_normal(rng_key(3, RNG_TEST, 0, 0), (uint64_t)i));
    for (size_t t = tables(k); t-- > 0;)
        for (int act = ACT_RELU; act < ACT_COUNT; act++) {
            k[t]->act((enum act)act, MOST, x, whole);
            for (size_t n = 0; n < 70; n++) {
                for (int i = 0; i < MOST; i++) part[i] = 77;
                k[t]->act((enum act)act, n, x + 5, part);
                assert_memory_equal(part, whole + 5, n * sizeof(real));
                for (size_t i = n; i < 100; i++) assert_true(part[i] == 77);
            }
        }
}

static void test_reductions(void **state) {
    (void)state;
    const struct kernels *k[3];
    enum { ROWS = 37, COLS = 67 };
    static real x[ROWS * COLS], z[ROWS * COLS], s[COLS], y[ROWS * COLS];
    double sums[COLS];
    struct rng_key key = rng_key(4, RNG_TEST, 0, 0);
    for (int i = 0; i < ROWS * COLS; i++) {
        x[i] = (real)rng_normal(key, (uint64_t)i);
        z[i] = (real)rng_normal(key, 10000 + (uint64_t)i);
    }
    for (size_t t = tables(k); t-- > 0;) {
        double want = 0;
        for (int i = 0; i < ROWS * COLS; i++) want += (double)x[i] * (double)z[i];
        assert_true(fabs(k[t]->dot(ROWS * COLS, x, z) - want) < 1e-10);
        k[t]->col_sum(ROWS, COLS, 1, x, z, 0, s, sums);
        for (int j = 0; j < COLS; j++) {
            want = 0;
            for (int i = 0; i < ROWS; i++) want += (double)x[i * COLS + j] * (double)z[i * COLS + j];
            assert_true(fabs((double)s[j] - want) < 3e-6);
        }
        /* rows of a causal softmax with any number of live columns, far from 0 */
        for (int i = 0; i < ROWS * COLS; i++) y[i] = x[i] + 500;
        k[t]->softmax(ROWS, COLS, 1, 2, y);
        for (int i = 0; i < ROWS; i++) {
            int live = 1 + 2 * i < COLS ? 1 + 2 * i : COLS;
            double all = 0, sum = 0;
            for (int j = 0; j < live; j++) all += exp((double)(x[i * COLS + j] + 500) - 500);
            for (int j = 0; j < COLS; j++) {
                double p = exp((double)(x[i * COLS + j] + 500) - 500) / all;
                assert_true(j < live ? fabs((double)y[i * COLS + j] - p) < 1e-6 : y[i * COLS + j] == 0);
                sum += (double)y[i * COLS + j];
            }
            assert_true(fabs(sum - 1) < 1e-6);
        }
    }
}

/* The largest value and log Σ exp of any number of values, for any position of the largest. */
static void test_log_sum(void **state) {
    (void)state;
    const struct kernels *k[3];
    static real x[MOST];
    for (int i = 0; i < MOST; i++)
        x[i] = (real)(3 * rng_normal(rng_key(5, RNG_TEST, 0, 0), (uint64_t)i));
    for (size_t t = tables(k); t-- > 0;)
        for (size_t n = 1; n <= MOST; n += n < 70 ? 1 : 31) {
            size_t at = n * 37 % 101 % n;
            real was = x[at], last;
            double sum = 0;
            x[at] = 40;
            for (size_t i = 0; i < n; i++) sum += exp((double)x[i] - 40);
            assert_true(k[t]->largest(n, x) == 40);
            assert_true(fabs((double)k[t]->log_sum(n, 40, x) - log(sum)) < 3e-7);
            last = x[n - 1];
            x[n - 1] = (real)NAN;
            assert_true(isnan(k[t]->log_sum(n, 40, x)));
            x[n - 1] = last;
            x[at] = was;
        }
}

/* exp in place with its sum and the plain sum, and a row scaled and shifted; nothing is written past n. */
static void test_exp_sum(void **state) {
    (void)state;
    const struct kernels *k[3];
    real x[MOST + 1], e[MOST + 1];
    for (int i = 0; i <= MOST; i++)
        x[i] = (real)(3 * rng_normal(rng_key(6, RNG_TEST, 0, 0), (uint64_t)i));
    for (size_t t = tables(k); t-- > 0;)
        for (size_t n = 0; n <= MOST; n += n < 70 ? 1 : 31) {
            double sum = 0, plain = 0, above;
            for (size_t i = 0; i < n; i++) {
                sum += exp((double)x[i] - 2);
                plain += (double)x[i] - 2;
            }
            memcpy(e, x, sizeof x);
            assert_true(fabs(k[t]->exp_sum(n, 2, e, &above) - sum) <= 3e-7 * sum);
            assert_true(fabs(above - plain) < 1e-3);
            for (size_t i = 0; i < n; i++)
                assert_true(fabs((double)e[i] / exp((double)x[i] - 2) - 1) < 1e-6);
            k[t]->scale_shift(n, 2, 3, e);
            for (size_t i = 0; i < n; i++)
                assert_true(fabs((double)e[i] - 2 * exp((double)x[i] - 2) - 3) <
                            1e-6 * (double)e[i]);
            assert_memory_equal(e + n, x + n, (MOST + 1 - n) * sizeof *x);
        }
}

/* Products of few rows: correct for every remainder of rows, weights and depth; the bits of a row do not
 * depend on the other rows, nor those of an element on the number of weights; nothing is written outside the
 * result. */
static void test_few_rows(void **state) {
    (void)state;
    enum { ROWS = 8, WEIGHTS = 11, DEPTH = 70, ROW = WEIGHTS + 3 };
    static real a[ROWS * DEPTH], b[WEIGHTS * DEPTH], c[ROWS * ROW], alone[ROW];
    const real scale = (real)1.7; /* not a power of two, which would hide the rounding of the scaled sum */
    const struct kernels *k[3];
    struct rng_key key = rng_key(6, RNG_TEST, 0, 0);
    for (size_t i = 0; i < COUNT_OF(a); i++) a[i] = (real)rng_normal(key, i);
    for (size_t i = 0; i < COUNT_OF(b); i++) b[i] = (real)rng_normal(key, 5000 + i);
    for (size_t t = tables(k); t-- > 0;)
        for (int m = 1; m <= ROWS; m++)
            for (int n = 0; n <= WEIGHTS; n++)
                for (int depth = 0; depth <= DEPTH; depth += depth < 20 ? 1 : 10) {
                    bool add = (m + n + depth) % 2;
                    for (size_t i = 0; i < COUNT_OF(c); i++) c[i] = 3;
                    for (int j = 0; j < ROW; j++) alone[j] = 3;
                    k[t]->few_rows(m, n, depth, scale, a, DEPTH, b, DEPTH, add, c, ROW);
                    k[t]->few_rows(1, n, depth, scale, a + (m - 1) * DEPTH, DEPTH, b, DEPTH, add, alone, ROW);
                    assert_memory_equal(alone, c + (m - 1) * ROW, ROW * sizeof(real));
                    for (int j = 0; j < ROW; j++) alone[j] = 3;
                    k[t]->few_rows(1, WEIGHTS, depth, scale, a + (m - 1) * DEPTH, DEPTH, b, DEPTH, add, alone, ROW);
                    assert_memory_equal(alone, c + (m - 1) * ROW, (size_t)n * sizeof(real));
                    for (int i = 0; i < ROWS; i++)
                        for (int j = 0; j < ROW; j++) {
                            double want = add ? 3 : 0;
                            for (int p = 0; p < depth; p++)
                                want += (double)scale * (double)a[i * DEPTH + p] * (double)b[j % WEIGHTS * DEPTH + p];
                            if (i >= m || j >= n) want = 3;
                            assert_true(fabs((double)c[i * ROW + j] - want) < 2e-5);
                        }
                }
    a[5] = (real)NAN;
    for (size_t t = tables(k); t-- > 0;) {
        k[t]->few_rows(1, WEIGHTS, DEPTH, 1, a, DEPTH, b, DEPTH, false, c, ROW);
        for (int j = 0; j < WEIGHTS; j++) assert_true(isnan(c[j]));
    }
}

/* Products with a short side: correct for every side and remainder of columns, with gaps between rows; the bits of a
 * row do not depend on the others; nothing is written outside the result. */
static void test_thin(void **state) {
    (void)state;
    enum { ROWS = 70, COLS = 37, ROW = COLS + 3, SIDE = THIN + 1 };
    static real u[ROWS * SIDE], w[THIN * COLS], v[ROWS * ROW], y[ROWS * ROW], alone[ROW], sum[THIN * COLS + 1];
    const struct kernels *k[3];
    struct rng_key key = rng_key(8, RNG_TEST, 0, 0);
    for (size_t i = 0; i < COUNT_OF(u); i++) u[i] = (real)rng_normal(key, i);
    for (size_t i = 0; i < COUNT_OF(w); i++) w[i] = (real)rng_normal(key, 5000 + i);
    for (size_t i = 0; i < COUNT_OF(v); i++) v[i] = (real)rng_normal(key, 9000 + i);
    for (size_t t = tables(k); t-- > 0;)
        for (int r = 1; r <= THIN; r++)
            for (int cols = 1; cols <= COLS; cols += 3) {
                int n = (r * 7 + cols) % ROWS, ldp = r % 3 ? ROW : 0, size = r * cols;
                const real *plus = r % 3 == 1 ? y : r % 3 == 2 ? NULL : v;
                for (size_t i = 0; i < COUNT_OF(y); i++) y[i] = 3;
                k[t]->thin_add(n, r, cols, (real)1.7, u, SIDE, w, plus, ldp, y, ROW);
                for (int i = 0; i < ROWS; i++)
                    for (int j = 0; j < ROW; j++) {
                        double want = !plus ? 0 : plus == y ? 3 : (double)v[j];
                        for (int c = 0; c < r; c++)
                            want += (double)(real)1.7 * (double)u[i * SIDE + c] * (double)w[c * cols + j % cols];
                        if (i >= n || j >= cols) want = 3;
                        assert_true(fabs((double)y[i * ROW + j] - want) < 2e-5);
                    }
                for (int j = 0; j < ROW; j++) alone[j] = 3;
                plus = plus == y ? alone : plus;
                if (n) k[t]->thin_add(1, r, cols, (real)1.7, u + (n - 1) * SIDE, SIDE, w, plus, ldp, alone, ROW);
                if (n) assert_memory_equal(alone, y + (n - 1) * ROW, ROW * sizeof(real));
                sum[size] = 3;
                k[t]->thin_sum(n, r, cols, u, SIDE, v, ROW, sum);
                for (int i = 0; i < size; i++) {
                    double want = 0;
                    for (int p = 0; p < n; p++) want += (double)u[p * SIDE + i / cols] * (double)v[p * ROW + i % cols];
                    assert_true(fabs((double)sum[i] - want) < 4e-5);
                }
                assert_true(sum[size] == 3);
            }
}

/* An activation with its slope has the bits of both alone. */
static void test_slope(void **state) {
    (void)state;
    static real x[MOST], one[MOST], y[MOST], slope[MOST], both[MOST];
    const struct kernels *k[3];
    for (int i = 0; i < MOST; i++) {
        x[i] = (real)(3 * rng_normal(rng_key(9, RNG_TEST, 0, 0), (uint64_t)i));
        one[i] = 1;
    }
    for (size_t t = tables(k); t-- > 0;)
        for (int act = 0; act < ACT_COUNT; act++)
            for (size_t n = 0; n <= MOST; n += n < 40 ? 1 : 31) {
                memcpy(slope, x, sizeof x);
                k[t]->act((enum act)act, n, x, y);
                k[t]->act_slope((enum act)act, n, slope, both);
                assert_memory_equal(both, y, n * sizeof *y);
                k[t]->act_back((enum act)act, n, x, one, y);
                assert_memory_equal(slope, y, n * sizeof *y);
                assert_memory_equal(slope + n, x + n, (MOST - n) * sizeof *y);
            }
}

/* Writes the results of the kernels that use no function of the C library, for n columns; returns their
 * number. The inputs have the same bits with every compiler. */
static size_t results(const struct kernels *k, size_t n, real *out) {
    enum { ROWS = 5 };
    static real x[ROWS * MOST], z[ROWS * MOST], w[ROWS * MOST];
    double sums[MOST], above;
    real *y = out;
    const struct kernel_adam adam = { (real)0.9, (real)0.1, (real)0.999, (real)0.001, (real)0.9997, (real)0.02, (real)1.3, (real)1e-8 };
    struct rng_key key = rng_key(7, RNG_TEST, n, 0);
    int cols = (int)n;
    for (size_t i = 0; i < ROWS * n; i++) {
        x[i] = (real)(8 * rng_uniform(key, 2 * i) - 4);
        z[i] = w[i] = (real)rng_uniform(key, 2 * i + 1);
    }
#define NEXT(rows, call) do { memcpy(y, z, (size_t)(rows) * n * sizeof *y); call; y += (size_t)(rows) * n; } while (0)
    NEXT(1, k->add_scaled(n, x, (real)0.3, z, y));
    NEXT(1, k->mul_to(n, x, x, y));
    NEXT(1, k->scale_shift(n, (real)0.3, (real)0.7, y));
    NEXT(1, k->col_sum(ROWS, cols, (real)0.3, x, NULL, (real)0.7, y, sums));
    NEXT(1, k->col_sum(ROWS, cols, (real)0.3, x, w, 0, y, sums));
    NEXT(1, y[0] = (real)k->dot(ROWS * n, x, w));
    for (int act = 0; act < ACT_COUNT; act++) {
        NEXT(ROWS, k->act((enum act)act, ROWS * n, x, y));
        NEXT(ROWS, k->act_back((enum act)act, ROWS * n, x, w, y));
    }
    NEXT(ROWS, k->norm(ROWS, cols, true, 1e-5, x, w, z, z, y, NULL, NULL));
    NEXT(ROWS, k->norm(ROWS, cols, false, 1e-5, x, NULL, z, NULL, y, NULL, NULL));
    NEXT(ROWS, k->norm_back(ROWS, cols, true, z, w, x, x, y));
    NEXT(ROWS, k->softmax(ROWS, cols, 3, 2, y));
    NEXT(ROWS, k->softmax_back(ROWS, cols, w, x, y));
    for (int m = 1; m <= ROWS; m++)
        NEXT(ROWS, k->few_rows(m, cols < 7 ? cols : 7, cols, (real)0.3, x, cols, z, cols / 2, m % 2, y, cols));
    NEXT(1, y[0] = (real)k->exp_sum(n, (real)0.3, y, &above));
    NEXT(ROWS, k->adam(&adam, ROWS * n, y, x, w, z));
#undef NEXT
    return (size_t)(y - out);
}

/* The bits of a table are independent of the compiler, because the code determines which products are rounded
 * before they are added. */
static void test_bits(void **state) {
    (void)state;
#if !defined(__x86_64__)
    test_skip("the digests are those of the tables for x86-64");
#endif
    static const char *const digest[] = { "489fd2b68df2969a", "1142e962ceea609d", "e5b025ab9a18d296" };
    static real out[400 * MOST];
    const struct kernels *k[3];
    for (size_t t = tables(k); t-- > 0;) {
        size_t size = 0;
        for (size_t n = 1; n < 70; n += 4) size += results(k[t], n, out + size);
        assert_true(size <= COUNT_OF(out));
        char hex[65];
        sha256_hex(out, size * sizeof *out, hex);
        if (strncmp(hex, digest[t], 16) != 0) fail_msg("table %zu: %s", t, hex);
    }
}

/* The share of dropped elements, no pattern between neighbors, channels, tokens and keys, and the same
 * decisions in every table. */
static void test_dropout(void **state) {
    (void)state;
    const struct kernels *k[3];
    enum { ROWS = 2000, COLS = 300 };
    static real one[COLS], y[ROWS][COLS], other[COLS];
    for (int j = 0; j < COLS; j++) one[j] = 1;
    const double p[] = { 0.1, 0.5, 0.001, 0.9 };
    for (int c = 0; c < 4; c++) {
        struct rng_key key = rng_key(1, RNG_DROPOUT, 0, (uint64_t)c);
        double dropped = 0, beside = 0, below = 0, n = (double)ROWS * COLS;
        for (int i = 0; i < ROWS; i++) {
            kernel_dropout(key, (uint64_t)i, p[c], COLS, one, y[i]);
            for (int j = 0; j < COLS; j++) {
                bool drop = y[i][j] == 0;
                if (!drop) assert_true(fabs((double)y[i][j] * (1 - p[c]) - 1) < 1e-6);
                dropped += drop;
                beside += drop && j && y[i][j - 1] == 0;
                below += drop && i && y[i - 1][j] == 0;
            }
        }
        double pair = n * p[c] * p[c];
        assert_true(fabs(dropped - n * p[c]) < 5 * sqrt(n * p[c] * (1 - p[c])));
        assert_true(fabs(beside - pair * (COLS - 1) / COLS) < 6 * sqrt(pair) + 1);
        assert_true(fabs(below - pair * (ROWS - 1) / ROWS) < 6 * sqrt(pair) + 1);
    }
    for (size_t t = tables(k); t-- > 0;) {
        kernels_base.dropout(12345, 1 << 22, 2, COLS, one, y[0]);
        k[t]->dropout(12345, 1 << 22, 2, COLS, one, other);
        assert_memory_equal(y[0], other, sizeof other);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_accuracy),   cmocka_unit_test(test_ends),
        cmocka_unit_test(test_places),     cmocka_unit_test(test_reductions),
        cmocka_unit_test(test_few_rows),
        cmocka_unit_test(test_thin),
        cmocka_unit_test(test_slope),
        cmocka_unit_test(test_log_sum),    cmocka_unit_test(test_exp_sum),
        cmocka_unit_test(test_bits),       cmocka_unit_test(test_dropout),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
