/* Runs of several tasks: same bits for any number of workers and after a stop, what a step without a task
 * leaves alone, and scores that are each task's own. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/mem.h"
#include "core/train/run/checkpoint.h"
#include "core/train/use/predict.h"
#include "tests/support/mixed.h"
#include "tests/support/test.h"

static struct mixed mixed[MIXED_MODELS];

/* Every function that has weights of each task's own, with either norm. */
static const char *const methods[] = {
    "bottleneck(r=2; act=gelu, read=f.in, write=f.out, source=task, norm=own, dropout=0.1) + "
    "linear(r=2; read=a.in, write=a.q, source=task, dropout=0.1) + scale(write=a.v, source=task) + "
    "softmax(l=2; source=task, dropout=0.1) + full(target=norms)",
    "bottleneck(r=2; read=f.out, write=f.out, source=task, norm=shared) + softmax(l=2; source=mlp(3)) + lora(r=2) + "
    "softmax(l=2; site=self, comp=add, source=prompt-sep(2), dropout=0.1) + softmax(l=2; site=self, source=prompt-share(2)) + "
    "softmax(l=2; site=self, source=prompt-global(2)) + "
    "linear(r=2; read=a.in, write=a.v, site=self, source=hyper) + "
    "hyper(task=3, layer=2, place=0, hidden=4, inner=3, net=site, biases=no)",
    "bottleneck(r=2; read=f.out, write=f.out, source=hyper, norm=own) + bottleneck(r=2; read=a.out, write=a.out, site=self, "
    "source=hyper, norm=own, dropout=0.1) + full(target=norms) + hyper(task=3, layer=2, place=2, hidden=4, inner=3) + "
    "softmax(l=2; source=mlp(3))",
};
static const char *const rules[] = { "proportional", "temperature(2)", "one-task(3)", "stratified(5)" };

static int open_all(void **state) {
    (void)state;
    mixed_open_both(mixed, NULL);
    return 0;
}

static int close_all(void **state) {
    (void)state;
    mixed_release_both(mixed);
    return 0;
}

static struct run_config config(int of, const char *method, const char *sampling, int steps) {
    struct run_config c = mixed_config(&mixed[of], method, 7, steps);
    struct err e = ERR_INIT;
    test_ok(config_set(&c, "sampling", sampling, &e), &e);
    c.lr = 1e-2;
    c.eval_every = 1000;
    return c;
}

/* ---- the same bits ---- */

/* b: the whole run, or the steps of it after `from`. */
static void same_run(const struct trained *a, const struct trained *b, int from) {
    assert_int_equal(trained_state(b), RUN_FINISHED);
    assert_int_equal(a->points - from, b->points);
    assert_memory_equal(a->loss + from, b->loss, (size_t)b->points * sizeof a->loss[0]);
    assert_memory_equal(a->norm + from, b->norm, (size_t)b->points * sizeof a->norm[0]);
    for (int i = 0; i < b->tasks; i++)
        for (int k = 0; k < a->tasks; k++)
            if (!strcmp(a->task[k], b->task[i]))
                assert_memory_equal(a->task_loss[k] + from, b->task_loss[i], (size_t)b->points * sizeof(double));
    assert_memory_equal(a->params, b->params, a->params_count * sizeof *a->params);
    assert_string_equal(a->sha256, b->sha256);
    assert_int_equal(a->evaluations, b->evaluations);
    for (int i = 0; i < a->evaluations; i++)
        assert_true(!memcmp(&a->evaluation[i].value, &b->evaluation[i].value, sizeof(double)) &&
                    !memcmp(&a->evaluation[i].loss, &b->evaluation[i].loss, sizeof(double)));
}

static void same_bits(int of, const char *method, const char *sampling) {
    enum { STEPS = 9, STOP = 4 };
    struct run_config c = config(of, method, sampling, STEPS);
    struct trained a, b;
    c.dropout = 0.1;
    c.accumulate = 2;
    mixed_train(&mixed[of], &c, NULL, 1, 0, &a);
    assert_int_equal(trained_state(&a), RUN_FINISHED);
    assert_int_equal(a.points, STEPS);
    for (int workers = 2; workers <= 3; workers++) {
        mixed_train(&mixed[of], &c, NULL, workers, 0, &b);
        same_run(&a, &b, 0);
        trained_release(&b);
    }
    char *folder = test_folder();
    mixed_train(&mixed[of], &c, folder, 2, STOP, &b);
    assert_int_equal(trained_state(&b), RUN_STOPPED);
    trained_release(&b);
    mixed_go_on(&mixed[of], &c, folder, 1, &b);
    same_run(&a, &b, STOP);
    trained_release(&a);
    trained_release(&b);
    free(folder);
    config_release(&c);
}

static void workers_and_a_stop_change_nothing(void **state) {
    (void)state;
    for (int of = 0; of < MIXED_MODELS; of++)
        for (size_t i = 0; i < COUNT_OF(methods); i++)
            for (size_t k = 0; k < COUNT_OF(rules); k++) same_bits(of, methods[i], rules[k]);
}

/* ---- what is each task's own ---- */

static bool moved(const real *before, const real *after, size_t from, size_t n) {
    return memcmp(before + from, after + from, n * sizeof *before) != 0;
}

/* Blocks and heads of a task that the only step did not hold are as they were; those of the one it held, and
 * what is shared, are not. */
static void only_its_own_moves(int of, uint64_t seed, bool *held) {
    struct run_config c = config(of, methods[0], "one-task(2)", 1);
    struct trained t = { 0 };
    struct err e = ERR_INIT;
    c.seed = seed;
    c.optimizer = OPTIMIZER_SGD;
    c.lr = 1;
    c.batch = 9;
    struct run *r = mixed_begin(&mixed[of], &c, NULL, trained_sink(&t));
    struct plan *p = run_plan_for(&c, &mixed[of].tasks, &mixed[of].model->arch, &e);
    real *before = xcalloc(p->trained, sizeof *before);
    for (size_t i = 0; i < p->trained; i++) before[i] = run_params(r)[i] += (real)0.01 * (real)(i % 7 + 1);
    trained_run(r, 2, &t);
    assert_int_equal(t.tasks, 1);
    int task = config_task_find(&c, t.task[0], &e), blocks = 0;
    held[task] = true;
    for (int i = 0; i < p->tensors; i++) {
        const struct plan_tensor *x = &p->tensor[i];
        size_t n = x->count / (size_t)x->blocks;
        if (x->kind == PLAN_HEAD) assert_int_equal(moved(before, t.params, x->offset, n), x->task == task);
        for (int k = 0; k < x->blocks && x->blocks > 1; k++, blocks++)
            if (moved(before, t.params, x->offset + (size_t)k * n, n) != (k == task && !x->no_gradient))
                fail_msg("%s: block %d, the step being of task %d", x->name, k, task);
        if (x->kind == PLAN_MODEL && x->layer == 0) assert_true(moved(before, t.params, x->offset, n));
    }
    assert_true(blocks > 20);
    trained_release(&t);
    free(before);
    plan_free(p);
    config_release(&c);
}

static void a_task_that_is_not_there_stands_still(void **state) {
    (void)state;
    for (int of = 0; of < MIXED_MODELS; of++) {
        bool held[TRAINED_TASKS] = { false };
        for (uint64_t seed = 1; seed <= 12; seed++) only_its_own_moves(of, seed, held);
        for (int i = 0; i < TRAINED_TASKS; i++) assert_true(held[i]);
    }
}

/* ---- scores ---- */

static double told(const struct trained *t, int evaluation, const char *name) {
    for (int i = 0; i < t->evaluation[evaluation].metrics; i++) {
        const struct event_metric *m = &t->evaluation[evaluation].metric[i];
        if (!strcmp(m->name, name)) return m->undefined ? NAN : m->value;
    }
    fail_msg("nothing was told of %s", name);
    return NAN;
}

/* What a kept checkpoint's task scores on its dev rows. */
static void score(int of, const char *checkpoint, int task, struct metrics *out) {
    struct mixed *m = &mixed[of];
    struct err e = ERR_INIT;
    struct task *t = &m->task[task];
    struct predictor *p = predictor_open(checkpoint, m->config.of[task].task_name, m->model, &e);
    if (!p) fail_msg("%s", e.text);
    if (predictor_writes(p)) {
        struct written w;
        struct metric_value tokens;
        test_ok(predictor_evaluate_texts(p, t, 0, 0, NULL, &w, out, &tokens, &e), &e);
        written_release(&w);
    } else {
        test_ok(predictor_evaluate(p, &t->dev[0], NULL, t->positive, NULL, NULL, out, &e), &e);
    }
    predictor_free(p);
}

static void same_scores(const struct trained *t, int evaluation, const struct metrics *m, enum data_kind gold) {
    int seen = 0;
    for (int id = 0; id < METRIC_COUNT; id++) {
        if (!metric_fits((enum metric_id)id, gold) || (id == METRIC_F1 && m->positive < 0)) continue;
        double was = told(t, evaluation, metric_name((enum metric_id)id));
        assert_int_equal(isnan(was), !m->value[id].defined);
        if (!isnan(was) && fabs(was - m->value[id].value) > 1e-6)
            fail_msg("%s: %s was %.9g, is %.9g", t->evaluation[evaluation].task, metric_name((enum metric_id)id), was,
                     m->value[id].value);
        seen++;
    }
    assert_true(seen >= 3);
}

static void what_was_told_is_what_the_checkpoint_gives(void **state) {
    (void)state;
    for (int of = 0; of < MIXED_MODELS; of++)
        for (size_t i = 0; i < COUNT_OF(methods); i++) {
            struct run_config c = config(of, methods[i], "temperature(2)", 30);
            struct trained t;
            char *folder = test_folder(), *best = checkpoint_path(folder, false);
            c.eval_every = 10;
            mixed_train(&mixed[of], &c, folder, 2, 0, &t);
            int tasks = mixed[of].tasks.count, kept = -1;
            for (int k = tasks; k < t.evaluations; k += tasks + 1)
                if (t.evaluation[k].best) kept = k;
            assert_int_equal(t.evaluations, 3 * (tasks + 1));
            assert_true(kept >= 0);
            for (int k = 0; k < tasks; k++) {
                struct metrics m;
                int evaluation = kept - tasks + k;
                assert_string_equal(t.evaluation[evaluation].task, c.of[k].task_name);
                score(of, best, k, &m);
                same_scores(&t, evaluation, &m, mixed[of].task[k].label_kind);
                metrics_release(&m);
            }
            trained_release(&t);
            config_release(&c);
            free(best);
            free(folder);
        }
}

/* A name that is no task's is refused with the list, none at all too. */
static void a_task_has_to_be_named(void **state) {
    (void)state;
    struct run_config c = config(BERT, "lora(r=2)", "proportional", 2);
    struct trained t;
    struct err e = ERR_INIT;
    char *folder = test_folder(), *best = checkpoint_path(folder, false);
    mixed_train(&mixed[BERT], &c, folder, 1, 0, &t);
    assert_null(predictor_open(best, "four", mixed[BERT].model, &e));
    test_refused(e.code, ERR_USAGE, &e, "two, three, score");
    e = (struct err)ERR_INIT;
    assert_null(predictor_open(best, NULL, mixed[BERT].model, &e));
    test_refused(e.code, ERR_USAGE, &e, "two, three, score");
    trained_release(&t);
    config_release(&c);
    free(best);
    free(folder);
}

/* ---- the average ---- */

/* Of evaluations first … first+2, by hand: each deciding metric, or all but losses, shares and counts. */
static double average(const struct trained *t, int first, bool all, int *metrics, int *undefined) {
    static const char *const not_these[] = { "loss", "majority", "token_accuracy", "invalid" };
    double sum = 0;
    *metrics = *undefined = 0;
    for (int i = first; i < first + TRAINED_TASKS; i++)
        for (int k = 0; k < (all ? t->evaluation[i].metrics : 1); k++) {
            const struct event_metric *m = &t->evaluation[i].metric[k];
            bool counts = true;
            for (size_t j = 0; j < COUNT_OF(not_these); j++) counts = counts && strcmp(m->name, not_these[j]) != 0;
            if (!counts) continue;
            sum += m->undefined ? 0 : m->value;
            *undefined += m->undefined != NULL;
            ++*metrics;
        }
    return sum / *metrics;
}

static void the_average_is_of_one_or_of_all(void **state) {
    (void)state;
    for (int of = 0; of < MIXED_MODELS; of++)
        for (int all = 0; all < 2; all++) {
            /* untrained, then trained: constant answers have no Matthews */
            for (int steps = 1; steps <= 60; steps += 59) {
                struct run_config c = config(of, "full", "proportional", steps);
                struct trained t;
                char rows[64];
                int metrics, undefined;
                c.average = all ? AVERAGE_ALL : AVERAGE_ONE;
                if (steps == 1) c.lr = 1e-30;
                mixed_train(&mixed[of], &c, NULL, 2, 0, &t);
                assert_int_equal(t.evaluations, TRAINED_TASKS + 1);
                double want = average(&t, 0, all, &metrics, &undefined);
                assert_int_equal(metrics, all ? 9 : 3);
                assert_true(steps == 1 ? undefined > 0 : undefined == 0);
                assert_string_equal(t.evaluation[TRAINED_TASKS].task, "");
                assert_true(fabs(told(&t, TRAINED_TASKS, "average") - want) < 1e-12);
                if (undefined) assert_true(told(&t, TRAINED_TASKS, "undefined") == undefined);
                else assert_int_equal(t.evaluation[TRAINED_TASKS].metrics, 1);
                snprintf(rows, sizeof rows, "%d metrics of 3 tasks%s", metrics, undefined ? ", undefined as 0" : "");
                assert_string_equal(t.evaluation[TRAINED_TASKS].rows, rows);
                trained_release(&t);
                config_release(&c);
            }
        }
}

/* ---- the best of each task ---- */

static bool kept(const char *folder, bool last) {
    char *path = checkpoint_path(folder, last);
    bool there = file_exists(path);
    free(path);
    return there;
}

static void each_task_keeps_its_best(void **state) {
    (void)state;
    enum { STEPS = 60, STOP = 41 };
    struct run_config c = config(BERT, "full", "proportional", STEPS);
    struct trained whole, first, rest;
    char *folder = test_folder(), *stopped = test_folder();
    c.eval_every = 1;
    c.best_of = BEST_PER_TASK;
    c.keep = KEEP_BEST;
    mixed_train(&mixed[BERT], &c, folder, 2, 0, &whole);
    mixed_train(&mixed[BERT], &c, stopped, 1, STOP, &first);
    mixed_go_on(&mixed[BERT], &c, stopped, 2, &rest);
    assert_string_equal(whole.sha256, rest.sha256);
    for (int i = 0; i < rest.evaluations; i++)
        assert_int_equal(rest.evaluation[i].best, whole.evaluation[i + first.evaluations].best);
    assert_false(kept(folder, false));
    assert_false(kept(folder, true));
    for (int k = 0; k < TRAINED_TASKS; k++) {
        double best = -INFINITY;
        for (int i = k; i < whole.evaluations; i += TRAINED_TASKS + 1) {
            assert_string_equal(whole.evaluation[i].task, c.of[k].task_name);
            /* NaN, where it has no value, is never better */
            assert_int_equal(whole.evaluation[i].best, whole.evaluation[i].value > best);
            if (whole.evaluation[i].value > best) best = whole.evaluation[i].value;
        }
        for (int twice = 0; twice < 2; twice++) {
            struct metrics m;
            char *path = checkpoint_path_of_task(twice ? stopped : folder, c.of[k].task_name);
            score(BERT, path, k, &m);
            enum metric_id id = (enum metric_id)metric_find(whole.evaluation[k].metric[0].name);
            if (!(fabs(m.value[id].value - best) < 1e-6))
                fail_msg("%s: its best checkpoint gives %.9g, the best was %.9g", c.of[k].task_name, m.value[id].value, best);
            metrics_release(&m);
            free(path);
        }
    }
    trained_release(&whole);
    trained_release(&first);
    trained_release(&rest);
    config_release(&c);
    free(folder);
    free(stopped);
}

/* Constant answers have no Matthews, so "three" never has a best state: the last one stays, for it to have one. */
static void a_task_without_a_best_has_the_last(void **state) {
    (void)state;
    struct run_config c = config(BERT, "full", "proportional", 2);
    struct trained t;
    char *folder = test_folder(), *three = checkpoint_path_of_task(folder, "three");
    c.best_of = BEST_PER_TASK;
    c.keep = KEEP_BEST;
    c.lr = 1e-30;
    mixed_train(&mixed[BERT], &c, folder, 2, 0, &t);
    assert_false(file_exists(three));
    assert_true(kept(folder, true));
    trained_release(&t);
    config_release(&c);
    free(three);
    free(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(workers_and_a_stop_change_nothing),
        cmocka_unit_test(a_task_that_is_not_there_stands_still),
        cmocka_unit_test(what_was_told_is_what_the_checkpoint_gives),
        cmocka_unit_test(a_task_has_to_be_named),
        cmocka_unit_test(the_average_is_of_one_or_of_all),
        cmocka_unit_test(each_task_keeps_its_best),
        cmocka_unit_test(a_task_without_a_best_has_the_last),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
