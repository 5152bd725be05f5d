/* The test split: scored once, when all steps are done, on the checkpoint that is kept, and for nothing else. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/mem.h"
#include "core/train/run/checkpoint.h"
#include "tests/support/test.h"
#include "tests/support/trained.h"

enum { STEPS = 24 };

static struct ground ground;

/* The dev rows are the test rows as well: what is told of the test is then what the dev rows had at that
 * checkpoint. */
static int open_ground(void **state) {
    (void)state;
    ground_open_toy(&ground, true);
    ground.task.test = ground.task.dev[0];
    return 0;
}

static int close_ground(void **state) {
    (void)state;
    ground.task.has_test = false;
    ground.task.test = (struct dataset){ 0 };
    ground_release(&ground);
    return 0;
}

static struct run_config config(void) {
    struct run_config c = ground_config(&ground, "lora(r=2)", 4, STEPS);
    free(c.metric);
    c.metric = xstrdup("accuracy");
    c.eval_every = 2;
    c.schedule = SCHEDULE_CONSTANT;
    c.lr = 0.3; /* so high that the best step is not the last */
    return c;
}

/* The evaluation of the best step. */
static int best_of(const struct trained *t) {
    int best = -1;
    for (int i = 0; i < t->evaluations; i++)
        if (t->evaluation[i].best) best = i;
    assert_true(best >= 0);
    return best;
}

static int count_tests(const struct trained *t) {
    int n = 0;
    for (int i = 0; i < t->evaluations; i++) n += !strcmp(t->evaluation[i].split, "test");
    return n;
}

/* The test came last, with the numbers of that evaluation. */
static void is_tested_as(const struct trained *t, int of) {
    int last = t->evaluations - 1;
    assert_int_equal(trained_state(t), RUN_FINISHED);
    assert_int_equal(count_tests(t), 1);
    assert_string_equal(t->evaluation[last].split, "test");
    assert_int_equal(t->evaluation[last].step, STEPS);
    assert_false(t->evaluation[last].best);
    assert_true(t->evaluation[last].value == t->evaluation[of].value);
    assert_true(t->evaluation[last].loss == t->evaluation[of].loss);
}

static void the_best_checkpoint_is_tested(void **state) {
    (void)state;
    struct run_config c = config();
    for (int workers = 1; workers <= 2; workers++) {
        struct trained plain, t;
        char *folder = test_folder(), rows[64];
        ground.task.has_test = false;
        train(&ground, &c, folder, workers, &plain);
        ground.task.has_test = true;
        train(&ground, &c, folder, workers, &t);
        int best = best_of(&t);
        assert_true(t.evaluation[best].step < STEPS);
        is_tested_as(&t, best);
        snprintf(rows, sizeof rows, "test 20 (best checkpoint, step %lld)", (long long)t.evaluation[best].step);
        assert_string_equal(t.evaluation[t.evaluations - 1].rows, rows);
        /* and nothing else is another */
        assert_string_equal(t.sha256, plain.sha256);
        assert_int_equal(t.evaluations, plain.evaluations + 1);
        assert_memory_equal(t.loss, plain.loss, STEPS * sizeof *t.loss);
        trained_release(&plain);
        trained_release(&t);
        free(folder);
    }
    config_release(&c);
}

/* Where no best one is kept the last step's values are tested. */
static void the_last_values_are_tested_where_no_best_is_kept(void **state) {
    (void)state;
    static const int keep[] = { KEEP_LAST, 0 };
    ground.task.has_test = true;
    for (size_t i = 0; i < COUNT_OF(keep); i++) {
        struct run_config c = config();
        struct trained t;
        char *folder = test_folder();
        c.keep = keep[i];
        train(&ground, &c, folder, 1, &t);
        is_tested_as(&t, t.evaluations - 2);
        assert_string_equal(t.evaluation[t.evaluations - 1].rows, "test 20 (parameters of step 24)");
        trained_release(&t);
        free(folder);
        config_release(&c);
    }
}

static void a_run_that_stops_early_is_tested(void **state) {
    (void)state;
    struct run_config c = config();
    struct trained t;
    char *folder = test_folder();
    c.early_stop = 2;
    ground.task.has_test = true;
    train(&ground, &c, folder, 1, &t);
    int last = t.evaluations - 1, best = best_of(&t);
    assert_true(t.points < STEPS);
    assert_int_equal(count_tests(&t), 1);
    assert_string_equal(t.evaluation[last].split, "test");
    assert_true(t.evaluation[last].loss == t.evaluation[best].loss);
    trained_release(&t);
    free(folder);
    config_release(&c);
}

static void a_stopped_run_is_tested_when_it_ends(void **state) {
    (void)state;
    static const int at[] = { 5, STEPS }; /* on the way, and when only the test is left */
    ground.task.has_test = true;
    for (size_t i = 0; i < COUNT_OF(at); i++) {
        struct run_config c = config();
        struct trained whole, before, after;
        char *folder = test_folder(), *other = test_folder();
        train(&ground, &c, other, 1, &whole);
        train_until(&ground, &c, folder, 1, at[i], &before);
        assert_int_equal(trained_state(&before), RUN_STOPPED);
        assert_int_equal(count_tests(&before), 0);
        train_on(&ground, &c, folder, 2, &after);
        assert_int_equal(count_tests(&after), 1);
        assert_true(after.evaluation[after.evaluations - 1].loss == whole.evaluation[whole.evaluations - 1].loss);
        assert_string_equal(after.sha256, whole.sha256);
        trained_release(&whole);
        trained_release(&before);
        trained_release(&after);
        free(folder);
        free(other);
        config_release(&c);
    }
}

/* A checkpoint that is gone is said, and the run is finished all the same. */
static void remove_best(void *self, const struct event *e) {
    struct event_sink keep = trained_sink(self);
    keep.send(keep.self, e);
    if (e->kind == EVENT_CHECKPOINT && e->best) remove(e->path);
}

static void a_lost_checkpoint_is_said(void **state) {
    (void)state;
    struct run_config c = config();
    struct trained t = { 0 };
    struct err e = ERR_INIT;
    char *folder = test_folder();
    ground.task.has_test = true;
    struct run *r = run_new(1, &c, ground.model, &ground.task, folder, (struct event_sink){ &t, remove_best }, &e);
    struct pool *p = pool_new(1);
    assert_non_null(r);
    pool_add(p, r, 0);
    assert_true(pool_wait(p, r, 60));
    assert_int_equal(trained_state(&t), RUN_FINISHED);
    assert_int_equal(count_tests(&t), 0);
    assert_non_null(strstr(t.message, "the test set was not evaluated: "));
    assert_non_null(strstr(t.message, "best.safetensors"));
    pool_free(p);
    run_free(r);
    trained_release(&t);
    free(folder);
    config_release(&c);
}

/* Two tasks: each one's test split, with the average's checkpoint or each task's own. */
static void every_task_is_tested(void **state) {
    (void)state;
    struct task second = ground.task;
    ground.task.has_test = second.has_test = true;
    struct task *const task[] = { &ground.task, &second };
    const struct run_tasks tasks = { 2, task };
    for (int own = 0; own < 2; own++) {
        struct run_config c = config();
        struct trained t = { 0 };
        struct err e = ERR_INIT;
        char *folder = test_folder();
        c.tasks = 2;
        c.of = xcalloc(2, sizeof *c.of);
        for (int i = 0; i < 2; i++) {
            config_init(&c.of[i]);
            c.of[i].task_name = xstrdup(i ? "two" : "one");
            c.of[i].task_weight = 1;
        }
        c.best_of = own ? BEST_PER_TASK : BEST_AVERAGE;
        struct run *r = run_begin(1, &c, ground.model, &tasks, folder, trained_sink(&t), &e);
        if (!r) fail_msg("%s", e.text);
        struct pool *p = pool_new(2);
        pool_add(p, r, 0);
        assert_true(pool_wait(p, r, 120));
        assert_int_equal(trained_state(&t), RUN_FINISHED);
        assert_int_equal(count_tests(&t), 2);
        for (int i = t.evaluations - 2; i < t.evaluations; i++)
            assert_non_null(strstr(t.evaluation[i].rows, "best checkpoint, step "));
        /* an evaluation tells two splits and an average */
        int at[2] = { -1, -1 };
        for (int i = 0; i + 3 <= t.evaluations - 2; i += 3)
            for (int k = 0; k < 2; k++)
                if (t.evaluation[own ? i + k : i + 2].best) at[k] = i + k;
        for (int k = 0; k < 2; k++) {
            assert_true(at[k] >= 0);
            assert_true(t.evaluation[t.evaluations - 2 + k].loss == t.evaluation[at[k]].loss);
        }
        pool_free(p);
        run_free(r);
        trained_release(&t);
        config_release(&c);
        free(folder);
    }
}

/* One that ends at a loss, here after the first pass over its rows, is scored as any that is over. */
static void a_run_that_ends_at_a_loss_is_tested(void **state) {
    (void)state;
    struct run_config c = config();
    struct trained t = { 0 };
    struct err e = ERR_INIT;
    const struct run_start start = { .stop_loss = 1e9 };
    ground.task.has_test = true;
    struct run *r = run_begin_at(1, &c, ground.model, &ground.task, NULL, trained_sink(&t), &start, &e);
    if (!r) fail_msg("%s", e.text);
    trained_run(r, 1, &t);
    assert_int_equal(trained_state(&t), RUN_FINISHED);
    assert_true(t.points < STEPS);
    assert_int_equal(count_tests(&t), 1);
    assert_int_equal(t.evaluation[t.evaluations - 1].step, t.points);
    trained_release(&t);
    config_release(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_best_checkpoint_is_tested),
        cmocka_unit_test(the_last_values_are_tested_where_no_best_is_kept),
        cmocka_unit_test(a_run_that_stops_early_is_tested),
        cmocka_unit_test(a_run_that_ends_at_a_loss_is_tested),
        cmocka_unit_test(a_stopped_run_is_tested_when_it_ends),
        cmocka_unit_test(a_lost_checkpoint_is_said),
        cmocka_unit_test(every_task_is_tested),
    };
    return cmocka_run_group_tests(tests, open_ground, close_ground);
}
