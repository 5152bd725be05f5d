/* Converts the events of a run to database records and the screen's data. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "app/history/rowset.h"
#include "app/history/series.h"
#include "app/history/task_results.h"
#include "app/jobs/jobs_private.h"
#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/data/metrics.h"

/* Returns "TASK/SPLIT", the split of a run with one task, or the name for all tasks; for a stage before the
 * last, its own name "stage1/SPLIT", so that "best" refers to the last stage.  Caller frees. */
static char *split_name(const struct event *e) {
    const char *split = e->split ? e->split : ALL_TASKS_SPLIT, *task = e->split && e->task ? e->task : "";
    char stage[24] = "";
    if (e->stage) snprintf(stage, sizeof stage, SERIES_STAGE "%d/", e->stage);
    return xprintf("%s%s%s%s", stage, task, *task ? "/" : "", split);
}

/* Further values of a step: "TASK/loss", "loss.instance", "ranks". */
static void keep_terms(struct job_record *job, const struct event *e) {
    struct jobs *j = job->jobs;
    struct err ignored = ERR_INIT; /* a name without a key is retried at the next step */
    for (int i = 0; i < e->terms;) {
        struct store_step step = { .run = job->id, .step = e->step, .seconds = e->seconds };
        for (; i < e->terms && step.count < STORE_STEP_VALUES; i++) {
            const struct event_term *x = &e->term[i];
            char *name = event_term_name(x);
            int key = store_key(j->store, name, -1, false, &ignored);
            pthread_mutex_lock(&j->lock);
            series_value(job->series, name, e->step, x->value);
            pthread_mutex_unlock(&j->lock);
            free(name);
            if (key < 0) continue;
            step.key[step.count] = key;
            step.value[step.count++] = x->value;
        }
        if (step.count) store_step(j->store, &step);
    }
}

static void on_point(struct job_record *job, const struct event *e) {
    struct jobs *j = job->jobs;
    struct store_step step = {
        .run = job->id, .step = e->step, .seconds = e->seconds, .count = KEYS,
        .value = { [KEY_LOSS] = e->loss, [KEY_LR] = e->lr, [KEY_NORM] = e->grad_norm,
                   [KEY_TOKENS] = e->tokens, [KEY_SECONDS] = e->seconds },
    };
    for (int i = 0; i < KEYS; i++) step.key[i] = j->key[i];
    store_step(j->store, &step);
    pthread_mutex_lock(&j->lock);
    series_point(job->series,
                 &(struct series_step){ e->step, e->loss, e->lr, e->grad_norm, e->tokens, e->seconds });
    pthread_mutex_unlock(&j->lock);
    keep_terms(job, e);
}

/* Adds the evaluation to the curves, in the form of its database records. */
static void show_evaluation(struct job_record *job, const struct event *e, const char *split) {
    struct store_eval_row row[EVENT_METRICS];
    for (int i = 0; i < e->metrics; i++) {
        const struct event_metric *m = &e->metric[i];
        row[i] = (struct store_eval_row){ .step = e->step, .name = xprintf("%s.%s", split, m->name),
                                          .rows = (char *)(uintptr_t)e->examples, .best = e->best,
                                          .value = { .measured = true, .v = m->undefined ? NAN : m->value } };
    }
    pthread_mutex_lock(&job->jobs->lock);
    series_evaluations(job->series, &(struct store_evals){ .row = row, .count = (size_t)e->metrics });
    if (e->decides) {
        job->constant = e->constant;
        job->none_valid = e->none_valid;
    }
    pthread_mutex_unlock(&job->jobs->lock);
    for (int i = 0; i < e->metrics; i++) free(row[i].name);
}

static void on_evaluation(struct job_record *job, const struct event *e) {
    struct jobs *j = job->jobs;
    struct store_metric metric[EVENT_METRICS];
    for (int i = 0; i < e->metrics; i++) {
        const struct event_metric *m = &e->metric[i];
        int id = metric_find(m->name);
        bool share = !strcmp(m->name, "average") || !strcmp(m->name, "after") || !strcmp(m->name, "before");
        int direction = id >= 0 ? metric_direction((enum metric_id)id) : share;
        metric[i] = (struct store_metric){ m->name, m->value, m->undefined, direction };
    }
    char *split = split_name(e);
    struct store_evaluation v = { .run = job->id, .step = e->step, .rows = e->examples,
                                  .split = split, .constant = e->constant, .none_valid = e->none_valid,
                                  .best = e->best,
                                  .seconds = e->seconds, .count = e->metrics, .metric = metric };
    store_evaluation(j->store, &v);
    show_evaluation(job, e, split);
    free(split);
}

static void on_checkpoint(struct job_record *job, const struct event *e) {
    struct stat st;
    int64_t bytes = e->path && !stat(e->path, &st) ? (int64_t)st.st_size : 0;
    char *kind = e->task ? xprintf("best.%s", e->task) : xstrdup(e->best ? "best" : "last");
    store_artifact(job->jobs->store, &(struct store_artifact){ .run = job->id, .step = e->step, .kind = kind,
                                                               .path = e->path, .sha256 = e->sha256,
                                                               .bytes = bytes });
    free(kind);
}

/* Returns the tasks' names joined by commas, as for examples sampled from a finished run; caller frees. */
static char *job_events_joined(const char *const *name, int n) {
    struct buf b = BUF_INIT;
    for (int i = 0; i < n; i++) buf_printf(&b, "%s%s", i ? "," : "", name[i]);
    return buf_take(&b);
}

/* Maps a prediction, a class of the example's task, to the classes of all examples. */
static int32_t *predictions_of(const struct event_embedding *v, const struct rowset *rows) {
    if (!v->prediction) return NULL;
    int32_t *out = xcalloc(v->examples + 1, sizeof *out);
    int first[ROWSET_TASKS] = { 0 };
    for (int t = 1; t < v->tasks; t++) first[t] = first[t - 1] + v->of[t - 1]->classes;
    for (size_t i = 0; i < v->examples; i++)
        out[i] = v->prediction[i] < 0 ? -1 : first[rows->of_task[i]] + v->prediction[i];
    return out;
}

static void keep_set(struct job_record *job, struct store_embedding *m, const char *pool, const real *vector,
                     int columns) {
    size_t values = (size_t)m->rows * (size_t)columns;
    m->pool = (char *)(uintptr_t)pool;
    m->columns = columns;
    m->data = xmalloc((values + 1) * sizeof *m->data);
    for (size_t i = 0; i < values; i++) m->data[i] = (float)vector[i];
    store_embedding_put(job->jobs->store, m);
    free(m->data);
}

static void on_embedding(struct job_record *job, const struct event *e) {
    const struct event_embedding *v = e->embedding;
    const struct run_config *c = run_config_of(job->run);
    const char *name[ROWSET_TASKS];
    struct buf items = BUF_INIT;
    struct rowset rows;
    for (int t = 0; t < v->tasks; t++) name[t] = *v->task[t] ? v->task[t] : c->task;
    rowset_of(&rows, v->of, name, v->tasks);
    int32_t *said = predictions_of(v, &rows);
    rowset_items(&rows, said, &items);
    struct store_embedding m = { .run = job->id,
                                 .step = e->step,
                                 .model = c->model,
                                 .task = job_events_joined(name, v->tasks),
                                 .split = (char *)(uintptr_t)e->split,
                                 .model_sha256 = job->model->sha256,
                                 .model_fingerprint = job->model->fingerprint,
                                 .rows_sha256 = rows.sha256,
                                 .layer = v->layer,
                                 .seed = v->seed,
                                 .rows = (int)v->examples,
                                 .items = buf_take(&items) };
    keep_set(job, &m, "mean", v->vector, v->columns);
    if (v->retrieved) keep_set(job, &m, "retriever", v->retrieved, v->retrieved_columns);
    free(m.task);
    free(m.items);
    free(said);
    rowset_release(&rows);
}

static void on_samples(struct job_record *job, const struct event *e) {
    const struct event_samples *v = e->samples;
    struct store_sample *sample = xcalloc((size_t)v->count, sizeof *sample);
    for (int i = 0; i < v->count; i++) {
        const struct event_sample *x = &v->sample[i];
        sample[i] = (struct store_sample){ .row = x->row, .source = (char *)(uintptr_t)x->source,
                                         .target = (char *)(uintptr_t)x->target,
                                         .generated = (char *)(uintptr_t)x->generated, .valid = x->valid };
    }
    char *split = split_name(e);
    store_samples_put(job->jobs->store, job->id, e->step, split, sample, (size_t)v->count);
    free(split);
    free(sample);
    pthread_mutex_lock(&job->jobs->lock);
    for (int i = 0; i < v->count; i++) {
        const struct event_sample *x = &v->sample[i];
        series_sample(job->series,
                      &(struct train_sample){ e->step, x->source, x->target, x->generated, x->valid });
    }
    pthread_mutex_unlock(&job->jobs->lock);
}

static bool is_over(enum run_state s) {
    return s == RUN_FINISHED || s == RUN_STOPPED || s == RUN_FAILED || s == RUN_INTERRUPTED;
}

static void on_state(struct job_record *job, const struct event *e) {
    char weights[65] = "";
    int64_t peak = 0;
    if (is_over(e->state) && job->run) {
        run_weights_sha256(job->run, weights);
        peak = (int64_t)run_peak_bytes(job->run);
    }
    store_change(job->jobs->store,
                 &(struct store_change){ .run = job->id, .step = e->step,
                                         .state = (enum store_state)e->state, .seconds = e->seconds,
                                         .reason = e->text,
                                         .weights_sha256 = weights[0] ? weights : NULL,
                                         .peak = peak, .of_whole = !job->resumed });
    if (!e->text || !*e->text) return;
    pthread_mutex_lock(&job->jobs->lock);
    free(job->reason);
    job->reason = xstrdup(e->text);
    /* paused automatically: its checkpoint could not be written */
    if (e->state == RUN_PAUSED) job->retry = clock_ms() + RETRY_MS;
    jobs__changed(job->jobs);
    pthread_mutex_unlock(&job->jobs->lock);
}

void jobs__event(void *self, const struct event *e) {
    struct job_record *job = self;
    switch (e->kind) {
    case EVENT_POINT: on_point(job, e); break;
    case EVENT_EVALUATION: on_evaluation(job, e); break;
    case EVENT_CHECKPOINT: on_checkpoint(job, e); break;
    case EVENT_STATE: on_state(job, e); break;
    case EVENT_SAMPLE: on_samples(job, e); break;
    case EVENT_EMBEDDING: on_embedding(job, e); break;
    case EVENT_MESSAGE: store_message(job->jobs->store, job->id, e->step, e->text); break;
    case EVENT_SAVING:
        store_flush(job->jobs->store, NULL);
        return; /* a full disk is reported elsewhere */
    }
    struct jobs_hook *hook = &job->jobs->hook;
    if (hook->event) hook->event(hook->self, e);
    if (hook->notify) hook->notify(hook->self);
}
