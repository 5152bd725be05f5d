/* The supervisor: handles requests of other processes, watches the disk, and cleans up ended runs. */
#include <stdlib.h>

#include "app/jobs/jobs_private.h"
#include "core/base/clock.h"
#include "core/base/mem.h"

enum { LOOK_MS = 100, ASKED_MS = 250 };

/* A run that is recorded but not yet listed, as its job is still being prepared, keeps its requests. */
static void obey_requests(struct jobs *j) {
    struct store_request request[16];
    struct err e = ERR_INIT;
    int n = store_requests(j->store, request, COUNT_OF(request), &e);
    for (int i = 0; i < n; i++) {
        int64_t id = request[i].run;
        int rc = request[i].what == STORE_STOP    ? jobs_stop(j, id, &e)
                 : request[i].what == STORE_PAUSE ? jobs_pause(j, id, &e)
                                                  : jobs_unpause(j, id, &e);
        if (rc && !(j->hook.asked && j->hook.asked(j->hook.self, id, request[i].what))) continue;
        if (store_request_taken(j->store, &request[i], &e)) jobs__say(j, e.text);
    }
}

void jobs__hold(struct jobs *j, bool full, const char *why) {
    bool any = false;
    pthread_mutex_lock(&j->lock);
    bool turned = j->full != full;
    j->full = full;
    for (struct job_record *job = j->first; turned && job; job = job->next) {
        if (job->stage == JOB_IN_WORK) jobs__apply(job);
        any = any || job->stage < JOB_OVER;
    }
    if (turned) jobs__changed(j);
    pthread_mutex_unlock(&j->lock);
    if (!turned) return;
    pool_wake(j->pool);
    if (any) jobs__say(j, why);
}

static void mind_the_disk(struct jobs *j) {
    struct store_status status;
    store_status(j->store, &status);
    if (status.left_out > j->left_out) jobs__say(j, status.left_out_why);
    j->left_out = status.left_out;
    bool full = status.condition == STORE_DISK_FULL || status.condition == STORE_BROKEN;
    jobs__hold(j, full, full ? status.text : "the database is writable again; runs continue");
}

/* A run that could not write its checkpoint retries after a while. */
static void retry_paused(struct jobs *j) {
    bool any = false;
    pthread_mutex_lock(&j->lock);
    for (struct job_record *job = j->first; job; job = job->next) {
        if (job->stage != JOB_IN_WORK || !job->retry || clock_ms() < job->retry) continue;
        job->retry = 0;
        jobs__apply(job);
        any = true;
    }
    pthread_mutex_unlock(&j->lock);
    if (any) pool_wake(j->pool);
}

static void job_supervise_put_away(struct jobs *j, struct job_record *job) {
    struct run_progress last;
    struct err e = ERR_INIT;
    run_progress(job->run, &last);
    if (store_disown(j->store, job->id, &e)) jobs__say(j, e.text);
    pthread_mutex_lock(&j->lock);
    struct run *run = job->run;
    job->last = last;
    job->run = NULL;
    job->stage = JOB_OVER;
    jobs__changed(j);
    pthread_mutex_unlock(&j->lock);
    run_free(run);
    job_let_go(job);
    if (j->hook.notify) j->hook.notify(j->hook.self);
}

/* Returns a job that ends: one that left the pool, or was canceled before it started. */
static struct job_record *next_ended(struct jobs *j) {
    pthread_mutex_lock(&j->lock);
    struct job_record *job = j->first;
    while (job && !(job->stage == JOB_IN_WORK && pool_wait(j->pool, job->run, 0)) &&
           !(job->stage == JOB_QUEUED && job->stop))
        job = job->next;
    pthread_mutex_unlock(&j->lock);
    return job;
}

static void job_supervise_collect(struct jobs *j) {
    for (struct job_record *job; (job = next_ended(j));) {
        if (job->stage == JOB_IN_WORK) job_supervise_put_away(j, job);
        else job_take_back(job);
    }
}

void *jobs__supervise(void *self) {
    struct jobs *j = self;
    int64_t asked = 0;
    pthread_mutex_lock(&j->lock);
    for (;;) {
        uint64_t seen = j->news;
        bool any = false;
        for (struct job_record *job = j->first; job; job = job->next) any = any || job->stage < JOB_OVER;
        if (!any) {
            if (j->leaving) break;
            jobs__await(j, seen, -1);
            continue;
        }
        pthread_mutex_unlock(&j->lock);
        int64_t now = clock_ms();
        if (now - asked >= ASKED_MS) {
            asked = now;
            obey_requests(j);
        }
        mind_the_disk(j);
        retry_paused(j);
        job_supervise_collect(j);
        pthread_mutex_lock(&j->lock);
        jobs__await(j, seen, LOOK_MS / 1000.0);
    }
    pthread_mutex_unlock(&j->lock);
    return NULL;
}
