#include "core/data/metrics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/file.h"
#include "core/base/mem.h"
#include "tests/support/test.h"

enum { MOST = 128 };

static size_t numbers(const char *line, double *out) {
    size_t n = 0;
    for (char *end; *line; line = end) {
        out[n] = strtod(line, &end);
        if (end == line) break;
        n++;
    }
    return n;
}

static void check(int number, const char *what, struct metric_value got, const char *want) {
    if (!strcmp(want, "-")) {
        if (got.defined || !got.why)
            fail_msg("case %d: %s is %g, not undefined", number, what, got.value);
        return;
    }
    double v = strtod(want, NULL);
    if (!got.defined || !(fabs(got.value - v) <= 1e-9))
        fail_msg("case %d: %s is %.17g (%s), not %s", number, what, got.value,
                 got.defined ? "defined" : got.why, want);
}

static void one_case(int number, const char *head, const char *label_line, const char *pred_line,
                     char *want_line) {
    double label[MOST], pred[MOST];
    size_t n = numbers(label_line, label);
    assert_int_equal(numbers(pred_line, pred), n);
    char *want[4] = {NULL};
    for (int i = 0; i < 4; i++) want[i] = strsep(&want_line, " ");
    struct metrics m;
    int classes, positive;
    if (sscanf(head, "classes %d %d", &classes, &positive) == 2) {
        int32_t g[MOST], p[MOST];
        for (size_t i = 0; i < n; i++) {
            g[i] = (int32_t)label[i];
            p[i] = (int32_t)pred[i];
        }
        metrics_of_classes(&m, g, p, NULL, n, classes, positive);
        static const enum metric_id id[] = {METRIC_ACCURACY, METRIC_F1, METRIC_F1_MACRO,
                                            METRIC_MATTHEWS};
        for (int i = 0; i < 4; i++) check(number, metric_name(id[i]), m.value[id[i]], want[i]);
    } else {
        metrics_of_scores(&m, label, NULL, pred, NULL, n);
        check(number, "pearson", m.value[METRIC_PEARSON], want[0]);
        check(number, "spearman", m.value[METRIC_SPEARMAN], want[1]);
    }
    metrics_release(&m);
}

static void reference_cases(void **state) {
    (void)state;
    char *path = test_path("tests/reference/metrics.txt");
    struct buf text;
    struct err e = ERR_INIT;
    test_ok(file_read(path, 1 << 20, &text, &e), &e);
    char *rest = text.data;
    int count = 0;
    for (char *head; (head = strsep(&rest, "\n")) && *head; count++) {
        char *label = strsep(&rest, "\n"), *pred = strsep(&rest, "\n"), *want = strsep(&rest, "\n");
        one_case(count, head, label, pred, want);
    }
    assert_int_equal(count, 200);
    buf_release(&text);
    free(path);
}

static void near(double got, double want) { assert_true(fabs(got - want) < 5e-7); }

/* Constant predictions. */
static void constant_predictions(void **state) {
    (void)state;
    int32_t label[408], pred[408];
    for (int i = 0; i < 408; i++) {
        label[i] = i < 279;
        pred[i] = 1;
    }
    struct metrics m;
    metrics_of_classes(&m, label, pred, NULL, 408, 2, 1);
    near(m.value[METRIC_ACCURACY].value, 0.683824);
    near(m.value[METRIC_F1].value, 0.812227);
    assert_false(m.value[METRIC_MATTHEWS].defined);
    assert_string_equal(m.value[METRIC_MATTHEWS].why, "only one class is predicted");
    assert_true(m.constant && m.as_majority);
    assert_int_equal(m.majority_class, 1);
    metrics_release(&m);

    static const double scores[] = {1, 2, 3}, same[] = {2, 2, 2};
    metrics_of_scores(&m, scores, NULL, same, NULL, 3);
    assert_false(m.value[METRIC_PEARSON].defined || m.value[METRIC_SPEARMAN].defined);
    assert_true(m.constant);
    metrics_release(&m);

    static const int32_t zeros[] = {0, 0, 0};
    metrics_of_classes(&m, zeros, zeros, NULL, 3, 2, 1);
    assert_false(m.value[METRIC_F1].defined);
    near(m.value[METRIC_ACCURACY].value, 1);
    metrics_release(&m);

    static const int32_t none[] = {-1, -1, -1}; /* answers that name no class are no prediction */
    metrics_of_classes(&m, zeros, none, NULL, 3, 2, 1);
    assert_true(!m.constant && m.invalid == 3);
    metrics_release(&m);
}

static void nothing_undefined_is_best(void **state) {
    (void)state;
    struct metric_value none = {0, false, "why"}, nan = {NAN, true, NULL}, half = {0.5, true, NULL},
                        more = {0.75, true, NULL};
    for (int id = 0; id < METRIC_COUNT; id++) {
        assert_false(metric_better(id, none, half) || metric_better(id, nan, half));
        assert_false(metric_better(id, half, half) || metric_better(id, none, none));
        assert_true(metric_better(id, half, none) && metric_better(id, half, nan));
        assert_int_equal(metric_better(id, more, half), id != METRIC_LOSS);
        assert_int_equal(metric_find(metric_name(id)), id);
    }
    assert_int_equal(metric_find("mcc"), METRIC_MATTHEWS);
    assert_int_equal(metric_find("nonsense"), -1);
}

static void known_values(void **state) {
    (void)state;
    static const int32_t label[] = {0, 0, 1, 1, 1, 0, 1, 0, 1, 1},
                         pred[] = {0, 1, 1, 0, 1, 0, 1, 1, 1, 1};
    struct metrics m;
    metrics_of_classes(&m, label, pred, NULL, 10, 2, 1);
    near(m.value[METRIC_ACCURACY].value, 0.7);
    near(m.value[METRIC_F1].value, 0.769231);
    near(m.value[METRIC_F1_MACRO].value, 0.670330);
    near(m.value[METRIC_MATTHEWS].value, 0.356348);
    assert_false(m.constant || m.value[METRIC_LOSS].defined);
    metrics_release(&m);
    static const double x[] = {5, 4.75, 5, 2.4, 2.75, 2.615, 5, 2.333, 3.75},
                        y[] = {4.9, 4.2, 4.4, 3, 2.1, 2.6, 4.8, 2.9, 3.3};
    metrics_of_scores(&m, x, NULL, y, NULL, 9);
    near(m.value[METRIC_PEARSON].value, 0.924429);
    near(m.value[METRIC_SPEARMAN].value, 0.830628);
    metrics_release(&m);
}

/* The loss is the mean over examples; F1 names its class. */
static void loss_over_rows(void **state) {
    (void)state;
    static const int32_t label[] = {1, 1, 1, 1, 0}, pred[] = {1, 1, 1, 1, 1};
    double loss[5];
    for (int i = 0; i < 5; i++) loss[i] = log(1 + exp(-2)) + (label[i] ? 0 : 2);
    for (int positive = 0; positive < 2; positive++) {
        struct metrics m;
        metrics_of_classes(&m, label, pred, loss, 5, 2, positive);
        near(m.value[METRIC_LOSS].value, 0.526928);
        near(m.value[METRIC_ACCURACY].value, 0.8);
        near(m.value[METRIC_F1].value, positive ? 0.888889 : 0);
        near(m.value[METRIC_F1_MACRO].value, 0.444444);
        assert_true(m.value[METRIC_F1].defined && m.constant && m.as_majority);
        metrics_release(&m);
    }
}

/* Labels in another order than the model's are detected. */
static void renamed_classes(void **state) {
    (void)state;
    static const int32_t label[] = {0, 0, 1, 1, 2, 2, 2, 0}, turned[] = {1, 1, 2, 2, 0, 0, 1, 1};
    struct metrics m;
    metrics_of_classes(&m, label, turned, NULL, 8, 3, -1);
    near(m.value[METRIC_ACCURACY].value, 0);
    near(m.renamed.value, 0.875);
    assert_true(metrics_look_renamed(&m));
    metrics_release(&m);
    metrics_of_classes(&m, label, label, NULL, 8, 3, -1);
    near(m.renamed.value, 1);
    assert_false(metrics_look_renamed(&m));
    metrics_release(&m);
    metrics_of_classes(&m, label, turned, NULL, 8, 7, -1);
    assert_false(m.renamed.defined || metrics_look_renamed(&m));
    metrics_release(&m);
    metrics_of_classes(&m, label, turned, NULL, 8, 6, -1);
    near(m.renamed.value, 0.875);
    metrics_release(&m);
}

/* Labels of -1 mark unlabeled examples. */
static void no_gold_labels(void **state) {
    (void)state;
    static const int32_t label[] = {-1, -1, 1}, pred[] = {0, 1, 1};
    static const double loss[] = {NAN, NAN, 0.25};
    struct metrics m;
    metrics_of_classes(&m, label, pred, loss, 2, 2, 1);
    for (int i = 0; i < METRIC_COUNT; i++) {
        assert_false(m.value[i].defined);
        assert_string_equal(m.value[i].why, "no labeled examples");
    }
    assert_int_equal(m.examples, 2);
    metrics_release(&m);
    metrics_of_classes(&m, label, pred, loss, 3, 2, 1);
    assert_int_equal(m.labeled, 1);
    near(m.value[METRIC_LOSS].value, 0.25);
    near(m.value[METRIC_ACCURACY].value, 1);
    metrics_release(&m);
    metrics_of_classes(&m, label, pred, NULL, 0, 2, -1);
    assert_false(m.value[METRIC_ACCURACY].defined || m.constant);
    metrics_release(&m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reference_cases),  cmocka_unit_test(constant_predictions),
        cmocka_unit_test(known_values),     cmocka_unit_test(nothing_undefined_is_best),
        cmocka_unit_test(renamed_classes),
        cmocka_unit_test(loss_over_rows),   cmocka_unit_test(no_gold_labels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
