/* What the screens show of runs with several tasks. */
#include <math.h>
#include <stdlib.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "app/insight/insight.h"
#include "app/jobs/jobs_private.h"
#include "app/session/history_pages.h"
#include "app/session/page_scores.h"
#include "app/session/session_private.h"
#include "app/session/session.h"
#include "app/session/start_effect.h"
#include "core/base/clock.h"
#include "core/base/file.h"
#include "core/base/mem.h"
#include "core/engine/blas.h"
#include "core/train/config/complete.h"
#include "tests/support/stage.h"
#include "tests/support/test.h"

static struct store *store;

static int make(void **state) {
    (void)state;
    struct err e = ERR_INIT;
    stage_init(&stage);
    free(stage_task(&stage, "alpha", 20));
    free(stage_task(&stage, "beta", 10));
    free(stage_task(&stage, "gamma", 10));
    return store_open(&store, stage.db, STORE_WRITE, &e);
}

static int drop(void **state) {
    (void)state;
    struct err e = ERR_INIT;
    int rc = store_close(store, &e);
    stage_release(&stage);
    return rc;
}

static struct job_request request(const char *sampling) {
    struct job_request r = { .config = stage_config(&stage, 4, 12) };
    struct err e = ERR_INIT;
    test_ok(config_set(&r.config, "sampling", sampling, &e), &e);
    char *tasks = xprintf("%s/alpha,%s/beta,%s/gamma", stage.folder, stage.folder, stage.folder);
    test_ok(config_set_tasks(&r.config, tasks, &e), &e);
    free(tasks);
    r.config.lr = 1e-3;
    r.config.eval_every = 4;
    return r;
}

static int64_t begin_this(struct jobs *j, struct job_request *r) {
    struct err e = ERR_INIT;
    int64_t id;
    test_ok(jobs_start(j, r, &id, &e), &e);
    config_release(&r->config);
    return id;
}

static int64_t begin(struct jobs *j, const char *sampling) {
    struct job_request r = request(sampling);
    return begin_this(j, &r);
}

static void same_numbers(const double *a, const double *b, size_t n) {
    for (size_t i = 0; i < n; i++) assert_true(a[i] == b[i] || (isnan(a[i]) && isnan(b[i])));
}

/* What a run tells while it trains and what the history has of it are the same. */
static void tasks_live_and_stored_are_the_same(void **state) {
    (void)state;
    struct jobs *j = jobs_new(store, 1, (struct jobs_hook){ 0 });
    struct err e = ERR_INIT;
    int64_t id = begin(j, "proportional");
    struct run_series *live = series_new(id), *stored = series_new(id);
    for (bool over = false; !over;) { /* bit by bit, as frames take it */
        over = jobs_wait(j, id, 0.002);
        jobs_series(j, id, live);
    }
    struct store_run run;
    test_ok(store_flush(store, &e), &e);
    test_ok(store_run(store, id, &run, &e), &e);
    test_ok(series_read(stored, store, &run, &e), &e);
    test_ok(series_read(stored, store, &run, &e), &e); /* again adds nothing */
    store_run_release(&run);
    assert_int_equal(live->view.tasks, 3);
    assert_int_equal(stored->view.tasks, 3);
    assert_string_equal(live->view.metric, "average");
    static const double share[] = { 0.5, 0.25, 0.25 };
    for (int i = 0; i < 3; i++) {
        const struct series_task *a = &live->view.task[i], *b = &stored->view.task[i];
        assert_string_equal(a->name, b->name);
        assert_string_equal(a->metric, "accuracy");
        assert_string_equal(b->metric, "accuracy");
        assert_string_equal(a->rows, b->rows);
        assert_true(a->count && a->count == b->count && a->evals == 3 && b->evals == 3);
        same_numbers(a->step, b->step, a->count);
        same_numbers(a->loss, b->loss, a->count);
        same_numbers(a->eval_step, b->eval_step, a->evals);
        same_numbers(a->eval_value, b->eval_value, a->evals);
        assert_true(a->majority == b->majority && a->best == b->best && a->best_step == b->best_step);
        assert_true(isfinite(a->majority) && isfinite(a->best));
        assert_float_equal(a->share, share[i], 1e-12);
        assert_float_equal(b->share, share[i], 1e-12);
    }
    series_free(live);
    series_free(stored);
    jobs_free(j, true);
}

/* The settings as Compose calls them; those that were not given are at their defaults. */
static void the_page_has_settings(const struct detail_view *v) {
    int leads = 0;
    for (int i = 0; i < v->settings; i++) {
        const struct detail_setting *s = &v->setting[i];
        leads += s->leads;
        if (!strcmp(s->name, "seq len")) assert_true(s->group == GROUP_RUN && s->leads && *s->value);
        if (!strcmp(s->name, "optimizer"))
            assert_true(s->group == GROUP_OPTIMIZATION && s->usual && !strcmp(s->value, "adamw"));
        if (!strcmp(s->name, "tasks")) assert_true(!s->usual && s->group == GROUP_TASKS);
        assert_true(strcmp(s->name, "epochs") != 0 && strcmp(s->name, "momentum") != 0); /* do not apply */
        if (i) assert_true(s->group >= s[-1].group);
    }
    assert_true(leads > 5 && v->settings > 20);
}

/* Evaluated again, each task has the accuracy that training recorded at the checkpoint; the errors are those off the
 * diagonal, the least probable label first. */
static void the_page_evaluates(const struct run_row *r) {
    struct err e = ERR_INIT;
    struct page_scores *x = NULL;
    for (int task = 0; task < 4; task++) {
        test_ok(page_scores_compute(store, r->id, task, &(struct embed_how){ 0 }, &x, &e), &e);
        const struct detail_scores *s = &x->view;
        size_t all = 0, right = 0;
        assert_string_equal(s->task, r->task_result[task % 3].name);
        assert_string_equal(s->metric, "accuracy");
        assert_true(s->score == r->task_result[task % 3].value && s->step == r->task_result[task % 3].step);
        assert_int_equal(s->labeled, r->task_result[task % 3].rows);
        for (int i = 0; i < s->classes * s->classes; i++) {
            all += s->confusion[i];
            right += i / s->classes == i % s->classes ? s->confusion[i] : 0;
        }
        assert_int_equal(all, s->labeled);
        assert_int_equal(all - right, s->wrong);
        for (int i = 0; i < s->errors; i++) {
            assert_string_not_equal(s->error[i].label, s->error[i].predicted);
            assert_true(s->error[i].label_share <= s->error[i].predicted_share && *s->error[i].text);
            if (i) assert_true(s->error[i].label_share >= s->error[i - 1].label_share);
        }
        page_scores_free(x);
    }
}

/* The history's list and page have each task's result at the kept checkpoint; asked again, only a run that went
 * on is read anew. */
static void the_history_tells_each_task(void **state) {
    (void)state;
    struct err e = ERR_INIT;
    struct result_cache kept = { 0 };
    struct history_rows *runs;
    struct run_page *page;
    for (int again = 0; again < 2; again++) {
        test_ok(history_rows_read(store, false, false, NULL, &kept, &runs, &e), &e);
        const struct run_row *r = &runs->row[runs->rows - 1];
        assert_int_equal(r->task_results, 3);
        assert_string_equal(r->metric, "average");
        double sum = 0;
        for (int i = 0; i < 3; i++) {
            const struct task_row *t = &r->task_result[i];
            assert_string_equal(t->metric, "accuracy");
            assert_int_equal(t->step, r->best_step);
            assert_int_equal(t->rows, 20);
            sum += t->value;
        }
        assert_float_equal(sum / 3, r->best, 1e-12);
        assert_string_equal(r->task_result[1].name, "beta");
        test_ok(run_page_read(store, r->id, &page, &e), &e);
        assert_int_equal(page->view.run.task_results, 3);
        assert_true(page->view.run.task_result[2].value == r->task_result[2].value);
        bool folder = false;
        for (int i = 0; i < page->view.records; i++) {
            folder = folder || !strcmp(page->view.record[i].key, "beta train_file");
            assert_string_not_equal(page->view.record[i].key, "tasks");
            assert_string_not_equal(page->view.record[i].key, "max_len"); /* a setting */
        }
        assert_true(folder);
        the_page_has_settings(&page->view);
        if (!again) the_page_evaluates(r);
        run_page_free(page);
        history_rows_free(runs);
    }
    result_cache_release(&kept);
    test_ok(history_rows_read(store, false, false, NULL, NULL, &runs, &e), &e); /* not asked for */
    assert_true(!runs->results && !runs->row[0].task_results);
    history_rows_free(runs);
}

static double last_listed(struct result_cache *kept) {
    struct err e = ERR_INIT;
    struct history_rows *runs;
    test_ok(history_rows_read(store, false, false, NULL, kept, &runs, &e), &e);
    assert_true(runs->rows > 1 && runs->row[0].task_results == 3);
    double value = runs->row[0].task_result[0].value;
    history_rows_free(runs);
    return value;
}

/* The components of a loss while it trains, read again, and drawn; a metric of the step is not one of them. */
static void parts_are_kept(struct job_request *r, const char *method, const char *const name[2]) {
    struct jobs *j = jobs_new(store, 1, (struct jobs_hook){ 0 });
    struct err e = ERR_INIT;
    test_ok(method_parse(method, &r->config.method, &e), &e);
    int64_t id = begin_this(j, r);
    struct run_series *live = series_new(id), *stored = series_new(id);
    for (bool over = false; !over;) {
        over = jobs_wait(j, id, 0.002);
        jobs_series(j, id, live);
    }
    struct store_run run;
    test_ok(store_flush(store, &e), &e);
    test_ok(store_run(store, id, &run, &e), &e);
    for (int again = 0; again < 2; again++) test_ok(series_read(stored, store, &run, &e), &e);
    store_run_release(&run);
    assert_true(live->view.terms == 2 && stored->view.terms == 2);
    assert_true(live->view.count == 12 && stored->view.count == 12);
    same_numbers(live->view.loss, stored->view.loss, 12);
    same_numbers(live->view.tokens, stored->view.tokens, 12);
    assert_true(live->view.epoch > 0 && live->view.epoch == stored->view.epoch);
    assert_true(live->view.evals && live->view.evals == stored->view.evals);
    same_numbers(live->view.eval_value, stored->view.eval_value, live->view.evals);
    same_numbers(live->eval_loss, stored->eval_loss, live->view.evals);
    assert_string_equal(live->view.metric, stored->view.metric);
    char *shown = stage_out(0, "render --screen train --run %lld --loss parts --db '%s'", (long long)id, stage.db);
    assert_null(strstr(shown, "ranks"));
    for (int i = 0; i < 2; i++) {
        const struct series_term *a = &live->view.term[i], *b = &stored->view.term[i];
        assert_string_equal(a->name, name[i]);
        assert_string_equal(b->name, name[i]);
        assert_true(a->count == 12 && b->count == 12);
        same_numbers(a->step, b->step, 12);
        same_numbers(a->loss, b->loss, 12);
        assert_non_null(strstr(shown, name[i] + strlen(LOSS_COMPONENT)));
    }
    assert_non_null(strstr(shown, "loss components"));
    free(shown);
    series_free(live);
    series_free(stored);
    jobs_free(j, true);
}

static void parts_of_the_loss_are_kept(void **state) {
    (void)state;
    static const char *const joined[] = { "loss.task", "loss.instance" }, *const ranked[] = { "loss.task", "loss.orthogonality" };
    static const char adalora[] = "adalora(r=2)";
    struct job_request r = request("stratified");
    parts_are_kept(&r, "lora(r=2) + retriever(hidden=5, width=4)", joined);
    r = request("proportional");
    parts_are_kept(&r, adalora, ranked);
    r = (struct job_request){ .config = stage_config(&stage, 4, 12) };
    r.config.train_file = xprintf("%s/alpha/train.tsv", stage.folder);
    r.config.dev_file = xstrdup(stage.toy);
    r.config.eval_every = 4;
    parts_are_kept(&r, adalora, ranked);
}

/* What was scored on test rows at the end stands on the run's page, and in no other number. */
static void the_page_tells_test_rows(int64_t id) {
    struct err e = ERR_INIT;
    struct run_page *page;
    const struct store_metric m[] = { { "accuracy", 0.25, NULL, 1 }, { "loss", 0.5, NULL, -1 }, { "majority", 0.5, NULL, 0 } };
    test_ok(run_page_read(store, id, &page, &e), &e);
    assert_int_equal(page->view.tests, 0);
    run_page_free(page);
    store_evaluation(store, &(struct store_evaluation){ .run = id, .step = 12, .split = "alpha/test",
                                                        .rows = "test 10 (best checkpoint, step 12)", .count = 3, .metric = m });
    test_ok(store_flush(store, &e), &e);
    test_ok(run_page_read(store, id, &page, &e), &e);
    assert_int_equal(page->view.tests, 1);
    const struct detail_test *t = &page->view.test[0];
    assert_string_equal(t->task, "alpha");
    assert_string_equal(t->rows, "test 10 (best checkpoint, step 12)");
    assert_true(t->value == 0.25 && t->loss == 0.5 && t->majority == 0.5 && !t->undefined);
    assert_true(page->view.run.task_result[0].value == 0.75);
    run_page_free(page);
}

/* An evaluation of the last step is longer under way than a list is fresh; with a best checkpoint each it need not
 * move the run's own best. */
static void the_last_evaluation_is_listed(void **state) {
    (void)state;
    struct err e = ERR_INIT;
    struct result_cache kept = { 0 };
    struct run_config c;
    struct store_run like;
    int64_t id;
    test_ok(store_run(store, 1, &like, &e), &e);
    test_ok(config_from_json(like.config, strlen(like.config), &c, &e), &e);
    test_ok(config_set(&c, "best", "per-task", &e), &e);
    char *config = config_json(&c);
    const struct store_new_run n = { .config = config, .method = "lora(r=2)", .metric = "average", .direction = 1,
                                     .split = "tasks" };
    test_ok(store_create_run(store, &n, &id, &e), &e);
    store_step(store, &(struct store_step){ .run = id, .step = 12 });
    test_ok(store_flush(store, &e), &e);
    assert_true(isnan(last_listed(&kept)));
    const struct store_metric accuracy = { "accuracy", 0.75, NULL, 1 };
    store_evaluation(store, &(struct store_evaluation){ .run = id, .step = 12, .split = "alpha/dev", .rows = "dev 20",
                                                        .best = true, .count = 1, .metric = &accuracy });
    the_page_tells_test_rows(id);
    store_change(store, &(struct store_change){ .run = id, .step = 12, .state = STORE_FINISHED, .seconds = 1 });
    test_ok(store_disown(store, id, &e), &e);
    assert_true(last_listed(&kept) == 0.75);
    test_ok(store_trash(store, &id, 1, &e), &e);
    result_cache_release(&kept);
    free(config);
    config_release(&c);
    store_run_release(&like);
}

/* Map and Heatmap look at one of the run's tasks, any of them, or at all. */
static void each_task_is_looked_at(void **state) {
    (void)state;
    static const char *const wanted[] = { "alpha", "beta", "gamma", "all tasks", "alpha" };
    const int64_t run = 1;
    for (int i = 0; i < 5; i++) {
        struct insight_subject what = { .run = &run, .runs = 1, .task_at = i };
        struct insight_map *map;
        struct insight_heat *heat;
        struct err e = ERR_INIT;
        test_ok(insight_now(store, &what, false, &map, &heat, &e), &e);
        assert_string_equal(map->data.run_task, wanted[i]);
        assert_true(map->data.run_task_at == i % 4 && map->data.run_tasks == 3);
        assert_true(map->data.n == (i == 3 ? 60 : 20) && map->data.tasks == (i == 3 ? 3 : 1));
        assert_string_equal(heat->data.run_task, wanted[i]);
        assert_true(heat->data.matrices > 0);
        insight_map_free(map);
        insight_heat_free(heat);
    }
}

/* No export is written over the rows of any task. */
static void rows_of_all_tasks_stay(void **state) {
    (void)state;
    static const char *const rows[] = { "alpha/train.tsv", "beta/train.tsv", "gamma/dev.tsv" };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char *path = file_join(stage.folder, rows[i]);
        stage_refused(2, "it is an input file", "export 1 --to csv '%s' --overwrite --db '%s'", path, stage.db);
        free(path);
    }
}

/* What Compose holds after a clone is what was trained: facts of all tasks, and the same bits. */
static void a_clone_trains_the_same(void **state) {
    (void)state;
    struct jobs *j = jobs_new(store, 1, (struct jobs_hook){ 0 });
    struct err e = ERR_INIT;
    struct job_request r = { 0 };
    struct store_run was, now;
    int64_t id;
    test_ok(store_run(store, 1, &was, &e), &e);
    test_ok(config_from_json(was.config, strlen(was.config), &r.config, &e), &e);
    config_reuse(&r.config);
    test_ok(jobs_start(j, &r, &id, &e), &e);
    config_release(&r.config);
    assert_true(jobs_wait(j, id, 30));
    jobs_free(j, true);
    test_ok(store_run(store, id, &now, &e), &e);
    assert_string_equal(now.weights_sha256, was.weights_sha256);
    assert_string_equal(now.config, was.config);
    store_run_release(&was);
    store_run_release(&now);
}

static void shares_are_those_of_the_sampling(void **state) {
    (void)state;
    struct jobs *j = jobs_new(store, 1, (struct jobs_hook){ 0 });
    int64_t id = begin(j, "temperature(1000000)");
    struct run_series *live = series_new(id);
    assert_true(jobs_wait(j, id, 30));
    jobs_series(j, id, live);
    for (int i = 0; i < 3; i++) assert_float_equal(live->view.task[i].share, 1.0 / 3, 1e-5);
    series_free(live);
    jobs_free(j, true);
}

static int tasks_at_hand(struct jobs *j) {
    int n = 0;
    pthread_mutex_lock(&j->lock);
    for (const struct shared_task *t = j->tasks; t; t = t->next) n++;
    pthread_mutex_unlock(&j->lock);
    return n;
}

/* The rows of all tasks are there from the look at a run to its building: none is read twice. */
static void rows_wait_with_their_run(void **state) {
    (void)state;
    struct jobs *j = jobs_new(store, 1, (struct jobs_hook){ 0 });
    struct job_request first = request("proportional"), second = request("proportional");
    struct job_view v = { 0 };
    struct err e = ERR_INIT;
    first.config.steps = 1000000;
    first.config.eval_every = 0;
    first.config.max_len = 8; /* rows of its own */
    int64_t in_work = begin_this(j, &first);
    for (int i = 0; i < 3000 && v.progress.state != RUN_RUNNING; i++) {
        job_view_release(&v);
        clock_sleep_ms(10);
        assert_true(jobs_view(j, in_work, &v));
    }
    assert_int_equal(v.progress.state, RUN_RUNNING);
    job_view_release(&v);
    int64_t waits = begin_this(j, &second);
    assert_int_equal(tasks_at_hand(j), 6);
    test_ok(jobs_stop(j, waits, &e), &e);
    test_ok(jobs_stop(j, in_work, &e), &e);
    assert_true(jobs_wait(j, in_work, 30) && jobs_wait(j, waits, 30));
    for (int i = 0; i < 1000 && tasks_at_hand(j) > 1; i++) clock_sleep_ms(10);
    assert_int_equal(tasks_at_hand(j), 1); /* the latest, for the next run */
    jobs_free(j, true);
}

/* What a method does before it has learned anything is measured: nothing, or noise. */
static void the_start_is_measured(void **state) {
    (void)state;
    struct run_config c = stage_config(&stage, 4, 1);
    struct err e = ERR_INIT;
    struct start_effect x;
    char words[240], *task = xprintf("%s/beta", stage.folder);
    config_take_task(&c, task);
    test_ok(start_effect(&c, NULL, &x, &e), &e);
    assert_int_equal(x.rows, START_ROWS);
    assert_true(x.change < 1e-6);
    start_effect_words(&x, words);
    assert_non_null(strstr(words, "identity at initialization (last encoder layer"));
    test_ok(config_set(&c, "method", "prefix(l=4)", &e), &e);
    test_ok(start_effect(&c, NULL, &x, &e), &e);
    assert_true(x.change > 1e-4);
    start_effect_words(&x, words);
    assert_non_null(strstr(words, "not an identity at initialization"));
    test_ok(config_set(&c, "method", "lora(init=run(3))", &e), &e);
    test_refused(start_effect(&c, NULL, &x, &e), ERR_USAGE, &e, "is initialized from other runs");
    config_release(&c);
    free(task);
}

/* ---- what runs take, beside what was expected ---- */

/* Seconds at a step; NaN without. */
static double seconds_at(struct store *s, int64_t run, int64_t step) {
    struct store_points p;
    struct err e = ERR_INIT;
    double v = NAN;
    test_ok(store_points(s, run, "seconds", 0, &p, &e), &e);
    for (size_t i = 0; i < p.count; i++)
        if (p.step[i] == step) v = p.value[i];
    store_points_release(&p);
    return v;
}

static double factor(double a, double b) { return a > b ? a / b : b / a; }

/* The run that was just made: memory within 1.25 of its peak; time within 2 before it, and within 1.5 by its first ten steps. */
static int costs_are_near(const char *name) {
    struct store *s;
    struct store_run run;
    struct err e = ERR_INIT;
    int64_t id;
    test_ok(store_open(&s, stage.db, STORE_READ, &e), &e);
    test_ok(store_find(s, "last", &id, &e), &e);
    test_ok(store_run(s, id, &run, &e), &e);
    double all = seconds_at(s, id, run.steps), ten = seconds_at(s, id, 10) * (double)run.steps / 10;
    double memory = factor((double)run.peak, (double)run.estimated_bytes), after = factor(all, ten);
    double before = factor(run.seconds, run.estimated_seconds);
    print_message("%-40s memory %.2f  time %.1f s, %.2f of what was expected before, %.2f after ten steps\n", name,
                  (double)run.peak / (double)run.estimated_bytes, run.seconds, run.seconds / run.estimated_seconds, all / ten);
    store_run_release(&run);
    test_ok(store_close(s, &e), &e);
    return !(memory <= 1.25) + !(before <= 2) + !(after <= 1.5);
}

static void costs_come_near(void **state) {
    (void)state;
    static const char *const models[] = { "all-MiniLM-L6-v2", "flan-t5-small" };
    if (!test_slow()) test_skip("every preset is trained for twenty steps on two models in make test-slow");
    test_needs("assets/models/all-MiniLM-L6-v2");
    test_needs("assets/models/flan-t5-small");
    test_needs("assets/tasks/reviews/train.tsv");
    char *reviews = test_path("assets/tasks/reviews"), *db = stage.db;
    int far = 0;
    stage.db = file_join(stage.folder, "costs.db");
    for (size_t k = 0; k < COUNT_OF(models); k++)
        for (int i = 0; i < preset_count(); i++) {
            const struct preset *p = preset_at(i);
            char *inside = xprintf("assets/models/%s", models[k]), *model = test_path(inside), *name = xprintf("%s %s", models[k], p->name);
            struct command c;
            command_run(&c, NULL, "train --model '%s' --task '%s' --method %s --limit 400 --steps 20 --eval-steps 20 --eval-rows 32 "
                        "--keep none --workers 2 --seed 1 --db '%s'", model, reviews, p->name, stage.db);
            if (p->regime || c.status) print_message("%-40s is not trained on one task alone\n", name);
            else far += costs_are_near(name);
            command_release(&c);
            free(inside), free(model), free(name);
        }
    free(stage.db), free(reviews);
    stage.db = db;
    if (far) fail_msg("%d bounds are passed", far);
}

/* ---- in the background ---- */

static pthread_mutex_t file_busy = PTHREAD_MUTEX_INITIALIZER;

static int trains(const char *line, const char *database, struct line_meaning *out, struct err *e) {
    (void)line, (void)database, (void)e;
    *out = (struct line_meaning){ .kind = LINE_TRAINS };
    return 0;
}

/* As a file that takes its time. */
static int slow_line(const struct line_meaning *m, const struct run_config *from, struct jobs *j, int *runs,
                     struct err *e) {
    (void)m, (void)from, (void)j, (void)runs;
    pthread_mutex_lock(&file_busy);
    pthread_mutex_unlock(&file_busy);
    return err_set(e, ERR_USAGE, "read");
}

static void wake_nobody(void *self) { (void)self; }

/* Takes answers until nothing new of what others train is asked for, or the message is there. */
static void others_come(struct session *s, const char *message) {
    int64_t from = clock_ms();
    if (!message) session__ask_others(s, s->train.poll.looking = true);
    while (message ? strcmp(s->ui.message, message) != 0 : s->train.poll.looking) {
        if (clock_ms() - from > 30000) fail_msg("no answer");
        session__answers(s);
        usleep(2000);
    }
}

/* The history is not kept waiting by what reads models and files, and what is polled is read only where something is new. */
static void the_history_waits_for_no_file(void **state) {
    (void)state;
    const struct session_verbs verbs = { .mean = trains, .train = slow_line };
    struct session s = { .store = store };
    struct err e = ERR_INIT;
    s.jobs = jobs_new(store, 1, (struct jobs_hook){ 0 });
    s.room = (struct workroom){ .store = store, .jobs = s.jobs, .verbs = &verbs };
    s.background = background_new(&s.room, wake_nobody, NULL);
    s.inside.insight = insight_new(store, false, jobs_crew(s.jobs), wake_nobody, NULL);
    ui_init(&s.ui, GLYPHS_ASCII, COLORS_NONE);
    pthread_mutex_lock(&file_busy);
    session__effect(&s, &(struct effect){ .kind = EFFECT_VERB, .text = "train" });
    others_come(&s, NULL);
    const struct other_runs *had = s.train.others;
    int64_t version = had->version;
    assert_true(version != 0);
    others_come(&s, NULL);
    assert_ptr_equal(s.train.others, had);
    test_ok(store_save_filter(store, "lora", true, &e), &e);
    others_come(&s, NULL);
    assert_true(s.train.others->version != version);
    pthread_mutex_unlock(&file_busy);
    others_come(&s, "read");
    background_free(s.background);
    insight_free(s.inside.insight);
    jobs_free(s.jobs, false);
    session__runs_release(&s);
    session__train_release(&s);
    workroom_release(&s.room);
    ui_release(&s.ui);
}

int main(int argc, char **argv) {
    if (argc) blas_start(argv); /* what is timed runs as petri does */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_start_is_measured),
        cmocka_unit_test(costs_come_near),
        cmocka_unit_test(tasks_live_and_stored_are_the_same),
        cmocka_unit_test(the_history_tells_each_task),
        cmocka_unit_test(the_last_evaluation_is_listed),
        cmocka_unit_test(each_task_is_looked_at),
        cmocka_unit_test(parts_of_the_loss_are_kept),
        cmocka_unit_test(rows_of_all_tasks_stay),
        cmocka_unit_test(a_clone_trains_the_same),
        cmocka_unit_test(shares_are_those_of_the_sampling),
        cmocka_unit_test(rows_wait_with_their_run),
        cmocka_unit_test(the_history_waits_for_no_file),
    };
    return cmocka_run_group_tests(tests, make, drop);
}
