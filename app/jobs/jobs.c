#include "app/jobs/jobs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "app/jobs/jobs_private.h"
#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/train/config/estimate.h"

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

struct job_record *jobs__find(struct jobs *j, int64_t id) {
    struct job_record *found = NULL;
    for (struct job_record *job = j->first; job; job = job->next)
        if (job->id == id) found = job; /* the latest one: a run may be resumed */
    return found;
}

void jobs__changed(struct jobs *j) {
    j->news++;
    pthread_cond_broadcast(&j->changed);
}

void jobs__await(struct jobs *j, uint64_t seen, double seconds) {
    struct timespec until = clock_after(seconds > 0 ? seconds : 0);
    while (j->news == seen) {
        if (seconds < 0) pthread_cond_wait(&j->changed, &j->lock);
        else if (pthread_cond_timedwait(&j->changed, &j->lock, &until)) return;
    }
}

void jobs__apply(struct job_record *job) {
    if (job->stop) run_stop(job->run);
    if (job->paused || job->retry || job->jobs->full) run_pause(job->run);
    else run_unpause(job->run);
}

/* ---- creating and freeing ---- */

static void on_left(void *self) {
    struct jobs *j = self;
    pthread_mutex_lock(&j->lock);
    jobs__changed(j);
    pthread_mutex_unlock(&j->lock);
}

struct jobs *jobs_new(struct store *s, int workers, struct jobs_hook hook) {
    struct jobs *j = xcalloc(1, sizeof *j);
    j->store = s;
    j->hook = hook;
    static const struct {
        const char *name;
        int direction;
        bool timing;
    } keys[KEYS] = { [KEY_LOSS] = { "loss", -1, false }, [KEY_LR] = { "lr", 0, false },
                     [KEY_NORM] = { "grad_norm", 0, false }, [KEY_TOKENS] = { "tokens", 0, false },
                     [KEY_SECONDS] = { "seconds", 0, true } };
    for (int i = 0; i < KEYS; i++) {
        struct err e = ERR_INIT;
        j->key[i] = store_key(s, keys[i].name, keys[i].direction, keys[i].timing, &e);
        BUG_IF(j->key[i] < 0 && !store_is_readonly(s));
    }
    pthread_mutex_init(&j->measuring, NULL);
    pthread_mutex_init(&j->lock, NULL);
    clock_cond_init(&j->changed);
    j->pool = pool_new(workers);
    pool_tell(j->pool, on_left, j);
    if (pthread_create(&j->supervisor, NULL, jobs__supervise, j) ||
        pthread_create(&j->starter, NULL, jobs__start, j))
        BUG("no threads for the jobs");
    return j;
}

void jobs_free(struct jobs *j, bool finish) {
    pthread_mutex_lock(&j->lock);
    j->leaving = true;
    for (struct job_record *job = j->first; job && !finish; job = job->next) {
        job->stop = true;
        if (job->stage == JOB_IN_WORK) jobs__apply(job);
    }
    jobs__changed(j);
    pthread_mutex_unlock(&j->lock);
    pool_wake(j->pool);
    pthread_join(j->starter, NULL);
    pthread_join(j->supervisor, NULL);
    pool_free(j->pool);
    while (j->first) {
        struct job_record *job = j->first;
        j->first = job->next;
        job_free(job);
    }
    while (j->tasks) {
        struct shared_task *t = j->tasks;
        j->tasks = t->next;
        jobs__task_free(t);
    }
    free(j->message);
    pthread_mutex_destroy(&j->measuring);
    pthread_mutex_destroy(&j->lock);
    pthread_cond_destroy(&j->changed);
    free(j);
}

struct crew *jobs_crew(struct jobs *j) { return pool_crew(j->pool); }

struct estimate_speed jobs_speed(struct jobs *j, bool measure) {
    pthread_mutex_lock(&j->measuring);
    if (measure && !j->speed.gflops) j->speed = estimate_speed(jobs_crew(j), 0.1);
    struct estimate_speed speed = j->speed;
    pthread_mutex_unlock(&j->measuring);
    return speed;
}

/* ---- requests ---- */

static void ask_for(struct jobs *j, struct job_record *job) {
    pthread_mutex_lock(&j->lock);
    struct job_record **end = &j->first;
    while (*end) end = &(*end)->next;
    *end = job;
    jobs__changed(j);
    pthread_mutex_unlock(&j->lock);
}

static void request_take(struct job_record *job, const struct job_request *r) {
    job->request = xcalloc(1, sizeof *job->request);
    request_copy(job->request, r);
    job->workers = r->workers;
    job->force = r->force;
    job->stop_at = r->stop_at;
}

void jobs_start_later(struct jobs *j, const struct job_request *r) {
    struct job_record *job = job_new(j);
    request_take(job, r);
    ask_for(j, job);
}

void jobs_resume_later(struct jobs *j, int64_t id) {
    struct job_record *job = job_new(j);
    job->resumed = true;
    job->id = id;
    ask_for(j, job);
}

static void looking(struct jobs *j, int more) {
    pthread_mutex_lock(&j->lock);
    j->looking += more;
    jobs__changed(j);
    pthread_mutex_unlock(&j->lock);
}

/* Prepares the request in the caller's thread; *id: its id. */
static int prepare_now(struct job_record *job, int64_t *id, struct err *e) {
    struct jobs *j = job->jobs;
    job->quiet = true;
    looking(j, 1);
    int rc = job_prepare(job, e);
    if (!rc) {
        *id = job->id;
        job_queue(job);
    } else {
        job_free(job);
    }
    looking(j, -1);
    return rc;
}

int jobs_start(struct jobs *j, const struct job_request *r, int64_t *id, struct err *e) {
    struct job_record *job = job_new(j);
    request_take(job, r);
    return prepare_now(job, id, e);
}

static struct job_record *job_again(struct jobs *j, int64_t id) {
    struct job_record *job = job_new(j);
    job->resumed = true;
    job->id = id;
    return job;
}

int jobs_resume(struct jobs *j, int64_t id, const char *model, int workers, bool force, struct err *e) {
    struct job_record *job = job_again(j, id);
    job->given = model;
    job->workers = workers;
    job->force = force;
    return prepare_now(job, &id, e);
}

int jobs_resume_to(struct jobs *j, int64_t id, int64_t stop_at, bool force, struct err *e) {
    struct job_record *job = job_again(j, id);
    job->force = force;
    job->stop_at = stop_at;
    return prepare_now(job, &id, e);
}

void jobs_add(struct jobs *j, const struct job_built *b) {
    struct job_record *job = job_new(j);
    job->built = *b;
    job->id = b->id;
    job->quiet = true;
    job_describe(job, b->config);
    job_queue(job);
}

/* ---- control ---- */

static int jobs_change(struct jobs *j, int64_t id, bool stop, bool pause, struct err *e) {
    pthread_mutex_lock(&j->lock);
    struct job_record *job = jobs__find(j, id);
    bool found = job && job->stage != JOB_OVER;
    if (found) {
        job->stop = job->stop || stop;
        if (!stop) job->paused = pause;
        if (!stop && !pause) job->retry = 0; /* retry now */
        if (job->stage == JOB_IN_WORK) jobs__apply(job);
        jobs__changed(j);
    }
    pthread_mutex_unlock(&j->lock);
    if (!found)
        return err_set(e, ERR_NOT_FOUND, "run %lld is not training in this process", (long long)id);
    pool_wake(j->pool);
    return 0;
}

int jobs_pause(struct jobs *j, int64_t id, struct err *e) { return jobs_change(j, id, false, true, e); }
int jobs_unpause(struct jobs *j, int64_t id, struct err *e) { return jobs_change(j, id, false, false, e); }
int jobs_stop(struct jobs *j, int64_t id, struct err *e) { return jobs_change(j, id, true, false, e); }

/* Returns the job that waits next before (or after) one; NULL at the end. */
static struct job_record *neighbor(struct jobs *j, const struct job_record *of, bool before) {
    struct job_record *found = NULL;
    for (struct job_record *x = j->first; x; x = x->next) {
        if (x->stage != JOB_QUEUED || (before ? x->turn >= of->turn : x->turn <= of->turn)) continue;
        if (!found || (before ? x->turn > found->turn : x->turn < found->turn)) found = x;
    }
    return found;
}

void jobs_move(struct jobs *j, int64_t id, int by) {
    pthread_mutex_lock(&j->lock);
    struct job_record *job = jobs__find(j, id), *other;
    for (int left = abs(by); left && job && job->stage == JOB_QUEUED && (other = neighbor(j, job, by < 0));
         left--) {
        uint64_t turn = other->turn;
        other->turn = job->turn;
        job->turn = turn;
    }
    pthread_mutex_unlock(&j->lock);
}

bool jobs_wait(struct jobs *j, int64_t id, double seconds) {
    double until = clock_seconds() + seconds;
    pthread_mutex_lock(&j->lock);
    bool over;
    for (;;) { /* searched again, as a dropped job is no longer listed */
        const struct job_record *job = jobs__find(j, id);
        over = !job || job->stage == JOB_OVER;
        double left = until - clock_seconds();
        if (over || left <= 0) break;
        jobs__await(j, j->news, left);
    }
    pthread_mutex_unlock(&j->lock);
    return over;
}

int jobs_failure(struct jobs *j, int64_t id, struct err *e) {
    pthread_mutex_lock(&j->lock);
    const struct job_record *job = jobs__find(j, id);
    int rc = job ? job->failure.code : 0;
    if (rc && e) *e = job->failure;
    pthread_mutex_unlock(&j->lock);
    return rc;
}

int jobs_live(struct jobs *j) {
    pthread_mutex_lock(&j->lock);
    int n = 0;
    for (struct job_record *job = j->first; job; job = job->next) n += job->stage != JOB_OVER;
    pthread_mutex_unlock(&j->lock);
    return n;
}

/* ---- data for the screen ---- */

/* Returns the latest job with the id. */
static struct job_record *jobs_shown(struct jobs *j, int64_t id) {
    struct job_record *found = NULL;
    for (struct job_record *job = j->first; job; job = job->next)
        if (job->id == id && job->stage != JOB_ASKED) found = job;
    return found;
}

size_t jobs_ids(struct jobs *j, int64_t **ids) {
    pthread_mutex_lock(&j->lock);
    size_t n = 0, room = 0;
    *ids = NULL;
    for (struct job_record *job = j->first; job; job = job->next) {
        if (job->stage == JOB_ASKED || jobs_shown(j, job->id) != job) continue;
        GROW(*ids, room, n + 1);
        (*ids)[n++] = job->id;
    }
    pthread_mutex_unlock(&j->lock);
    return n;
}

static int jobs_place_of(struct jobs *j, const struct job_record *job) {
    int place = 1;
    for (const struct job_record *x = j->first; x; x = x->next)
        place += x->stage == JOB_QUEUED && x->turn < job->turn;
    return place;
}

bool jobs_view(struct jobs *j, int64_t id, struct job_view *out) {
    *out = (struct job_view){ .id = id, .best = NAN };
    pthread_mutex_lock(&j->lock);
    struct job_record *job = jobs_shown(j, id);
    if (job) {
        out->progress = job->last;
        if (job->stage == JOB_IN_WORK) run_progress(job->run, &out->progress);
        else if (job->stage == JOB_QUEUED && job->paused) out->progress.state = RUN_PAUSED;
        if (job->stage == JOB_QUEUED) out->place = jobs_place_of(j, job);
        out->method = xcopy(job->method);
        out->task = xcopy(job->task_name);
        out->reason = xcopy(job->reason);
        out->seed = job->seed;
        out->resumed = job->resumed;
        if (job->series) out->best = job->series->view.best;
        out->constant = job->constant;
        out->none_valid = job->none_valid;
    }
    pthread_mutex_unlock(&j->lock);
    return job != NULL;
}

void jobs_series(struct jobs *j, int64_t id, struct run_series *out) {
    pthread_mutex_lock(&j->lock);
    const struct job_record *job = jobs_shown(j, id);
    if (job && job->series) series_take(out, job->series);
    pthread_mutex_unlock(&j->lock);
}

void job_view_release(struct job_view *v) {
    free(v->method);
    free(v->task);
    free(v->reason);
}
