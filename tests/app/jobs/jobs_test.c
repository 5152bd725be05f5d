/* Jobs in this process: the queue, what is taken back, pauses, leaving, and what a screen reads of it. */
#include <malloc.h>
#include <math.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "app/jobs/jobs_private.h"
#include "app/session/learning.h"
#include "app/session/session_private.h"
#include "core/base/file.h"
#include "core/base/mem.h"
#include "tests/support/stage.h"
#include "tests/support/test.h"

static struct store *store;
static int databases;

static int make(void **state) {
    (void)state;
    struct err e = ERR_INIT;
    if (!stage.folder) stage_init(&stage);
    free(stage.db);
    stage.db = xprintf("%s/j%d.db", stage.folder, ++databases);
    return store_open(&store, stage.db, STORE_WRITE, &e);
}

static int close_store(void **state) {
    (void)state;
    struct err e = ERR_INIT;
    return store ? store_close(store, &e) : 0;
}

static struct job_request request(int64_t steps, uint64_t seed) {
    struct job_request r = { .config = stage_config(&stage, 2, steps) };
    r.config.seed = seed;
    r.config.train_file = xstrdup(stage.toy);
    r.config.text_column = xstrdup("text");
    r.config.label_column = xstrdup("label");
    return r;
}

static int64_t begin(struct jobs *j, int64_t steps, uint64_t seed) {
    struct job_request r = request(steps, seed);
    struct err e = ERR_INIT;
    int64_t id;
    test_ok(jobs_start(j, &r, &id, &e), &e);
    config_release(&r.config);
    return id;
}

static void begin_later(struct jobs *j, int64_t steps, uint64_t seed) {
    struct job_request r = request(steps, seed);
    jobs_start_later(j, &r);
    config_release(&r.config);
}

static void rest(int ms) { nanosleep(&(struct timespec){ ms / 1000, ms % 1000 * 1000000L }, NULL); }

static struct run_progress progress(struct jobs *j, int64_t id) {
    struct job_view v;
    assert_true(jobs_view(j, id, &v));
    job_view_release(&v);
    return v.progress;
}

static void await_state(struct jobs *j, int64_t id, enum run_state wanted) {
    for (int i = 0; i < 3000; i++) {
        if (progress(j, id).state == wanted) return;
        rest(10);
    }
    fail_msg("run %lld is not %s but %s", (long long)id, run_state_name(wanted),
             run_state_name(progress(j, id).state));
}

static void await_step(struct jobs *j, int64_t id, int64_t step) {
    for (int i = 0; i < 3000 && progress(j, id).step < step; i++) rest(10);
    assert_true(progress(j, id).step >= step);
}

static void expect_stored(int64_t id, enum store_state state, int64_t step) {
    struct store_run run;
    struct err e = ERR_INIT;
    test_ok(store_run(store, id, &run, &e), &e);
    assert_string_equal(store_state_name(run.state), store_state_name(state));
    if (step >= 0) assert_int_equal(run.step, step);
    store_run_release(&run);
}

static enum job_stage stage_of(struct jobs *j, int64_t id, bool *holds) {
    pthread_mutex_lock(&j->lock);
    const struct job_record *job = jobs__find(j, id);
    enum job_stage s = job->stage;
    *holds = s == JOB_QUEUED && (job->run || job->model || job->tasks.count);
    pthread_mutex_unlock(&j->lock);
    return s;
}

static int place(struct jobs *j, int64_t id) {
    struct job_view v;
    assert_true(jobs_view(j, id, &v));
    job_view_release(&v);
    return v.place;
}

/* ---- the queue ---- */

/* The heap less what SQLite keeps (its pages) and the points of the run that trains meanwhile. */
static double heap(struct jobs *j, int64_t training) {
    struct mallinfo2 all = mallinfo2();
    pthread_mutex_lock(&j->lock);
    double points = 6.0 * sizeof(double) * (double)jobs__find(j, training)->series->room;
    pthread_mutex_unlock(&j->lock);
    return (double)all.uordblks + (double)all.hblkhd - (double)sqlite3_memory_used() - points;
}

/* A thousand that wait would cost less than 20 MB. */
static void those_that_wait_cost_little(void **state) {
    (void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    test_skip("a sanitizer's heap is not counted");
#endif
    enum { RUNS = 40 };
    struct jobs *j = jobs_new(store, 1, (struct jobs_hook){ 0 });
    int64_t first = begin(j, 100000000, 1);
    await_step(j, first, 20);
    begin(j, 5, 2); /* its model and rows are kept until the next one is looked at */
    double before = heap(j, first);
    for (uint64_t i = 0; i < RUNS; i++) begin(j, 5, 3 + i);
    double each = (heap(j, first) - before) / RUNS;
    if (!(each < 20000)) fail_msg("a run that waits costs %.0f bytes", each);
    jobs_free(j, false);
}

/* A run that waits is a description; it can be moved, taken back, and taken up again later. */
static void those_that_wait_hold_nothing(void **state) {
    (void)state;
    struct jobs *j = jobs_new(store, 1, (struct jobs_hook){ 0 });
    struct err e = ERR_INIT;
    int64_t first = begin(j, 100000000, 1), second = begin(j, 5, 2), third = begin(j, 5, 3), fourth = begin(j, 5, 4);
    await_step(j, first, 1);
    for (int64_t id = second; id <= fourth; id++) {
        bool holds;
        assert_int_equal(stage_of(j, id, &holds), JOB_QUEUED);
        assert_false(holds);
    }
    assert_true(place(j, first) == 0 && place(j, second) == 1 && place(j, third) == 2 && place(j, fourth) == 3);
    jobs_move(j, fourth, -1);
    assert_true(place(j, second) == 1 && place(j, fourth) == 2 && place(j, third) == 3);
    jobs_move(j, second, 9);
    assert_true(place(j, fourth) == 1 && place(j, third) == 2 && place(j, second) == 3);
    test_ok(jobs_stop(j, third, &e), &e);
    assert_true(jobs_wait(j, third, 10));
    expect_stored(third, STORE_STOPPED, 0);
    assert_int_equal(place(j, second), 2);
    test_ok(jobs_stop(j, first, &e), &e);
    assert_true(jobs_wait(j, second, 30) && jobs_wait(j, fourth, 30));
    expect_stored(first, STORE_STOPPED, -1);
    expect_stored(second, STORE_FINISHED, 5);
    char *order = stage_out(0, "sql --db '%s' \"SELECT run FROM event WHERE state='running' AND run>1 ORDER BY id\"", stage.db);
    assert_string_equal(order, "\"run\"\n4\n2\n");
    free(order);
    test_ok(jobs_resume(j, third, NULL, 0, false, &e), &e);
    assert_true(jobs_wait(j, third, 30));
    expect_stored(third, STORE_FINISHED, 5);
    jobs_free(j, true);
}

static struct run *never_built(void *self, struct event_sink sink, struct err *e) {
    (void)sink;
    *(bool *)self = true;
    err_set(e, ERR_USAGE, "a stopped run was built");
    return NULL;
}

static void without_parts(void *self) { (void)self; }

/* A request that arrives between the record of a run and its place in the queue waits for it. */
static void a_request_waits_for_its_job(void **state) {
    (void)state;
    struct jobs *j = jobs_new(store, 1, (struct jobs_hook){ 0 });
    struct job_request r = request(5, 2);
    struct err e = ERR_INIT;
    int64_t first = begin(j, 100000000, 1), id;
    bool built = false;
    r.config.task = xstrdup("toys");
    await_step(j, first, 1);
    const struct store_new_run n = { .config = "{}", .method = "lora(r=2)", .steps = 5 };
    test_ok(store_create_run(store, &n, &id, &e), &e);
    test_ok(store_request(store, id, STORE_STOP, &e), &e);
    rest(600); /* the supervisor looks every 250 ms */
    jobs_add(j, &(struct job_built){ id, &r.config, never_built, without_parts, &built });
    assert_true(jobs_wait(j, id, 10));
    expect_stored(id, STORE_STOPPED, 0);
    assert_false(built);
    jobs_free(j, false);
    config_release(&r.config);
}

/* Short runs end while others are begun: each is whole (a run that was listed before the pool had it was
 * taken for over and freed). */
static void many_short_runs_are_all_trained(void **state) {
    (void)state;
    enum { RUNS = 24 };
    struct jobs *j = jobs_new(store, 2, (struct jobs_hook){ 0 });
    int64_t id[RUNS];
    for (int i = 0; i < RUNS; i++) {
        if (i % 2) begin_later(j, 1, (uint64_t)i);
        else id[i] = begin(j, 1, (uint64_t)i);
    }
    for (int i = 0; i < RUNS; i += 2) assert_true(jobs_wait(j, id[i], 60));
    jobs_free(j, true);
    char *done = stage_out(0, "sql --db '%s' \"SELECT count(*), sum(state='finished'), sum(step) FROM run\"", stage.db);
    assert_non_null(strstr(done, "\n24,24,24\n"));
    free(done);
}

/* What is asked for and has not begun ends with the screen: nothing is trained unseen. */
static void leaving_takes_back_what_waits(void **state) {
    (void)state;
    struct jobs *j = jobs_new(store, 1, (struct jobs_hook){ 0 });
    int64_t first = begin(j, 100000000, 1);
    int64_t second = begin(j, 100000000, 2);
    await_step(j, first, 1);
    for (int i = 0; i < 5; i++) begin_later(j, 100000000, 3);
    jobs_free(j, false);
    expect_stored(first, STORE_STOPPED, -1);
    expect_stored(second, STORE_STOPPED, 0);
    char *trained = stage_out(0, "sql --db '%s' \"SELECT count(*) FROM run WHERE state<>'stopped' OR (id>1 AND step>0)\"", stage.db);
    assert_non_null(strstr(trained, "\n0\n"));
    free(trained);
}

/* What the user paused stays so when the disk has room again. */
static void a_full_disk_sets_nothing_going(void **state) {
    (void)state;
    struct jobs *j = jobs_new(store, 2, (struct jobs_hook){ 0 });
    struct err e = ERR_INIT;
    int64_t mine = begin(j, 100000000, 1), other = begin(j, 100000000, 2);
    await_step(j, mine, 1);
    await_step(j, other, 1);
    test_ok(jobs_pause(j, mine, &e), &e);
    await_state(j, mine, RUN_PAUSED);
    jobs__hold(j, true, "full");
    rest(300); /* the supervisor has found the disk good again */
    await_state(j, other, RUN_RUNNING);
    assert_int_equal(progress(j, mine).state, RUN_PAUSED);
    test_ok(jobs_unpause(j, mine, &e), &e);
    await_state(j, mine, RUN_RUNNING);
    jobs_free(j, false);
}

/* A file that changed while the run waited: nothing is trained on it, and why is told. */
static void what_was_looked_at_is_trained(void **state) {
    (void)state;
    struct jobs *j = jobs_new(store, 1, (struct jobs_hook){ 0 });
    struct err e = ERR_INIT;
    struct buf rows = BUF_INIT;
    test_ok(file_read(stage.toy, 1 << 20, &rows, &e), &e);
    char *copy = test_file(stage.folder, "changing.tsv", rows.data, rows.size);
    int64_t first = begin(j, 100000000, 1), id;
    struct job_request r = request(5, 2);
    free(r.config.train_file);
    r.config.train_file = xstrdup(copy);
    test_ok(jobs_start(j, &r, &id, &e), &e);
    int64_t last = begin(j, 5, 3); /* its rows are the ones that are kept */
    buf_puts(&rows, "cat sat\tpos\n");
    free(test_file(stage.folder, "changing.tsv", rows.data, rows.size));
    pthread_mutex_lock(&j->lock); /* as when another run's rows have taken the place */
    for (struct shared_task *t = j->tasks; t; t = t->next)
        if (strstr(t->key, "changing.tsv")) t->key[0] = t->frozen_key[0] = '?';
    pthread_mutex_unlock(&j->lock);
    test_ok(jobs_stop(j, first, &e), &e);
    assert_true(jobs_wait(j, id, 30) && jobs_wait(j, last, 30));
    test_refused(jobs_failure(j, id, &e), ERR_INPUT, &e, "changing.tsv: changed since the run was started");
    assert_int_equal(jobs_failure(j, last, &e), 0);
    expect_stored(id, STORE_FAILED, 0);
    jobs_free(j, true);
    config_release(&r.config);
    buf_release(&rows);
    free(copy);
}

/* Rows are kept while a run uses them; of those that none uses only the latest, for the next run. */
static void rows_are_let_go(void **state) {
    (void)state;
    struct jobs *j = jobs_new(store, 1, (struct jobs_hook){ 0 });
    for (int i = 0; i < 3; i++) {
        struct job_request r = request(1, 1);
        struct err e = ERR_INIT;
        int64_t id;
        r.config.max_len = 8 + i; /* rows of their own */
        test_ok(jobs_start(j, &r, &id, &e), &e);
        assert_true(jobs_wait(j, id, 30));
        config_release(&r.config);
    }
    bool released = false; /* with the last run's model */
    for (int i = 0; i < 1000 && !released; i++) {
        pthread_mutex_lock(&j->lock);
        released = !j->cached_model && j->tasks && !j->tasks->next && !j->tasks->users;
        pthread_mutex_unlock(&j->lock);
        rest(10);
    }
    assert_true(released);
    jobs_free(j, true);
}

/* ---- what a screen reads ---- */

static void wake(void *self) { (void)self; }

static void frame(struct session *s) {
    session__answers(s);
    session__fill_jobs(s);
}

/* A resumed run's curve comes from the store and from here, each point once and in order; while nothing
 * happens nothing is asked. */
static void an_idle_screen_reads_nothing(void **state) {
    (void)state;
    struct jobs *j = jobs_new(store, 1, (struct jobs_hook){ 0 });
    struct err e = ERR_INIT;
    int64_t id = begin(j, 100000000, 1);
    await_step(j, id, 30);
    jobs_free(j, false);
    struct session s = { .store = store };
    s.jobs = jobs_new(store, 1, (struct jobs_hook){ 0 });
    s.room = (struct workroom){ .store = store, .jobs = s.jobs };
    s.background = background_new(&s.room, wake, NULL);
    s.inside.insight = insight_new(store, false, jobs_crew(s.jobs), wake, NULL);
    ui_init(&s.ui, GLYPHS_ASCII, COLORS_NONE);
    ui_resize(&s.ui, 80, 24);
    test_ok(jobs_resume(s.jobs, id, NULL, 0, false, &e), &e);
    int64_t other = begin(s.jobs, 5, 2); /* waits: a job that has no points */
    await_step(s.jobs, id, 60);
    test_ok(jobs_pause(s.jobs, id, &e), &e);
    await_state(s.jobs, id, RUN_PAUSED);
    assert_true(jobs_wait(s.jobs, other, 30));
    frame(&s);
    s.ui.train.focus = id;
    for (int i = 0; i < 100 && s.ui.train.series.count < 60; i++) {
        frame(&s);
        rest(10);
    }
    const struct series *v = &s.ui.train.series;
    assert_int_equal(v->run, id);
    assert_int_equal(v->count, progress(s.jobs, id).step);
    for (size_t i = 0; i < v->count; i++) assert_true(v->step[i] == (double)i + 1 && isfinite(v->loss[i]) && isfinite(v->lr[i]));
    rest(300);
    frame(&s);
    int64_t asked = background_orders(s.background);
    for (int i = 0; i < 200; i++) { /* as many frames as in twenty seconds */
        frame(&s);
        rest(5);
    }
    assert_int_equal(background_orders(s.background), asked);
    /* a frame takes what is new, which is nothing now */
    const struct series had = s.train.series->view;
    jobs_series(s.jobs, id, s.train.series);
    assert_memory_equal(&had, &s.train.series->view, sizeof had);
    /* and while it trains, its points come without the store */
    size_t count = v->count;
    test_ok(jobs_unpause(s.jobs, id, &e), &e);
    await_step(s.jobs, id, (int64_t)count + 50);
    for (int i = 0; i < 50; i++) {
        frame(&s);
        rest(5);
    }
    assert_true(s.ui.train.series.count >= count + 50);
    assert_int_equal(background_orders(s.background), asked);
    background_free(s.background);
    insight_free(s.inside.insight);
    jobs_free(s.jobs, false);
    session__runs_release(&s);
    session__train_release(&s);
    workroom_release(&s.room);
    ui_release(&s.ui);
}

/* The trash is fetched when it is turned to, not with the next look at what other processes did. */
static void the_trash_is_asked_for_at_once(void **state) {
    (void)state;
    struct session s = { .store = store };
    s.jobs = jobs_new(store, 1, (struct jobs_hook){ 0 });
    s.room = (struct workroom){ .store = store, .jobs = s.jobs };
    s.background = background_new(&s.room, wake, NULL);
    s.inside.insight = insight_new(store, false, jobs_crew(s.jobs), wake, NULL);
    ui_init(&s.ui, GLYPHS_ASCII, COLORS_NONE);
    config_take_model(&s.ui.compose.config, "no model of this name");
    config_take_task(&s.ui.compose.config, "no task of this name");
    s.ui.runs.trash = true;
    session__effect(&s, &(struct effect){ .kind = EFFECT_TRASH_VIEW });
    assert_int_equal(background_orders(s.background), 1);
    for (int i = 0; i < 300 && !s.runs.rows; i++) {
        session__answers(&s);
        rest(10);
    }
    assert_true(s.runs.rows && s.runs.rows->trash);
    background_free(s.background);
    insight_free(s.inside.insight);
    jobs_free(s.jobs, false);
    session__runs_release(&s);
    workroom_release(&s.room);
    ui_release(&s.ui);
}

/* The maker passes over what it has, so that history and what is replayed fit together. */
static void a_series_grows_by_what_is_new(void **state) {
    (void)state;
    struct run_series *s = series_new(7);
    for (int64_t i = 1; i <= 200; i++) series_point(s, &(struct series_step){ i, 1.0 / (double)i, 1, 2, 3, (double)i });
    for (int64_t i = 150; i <= 210; i++) series_point(s, &(struct series_step){ i, 1.0 / (double)i, 1, 2, 3, (double)i });
    assert_int_equal(s->view.count, 210);
    for (size_t i = 0; i < 210; i++) assert_true(s->view.step[i] == (double)i + 1 && s->view.loss[i] == 1.0 / ((double)i + 1));
    char *name[] = { "dev.accuracy", "dev.loss", "dev.majority", "dev.accuracy", "dev.loss" }, rows[] = "dev 20";
    const double value[] = { 0.5, 0.7, 0.4, 0.4, 0.8 };
    struct store_eval_row row[5];
    for (int i = 0; i < 5; i++)
        row[i] = (struct store_eval_row){ .step = i < 3 ? 10 : 20, .name = name[i], .rows = rows, .best = !i,
                                          .value = { .measured = true, .v = value[i] } };
    s->decides = xstrdup("dev.accuracy");
    for (int again = 0; again < 2; again++) series_evaluations(s, &(struct store_evals){ row, 5, 5 });
    assert_true(s->view.evals == 2 && s->view.best == 0.5 && s->view.best_step == 10 && s->view.majority == 0.4);
    assert_string_equal(s->view.metric, "accuracy");
    struct run_series *all = series_new(7);
    for (int again = 0; again < 2; again++) {
        if (!again) series_sample(s, &(struct train_sample){ 10, "a", NULL, "b", 1 });
        series_take(all, s);
        series_take(all, s);
        if (!again) series_sample(s, &(struct train_sample){ 10, "c", "d", "e", 0 }); /* of another task */
    }
    const struct series *v = &all->view;
    assert_true(v->samples == 2 && !v->sample[0].target && !strcmp(v->sample[1].target, "d"));
    assert_true(v->count == 210 && v->tokens[209] == s->view.tokens[209] && v->evals == 2 && v->best == 0.5 && v->best_step == 10);
    series_free(all);
    series_free(s);
}

/* ---- rows ---- */

static void expect_rows(int64_t id, const char *path) {
    struct store_run run;
    struct err e = ERR_INIT;
    char hash[65];
    test_ok(file_sha256(path, hash, &e), &e);
    test_ok(store_run(store, id, &run, &e), &e);
    assert_string_equal(run.train_sha256, hash);
    store_run_release(&run);
}

/* The rows of the run before are used again, but not when their file was written since. */
static void a_changed_file_is_read_anew(void **state) {
    (void)state;
    struct jobs *j = jobs_new(store, 1, (struct jobs_hook){ 0 });
    struct err e = ERR_INIT;
    struct buf was;
    test_ok(file_read(stage.toy, 1 << 20, &was, &e), &e);
    int64_t first = begin(j, 2, 1);
    await_state(j, first, RUN_FINISHED);
    const struct shared_task *kept = j->tasks;
    int64_t again = begin(j, 2, 2);
    await_state(j, again, RUN_FINISHED);
    assert_ptr_equal(j->tasks, kept); /* not read twice */
    assert_null(kept->next);
    expect_rows(again, stage.toy);
    char *row = strstr(was.data, "good film");
    memcpy(row, "film good", 9); /* as long as before */
    FILE *f = fopen(stage.toy, "r+");
    assert_non_null(f);
    assert_int_equal(fwrite(was.data, 1, was.size, f), was.size);
    assert_int_equal(fclose(f), 0);
    int64_t third = begin(j, 2, 3);
    await_state(j, third, RUN_FINISHED);
    expect_rows(third, stage.toy);
    assert_null(j->tasks->next); /* those of before are let go */
    jobs_free(j, true);
    memcpy(row, "good film", 9);
    test_ok(file_write(stage.toy, was.data, was.size, &e), &e);
    buf_release(&was);
}

/* ---- lessons ---- */

/* Takes answers until one has cleared or filled what the screen waits for; false: it does not come. */
static bool answered(struct session *s, bool (*has)(const struct session *s)) {
    for (int i = 0; i < 3000 && !has(s); i++) {
        session__answers(s);
        if (*s->ui.message) fail_msg("%s", s->ui.message);
        rest(10);
    }
    return has(s);
}

static bool has_lesson(const struct session *s) { return s->lesson.page && !s->lesson.asked; }
static bool has_rows(const struct session *s) { return s->runs.rows != NULL; }

/* A step of a lesson that takes long (here it waits for what another petri keeps) lets lists and pages come. */
static void a_lesson_stops_no_screen(void **state) {
    (void)state;
    struct err e = ERR_INIT;
    int fd;
    char *files = xprintf("%s-files", stage.db), *lock = file_join(files, "lessons.json-lock");
    test_put(stage.folder, "long.lesson", "lesson Long\ntext\n  Read.\n");
    char *path = file_join(stage.folder, "long.lesson");
    struct session s = { .store = store };
    s.jobs = jobs_new(store, 1, (struct jobs_hook){ 0 });
    s.room = (struct workroom){ .store = store, .jobs = s.jobs, .learning = learning_new(store, s.jobs) };
    s.background = background_new(&s.room, wake, NULL);
    s.inside.insight = insight_new(store, false, jobs_crew(s.jobs), wake, NULL);
    ui_init(&s.ui, GLYPHS_ASCII, COLORS_NONE);
    struct effect x = { .kind = EFFECT_LESSON };
    snprintf(x.text, sizeof x.text, "%s", path);
    session__effect(&s, &x);
    assert_true(answered(&s, has_lesson));
    test_ok(file_make_folder(files, &e), &e);
    test_ok(file_lock(lock, true, &fd, &e), &e);
    session__effect(&s, &(struct effect){ .kind = EFFECT_LESSON_STEP });
    session__effect(&s, &(struct effect){ .kind = EFFECT_FILTER });
    assert_true(answered(&s, has_rows));
    assert_true(s.lesson.asked);
    file_unlock(fd);
    assert_true(answered(&s, has_lesson));
    background_free(s.background);
    insight_free(s.inside.insight);
    jobs_free(s.jobs, false);
    session__runs_release(&s);
    session__lesson_release(&s);
    workroom_release(&s.room);
    ui_release(&s.ui);
    free(path);
    free(lock);
    free(files);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(those_that_wait_hold_nothing, make, close_store),
        cmocka_unit_test_setup_teardown(those_that_wait_cost_little, make, close_store),
        cmocka_unit_test_setup_teardown(a_request_waits_for_its_job, make, close_store),
        cmocka_unit_test_setup_teardown(many_short_runs_are_all_trained, make, close_store),
        cmocka_unit_test_setup_teardown(leaving_takes_back_what_waits, make, close_store),
        cmocka_unit_test_setup_teardown(a_full_disk_sets_nothing_going, make, close_store),
        cmocka_unit_test_setup_teardown(what_was_looked_at_is_trained, make, close_store),
        cmocka_unit_test_setup_teardown(rows_are_let_go, make, close_store),
        cmocka_unit_test_setup_teardown(an_idle_screen_reads_nothing, make, close_store),
        cmocka_unit_test_setup_teardown(the_trash_is_asked_for_at_once, make, close_store),
        cmocka_unit_test_setup_teardown(a_lesson_stops_no_screen, make, close_store),
        cmocka_unit_test_setup_teardown(a_changed_file_is_read_anew, make, close_store),
        cmocka_unit_test(a_series_grows_by_what_is_new),
    };
    return cmocka_run_group_tests(tests, NULL, stage_drop);
}
