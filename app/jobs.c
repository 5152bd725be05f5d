#include "app/jobs.h"

#include <stdlib.h>
#include <string.h>

#include "app/jobs_private.h"
#include "core/base/clock.h"
#include "core/base/mem.h"

void jobs__say(struct jobs *j, const char *text) {
    pthread_mutex_lock(&j->lock);
    free(j->message);
    j->message = xstrdup(text);
    pthread_mutex_unlock(&j->lock);
    if (j->hook.notify) j->hook.notify(j->hook.self);
}

char *jobs_message(struct jobs *j) {
    pthread_mutex_lock(&j->lock);
    char *text = j->message ? j->message : xstrdup("");
    j->message = NULL;
    pthread_mutex_unlock(&j->lock);
    return text;
}

struct job *jobs__find(struct jobs *j, int64_t id) {
    struct job *found = NULL;
    for (struct job *job = j->first; job; job = job->next)
        if (job->id == id) found = job; /* the latest: a run may be resumed */
    return found;
}

void jobs__add(struct jobs *j, struct job *job) {
    pthread_mutex_lock(&j->lock);
    struct job **end = &j->first;
    while (*end) end = &(*end)->next;
    *end = job;
    pthread_mutex_unlock(&j->lock);
}

/* ---- the keeper ---- */

static void obey_requests(struct jobs *j) {
    struct store_request request[16];
    struct err e = ERR_INIT;
    int n = store_requests(j->store, request, COUNT_OF(request), &e);
    for (int i = 0; i < n; i++) {
        int64_t id = request[i].run;
        if (request[i].what == STORE_STOP) jobs_stop(j, id, &e);
        else if (request[i].what == STORE_PAUSE) jobs_pause(j, id, &e);
        else jobs_unpause(j, id, &e);
    }
}

/* Runs wait while nothing can be kept of them. */
static void mind_the_disk(struct jobs *j) {
    struct store_status status;
    store_status(j->store, &status);
    if (status.left_out > j->left_out) jobs__say(j, status.left_out_why);
    j->left_out = status.left_out;
    bool full = status.condition == STORE_DISK_FULL || status.condition == STORE_BROKEN;
    bool told = false;
    pthread_mutex_lock(&j->lock);
    for (struct job *job = j->first; job; job = job->next) {
        if (!job->run || job->held == full) continue;
        if (full) run_pause(job->run);
        else run_unpause(job->run);
        job->held = full;
        told = true;
    }
    pthread_mutex_unlock(&j->lock);
    if (!told) return;
    pool_wake(j->pool);
    jobs__say(j, full ? status.text : "writing works again: the runs go on");
}

/* A run that could not write its checkpoint tries again after a while. */
static void retry_paused(struct jobs *j) {
    bool any = false;
    pthread_mutex_lock(&j->lock);
    for (struct job *job = j->first; job; job = job->next) {
        if (!job->run || !job->retry || clock_ms() < job->retry) continue;
        job->retry = 0;
        run_unpause(job->run);
        any = true;
    }
    pthread_mutex_unlock(&j->lock);
    if (any) pool_wake(j->pool);
}

static void put_away(struct jobs *j, struct job *job) {
    run_progress(job->run, &job->last);
    struct err e = ERR_INIT;
    if (store_disown(j->store, job->id, &e)) jobs__say(j, e.text);
    pthread_mutex_lock(&j->lock);
    struct run *run = job->run;
    struct model *m = job->model;
    struct shared_task *t = job->task;
    job->run = NULL;
    job->over = true;
    pthread_cond_broadcast(&j->changed);
    pthread_mutex_unlock(&j->lock);
    run_free(run);
    jobs__task_done(j, t);
    model_release(m);
    if (j->hook.notify) j->hook.notify(j->hook.self);
}

static void collect(struct jobs *j) {
    for (;;) {
        pthread_mutex_lock(&j->lock);
        struct job *job = j->first;
        while (job && !(job->run && pool_wait(j->pool, job->run, 0))) job = job->next;
        pthread_mutex_unlock(&j->lock);
        if (!job) return;
        put_away(j, job);
    }
}

static struct pending *next_pending(struct jobs *j) {
    pthread_mutex_lock(&j->lock);
    struct pending *p = j->pending;
    if (p) j->pending = p->next;
    pthread_mutex_unlock(&j->lock);
    return p;
}

static void start_pending(struct jobs *j) {
    struct pending *p = next_pending(j);
    if (!p) return;
    struct err e = ERR_INIT;
    int64_t id = p->id;
    int rc = p->resume ? jobs_resume(j, id, 0, &e) : jobs_start(j, &p->request, &id, &e);
    if (!p->resume) request_release(&p->request);
    free(p);
    pthread_mutex_lock(&j->lock);
    j->starting--;
    pthread_mutex_unlock(&j->lock);
    if (rc) jobs__say(j, e.text);
    else if (j->hook.notify) j->hook.notify(j->hook.self);
}

static void *keep(void *self) {
    struct jobs *j = self;
    for (;;) {
        start_pending(j);
        obey_requests(j);
        mind_the_disk(j);
        retry_paused(j);
        collect(j);
        pthread_mutex_lock(&j->lock);
        bool busy = j->pending != NULL;
        for (struct job *job = j->first; job; job = job->next) busy = busy || job->run;
        if (j->leaving && !busy) {
            pthread_mutex_unlock(&j->lock);
            return NULL;
        }
        if (!j->pending) {
            struct timespec until = clock_after(j->leaving ? 0.01 : 0.1);
            pthread_cond_timedwait(&j->changed, &j->lock, &until);
        }
        pthread_mutex_unlock(&j->lock);
    }
}

/* ---- making and ending ---- */

struct jobs *jobs_new(struct store *s, int workers, struct jobs_hook hook) {
    struct jobs *j = xcalloc(1, sizeof *j);
    j->store = s;
    j->hook = hook;
    static const struct {
        const char *name;
        int direction;
    } keys[KEYS] = { [KEY_LOSS] = { "loss", -1 }, [KEY_LR] = { "lr", 0 },
                     [KEY_NORM] = { "grad_norm", 0 }, [KEY_TOKENS] = { "tokens", 0 } };
    for (int i = 0; i < KEYS; i++) {
        struct err e = ERR_INIT;
        j->key[i] = store_key(s, keys[i].name, keys[i].direction, false, &e);
        BUG_IF(j->key[i] < 0);
    }
    pthread_mutex_init(&j->lock, NULL);
    clock_cond_init(&j->changed);
    j->pool = pool_new(workers);
    if (pthread_create(&j->keeper, NULL, keep, j)) BUG("no thread for the keeper");
    return j;
}

static void free_job(struct job *job) {
    free(job->method);
    free(job->task_name);
    free(job->metric);
    free(job->rows);
    free(job->reason);
    free(job->point);
    free(job->evaluation);
    for (size_t i = 0; i < job->samples; i++) jobs__sample_release(&job->sample[i]);
    free(job->sample);
    free(job);
}

void jobs_free(struct jobs *j, bool finish) {
    pthread_mutex_lock(&j->lock);
    j->leaving = true;
    if (!finish) {
        for (struct job *job = j->first; job; job = job->next)
            if (job->run) run_stop(job->run);
    }
    pthread_cond_broadcast(&j->changed);
    pthread_mutex_unlock(&j->lock);
    pool_wake(j->pool);
    pthread_join(j->keeper, NULL);
    pool_free(j->pool);
    while (j->first) {
        struct job *job = j->first;
        j->first = job->next;
        free_job(job);
    }
    while (j->tasks) {
        struct shared_task *t = j->tasks;
        j->tasks = t->next;
        task_release(&t->task);
        free(t->key);
        free(t);
    }
    free(j->message);
    pthread_mutex_destroy(&j->lock);
    pthread_cond_destroy(&j->changed);
    free(j);
}

static void queue_pending(struct jobs *j, struct pending *p) {
    pthread_mutex_lock(&j->lock);
    struct pending **end = &j->pending;
    while (*end) end = &(*end)->next;
    *end = p;
    j->starting++;
    pthread_cond_broadcast(&j->changed);
    pthread_mutex_unlock(&j->lock);
}

void jobs_start_later(struct jobs *j, const struct job_request *r) {
    struct pending *p = xcalloc(1, sizeof *p);
    request_copy(&p->request, r);
    queue_pending(j, p);
}

void jobs_resume_later(struct jobs *j, int64_t id) {
    struct pending *p = xcalloc(1, sizeof *p);
    p->resume = true;
    p->id = id;
    queue_pending(j, p);
}

/* ---- requests ---- */

static int ask(struct jobs *j, int64_t id, void (*what)(struct run *), struct err *e) {
    pthread_mutex_lock(&j->lock);
    struct job *job = jobs__find(j, id);
    bool found = job && job->run;
    if (found) what(job->run);
    pthread_mutex_unlock(&j->lock);
    if (!found)
        return err_set(e, ERR_NOT_FOUND, "run %lld is not trained by this process", (long long)id);
    pool_wake(j->pool);
    return 0;
}

int jobs_pause(struct jobs *j, int64_t id, struct err *e) { return ask(j, id, run_pause, e); }
int jobs_unpause(struct jobs *j, int64_t id, struct err *e) { return ask(j, id, run_unpause, e); }
int jobs_stop(struct jobs *j, int64_t id, struct err *e) { return ask(j, id, run_stop, e); }

void jobs_move(struct jobs *j, int64_t id, int by) {
    pthread_mutex_lock(&j->lock);
    struct job *job = jobs__find(j, id);
    if (job && job->run) pool_move(j->pool, job->run, by);
    pthread_mutex_unlock(&j->lock);
}

bool jobs_wait(struct jobs *j, int64_t id, double seconds) {
    struct timespec until = clock_after(seconds);
    pthread_mutex_lock(&j->lock);
    struct job *job = jobs__find(j, id);
    while (job && !job->over)
        if (pthread_cond_timedwait(&j->changed, &j->lock, &until)) break;
    bool over = !job || job->over;
    pthread_mutex_unlock(&j->lock);
    return over;
}

int jobs_live(struct jobs *j) {
    pthread_mutex_lock(&j->lock);
    int n = j->starting;
    for (struct job *job = j->first; job; job = job->next) n += !job->over;
    pthread_mutex_unlock(&j->lock);
    return n;
}

/* ---- what a screen shows ---- */

size_t jobs_ids(struct jobs *j, int64_t **ids) {
    pthread_mutex_lock(&j->lock);
    size_t n = 0, room = 0;
    *ids = NULL;
    for (struct job *job = j->first; job; job = job->next) {
        GROW(*ids, room, n + 1);
        (*ids)[n++] = job->id;
    }
    pthread_mutex_unlock(&j->lock);
    return n;
}

static char *copy(const char *s) { return s ? xstrdup(s) : NULL; }

bool jobs_view(struct jobs *j, int64_t id, struct job_view *out) {
    *out = (struct job_view){ .id = id };
    pthread_mutex_lock(&j->lock);
    struct job *job = jobs__find(j, id);
    if (job) {
        if (job->run) run_progress(job->run, &out->progress);
        else out->progress = job->last;
        out->method = copy(job->method);
        out->task = copy(job->task_name);
        out->metric = copy(job->metric);
        out->rows = copy(job->rows);
        out->reason = copy(job->reason);
        out->seed = job->seed;
        out->majority = job->majority;
        out->trained = job->trained;
        out->model_values = job->model_values;
        size_t n = out->points = job->points;
        double *block = xcalloc(4 * n, sizeof *block);
        out->step = block;
        out->loss = block + n;
        out->lr = block + 2 * n;
        out->norm = block + 3 * n;
        for (size_t i = 0; i < n; i++)
            for (size_t k = 0; k < 4; k++) block[k * n + i] = job->point[4 * i + k];
        out->evaluations = job->evaluations;
        out->evaluation = xcalloc(job->evaluations, sizeof *out->evaluation);
        if (job->evaluations)
            memcpy(out->evaluation, job->evaluation, job->evaluations * sizeof *out->evaluation);
        out->samples = job->samples;
        out->sample = xcalloc(job->samples, sizeof *out->sample);
        for (size_t i = 0; i < job->samples; i++) {
            const struct job_sample *x = &job->sample[i];
            out->sample[i] = (struct job_sample){ x->step, copy(x->source), copy(x->target),
                                                  copy(x->generated), x->valid };
        }
    }
    pthread_mutex_unlock(&j->lock);
    return job != NULL;
}

void jobs__sample_release(struct job_sample *s) {
    free(s->source);
    free(s->target);
    free(s->generated);
}

void job_view_release(struct job_view *v) {
    free(v->method);
    free(v->task);
    free(v->metric);
    free(v->rows);
    free(v->reason);
    free(v->step);
    free(v->evaluation);
    for (size_t i = 0; i < v->samples; i++) jobs__sample_release(&v->sample[i]);
    free(v->sample);
}
