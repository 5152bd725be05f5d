/* Which tasks a batch is of: the published shares, whole rows, passes, and that it is a pure function. */
#include <math.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/train/config/sampling.h"
#include "core/train/run/order.h"
#include "tests/support/test.h"

enum { GLUE = 8, BATCH = 128, MOST = 256 };
/* rte, sst2, mrpc, stsb, qqp, mnli, qnli, cola: training rows */
static const size_t glue[GLUE] = { 2490, 67349, 3668, 5749, 363846, 392702, 104743, 8551 };

static struct sampling rule(const char *text) {
    struct sampling s;
    struct err e = ERR_INIT;
    test_ok(sampling_parse(text, &s, &e), &e);
    return s;
}

static void near(double got, double want, double by) {
    if (!(fabs(got - want) <= by)) fail_msg("%.6f, not %.6f", got, want);
}

/* Shares of HyperFormer's sampler, rows of a mixed batch, and how likely a row has another of its task. */
static void the_shares_of_glue(void **state) {
    (void)state;
    static const double plain[GLUE] = { .00262, .07096, .00386, .00606, .38336, .41376, .11036, .00901 };
    static const double flat[GLUE] = { .09609, .13362, .09988, .10447, .15818, .15939, .13966, .10871 };
    static const double rows[GLUE] = { 0.34, 9.08, 0.49, 0.78, 49.1, 53.0, 14.1, 1.15 };
    static const double pair[GLUE] = { .045, .999, .089, .182, 1, 1, 1, .320 };
    struct sampling one = rule("temperature(1)"), ten = rule("one-task(10)"), mixed = rule("proportional");
    double share[GLUE], expected[GLUE];
    sampling_shares(&one, GLUE, glue, share);
    for (int i = 0; i < GLUE; i++) near(share[i], plain[i], 6e-6);
    sampling_shares(&ten, GLUE, glue, share);
    for (int i = 0; i < GLUE; i++) near(share[i], flat[i], 6e-6);
    sampling_expected(&mixed, GLUE, glue, BATCH, expected);
    for (int i = 0; i < GLUE; i++) {
        double p = expected[i] / BATCH, none = pow(1 - p, BATCH), single = BATCH * p * pow(1 - p, BATCH - 1);
        near(expected[i], rows[i], rows[i] < 10 ? 0.006 : 0.06);
        near(1 - none - single, pair[i], 1e-3);
    }
}

/* Every row of every task once an epoch, in the order of one task of all rows. */
static void proportional_is_one_shuffled_pass(void **state) {
    (void)state;
    const size_t rows[] = { 7, 3, 12 };
    uint32_t order[22], step[MOST];
    struct sampling s = rule("proportional");
    struct sampler *x = sampler_new(&s, 5, 3, rows, 4);
    assert_int_equal(sampler_epoch(x), 6);
    for (int64_t epoch = 0; epoch < 2; epoch++) {
        order_epoch(5, epoch, order, 22);
        for (int64_t i = 0, at = 0; i < 6; i++) {
            int n = sampler_step(x, epoch * 6 + i, step);
            assert_int_equal(n, i < 5 ? 4 : 2);
            for (int k = 0; k < n; k++) assert_int_equal(step[k], order[at++]);
        }
    }
    sampler_free(x);
}

static int task_of(uint32_t row) { return row < 7 ? 0 : row < 10 ? 1 : 2; }

/* A task's rows come in passes: each once before any twice. */
static void passes_are_whole(void **state) {
    (void)state;
    static const char *const rules[] = { "temperature(3)", "one-task(3)", "stratified(3)" };
    const size_t rows[] = { 7, 3, 12 };
    for (size_t k = 0; k < COUNT_OF(rules); k++) {
        struct sampling s = rule(rules[k]);
        struct sampler *x = sampler_new(&s, 1, 3, rows, 8);
        int seen[22] = { 0 }, least[3], most[3];
        uint32_t step[MOST];
        for (int64_t i = 0; i < 40; i++) {
            int n = sampler_step(x, i, step);
            assert_int_equal(n, 8);
            for (int j = 0; j < n; j++) {
                seen[step[j]]++;
                if (k == 1) assert_int_equal(task_of(step[j]), task_of(step[0]));
            }
            for (int t = 0; t < 3; t++) least[t] = 1 << 30, most[t] = 0;
            for (uint32_t r = 0; r < 22; r++) {
                int t = task_of(r);
                least[t] = seen[r] < least[t] ? seen[r] : least[t];
                most[t] = seen[r] > most[t] ? seen[r] : most[t];
            }
            for (int t = 0; t < 3; t++) assert_true(most[t] - least[t] <= 1);
        }
        sampler_free(x);
    }
}

/* Resuming: a sampler that is asked for a later step first gives the same rows; so does going back. */
static void a_step_is_a_pure_function(void **state) {
    (void)state;
    static const char *const rules[] = { "proportional", "temperature(2)", "one-task(10)", "stratified" };
    const size_t rows[] = { 31, 5, 12, 100 };
    for (size_t k = 0; k < COUNT_OF(rules); k++) {
        struct sampling s = rule(rules[k]);
        struct sampler *x = sampler_new(&s, 9, 4, rows, 16), *y = sampler_new(&s, 9, 4, rows, 16);
        struct sampler *other = sampler_new(&s, 10, 4, rows, 16);
        uint32_t all[60][MOST], one[MOST];
        bool differs = false;
        for (int64_t i = 0; i < 60; i++) sampler_step(x, i, all[i]);
        static const int64_t asked[] = { 59, 3, 4, 17, 0 };
        for (size_t i = 0; i < COUNT_OF(asked); i++) {
            int n = sampler_step(y, asked[i], one);
            assert_memory_equal(one, all[asked[i]], (size_t)n * sizeof *one);
        }
        int n = sampler_step(other, 3, one);
        differs = memcmp(one, all[3], (size_t)n * sizeof *one) != 0;
        assert_true(differs);
        sampler_free(x);
        sampler_free(y);
        sampler_free(other);
    }
}

/* Two rows of each task where there is room, the rest by largest remainder; else tasks in turns. */
static void stratified_gives_whole_rows(void **state) {
    (void)state;
    const size_t rows[] = { 1000, 10, 10, 80 };
    struct sampling s = rule("stratified(1)");
    struct sampler *x = sampler_new(&s, 1, 4, rows, 22);
    uint32_t step[MOST];
    int count[4] = { 0 };
    for (int i = 0, n = sampler_step(x, 0, step); i < n; i++)
        count[step[i] < 1000 ? 0 : step[i] < 1010 ? 1 : step[i] < 1020 ? 2 : 3]++;
    /* 20, 0.2, 0.2 and 1.6 of 22: two each at least, what that takes comes off the largest */
    assert_int_equal(count[0], 16);
    assert_int_equal(count[1], 2);
    assert_int_equal(count[2], 2);
    assert_int_equal(count[3], 2);
    sampler_free(x);
    struct sampler *few = sampler_new(&s, 1, 4, rows, 6); /* room for three tasks */
    double expected[4], sum = 0;
    int turns[4] = { 0 };
    for (int64_t i = 0; i < 4; i++) {
        bool there[4] = { false };
        int n = sampler_step(few, i, step), tasks = 0;
        assert_int_equal(n, 6);
        for (int k = 0; k < n; k++) there[step[k] < 1000 ? 0 : step[k] < 1010 ? 1 : step[k] < 1020 ? 2 : 3] = true;
        for (int t = 0; t < 4; t++) tasks += there[t], turns[t] += there[t];
        assert_int_equal(tasks, 3);
    }
    for (int t = 0; t < 4; t++) assert_int_equal(turns[t], 3);
    sampling_expected(&s, 4, rows, 6, expected);
    for (int t = 0; t < 4; t++) sum += expected[t];
    near(sum, 6, 1e-12);
    sampler_free(few);
}

static void texts(void **state) {
    (void)state;
    static const char *const good[][2] = {
        { "proportional", "proportional" },     { "temperature", "temperature(10)" },
        { "temperature(2.5)", "temperature(2.5)" }, { "one-task(1)", "one-task(1)" },
        { "stratified", "stratified(10)" },
    };
    static const char *const bad[] = { "", "stratified(", "stratified()", "stratified(0)", "stratified(-1)",
                                       "temperature(x)", "proportional(2)", "random", "temperature(2)x" };
    for (size_t i = 0; i < COUNT_OF(good); i++) {
        char text[48];
        struct sampling s = rule(good[i][0]);
        sampling_text(&s, text);
        assert_string_equal(text, good[i][1]);
    }
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        struct sampling s;
        struct err e = ERR_INIT;
        if (sampling_parse(bad[i], &s, &e) != ERR_USAGE) fail_msg("%s was taken", bad[i]);
        assert_non_null(strstr(e.text, "stratified(T)"));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_shares_of_glue),           cmocka_unit_test(proportional_is_one_shuffled_pass),
        cmocka_unit_test(passes_are_whole),             cmocka_unit_test(a_step_is_a_pure_function),
        cmocka_unit_test(stratified_gives_whole_rows), cmocka_unit_test(texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
