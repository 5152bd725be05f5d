#include "core/analysis/similarity.h"

#include <math.h>

#include "core/base/rng.h"
#include "tests/analysis/fixture.h"

static void near(double have, double want) {
    if (!(fabs(have - want) < 1e-6)) fail_msg("%.9f, wanted %.9f", have, want);
}

/* Columns from…from+d-1 of the first n digits. */
static real *part(const real *x, int n, int from, int d) {
    real *out = xmalloc((size_t)n * (size_t)d * sizeof *out);
    for (int i = 0; i < n; i++) memcpy(out + i * d, x + i * PIXELS + from, (size_t)d * sizeof *out);
    return out;
}

static void test_cka(void **state) {
    (void)state;
    real *x = xmalloc(DIGITS * PIXELS * sizeof *x);
    read_digits(x, NULL);
    real *a = part(x, DIGITS, 0, 32), *b = part(x, DIGITS, 32, 32);
    near(similarity_cka(a, 32, b, 32, DIGITS), read_number("cka"));
    near(similarity_cka(a, 32, a, 32, DIGITS), 1);
    real *c = part(x, 20, 0, 40), *d = part(x, 20, 24, 40); /* more values than points */
    near(similarity_cka(c, 40, d, 40, 20), read_number("cka.wide"));
    for (int i = 0; i < 20; i++) memcpy(d + i * 40, d, 40 * sizeof *d);
    assert_true(isnan(similarity_cka(c, 40, d, 40, 20)));
    for (int i = 0; i < 800; i++) d[i] = (real)0.1;
    assert_true(isnan(similarity_cka(c, 40, d, 40, 20)));
    free(x);
    free(a);
    free(b);
    free(c);
    free(d);
}

/* The unbiased estimator against numpy (Song et al. 2012, eq. 5, in float64), and both on noise. */
static void test_debiased_cka(void **state) {
    (void)state;
    real x[12 * 5], y[12 * 7], z[12 * 5];
    for (int i = 0; i < 12 * 5; i++) x[i] = (real)sin(i * i * 0.37);
    for (int i = 0; i < 12 * 7; i++) y[i] = (real)sin(i * i * 0.53);
    for (int i = 0; i < 12; i++)
        for (int j = 0; j < 5; j++) z[i * 5 + j] = j < 3 ? 2 * x[i * 5 + j] : y[i * 7 + j - 3];
    near(similarity_cka_debiased(x, 5, y, 7, 12), 0.1713547632693107);
    near(similarity_cka_debiased(x, 5, z, 5, 12), 0.8087786915229752);
    near(similarity_cka_debiased(x, 5, x, 5, 12), 1);
    for (int i = 0; i < 12 * 5; i++) z[i] = x[i] * 3 + (real)(i % 5);
    near(similarity_cka_debiased(x, 5, z, 5, 12), 1); /* sees neither shift nor scale */
    assert_true(isnan(similarity_cka_debiased(x, 5, y, 7, 3)));
    enum { WIDE = 96, FEW = 24 };
    real *a = xmalloc(FEW * WIDE * sizeof *a), *b = xmalloc(FEW * WIDE * sizeof *b);
    struct rng_key key = rng_key(3, RNG_LAYOUT, 0, rng_site("noise"));
    for (int i = 0; i < FEW * WIDE; i++) {
        a[i] = (real)rng_normal(key, (uint64_t)i);
        b[i] = (real)rng_normal(key, (uint64_t)(i + FEW * WIDE));
    }
    double plain = similarity_cka(a, WIDE, b, WIDE, FEW);
    assert_true(plain > 0.7 && fabs(plain - similarity_cka_noise(WIDE, FEW)) < 0.05);
    assert_true(fabs(similarity_cka_debiased(a, WIDE, b, WIDE, FEW)) < 0.2);
    free(a);
    free(b);
}

static void test_cosine(void **state) {
    (void)state;
    const real a[] = { 1, 0, 3, 4, 0, 0 }, b[] = { 2, 0, -4, 3 };
    double out[6];
    similarity_cosine(a, 3, b, 2, 2, out);
    near(out[0], 1);
    near(out[1], -0.8);
    near(out[2], 0.6);
    near(out[3], 0);
    assert_true(isnan(out[4]) && isnan(out[5]));
}

enum { OUT = 24, IN = 16, RANK = 4 };

static void product(real *u, real *v, int rank, double shift) {
    for (int i = 0; i < OUT * rank; i++) u[i] = (real)sin(i * i * 0.37 + shift);
    for (int i = 0; i < rank * IN; i++) v[i] = (real)sin(i * i * 0.53 + shift);
}

static void test_low_rank(void **state) {
    (void)state;
    real ua[OUT * RANK], va[RANK * IN], ub[OUT * RANK], vb[RANK * IN];
    product(ua, va, RANK, 0);
    product(ub, vb, RANK, 1);
    near(similarity_low_rank(ua, va, RANK, ub, vb, RANK, OUT, IN), read_number("low_rank"));
    product(ub, vb, 2, 1);
    near(similarity_low_rank(ua, va, RANK, ub, vb, 2, OUT, IN), read_number("low_rank.ranks"));
    /* other factors of the same product: U·M and M⁻¹·V with M upper triangular */
    product(ub, vb, RANK, 0);
    for (int i = 0; i < OUT; i++) ub[i * RANK + 3] += 2 * ub[i * RANK];
    for (int j = 0; j < IN; j++) vb[j] -= 2 * vb[3 * IN + j];
    for (int i = 0; i < OUT; i++) ub[i * RANK + 1] *= 8;
    for (int j = 0; j < IN; j++) vb[IN + j] /= 8;
    near(similarity_low_rank(ua, va, RANK, ub, vb, RANK, OUT, IN), 1);
    /* a zero update is like nothing, itself included */
    memset(ub, 0, sizeof ub);
    assert_true(isnan(similarity_low_rank(ua, va, RANK, ub, vb, RANK, OUT, IN)));
    for (int i = 0; i < OUT * RANK; i++) ub[i] = (real)1e-30;
    assert_true(isnan(similarity_low_rank(ub, vb, RANK, ub, vb, RANK, OUT, IN)));
}

static void test_order(void **state) {
    (void)state;
    enum { N = 60 };
    double s[N * N], wide[(N + 2) * (N + 2)], want[N];
    int order[N + 2];
    real *x = xmalloc(DIGITS * PIXELS * sizeof *x);
    read_digits(x, NULL);
    similarity_cosine(x, N, x, N, PIXELS, s);
    read_numbers("order", N, want);
    similarity_order(s, N, order);
    for (int i = 0; i < N; i++) assert_int_equal(order[i], (int)want[i]);
    /* two items without similarities, first and in the middle, go last and change nothing */
    for (int i = 0; i < N + 2; i++) {
        for (int j = 0; j < N + 2; j++) {
            int a = i < 30 ? i - 1 : i - 2, b = j < 30 ? j - 1 : j - 2;
            bool none = i == 0 || j == 0 || i == 30 || j == 30;
            wide[i * (N + 2) + j] = none ? NAN : s[a * N + b];
        }
    }
    similarity_order(wide, N + 2, order);
    for (int i = 0; i < N; i++) {
        int w = (int)want[i] + 1;
        assert_int_equal(order[i], w < 30 ? w : w + 1);
    }
    assert_int_equal(order[N], 0);
    assert_int_equal(order[N + 1], 30);
    /* like itself alone: no reason to be last */
    for (int i = 0; i < 9; i++) wide[i] = i % 4 ? NAN : i == 4 ? NAN : 1;
    similarity_order(wide, 3, order);
    assert_int_equal(order[2], 1);
    similarity_order(s, 0, order);
    for (int i = 0; i < 4; i++) s[i] = NAN;
    similarity_order(s, 2, order);
    assert_int_equal(order[0] + order[1], 1);
    free(x);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cka), cmocka_unit_test(test_debiased_cka),
        cmocka_unit_test(test_cosine),
        cmocka_unit_test(test_low_rank),
        cmocka_unit_test(test_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
