#include "core/analysis/scores.h"

#include <math.h>

#include "tests/analysis/fixture.h"

static void near(double have, double want) {
    if (!(fabs(have - want) < 1e-6)) fail_msg("%.9f, wanted %.9f", have, want);
}

static void test_digits(void **state) {
    (void)state;
    struct err e = ERR_INIT;
    struct score s;
    int used;
    int32_t label[DIGITS];
    real *x = xmalloc(DIGITS * PIXELS * sizeof *x), *plane = xmalloc(DIGITS * 2 * sizeof *plane);
    read_digits(x, label);
    test_ok(score_silhouette(x, DIGITS, PIXELS, label, 10, &s, &e), &e);
    assert_null(s.undefined);
    near(s.value, read_number("silhouette"));
    test_ok(score_purity(x, DIGITS, PIXELS, label, 10, &used, &s, &e), &e);
    assert_int_equal(used, 10);
    near(s.value, read_number("purity"));
    for (int i = 0; i < DIGITS; i++) {
        for (int a = 0; a < 2; a++) {
            double sum = 0;
            for (int j = 0; j < PIXELS; j++) sum += (double)x[i * PIXELS + j] * sin((2 * j + a) * 1.1);
            plane[2 * i + a] = (real)sum;
        }
    }
    /* stretched, so that no two distances are equal */
    for (int i = 0; i < DIGITS * PIXELS; i++) x[i] *= (real)(1 + 0.1 * sin(i % PIXELS));
    near(score_preservation(x, PIXELS, plane, DIGITS, 10), read_number("preservation"));
    free(x);
    free(plane);
}

static const real FIVE[] = { 1, 0, (real)0.8, (real)0.6, 0, 1, (real)-0.6, (real)0.8, 0, -1, 0, 0 };

static void test_few_points(void **state) {
    (void)state;
    struct err e = ERR_INIT;
    struct score s;
    int used;
    const int32_t three[] = { 0, 0, 1, 1, 2 }, one[] = { 1, 1, 1, 1, 1 }, five[] = { 0, 1, 2, 3, 4 };
    /* a class of one point counts 0 */
    test_ok(score_silhouette(FIVE, 5, 2, three, 3, &s, &e), &e);
    near(s.value, 0.614945);
    test_ok(score_silhouette(FIVE, 5, 2, one, 3, &s, &e), &e);
    assert_string_equal(s.undefined, "1 class");
    assert_true(isnan(s.value));
    test_ok(score_silhouette(FIVE, 5, 2, five, 5, &s, &e), &e);
    assert_string_equal(s.undefined, "as many classes as points");
    test_ok(score_purity(FIVE, 5, 2, three, 10, &used, &s, &e), &e);
    assert_int_equal(used, 4);
    near(s.value, (4 * 0.25 + 0) / 5);
    test_ok(score_purity(FIVE, 1, 2, three, 10, &used, &s, &e), &e);
    assert_string_equal(s.undefined, "1 point");
}

static void test_zero_vector(void **state) {
    (void)state;
    struct err e = ERR_INIT;
    struct score s;
    int used;
    const int32_t label[] = { 0, 0, 1, 1, 2, 2 }, without[] = { 0, 0, 1, 1, 2, -1 };
    test_refused(score_silhouette(FIVE, 6, 2, label, 3, &s, &e), ERR_INPUT, &e, "example 6");
    test_refused(score_purity(FIVE, 6, 2, label, 3, &used, &s, &e), ERR_INPUT, &e, "example 6");
    /* a row without label takes no part */
    test_ok(score_silhouette(FIVE, 6, 2, without, 3, &s, &e), &e);
    near(s.value, 0.614945);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_digits),
        cmocka_unit_test(test_few_points),
        cmocka_unit_test(test_zero_vector),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
