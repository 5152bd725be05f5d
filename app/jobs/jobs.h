/* Jobs: the runs that this process trains.  Joins core/train (which computes) with the
 * store (which keeps) and with what a screen shows.
 *
 * A run is asked for, looked at (its config is complete and its row is there), waits in the queue as a
 * description and a number, and is built when its turn comes: no more runs have a model, rows and
 * parameters than train at once, but for those that were paused and, of the latest one that was looked at,
 * model and rows.  What was asked for can be taken back
 * until it has begun.  A starter thread looks and builds; a supervisor thread obeys requests from other
 * processes every 250 ms, pauses runs while the disk is full, and puts away runs that are over.  All
 * functions may be called by any thread. */
#ifndef APP_JOBS_JOBS_H
#define APP_JOBS_JOBS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "app/history/series.h"
#include "core/base/crew.h"
#include "core/base/err.h"
#include "core/data/task.h"
#include "core/train/run/run.h"
#include "store/store.h"

struct jobs;

/* `notify` is called (from any thread) when something that a screen shows has changed. */
struct jobs_hook {
    void *self;
    void (*notify)(void *self);
    /* Every event of every run, after it was stored; may be NULL. */
    void (*event)(void *self, const struct event *e);
    /* What reading the model and the task gave, before the run is queued; may be NULL. */
    void (*report)(void *self, const char *text);
    /* Another process's request for a run that the store owns and that is not a job; may be NULL. */
    void (*asked)(void *self, int64_t run, enum store_control what);
};

/* Starts a crew of `workers` that trains, and one that keeps the store's records; the store is
 * borrowed and must outlive them.  jobs_free. */
struct jobs *jobs_new(struct store *s, int workers, struct jobs_hook hook);
/* Stops all runs (checkpointed, as "stopped"; those that wait are taken back) or, with `finish`, lets
 * them finish first; joins the threads.  The store stays open. */
void jobs_free(struct jobs *j, bool finish);
/* The crew, for whatever else is computed while runs train. */
struct crew *jobs_crew(struct jobs *j);
/* Returns the speed of one of its workers in GF/s (estimate_rate), measured when it is asked for first; 0
 * unless `measure` where it is not measured yet. */
double jobs_rate(struct jobs *j, bool measure);

/* What is to be trained.  Strings are copied. */
struct job_request {
    struct run_config config;
    int workers;                /* limit of this run; 0: all */
    const char *note;
    const char *name;           /* what it is called (store_rename) */
    const char *cell;           /* as of struct store_new_run */
    const char *tag;            /* static text; NULL: none */
    int64_t parent;
    int64_t sweep;              /* it is made for; 0: none */
    bool from_parent;           /* it begins with the parent's values, a copy of which it keeps */
    int64_t stop_at;            /* it stops after its evaluation there (run_stop_at); 0: it does not */
};

/* Checks, freezes the config, creates the run and queues it; on the caller's thread.  *id is its number. */
int jobs_start(struct jobs *j, const struct job_request *r, int64_t *id, struct err *e);
/* Completes the config as jobs_start would, and makes nothing: what is wrong with it is in *e, what it trains
 * in *trained (without the head). */
int jobs_complete(struct jobs *j, struct run_config *c, int64_t *trained, struct err *e);
/* jobs_start on the starter's thread: returns at once; a failure is told by jobs_message. */
void jobs_start_later(struct jobs *j, const struct job_request *r);
/* Takes up a stopped or interrupted run again, from its last checkpoint or, where it has none, from its
 * beginning.  `model`: where its model lies now; NULL: it is looked for as backbone_open does.  What is
 * wrong with its files shows when its turn comes (jobs_failure). */
int jobs_resume(struct jobs *j, int64_t id, const char *model, int workers, struct err *e);
/* The same up to the evaluation at a step (run_stop_at). */
int jobs_resume_to(struct jobs *j, int64_t id, int64_t stop_at, struct err *e);
void jobs_resume_later(struct jobs *j, int64_t id);
/* A run that its caller describes and builds: its row is there and owned by the store. */
struct job_built {
    int64_t id;
    const struct run_config *config; /* for what a screen shows of it */
    /* Makes the run when its turn comes, and takes back what it was made of when it is over; on the jobs'
     * threads. */
    struct run *(*build)(void *self, struct event_sink sink, struct err *e);
    void (*done)(void *self);
    void *self;
};
/* Queues it. */
void jobs_add(struct jobs *j, const struct job_built *b);
/* Why a run of jobs_start, jobs_resume or jobs_add, over now, could not be begun; 0: it could. */
int jobs_failure(struct jobs *j, int64_t id, struct err *e);

/* ERR_NOT_FOUND when this process does not train it.  A run that waits in the queue stays there while it
 * is paused, and ends as stopped when it is stopped; one that was only asked for is dropped. */
int jobs_pause(struct jobs *j, int64_t id, struct err *e);
int jobs_unpause(struct jobs *j, int64_t id, struct err *e);
int jobs_stop(struct jobs *j, int64_t id, struct err *e);
/* Moves a queued run by `by` places in the queue (-1: earlier). */
void jobs_move(struct jobs *j, int64_t id, int by);
/* Waits until the run is over and put away, or `seconds` passed.  Returns whether it is. */
bool jobs_wait(struct jobs *j, int64_t id, double seconds);
/* Runs not yet over, requested ones included. */
int jobs_live(struct jobs *j);

/* A copy of what a screen shows of one run: owned, job_view_release. */
struct job_view {
    int64_t id;
    char *method, *task, *reason;
    uint64_t seed;
    struct run_progress progress;
    int place;            /* in the queue, 1: next; 0: it does not wait */
    bool resumed;         /* it was begun before: the store has what came before */
    bool constant;        /* the last evaluation predicted one class only */
    bool none_valid;      /* no answer of it was one */
    double best;          /* of the deciding metric; NaN: none */
};
/* Ids of the runs started by this process, oldest first, each once; caller frees. */
size_t jobs_ids(struct jobs *j, int64_t **ids);
bool jobs_view(struct jobs *j, int64_t id, struct job_view *out);
void job_view_release(struct job_view *v);

/* Adds to *out what has come of the run in this process after what is there. */
void jobs_series(struct jobs *j, int64_t id, struct run_series *out);

/* Takes the latest message for the user (a failed start, a full disk); "" when none.
 * Caller frees. */
char *jobs_message(struct jobs *j);

#endif
