#include "app/jobs/shots.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "app/history/task_results.h"
#include "app/jobs/shots_private.h"
#include "core/base/clock.h"
#include "core/base/file.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/train/config/regime.h"

int64_t shots_id(const struct shots *x) { return x->id; }
bool shots_is(const struct store_run *run) {
    return run->regime && text_starts(run->regime, regime_kind_name(REGIME_FEWSHOT));
}

static int all_draws(const struct shots *x) { return x->tasks * x->how.ks * x->how.draws; }

/* ---- what is stored ---- */

static void keep_file(void *self, const struct fewshot_file *f) {
    struct shots *x = self;
    struct stat st;
    const char *task = x->of[x->at].name;
    char *kind = !f->first      ? xprintf("draw.%s.k%d.d%d", task, f->k, f->draw)
                 : x->tasks > 1 ? xprintf("best.%s", task)
                                : xstrdup("best");
    store_artifact(x->store,
                   &(struct store_artifact){ .run = x->id,
                                             .step = f->step,
                                             .kind = kind,
                                             .path = f->path,
                                             .sha256 = f->sha256,
                                             .bytes = !stat(f->path, &st) ? (int64_t)st.st_size : 0 });
    free(kind);
    if (f->first && !x->at) snprintf(x->weights, sizeof x->weights, "%s", f->sha256);
}

static void shots_keep_scores(struct shots *x, const struct fewshot_result *of,
                              const struct fewshot_scores *s, int64_t step) {
    struct store_metric metric[EVENT_METRICS];
    char *split = xprintf("%s/k%d/d%d", of->task, of->k, of->draw);
    for (int i = 0; i < s->count; i++) {
        const struct fewshot_metric *m = &s->metric[i];
        int id = metric_find(m->name);
        metric[i] = (struct store_metric){ m->name, m->value, *m->undefined ? m->undefined : NULL,
                                           id >= 0 ? metric_direction((enum metric_id)id) : 0 };
    }
    struct store_evaluation v = { .run = x->id,
                                  .step = step,
                                  .split = split,
                                  .rows = of->rows,
                                  .constant = s->constant,
                                  .none_valid = s->none_valid,
                                  .seconds = x->seconds,
                                  .count = s->count,
                                  .metric = metric };
    if (s->count) store_evaluation(x->store, &v);
    free(split);
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
    metric[n++] = (struct store_metric){ metric_said, s->n ? s->mean : 0, s->n ? NULL : "no draw has a value",
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
    char *rows = xprintf("mean of %d tasks", n);
    keep_summary(x, ALL_TASKS_SPLIT, k, x->c.metric, &all, rows);
    free(rows);
}

/* The mean of a k whose draws are all done. */
static void keep_mean(struct shots *x, const struct fewshot_result *last, const char *metric) {
    if (done_of(x, last->task, last->k) < x->how.draws) return;
    struct fewshot_summary s = fewshot_sum_up(&x->results, last->task, last->k, metric, false);
    char *rows = xprintf("%d draws, %s", s.n, last->rows);
    keep_summary(x, last->task, last->k, metric, &s, rows);
    free(rows);
    if (x->tasks > 1) keep_mean_of_tasks(x, last->k);
}

static const char *shots_metric_of(const struct shots *x, const char *task) {
    for (int i = 0; i < x->tasks; i++)
        if (!strcmp(x->of[i].name, task)) return x->of[i].c.metric;
    return x->c.metric; /* a record of other tasks */
}

static void keep_result(struct shots *x, const struct fewshot_result *of) {
    shots_keep_scores(x, of, &of->zero, 0);
    shots_keep_scores(x, of, &of->scores, of->steps);
    keep_mean(x, of, shots_metric_of(x, of->task));
    store_step(x->store,
               &(struct store_step){ .run = x->id, .step = x->results.count, .seconds = x->seconds });
}

static void draw_done(void *self, const struct fewshot_result *of) {
    struct shots *x = self;
    x->seconds += of->seconds;
    keep_result(x, of);
    if (x->hook.done) x->hook.done(x->hook.self, x->id, of, shots_metric_of(x, of->task));
}

static bool wants_stop(void *self) {
    struct shots *x = self;
    struct store_request request[16];
    struct err e = ERR_INIT;
    int64_t now = clock_ms();
    x->stopped = x->stopped || (x->hook.stop && x->hook.stop(x->hook.self));
    if (x->stopped || now - x->asked < 250) return x->stopped;
    x->asked = now;
    int n = store_requests(x->store, request, COUNT_OF(request), &e);
    for (int i = 0; i < n; i++)
        x->stopped = x->stopped || (request[i].run == x->id && request[i].what == STORE_STOP);
    return x->stopped;
}

/* ---- training ---- */

static void shots_change(struct shots *x, enum store_state state, const char *reason) {
    store_change(x->store, &(struct store_change){ .run = x->id, .step = x->results.count, .state = state,
                                                   .seconds = x->seconds, .reason = reason,
                                                   .weights_sha256 = *x->weights ? x->weights : NULL });
}

/* What the record has and the database perhaps not: a process was killed between the two. */
static int shots_take_up(struct shots *x, struct err *e) {
    int rc = fewshot_record_read(x->record, &x->results, e);
    for (int i = 0; i < x->results.count; i++) x->seconds += x->results.of[i].seconds;
    for (int i = 0; i < x->results.count; i++) keep_result(x, &x->results.of[i]);
    return rc;
}

/* The draws of one task. */
static int train_task(struct shots *x, struct pool *pool, int i, struct err *e) {
    struct shots_task *t = &x->of[i];
    char *folder = x->tasks > 1 ? file_join(x->folder, t->name) : xstrdup(x->folder);
    struct fewshot_work w = { .run = x->id,
                              .how = &x->how,
                              .task_name = t->name,
                              .c = &t->c,
                              .m = x->model,
                              .task = &t->task,
                              .rows = x->how.files ? shots__draw : NULL,
                              .from = x->from,
                              .meta = x->meta,
                              .record = x->record,
                              .folder = folder,
                              .copies = x->folder,
                              .pool = pool,
                              .self = x,
                              .file = keep_file,
                              .done = draw_done,
                              .stop = wants_stop };
    x->at = i;
    int rc = fewshot_run(&w, &x->results, e);
    free(folder);
    return rc;
}

int shots_train(struct shots *x, int workers, struct err *e) {
    struct pool *pool = pool_new(workers);
    shots_change(x, STORE_RUNNING, NULL);
    int rc = shots_take_up(x, e);
    for (int i = 0; i < x->tasks && !rc; i++) rc = train_task(x, pool, i, e);
    pool_free(pool);
    shots_change(x, !rc ? STORE_FINISHED : rc == ERR_INTERRUPTED ? STORE_STOPPED : STORE_FAILED,
                 rc && rc != ERR_INTERRUPTED ? e->text : NULL);
    if (rc == ERR_INTERRUPTED)
        err_set(e, rc, "stopped with %d of %d draws; `petri resume %lld` goes on from there",
                x->results.count, all_draws(x), (long long)x->id);
    struct err flushing = ERR_INIT;
    if (store_flush(x->store, &flushing) && !rc) {
        *e = flushing;
        rc = flushing.code;
    }
    return rc;
}
