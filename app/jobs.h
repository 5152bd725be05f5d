/* Jobs: the runs that this process trains.  Joins core/train (which computes) with the
 * store (which keeps) and with what a screen shows.
 *
 * One keeper thread starts requested runs (loading model and task), obeys requests from
 * other processes every 250 ms, pauses runs while the disk is full, and puts away runs
 * that are over.  All functions may be called by any thread. */
#ifndef APP_JOBS_H
#define APP_JOBS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/data/task.h"
#include "core/train/run.h"
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
};

/* Starts `workers` threads that train, and one that keeps the store's records; the store is
 * borrowed and must outlive them.  jobs_free. */
struct jobs *jobs_new(struct store *s, int workers, struct jobs_hook hook);
/* Stops all runs (checkpointed, as "stopped") or, with `finish`, lets them finish first;
 * joins the threads.  The store stays open. */
void jobs_free(struct jobs *j, bool finish);

/* What is to be trained.  Strings are copied. */
struct job_request {
    struct run_config config;
    int workers;                /* limit of this run; 0: all */
    const char *note;
    int64_t parent;
};

/* Loads, checks, creates the run and queues it; on the caller's thread.  *id is its number. */
int jobs_start(struct jobs *j, const struct job_request *r, int64_t *id, struct err *e);
/* The same on the keeper thread: returns at once; a failure is told by jobs_message. */
void jobs_start_later(struct jobs *j, const struct job_request *r);
/* Takes up a stopped or interrupted run again. */
int jobs_resume(struct jobs *j, int64_t id, int workers, struct err *e);
void jobs_resume_later(struct jobs *j, int64_t id);

/* ERR_NOT_FOUND when this process does not train it. */
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
struct job_evaluation {
    int64_t step;
    double value, loss;   /* of the deciding metric; NaN when undefined */
    bool best, constant;
};
/* A text given for a dev row (event.h). */
struct job_sample {
    int64_t step;
    char *source, *target, *generated;
    int valid;
};
struct job_view {
    int64_t id;
    char *method, *task, *metric, *rows, *reason;
    uint64_t seed;
    struct run_progress progress;
    size_t points;
    double *step, *loss, *lr, *norm;
    size_t evaluations;
    struct job_evaluation *evaluation;
    size_t samples;
    struct job_sample *sample; /* by step, then in the order drawn */
    double majority;      /* NaN when there is none */
    int64_t trained, model_values;
};
/* Ids of the runs started by this process, oldest first; caller frees. */
size_t jobs_ids(struct jobs *j, int64_t **ids);
bool jobs_view(struct jobs *j, int64_t id, struct job_view *out);
void job_view_release(struct job_view *v);
/* Takes the latest message for the user (a failed start, a full disk); "" when none.
 * Caller frees. */
char *jobs_message(struct jobs *j);

#endif
