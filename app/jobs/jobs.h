/* Jobs: the runs that this process trains.  Connects core/train (which computes) with the store (which
 * records) and the screen's data.
 *
 * A run is requested, prepared (its config is completed and its record is created), waits in the queue as a
 * config and an id, and is built when its turn comes: only runs that train concurrently have a model, data
 * and parameters in memory, except paused runs and, for the latest prepared one, model and data.  A request
 * can be canceled until it has started.  A starter thread prepares and builds; a supervisor thread handles
 * requests from other processes every 250 ms, pauses runs while the disk is full, and cleans up ended runs.
 * All functions are thread-safe. */
#ifndef APP_JOBS_JOBS_H
#define APP_JOBS_JOBS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "app/history/series.h"
#include "core/base/crew.h"
#include "core/base/err.h"
#include "core/data/task.h"
#include "core/train/config/estimate.h"
#include "core/train/run/run.h"
#include "store/store.h"

struct jobs;

/* `notify` is called (from any thread) when the screen's data has changed. */
struct jobs_hook {
    void *self;
    void (*notify)(void *self);
    /* Receives every event of every run, after it was stored; may be NULL. */
    void (*event)(void *self, const struct event *e);
    /* Receives the import report of model and task, before the run is queued; may be NULL. */
    void (*report)(void *self, const char *text);
    /* Receives requests of other processes for runs owned by the store that are not listed as jobs; returns
     * whether the run was its own, else the request stays open until the run is listed.  May be NULL. */
    bool (*asked)(void *self, int64_t run, enum store_control what);
};

/* Starts a crew of `workers` that trains, and threads that write the records; the store is borrowed and
 * must outlive them.  Release with jobs_free. */
struct jobs *jobs_new(struct store *s, int workers, struct jobs_hook hook);
/* Stops all runs (with a checkpoint, as "stopped"; queued ones are canceled) or, with `finish`, waits for
 * their end; joins the threads.  The store stays open. */
void jobs_free(struct jobs *j, bool finish);
/* Returns the crew, for other computations during training. */
struct crew *jobs_crew(struct jobs *j);
/* Returns the speed of one worker, measured on the first call with `measure`; zeros if not measured yet. */
struct estimate_speed jobs_speed(struct jobs *j, bool measure);

/* A request to train.  Strings are copied. */
struct job_request {
    struct run_config config;
    int workers;                /* limit of this run; 0: all */
    const char *note;
    const char *name;           /* name of the run (store_rename) */
    const char *cell;           /* as of struct store_new_run */
    const char *tag;            /* static text; NULL: none */
    int64_t parent;
    int64_t sweep;              /* sweep that it belongs to; 0: none */
    bool from_parent;           /* it is initialized from a copy of the parent's parameters */
    int64_t stop_at;            /* it stops after its evaluation at this step (run_stop_at); 0: no limit */
    bool force;                 /* start it even if its estimated memory is not available */
};

/* Checks and fixes the config, creates the run and queues it, in the caller's thread.  *id is its id.
 * ERR_USAGE also where the estimated memory is not available (core/base/room.h); a run that only fits when
 * others have ended waits in the queue. */
int jobs_start(struct jobs *j, const struct job_request *r, int64_t *id, struct err *e);
/* Completes the config like jobs_start, without creating a run: errors are in *e; *trained is the number of
 * trainable parameters (without the head). */
int jobs_complete(struct jobs *j, struct run_config *c, int64_t *trained, struct err *e);
/* Calls jobs_start on the starter's thread and returns immediately; a failure is reported by jobs_message. */
void jobs_start_later(struct jobs *j, const struct job_request *r);
/* Resumes a stopped or interrupted run from its last checkpoint or, without one, from its beginning.
 * `model`: its current path; NULL: found as by backbone_open; `force`: as of a request.  Problems with its
 * files are reported when its turn comes (jobs_failure). */
int jobs_resume(struct jobs *j, int64_t id, const char *model, int workers, bool force, struct err *e);
/* Resumes up to the evaluation at a step (run_stop_at). */
int jobs_resume_to(struct jobs *j, int64_t id, int64_t stop_at, bool force, struct err *e);
void jobs_resume_later(struct jobs *j, int64_t id);
/* Memory of a run in bytes. */
struct job_memory {
    double needed; /* estimated beyond model and examples; 0: unknown */
    double loaded; /* of model and examples when it was estimated */
};
/* Estimates it for a config whose model and examples are loaded; ERR_USAGE where more is needed than is
 * available when no other run of this process trains. */
int jobs_fits(struct jobs *j, const struct run_config *c, int workers, const struct model *m,
              const struct run_tasks *tasks, struct job_memory *out, struct err *e);
/* A run that its caller describes and builds: its record exists and is owned by the store. */
struct job_built {
    int64_t id;
    const struct run_config *config; /* for the screen's data */
    /* Builds the run when its turn comes, and frees its parts when it has ended; called on the jobs'
     * threads. */
    struct run *(*build)(void *self, struct event_sink sink, struct err *e);
    void (*done)(void *self);
    void *self;
};
/* Queues such a run. */
void jobs_add(struct jobs *j, const struct job_built *b);
/* Returns why an ended run of jobs_start, jobs_resume or jobs_add could not be started; 0: it could. */
int jobs_failure(struct jobs *j, int64_t id, struct err *e);

/* Control a run; ERR_NOT_FOUND when this process does not train it.  A queued run that is paused stays in
 * the queue, and ends as stopped when it is stopped; a request that is not prepared yet is dropped. */
int jobs_pause(struct jobs *j, int64_t id, struct err *e);
int jobs_unpause(struct jobs *j, int64_t id, struct err *e);
int jobs_stop(struct jobs *j, int64_t id, struct err *e);
/* Moves a queued run by `by` places in the queue (-1: earlier). */
void jobs_move(struct jobs *j, int64_t id, int by);
/* Waits until the run has ended and its records are written, or `seconds` passed.  Returns whether it has. */
bool jobs_wait(struct jobs *j, int64_t id, double seconds);
/* Returns the number of runs that have not ended, including requested ones. */
int jobs_live(struct jobs *j);

/* A copy of the screen's data of a run: owned, release with job_view_release. */
struct job_view {
    int64_t id;
    char *method, *task, *reason;
    uint64_t seed;
    struct run_progress progress;
    int place;            /* in the queue, 1: next; 0: not queued */
    bool resumed;         /* it was resumed: the store has its earlier points */
    bool constant;        /* the last evaluation predicted one class only */
    bool none_valid;      /* none of its outputs was valid */
    double best;          /* of the primary metric; NaN: none */
};
/* Returns the ids of the runs started by this process, oldest first, each once; caller frees. */
size_t jobs_ids(struct jobs *j, int64_t **ids);
bool jobs_view(struct jobs *j, int64_t id, struct job_view *out);
void job_view_release(struct job_view *v);

/* Appends to *out the points of the run in this process that follow its last one. */
void jobs_series(struct jobs *j, int64_t id, struct run_series *out);

/* Takes the latest message for the user (a failed start, a full disk); "" if there is none.  Caller frees. */
char *jobs_message(struct jobs *j);

#endif
