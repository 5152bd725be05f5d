/* Evaluations of several splits: each under its own name, "best" of the one that decides. */
#include "core/base/mem.h"
#include "tests/store/support.h"

static void names_are_made_and_taken_apart(void **state) {
    (void)state;
    static const struct { const char *split, *metric, *name, *beside;
    } cases[] = {
        { NULL, "loss", "loss", "majority" },
        { "dev", "accuracy", "dev.accuracy", "dev.majority" },
        { "dev_matched", "f1", "dev_matched.f1", "dev_matched.majority" },
        { "MNLI/dev_matched", "f1", "MNLI/dev_matched.f1", "MNLI/dev_matched.majority" },
        { "rows.v1.2/dev", "f1", "rows.v1.2/dev.f1", "rows.v1.2/dev.majority" },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char *name = store_name(cases[i].split, cases[i].metric);
        char *beside = store_name_other(name, "majority");
        assert_string_equal(name, cases[i].name);
        assert_string_equal(beside, cases[i].beside);
        free(name);
        free(beside);
    }
    assert_string_equal(store_name_metric("MNLI/dev_matched.f1", "MNLI"), "f1");
    assert_string_equal(store_name_metric("rows.v1.2/dev.f1", "rows.v1.2"), "f1");
    assert_null(store_name_metric("rows.v1.2/dev.f1", "rows"));
    assert_null(store_name_metric("MNLI2/dev.f1", "MNLI"));
    assert_null(store_name_metric("rows.v1.2/loss", "rows.v1.2"));
    assert_null(store_name_metric("dev.f1", "dev"));
}

static void score(struct store *s, int64_t run, int64_t step, const char *split, double accuracy,
                  bool constant, bool best) {
    struct store_metric m = { "accuracy", accuracy, NULL, 1 };
    struct store_evaluation v = { .run = run, .step = step, .split = split, .rows = split,
                                  .constant = constant, .best = best, .count = 1, .metric = &m };
    assert_int_equal(store_evaluation(s, &v), 0);
}

static int64_t run_on(struct store *s, const char *split) {
    struct store_new_run n = plain_run();
    struct err e = ERR_INIT;
    int64_t id;
    n.split = split;
    test_ok(store_create_run(s, &n, &id, &e), &e);
    return id;
}

static void expect_best(struct store *s, int64_t run, const char *decides, double best, int64_t step) {
    struct store_run r = whole(s, run);
    assert_string_equal(r.decides, decides);
    assert_string_equal(r.metric, "accuracy");
    assert_true(r.best.measured && r.best.v == best);
    assert_int_equal(r.best.step, step);
    store_run_release(&r);
}

static void each_split_keeps_its_own_results(void **state) {
    (void)state;
    char *path = fresh_path();
    struct store *s = open_at(path, STORE_WRITE);
    int64_t id = run_on(s, "dev_matched");
    const double matched[] = { 0.5, 0.8, 0.7 }, mismatched[] = { 0.9, 0.4, 0.95 };
    for (int i = 0; i < 3; i++) {
        score(s, id, i + 1, "dev_matched", matched[i], false, i < 2);
        score(s, id, i + 1, "dev_mismatched", mismatched[i], true, false);
    }
    flush_it(s);
    expect_best(s, id, "dev_matched.accuracy", 0.8, 2);
    struct store_run r = whole(s, id);
    assert_false(r.constant); /* the other split is */
    assert_int_equal(r.value_count, 2);
    assert_string_equal(r.value[1].name, "dev_mismatched.accuracy");
    assert_true(r.value[1].last.v == 0.95 && r.value[1].best.v == 0.95);
    store_run_release(&r);
    assert_int_equal(count_of(s, "SELECT count(*) FROM v_events WHERE kind='differs'"), 0);
    assert_int_equal(count_of(s, "SELECT count(*) FROM v_evaluations"), 6);
    assert_int_equal(count_of(s, "SELECT 100 * best FROM v_runs"), 80);
    assert_int_equal(count_of(s, "SELECT count(*) FROM v_evaluations WHERE best AND split='dev_matched'"), 2);
    assert_whole(s);
    close_it(s);
    free(path);
}

static void expect_listed(struct store *s, const char *filter, const char *sort, int64_t first,
                          size_t count) {
    struct store_runs list;
    struct err e = ERR_INIT;
    test_ok(store_list(s, &(struct store_list){ .filter = filter, .sort = sort }, &list, &e), &e);
    if (list.count != count || (count && list.run[0].id != first))
        fail_msg("\"%s\" by %s: %zu runs, the first %lld", filter ? filter : "", sort, list.count,
                 list.count ? (long long)list.run[0].id : 0);
    store_runs_release(&list);
}

/* A metric without a split is meant on the split that decides. */
static void lists_compare_what_decides(void **state) {
    (void)state;
    char *path = fresh_path();
    struct store *s = open_at(path, STORE_WRITE);
    int64_t two = run_on(s, "dev_matched"), one = run_on(s, NULL);
    score(s, two, 1, "dev_matched", 0.6, false, true);
    score(s, two, 1, "dev_mismatched", 0.9, false, false);
    score(s, one, 1, NULL, 0.7, false, true);
    flush_it(s);
    expect_listed(s, "accuracy>0.5", "-accuracy", one, 2);
    expect_listed(s, "acc>0.65", "id", one, 1);
    expect_listed(s, "last.acc<0.65", "id", two, 1);
    expect_listed(s, "dev_mismatched.accuracy>0.8", "id", two, 1);
    expect_listed(s, "dev.accuracy>0.1", "id", one, 1);
    expect_listed(s, NULL, "accuracy", two, 2);
    close_it(s);
    free(path);
}

/* That no answer is valid is neither one class for every row nor forgotten. */
static void no_valid_answer_is_kept_as_such(void **state) {
    (void)state;
    char *path = fresh_path();
    struct store *s = open_at(path, STORE_WRITE);
    int64_t id = run_on(s, "dev");
    struct store_metric m = { "accuracy", 0, NULL, 1 };
    struct err e = ERR_INIT;
    for (int i = 1; i <= 3; i++) { /* invalid, one class, neither */
        struct store_evaluation v = { .run = id, .step = i, .split = "dev", .rows = "dev 4", .none_valid = i == 1,
                                      .constant = i == 2, .count = 1, .metric = &m };
        assert_int_equal(store_evaluation(s, &v), 0);
        flush_it(s);
        struct store_run r = whole(s, id);
        struct store_evals all;
        test_ok(store_evaluations(s, id, &all, &e), &e);
        assert_true(r.none_valid == (i == 1) && r.constant == (i == 2));
        assert_true(all.row[i - 1].none_valid == (i == 1) && all.row[i - 1].constant == (i == 2));
        store_evals_release(&all);
        store_run_release(&r);
    }
    close_it(s);
    free(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_valid_answer_is_kept_as_such),
        cmocka_unit_test(names_are_made_and_taken_apart),
        cmocka_unit_test(each_split_keeps_its_own_results),
        cmocka_unit_test(lists_compare_what_decides),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
