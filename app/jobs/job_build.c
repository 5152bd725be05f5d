/* The starter: requested jobs are prepared and queued, and built when their turn comes. */
#include <stdlib.h>

#include "app/history/opened.h"
#include "app/jobs/jobs_private.h"
#include "core/base/mem.h"

/* Ends a job that never reached the pool: its record gets the reason, its lock is released. */
static void end_unbuilt(struct job_record *job, enum store_state state, const char *reason, int64_t step) {
    struct jobs *j = job->jobs;
    struct err e = ERR_INIT;
    store_change(j->store, &(struct store_change){ .run = job->id, .step = step, .state = state,
                                                   .seconds = step < 0 ? -1 : 0, .reason = reason });
    if (store_disown(j->store, job->id, &e)) jobs__say(j, e.text);
    job_drop_request(job);
    pthread_mutex_lock(&j->lock);
    free(job->reason);
    job->reason = reason ? xstrdup(reason) : NULL;
    job->last.state = (enum run_state)state;
    job->stage = JOB_OVER;
    jobs__changed(j);
    pthread_mutex_unlock(&j->lock);
    if (j->hook.notify) j->hook.notify(j->hook.self);
}

void job_take_back(struct job_record *job) {
    job_let_go(job);
    end_unbuilt(job, STORE_STOPPED, "canceled while queued", job->resumed ? -1 : 0);
}

static void job_build_refuse(struct job_record *job, const struct err *why) {
    pthread_mutex_lock(&job->jobs->lock);
    job->failure = *why;
    pthread_mutex_unlock(&job->jobs->lock);
    if (!job->quiet) jobs__say(job->jobs, why->text);
    /* a resumed run is unchanged */
    if (job->resumed) end_unbuilt(job, job->was, job->why, -1);
    else end_unbuilt(job, STORE_FAILED, why->text, 0);
}

/* Adds the run to the pool; its events arrive from then on. */
static void set_to_work(struct job_record *job, struct run *run) {
    struct jobs *j = job->jobs;
    pthread_mutex_lock(&j->lock);
    job->run = run;
    jobs__apply(job);
    pthread_mutex_unlock(&j->lock);
    pool_add(j->pool, run, job->workers);
    pthread_mutex_lock(&j->lock);
    job->stage = JOB_IN_WORK;
    jobs__apply(job); /* requests made in the meantime */
    jobs__changed(j);
    pthread_mutex_unlock(&j->lock);
    pool_wake(j->pool);
}

/* Starts the curves of a run from its record. */
static void begin_series(struct job_record *job) {
    struct jobs *j = job->jobs;
    struct run_series *s = series_new(job->id);
    struct store_run run;
    if (!store_run(j->store, job->id, &run, NULL)) {
        series_begin(s, &run);
        store_run_release(&run);
    }
    pthread_mutex_lock(&j->lock);
    job->series = s;
    pthread_mutex_unlock(&j->lock);
}

/* Adds the notes of a resumed run. */
static void say_how(const struct job_record *job, bool anew, bool ended, bool unknown) {
    char *facts = unknown ? opened_facts_unknown(job->id) : NULL;
    const char *why = ended ? "the final state of the run was not recorded"
                            : "the run ended before its first checkpoint";
    char *text = xprintf("%s%s%s%s", anew ? why : "",
                         anew ? "; it restarts from the beginning and gives the same results" : "",
                         anew && unknown ? "; " : "", unknown ? facts : "");
    jobs__say(job->jobs, text);
    free(text);
    free(facts);
}

void job_let_go(struct job_record *job) {
    job_tasks_done(job->jobs, &job->tasks);
    model_release(job->model);
    job->model = NULL;
    if (job->built.done) job->built.done(job->built.self);
    job->built.done = NULL;
}

static struct run *job_build_make_run(struct job_record *job, struct err *e) {
    const struct run_config *c = &job->request->config;
    char *folder = store_run_folder(job->jobs->store, job->id);
    struct event_sink sink = { job, jobs__event };
    bool ended = job->resumed && run_drop_end(folder);
    bool anew = job->resumed && !run_has_checkpoint(folder), unknown = job->resumed && !c->model_facts;
    /* also for a new run: what was checked is what is trained */
    const struct run_tasks tasks = job_tasks_of(&job->tasks);
    struct run *run = run_go_on(job->id, c, job->model, &tasks, folder, sink, e);
    free(folder);
    if (run) run_stop_at(run, job->stop_at);
    if (run && (anew || unknown)) say_how(job, anew, ended, unknown);
    return run;
}

static struct run *build_asked(struct job_record *job, struct err *e) {
    const struct run_config *c = &job->request->config;
    job->model = model_share_as(c->model_folder ? c->model_folder : c->model, c->weights_in, e);
    if (!job->model || job_tasks_take(job->jobs, job->model, c, &job->tasks, e)) return NULL;
    return job_build_make_run(job, e);
}

static void build_job(struct job_record *job) {
    struct err e = ERR_INIT;
    struct event_sink sink = { job, jobs__event };
    struct run *run = job->built.build ? job->built.build(job->built.self, sink, &e) : build_asked(job, &e);
    if (run) {
        begin_series(job);
        job_drop_request(job);
        set_to_work(job, run);
        return;
    }
    job_let_go(job);
    job_build_refuse(job, &e);
}

/* ---- the starter ---- */

static void job_build_drop(struct job_record *job) {
    struct jobs *j = job->jobs;
    pthread_mutex_lock(&j->lock);
    struct job_record **at = &j->first;
    while (*at != job) at = &(*at)->next;
    *at = job->next;
    jobs__changed(j);
    pthread_mutex_unlock(&j->lock);
    job_free(job);
    if (j->hook.notify) j->hook.notify(j->hook.self);
}

static void job_build_look(struct job_record *job) {
    struct err e = ERR_INIT;
    if (job_taken_back(job)) {
        job_build_drop(job);
    } else if (job_prepare(job, &e)) {
        if (e.code != ERR_INTERRUPTED) jobs__say(job->jobs, e.text);
        job_build_drop(job);
    } else {
        job_queue(job);
    }
}

/* Returns whether a run counts among those that train: a paused one does not. */
static bool takes_place(const struct job_record *job) {
    return job->stage == JOB_BUILDING || (job->stage == JOB_IN_WORK && !job->paused && !job->retry);
}

/* Chooses the next job of the starter, with the lock: requests first, so that errors are reported early;
 * then the queue.  *waiting: some jobs are not built yet. */
static struct job_record *next_to_start(struct jobs *j, bool *waiting) {
    struct job_record *asked = NULL, *queued = NULL;
    int places = pool_width(j->pool);
    *waiting = j->looking > 0;
    for (struct job_record *job = j->first; job; job = job->next) {
        places -= takes_place(job);
        *waiting = *waiting || job->stage < JOB_IN_WORK;
        if (job->stage == JOB_ASKED && !asked) asked = job;
        bool ready = job->stage == JOB_QUEUED && !job->stop && !job->paused;
        if (ready && (!queued || job->turn < queued->turn)) queued = job;
    }
    if (asked) return asked;
    if (!queued || places < 1 || j->full || !job_room_is_free(queued)) return NULL;
    queued->stage = JOB_BUILDING;
    return queued;
}

void *jobs__start(void *self) {
    struct jobs *j = self;
    pthread_mutex_lock(&j->lock);
    for (;;) {
        uint64_t seen = j->news;
        bool waiting;
        struct job_record *job = next_to_start(j, &waiting);
        bool asked = job && job->stage == JOB_ASKED;
        if (!waiting && j->cached_model) {
            pthread_mutex_unlock(&j->lock);
            job_keep(j, NULL, NULL);
            pthread_mutex_lock(&j->lock);
        } else if (!waiting && j->leaving) {
            break;
        } else if (!job) {
            jobs__await(j, seen, -1);
        } else {
            pthread_mutex_unlock(&j->lock);
            if (asked) job_build_look(job);
            else build_job(job);
            pthread_mutex_lock(&j->lock);
        }
    }
    pthread_mutex_unlock(&j->lock);
    return NULL;
}
