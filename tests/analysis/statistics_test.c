#include "core/analysis/statistics.h"

#include <math.h>

#include "tests/support/test.h"

/* Of scipy 1.15's stats.t: degrees of freedom, ppf(0.975), ppf(0.9995), cdf(-1.3). */
static const double REFERENCE[][4] = {
    { 1, 12.706204736174694, 636.6192487687897, 0.20871440016015272 },
    { 2, 4.3026527297494619, 31.599054576445365, 0.16162351590802015 },
    { 3, 3.1824463052837078, 12.923978636687961, 0.14223375436394853 },
    { 4.5, 2.6589123472044034, 7.5807404993727561, 0.12809804397201699 },
    { 10, 2.2281388519862739, 4.5868938587027079, 0.1113829086034223 },
    { 30, 2.0422724563012378, 3.6459586350420627, 0.10175047926905843 },
    { 200, 1.9718962236339088, 3.3398354062757107, 0.097548594654428139 },
    { 10000, 1.9602012398906259, 3.2914999659416355, 0.096815466091134256 },
};

static void near(double have, double want) {
    if (!(fabs(have - want) <= 1e-11 * fabs(want))) fail_msg("%.17g, wanted %.17g", have, want);
}

static void student_is_scipys(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof REFERENCE / sizeof *REFERENCE; i++) {
        const double *r = REFERENCE[i];
        near(student_quantile(0.975, r[0]), r[1]);
        near(student_quantile(0.9995, r[0]), r[2]);
        near(student_quantile(0.025, r[0]), -r[1]);
        near(student_cdf(-1.3, r[0]), r[3]);
        near(student_cdf(1.3, r[0]), 1 - r[3]);
        near(student_cdf(r[1], r[0]), 0.975);
    }
}

static void few_values_know_little(void **state) {
    (void)state;
    const double v[] = { 1, 2, 4 };
    struct spread s = spread_of(v, 3);
    near(s.mean, 7.0 / 3);
    near(s.sd, sqrt(7.0 / 3));
    struct interval i = spread_interval(s, 0.95);
    near((i.low + i.high) / 2, s.mean);
    near((i.high - i.low) / 2, 4.3026527297494619 * s.sd / sqrt(3));
    assert_true(isnan(spread_of(v, 0).mean));
    s = spread_of(v, 1);
    assert_true(s.mean == 1 && isnan(s.sd));
    assert_true(isnan(spread_interval(s, 0.95).low));
    const double same[] = { 3, 3, 3 };
    s = spread_of(same, 3);
    assert_true(s.sd == 0 && isnan(spread_interval(s, 0.95).high));
    const double tenths[] = { 0.1, 0.1, 0.1 }; /* whose sum is not 0.3 */
    s = spread_of(tenths, 3);
    assert_true(s.sd == 0 && isnan(spread_p(s)));
    const double a[] = { 0.3, 0.4, 0.9 }, b[] = { 0.2, 0.3, 0.8 };
    s = spread_of_differences(a, b, 3);
    assert_true(a[0] - b[0] != a[1] - b[1] && s.sd == 0 && fabs(s.mean - 0.1) < 1e-15);
    assert_true(!value_order(0.1 + 0.2, 0.3) && value_order(0.3, 0.30001) < 0 && value_order(-1, -2) > 0 && !value_order(0, 0));
}

/* Of scipy's ttest_1samp; Holm's by hand. */
static void claims_have_their_p(void **state) {
    (void)state;
    const double v[] = { 0.5, 1.7, 0.2, 2.9, -0.4 };
    struct spread s = spread_of(v, 5);
    near(spread_p(s), 0.17170878872491122);
    near(spread_p_within(s, 1.5), 0.21373698369719829);
    near(spread_p_within(s, 0.1), 0.89513960854067887);
    assert_true(isnan(spread_p(spread_of(v, 1))));
    const double p[] = { 0.02, 0.011, NAN, 0.012, 0.9 };
    static const double of_five[] = { 0.06, 0.055, NAN, 0.055, 1 }, of_four[] = { 0.044, 0.044, NAN, 0.044 };
    double adjusted[5];
    holm(p, 5, adjusted); /* 5 × 0.011, 4 × 0.012 but no less than that, 3 × 0.02, 2 × 0.9 but at most 1 */
    for (int i = 0; i < 5; i++) assert_true(i == 2 ? isnan(adjusted[i]) : fabs(adjusted[i] - of_five[i]) < 1e-12);
    holm(p, 4, adjusted); /* 4 × 0.011; 3 × 0.012 and 2 × 0.02 are less than that */
    for (int i = 0; i < 4; i++) assert_true(i == 2 ? isnan(adjusted[i]) : fabs(adjusted[i] - of_four[i]) < 1e-12);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(student_is_scipys), cmocka_unit_test(few_values_know_little),
                                       cmocka_unit_test(claims_have_their_p) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
