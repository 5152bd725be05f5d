/* Training the missing draws of a few-shot run: draws are jobs of a set (sweep_work.h), or are adapted by
 * an inner loop. */
#include "app/sweep/shots.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "app/history/run_row.h"
#include "app/history/task_results.h"
#include "app/sweep/shots_private.h"
#include "app/sweep/sweep_work.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/train/config/complete.h"
#include "core/train/config/regime.h"
#include "core/train/run/pool.h"

int64_t shots_id(const struct shots *x) { return x->id; }

static int all_draws(const struct shots *x) { return x->tasks * x->how.ks * x->how.draws; }

/* Returns the task of a cell: cells are ordered by task, then by k. */
static struct shots_task *task_at(const struct shots *x, int cell) { return &x->of[cell / x->how.ks]; }
static int k_at(const struct shots *x, int cell) { return x->how.k[cell % x->how.ks]; }

struct fewshot_work shots__work(struct shots *x, const struct shots_task *t) {
    return (struct fewshot_work){ .how = &x->how,
                                  .task_name = t->name,
                                  .c = &t->c,
                                  .m = x->model,
                                  .task = (struct task *)&t->task,
                                  .rows = x->how.files ? shots__draw : NULL,
                                  .from = x->from,
                                  .meta = x->meta,
                                  .copies = x->folder,
                                  .self = x };
}

/* ---- results stored with the few-shot run ---- */

static void put_scores(struct shots *x, int64_t run, const char *split, const char *rows, int64_t step,
                       const struct fewshot_scores *s) {
    struct store_metric metric[EVENT_METRICS];
    for (int i = 0; i < s->count; i++) {
        const struct fewshot_metric *m = &s->metric[i];
        int id = metric_find(m->name);
        metric[i] = (struct store_metric){ m->name, m->value, *m->undefined ? m->undefined : NULL,
                                           id >= 0 ? metric_direction((enum metric_id)id) : 0 };
    }
    struct store_evaluation v = { .run = run,
                                  .step = step,
                                  .split = split,
                                  .rows = rows,
                                  .constant = s->constant,
                                  .none_valid = s->none_valid,
                                  .seconds = x->seconds,
                                  .count = s->count,
                                  .metric = metric };
    if (s->count) store_evaluation(x->store, &v);
}

static int done_of(const struct shots *x, const char *task, int k) {
    int done = 0;
    for (int d = 0; d < x->how.draws; d++) done += fewshot_find(&x->results, task, k, d) != NULL;
    return done;
}

static void keep_summary(struct shots *x, const char *name, int k, const char *metric_said,
                         const struct fewshot_summary *s, const char *rows) {
    struct store_metric metric[3];
    int n = 0, id = metric_find(metric_said);
    char *split = xprintf("%s/k%d", name, k);
    metric[n++] = (struct store_metric){ metric_said, s->n ? s->mean : 0,
                                        s->n ? NULL : "no sample has a score",
                                         id >= 0 ? metric_direction((enum metric_id)id) : 1 };
    if (s->n > 1) metric[n++] = (struct store_metric){ "sd", s->sd, NULL, 0 };
    if (!isnan(s->majority)) metric[n++] = (struct store_metric){ "majority", s->majority, NULL, 0 };
    struct store_evaluation v = { .run = x->id,
                                  .step = x->how.draws,
                                  .split = split,
                                  .rows = rows,
                                  .best = true,
                                  .seconds = x->seconds,
                                  .count = n,
                                  .metric = metric };
    store_evaluation(x->store, &v);
    free(split);
}

/* The mean over the tasks' means of a k whose draws are all done. */
static void keep_mean_of_tasks(struct shots *x, int k) {
    double sum = 0;
    int n = 0;
    for (int i = 0; i < x->tasks; i++) {
        if (done_of(x, x->of[i].name, k) < x->how.draws) return;
        struct fewshot_summary s = fewshot_sum_up(&x->results, x->of[i].name, k, x->of[i].c.metric, false);
        sum += s.n ? s.mean : 0;
        n += s.n > 0;
    }
    /* one number, of tasks: no standard deviation over draws */
    const struct fewshot_summary all = { .n = n > 0, .mean = n ? sum / n : NAN, .sd = NAN, .majority = NAN };
    char *rows = xprintf("mean of %d task%s", n, n == 1 ? "" : "s");
    keep_summary(x, ALL_TASKS_SPLIT, k, x->c.metric, &all, rows);
    free(rows);
}

/* The mean of a k whose draws are all done. */
static void keep_mean(struct shots *x, const struct fewshot_result *last, const char *metric) {
    if (done_of(x, last->task, last->k) < x->how.draws) return;
    struct fewshot_summary s = fewshot_sum_up(&x->results, last->task, last->k, metric, false);
    char *rows = xprintf("%d sample%s, %s", s.n, s.n == 1 ? "" : "s", last->rows);
    keep_summary(x, last->task, last->k, metric, &s, rows);
    free(rows);
    if (x->tasks > 1) keep_mean_of_tasks(x, last->k);
}

/* Returns the path for the tensors of a task's first draw, or of another one that is stored; caller frees. */
static char *folder_of(const struct shots *x, const struct shots_task *t, const struct fewshot_result *of,
                       bool first) {
    struct buf b = BUF_INIT;
    buf_puts(&b, x->folder);
    if (x->tasks > 1) buf_printf(&b, "/%s", t->name);
    if (!first) buf_printf(&b, "/k%d.d%d", of->k, of->draw);
    return buf_take(&b);
}

/* Adds the stored tensors of a draw to the few-shot run. */
static int keep_files(struct shots *x, int64_t run, const struct shots_task *t,
                      const struct fewshot_result *of, struct err *e) {
    struct store_files f;
    char *own = folder_of(x, t, of, false);
    int rc = store_artifacts(x->store, run, &f, e);
    for (size_t i = 0; !rc && i < f.count; i++) {
        const struct store_file *file = &f.file[i];
        bool first = !text_starts(file->path, own);
        char *kind = !first         ? xprintf("draw.%s.k%d.d%d", t->name, of->k, of->draw)
                     : x->tasks > 1 ? xprintf("best.%s", t->name)
                                    : xstrdup("best");
        if (!strcmp(file->kind, "best"))
            store_artifact(x->store, &(struct store_artifact){ .run = x->id, .step = file->step, .kind = kind,
                                                               .path = file->path, .sha256 = file->sha256,
                                                               .bytes = file->bytes });
        if (first && t == x->of && file->sha256) snprintf(x->weights, sizeof x->weights, "%s", file->sha256);
        free(kind);
    }
    if (!rc) store_files_release(&f);
    free(own);
    return rc;
}

/* Copies the results of a finished draw to the few-shot run. */
static int keep_result(struct shots *x, struct shots_task *t, struct fewshot_result *done, int64_t run,
                       struct err *e) {
    int k = done->k, draw = done->draw, rc = run && !x->joined ? keep_files(x, run, t, done, e) : 0;
    x->seconds += done->seconds;
    fewshot_add(&x->results, done);
    const struct fewshot_result *of = fewshot_find(&x->results, t->name, k, draw);
    if (x->hook.done && !x->recalling) x->hook.done(x->hook.self, x->id, of, t->c.metric);
    if (rc || x->joined) return rc;
    char *split = xprintf("%s/k%d/d%d", t->name, k, draw);
    put_scores(x, x->id, split, of->rows, 0, &of->zero);
    put_scores(x, x->id, split, of->rows, of->steps, &of->scores);
    free(split);
    keep_mean(x, of, t->c.metric);
    return store_step(x->store, &(struct store_step){ .run = x->id, .step = x->results.count,
                                                      .seconds = x->seconds });
}

static void keep_left_out(void *self, int cell, int seed, const char *why) {
    struct shots *x = self;
    struct err ignored = ERR_INIT; /* it has no run */
    struct fewshot_result r = { .k = k_at(x, cell), .draw = seed };
    if (fewshot_find(&x->results, task_at(x, cell)->name, r.k, seed)) return;
    snprintf(r.task, sizeof r.task, "%s", task_at(x, cell)->name);
    snprintf(r.left_out, sizeof r.left_out, "%s", why);
    keep_result(x, task_at(x, cell), &r, 0, &ignored);
}

/* Processes draws that have ended, in any process. */
static int gather(void *self, struct err *e) {
    struct shots *x = self;
    bool left_out = false;
    int rc = 0;
    for (int i = 0; i < x->plan.cells.count && !rc; i++)
        for (int d = 0; d < x->how.draws && !rc; d++) {
            const struct sweep_found *f = &x->plan.entry[i].found[d];
            struct fewshot_result r = { .k = k_at(x, i), .draw = d };
            bool *taken = &x->taken[i * x->how.draws + d];
            if (!f->over || *taken) continue;
            *taken = true;
            left_out |= !f->run;
            if (!f->run) continue;
            snprintf(r.task, sizeof r.task, "%s", task_at(x, i)->name);
            rc = shots__read_draw(x->store, f->run, &r, e);
            if (!rc) rc = keep_result(x, task_at(x, i), &r, f->run, e);
        }
    if (!rc && left_out) rc = sweep_plan_left_out(&x->plan, x->store, keep_left_out, x, e);
    pthread_mutex_lock(&x->lock);
    if (!rc && x->failure) rc = err_set(e, ERR_FAILED, "%s", x->failure);
    pthread_mutex_unlock(&x->lock);
    return rc;
}

/* ---- a draw as a job ---- */

struct draw_job {
    struct shots_task *task;
    struct fewshot_work work;
    struct fewshot_draw draw;
    char *folder;
    int64_t run;
};

static struct run *build_draw(void *self, struct event_sink sink, struct err *e) {
    struct draw_job *job = self;
    return fewshot_begin(&job->work, &job->draw, job->run, job->folder, sink, e);
}

static void done_draw(void *self) {
    struct draw_job *job = self;
    fewshot_close(&job->draw);
    free(job->folder);
    free(job);
}

/* For the first k, the first draw that was not dropped stores its tensors. */
static bool is_first(const struct shots *x, int cell, int draw) {
    const struct sweep_found *f = x->plan.entry[cell].found;
    for (int d = 0; d < draw; d++)
        if (f[d].run || !f[d].over) return false;
    return k_at(x, cell) == x->how.k[0];
}

static int create_row(struct shots *x, struct shots_task *t, const struct fewshot_draw *draw,
                      const char *cell, int64_t *run, struct err *e) {
    struct buf more = BUF_INIT;
    buf_puts(&more, "\"draw\":{");
    fewshot_draw_members(&draw->result, &more);
    buf_putc(&more, '}');
    const struct history_row row = { .split = task_split(&t->task, 0),
                                     .steps = config_steps(&draw->c, draw->task.train.examples),
                                     .more = buf_text(&more),
                                     .parent = x->id,
                                     .sweep = x->plan.id,
                                     .cell = cell,
                                     .tag = STORE_DRAW_TAG };
    int rc = 0;
    const struct fewshot_work work = shots__work(x, t);
    bool by_rule = fewshot_by_rule(&work);
    if (!t->plan && !by_rule) t->plan = shots__plan(x, t, e);
    const struct plan *p = by_rule ? fewshot_meta_plan(x->meta) : t->plan;
    if (!p || run_row_create(x->store, &draw->c, p, &row, run, e)) rc = e->code;
    buf_release(&more);
    return rc;
}

/* Opens a draw and its record; job->run 0: it is dropped.  A failure leaves nothing behind. */
static int open_draw(struct shots *x, int cell, int seed, int64_t run, struct draw_job *job, struct err *e) {
    struct shots_task *t = task_at(x, cell);
    char *name = sweep_plan_draw(&x->plan, cell, seed);
    *job = (struct draw_job){ .task = t, .work = shots__work(x, t) };
    x->at = t; /* whose files are read */
    int rc = fewshot_open(&job->work, k_at(x, cell), seed, &job->draw, e);
    if (!rc && *job->draw.result.left_out)
        rc = sweep_plan_leave_out(&x->plan, x->store, cell, seed, job->draw.result.left_out, e);
    else if (!rc && run) rc = store_adopt_run(x->store, run, e);
    else if (!rc) rc = create_row(x, t, &job->draw, name, &run, e);
    if (!rc && !*job->draw.result.left_out) job->run = run;
    bool first = is_first(x, cell, seed);
    if (job->run && (first || x->how.keep)) job->folder = folder_of(x, t, &job->draw.result, first);
    if (!job->run) fewshot_close(&job->draw);
    free(name);
    return rc;
}

/* All draws of a task need the same memory. */
static int shots_check_memory(struct shots *x, struct shots_task *t, struct err *e) {
    struct job_memory memory;
    struct task *of[] = { &t->task };
    struct err why = ERR_INIT;
    if (t->fits || x->force) return 0;
    struct run_config c;
    config_copy(&c, &t->c);
    if (x->how.per_class) c.batch = x->how.per_class * (t->task.classes ? t->task.classes : 1);
    int rc = jobs_fits(x->jobs, &c, 0, x->model, &(struct run_tasks){ 1, of }, &memory, &why);
    config_release(&c);
    t->fits = !rc;
    return rc ? err_set(e, rc, "%s: %s", t->name, why.text) : 0;
}

static int begin_draw(void *self, int cell, int seed, int64_t *run, struct err *e) {
    struct shots *x = self;
    if (shots_check_memory(x, task_at(x, cell), e)) return e->code;
    struct draw_job *job = xcalloc(1, sizeof *job);
    int rc = open_draw(x, cell, seed, *run, job, e);
    *run = job->run;
    if (rc || !job->run) return free(job), rc;
    jobs_add(x->jobs, &(struct job_built){ job->run, &job->draw.c, build_draw, done_draw, job });
    return 0;
}

static bool is_wanted(void *self, int cell, int seed) {
    const struct shots *x = self;
    return !x->only || (x->plan.entry[cell].found[seed].run == x->only);
}

/* ---- all draws ---- */

static void on_event(void *self, const struct event *e) {
    struct shots *x = self;
    if (e->kind != EVENT_STATE || e->state != RUN_FAILED) return;
    pthread_mutex_lock(&x->lock);
    if (!x->failure) x->failure = xprintf("run %lld: %s", (long long)e->run, e->text ? e->text : "failed");
    pthread_mutex_unlock(&x->lock);
}

/* A request to stop the few-shot run stops all processes that share it. */
static bool on_asked(void *self, int64_t run, enum store_control what) {
    struct shots *x = self;
    struct err ignored = ERR_INIT;
    if (run == x->id && what == STORE_STOP) store_sweep_stop(x->store, x->plan.id, &ignored);
    return run == x->id;
}

static void say(void *self, const char *text) {
    const struct shots *x = self;
    if (x->hook.say) x->hook.say(x->hook.self, text);
}

static bool is_interrupted(void *self) {
    const struct shots *x = self;
    return x->hook.stop && x->hook.stop(x->hook.self);
}

static int train_jobs(struct shots *x, int workers, struct err *e) {
    const struct sweep_worker how = { .at_once = workers > 1 ? workers + 1 : 2, .begin = begin_draw,
                                      .mine = is_wanted, .say = say, .self = x };
    const struct jobs_hook jobs_hook = { .self = x, .event = on_event, .asked = on_asked };
    x->jobs = jobs_new(x->store, workers, jobs_hook);
    struct sweep_work *w = sweep_work_new(&x->plan, x->store, x->jobs, &how, e);
    int rc = w ? sweep_work_through(w, is_interrupted, gather, e) : e->code;
    sweep_work_free(w);
    jobs_free(x->jobs, false);
    x->jobs = NULL;
    return rc;
}

/* ---- adaptation by an inner loop ---- */

/* Records a draw that was adapted outside of the jobs. */
static int put_draw(struct shots *x, struct draw_job *job, const struct fewshot_meta_draw *m, struct err *e) {
    const struct fewshot_result *r = &job->draw.result;
    struct stat st;
    int64_t bytes = m->path && !stat(m->path, &st) ? (int64_t)st.st_size : 0;
    int key = store_key(x->store, "loss", -1, false, e);
    if (key < 0) return e->code;
    struct store_step step = { .run = job->run, .step = r->steps, .seconds = r->seconds, .count = 1,
                               .key = { key }, .value = { r->loss } };
    const char *split = task_split(&job->task->task, 0);
    store_step(x->store, &step);
    put_scores(x, job->run, split, r->rows, 0, &r->zero);
    put_scores(x, job->run, split, r->rows, r->steps, &r->scores);
    if (m->path)
        store_artifact(x->store, &(struct store_artifact){ .run = job->run, .step = r->steps, .kind = "best",
                                                           .path = m->path, .sha256 = m->sha256,
                                                           .bytes = bytes });
    store_change(x->store, &(struct store_change){ .run = job->run, .step = r->steps, .state = STORE_FINISHED,
                                                   .seconds = r->seconds,
                                                   .weights_sha256 = m->path ? m->sha256 : NULL });
    return store_disown(x->store, job->run, e);
}

static bool is_asked_to_stop(struct shots *x) {
    struct store_request request[16];
    struct err ignored = ERR_INIT;
    bool stop = is_interrupted(x);
    int n = store_requests(x->store, request, COUNT_OF(request), &ignored);
    for (int i = 0; i < n; i++) {
        if (request[i].run != x->id || store_request_taken(x->store, &request[i], &ignored)) continue;
        stop |= request[i].what == STORE_STOP;
    }
    return stop;
}

/* Collects as many missing draws of a task as there are workers, from *next on, in the order of k; returns
 * their number. */
static int take_some(struct shots *x, int task, int *next, struct draw_job *job, int most, int *rc,
                     struct err *e) {
    int n = 0;
    for (; n < most && !*rc && *next < x->how.ks * x->how.draws; ++*next) {
        int cell = task * x->how.ks + *next / x->how.draws, draw = *next % x->how.draws;
        const struct sweep_found f = x->plan.entry[cell].found[draw];
        if (f.over || !is_wanted(x, cell, draw)) continue;
        *rc = open_draw(x, cell, draw, f.run, &job[n], e);
        n += !*rc && job[n].run;
    }
    return n;
}

static int adapt_some(struct shots *x, struct draw_job *job, int n, struct crew *crew, struct err *e) {
    struct fewshot_meta_draw draw[CREW_MOST];
    const struct shots_task *t = job->task;
    int rc = 0;
    for (int i = 0; i < n; i++)
        draw[i] = (struct fewshot_meta_draw){ .task = &job[i].draw.task, .result = &job[i].draw.result,
                                              .folder = fewshot_meta_unkept(x->meta) ? NULL : job[i].folder };
    fewshot_meta_draws(x->meta, &t->c, &x->how, draw, n, crew);
    for (int i = 0; i < n; i++) {
        if (!rc && *draw[i].failure)
            rc = err_set(e, ERR_FAILED, "%s k=%d sample %d: %s", t->name, draw[i].result->k,
                         draw[i].result->draw, draw[i].failure);
        if (!rc) rc = put_draw(x, &job[i], &draw[i], e);
        free(draw[i].path);
    }
    return rc;
}

static int train_by_rule(struct shots *x, int workers, struct err *e) {
    struct pool *pool = pool_new(workers);
    struct draw_job job[CREW_MOST];
    int rc = 0;
    for (int task = 0; task < x->tasks && !rc; task++)
        for (int n = 1, next = 0; n && !rc;) {
            struct err ignored = ERR_INIT;
            n = take_some(x, task, &next, job, pool_width(pool), &rc, e);
            if (n && !rc) rc = adapt_some(x, job, n, pool_crew(pool), e);
            for (int i = 0; i < n; i++) {
                store_disown(x->store, job[i].run, &ignored);
                fewshot_close(&job[i].draw);
                free(job[i].folder);
            }
            if (!rc) rc = store_flush(x->store, e);
            if (!rc) rc = sweep_plan_find(&x->plan, x->store, e);
            if (!rc) rc = gather(x, e);
            if (!rc && is_asked_to_stop(x)) rc = err_set(e, ERR_INTERRUPTED, "stopped");
        }
    pool_free(pool);
    return rc;
}

/* ---- the few-shot run ---- */

static void change(struct shots *x, enum store_state state, const char *reason) {
    if (x->joined) return;
    store_change(x->store, &(struct store_change){ .run = x->id, .step = x->results.count, .state = state,
                                                   .seconds = x->seconds, .reason = reason,
                                                   .weights_sha256 = *x->weights ? x->weights : NULL });
}

int shots_train(struct shots *x, int workers, bool force, struct err *e) {
    const struct fewshot_work any = shots__work(x, x->of);
    change(x, STORE_RUNNING, NULL);
    x->taken = xcalloc((size_t)all_draws(x) + 1, sizeof *x->taken);
    int rc = sweep_plan_find(&x->plan, x->store, e);
    x->force = force;
    x->recalling = true;
    if (!rc) rc = gather(x, e);
    x->recalling = false;
    if (!rc) rc = fewshot_by_rule(&any) ? train_by_rule(x, workers, e) : train_jobs(x, workers, e);
    bool whole = !rc && x->results.count == all_draws(x);
    if (!rc && !whole && !x->only) rc = ERR_INTERRUPTED; /* a draw was stopped by itself */
    bool failed = rc && rc != ERR_INTERRUPTED;
    change(x, whole ? STORE_FINISHED : failed ? STORE_FAILED : STORE_STOPPED, failed ? e->text : NULL);
    if (rc == ERR_INTERRUPTED)
        err_set(e, rc, "stopped after %d of %d samples; resume with `petri resume %lld`",
                x->results.count, all_draws(x), (long long)x->id);
    struct err flushing = ERR_INIT;
    if (store_flush(x->store, &flushing) && !rc) {
        *e = flushing;
        rc = flushing.code;
    }
    return rc;
}
