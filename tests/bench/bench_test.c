/* What petri bench trains: made models and tasks, small ones here. */
#include <stdlib.h>
#include <unistd.h>

#include "tests/bench/bench.h"
#include "tests/bench/bench_history.h"
#include "tests/bench/bench_made.h"
#include "core/base/file.h"
#include "core/base/mem.h"
#include "core/engine/blas.h"
#include "tests/support/test.h"

static void eight_tasks_are_in_every_step(void **state) {
    (void)state;
    struct err e = ERR_INIT;
    struct bench_times times;
    struct task t[BENCH_TASKS], *all[BENCH_TASKS];
    struct model *m = bench_model(FAMILY_T5, 2, 16, 2, 32, &e);
    if (!m) fail_msg("%s", e.text);
    char *folder = xstrdup(m->folder);
    bench_glue(t, &m->arch);
    for (int i = 0; i < BENCH_TASKS; i++) all[i] = &t[i];
    const struct bench_work w = { .model = m, .tasks = { BENCH_TASKS, all }, .method = "pha(r=2)", .sampling = "stratified(10)",
                                  .join = JOIN_HELD, .batch = BENCH_GLUE, .warm = 1, .steps = 2 };
    test_ok(bench_train(&w, 2, &times, &e), &e);
    assert_int_equal(times.steps, 2);
    assert_true(times.median > 0 && times.cpu > 0);
    assert_true(times.tokens == 1573 + 2 * BENCH_GLUE); /* the whole table in each */
    for (int i = 0; i < BENCH_TASKS; i++) bench_task_free(&t[i]);
    bench_model_free(m);
    assert_false(file_exists(folder));
    free(folder);
}

/* The parts of a step: its ops, and products and casts in them. */
static void check_parts(const struct bench_times *t, bool casts) {
    double ops = 0, inner = t->parts.part[PROFILE_PRODUCTS] + t->parts.part[PROFILE_CASTS];
    for (int i = 0; i < OP_COUNT; i++) ops += t->parts.op[i][0] + t->parts.op[i][1];
    assert_true(t->parts.op[OP_linear][0] > 0 && t->parts.op[OP_linear][1] > 0 && !t->parts.op[OP_bias][0]);
    assert_true(t->parts.part[PROFILE_PRODUCTS] > 0 && (t->parts.part[PROFILE_CASTS] > 0) == casts);
    assert_true(inner < ops && ops < t->alone);
}

/* A made model's maps are packed for the precision that was asked for. */
static void a_made_model_is_trained_in_bf16(void **state) {
    (void)state;
    struct err e = ERR_INIT;
    struct bench_times times;
    struct task t, *const all[] = { &t };
    struct model *m = bench_model(FAMILY_BERT, 1, 16, 2, 32, &e);
    if (!m) fail_msg("%s", e.text);
    bench_task(&t, 8, 8, m->arch.vocabulary);
    struct bench_work w = { .model = m, .tasks = { 1, all }, .method = "lora(r=2)", .batch = 4, .warm = 1, .steps = 1 };
    const size_t bytes = model_bytes(m);
    test_ok(bench_train(&w, 0, &times, &e), &e);
    assert_int_equal(model_bytes(m), bytes);
    check_parts(&times, false);
    w.precision = "bf16";
    test_ok(bench_train(&w, 0, &times, &e), &e);
    assert_true(model_bytes(m) > bytes);
    check_parts(&times, true);
    w.precision = "f16";
    assert_int_equal(bench_train(&w, 1, &times, &e), ERR_USAGE);
    bench_task_free(&t);
    bench_model_free(m);
}

static void a_folder_that_cannot_be_made_is_told(void **state) {
    (void)state;
    struct err e = ERR_INIT;
    const char *was = getenv("TMPDIR");
    char *kept = was ? xstrdup(was) : NULL;
    setenv("TMPDIR", "/nowhere", 1);
    assert_null(bench_model(FAMILY_T5, 2, 16, 2, 32, &e));
    if (kept) setenv("TMPDIR", kept, 1);
    else unsetenv("TMPDIR");
    test_refused(e.code, ERR_SYSTEM, &e, "/nowhere/petri-bench-");
    free(kept);
}

/* What is measured of a history was done: each time is there, and nothing of it stays. */
static void a_history_is_made_and_removed(void **state) {
    (void)state;
    struct err e = ERR_INIT;
    struct bench_history_time times[BENCH_HISTORY_TIMES];
    char *folder = test_folder(), *was = xcopy(getenv("TMPDIR"));
    setenv("TMPDIR", folder, 1);
    test_ok(bench_history(12, 50, times, &e), &e);
    for (int i = 0; i < BENCH_HISTORY_TIMES; i++) assert_true(times[i].seconds > 0);
    assert_int_equal(rmdir(folder), 0);
    if (was) setenv("TMPDIR", was, 1);
    else unsetenv("TMPDIR");
    free(was);
    free(folder);
}

int main(int argc, char **argv) {
    (void)argc;
    blas_start(argv);
    const struct CMUnitTest tests[] = { cmocka_unit_test(eight_tasks_are_in_every_step),
                                        cmocka_unit_test(a_made_model_is_trained_in_bf16),
                                        cmocka_unit_test(a_folder_that_cannot_be_made_is_told),
                                        cmocka_unit_test(a_history_is_made_and_removed) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
