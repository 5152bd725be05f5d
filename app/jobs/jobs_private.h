/* Internals of jobs.c, job_supervise.c, job_start.c, job_room.c,
 * job_build.c, job_tasks.c and job_events.c.
 *
 * A job passes the stages requested → queued → building → running → ended.  While it waits it is a config
 * and an id; model, data and parameters exist from building on, and are released when it ends. Two threads
 * advance jobs: the starter (requested, queued, building: slow work) and the supervisor (running, and
 * ending).  A job's data belongs to the thread that advances it; the members marked below are shared under
 * jobs->lock. */
#ifndef APP_JOBS_JOBS_PRIVATE_H
#define APP_JOBS_JOBS_PRIVATE_H

#include <pthread.h>

#include "app/jobs/jobs.h"
#include "core/train/run/pool.h"

enum { RETRY_MS = 5000 };
enum { KEY_LOSS, KEY_LR, KEY_NORM, KEY_TOKENS, KEY_SECONDS, KEYS };

/* A task that is read and encoded once for all runs that share its examples. */
struct shared_task {
    struct shared_task *next;
    char *key, *frozen_key; /* as requested; as in the completed config, NULL until then */
    bool of_folder; /* its splits were found in a folder */
    char *state; /* state of its files when read; they are reloaded when it changes */
    int users;
    struct task task;
};

/* The tasks of one job, in order. */
struct job_tasks {
    bool episodes;   /* the run trains on episodes */
    int count;
    struct shared_task **of;
    struct task **task;
};

enum job_stage {
    JOB_ASKED,    /* nothing is stored yet: it can be dropped */
    JOB_QUEUED,   /* its record is in the store, which owns its lock; it waits for its turn */
    JOB_BUILDING, /* model and data are read, parameters allocated */
    JOB_IN_WORK,  /* in the pool */
    JOB_OVER,     /* only the screen's data is left */
};

struct history_row; /* app/history/run_row.h */

struct job_record {
    struct job_record *next;
    struct jobs *jobs;
    struct job_built built;      /* the caller builds it; else empty */
    struct job_request *request; /* until building; the config is final from queued on */
    bool resumed;                /* started before; `was` and `why`: its state then */
    const char *given;           /* path of its model given by the user; owned by the caller; or NULL */
    bool quiet;                  /* the caller reads its failure (jobs_failure) */
    int workers;                 /* limit of the run; 0: all */
    bool force;                  /* start it even if its estimated memory is not available */
    struct job_memory room;      /* under jobs->lock */
    bool waits;                  /* it was reported that it waits for memory; likewise */
    int64_t stop_at;             /* it stops after its evaluation at this step; 0: no limit */
    enum store_state was;
    char *why;
    struct run *run;             /* while running */
    struct model *model;
    struct job_tasks tasks;
    /* under jobs->lock */
    enum job_stage stage;
    int64_t id;                  /* 0: requested, without an id yet */
    uint64_t turn;               /* position in the queue: the lowest is next */
    bool stop, paused;           /* as requested by the user */
    int64_t retry;               /* when to retry a run that paused automatically, clock_ms; 0: none */
    struct err failure;          /* reason for a failed build */
    char *method, *task_name, *reason;
    uint64_t seed;
    struct run_progress last;    /* while it is not running */
    bool constant, none_valid;   /* of the latest evaluation of the primary split */
    struct run_series *series;   /* its points in this process; NULL: not built yet */
};

struct jobs {
    struct store *store;
    struct pool *pool;
    struct jobs_hook hook;
    int key[KEYS];
    pthread_t supervisor, starter;
    size_t left_out; /* used by the supervisor: lost records that were reported to the user */
    pthread_mutex_t measuring;   /* guards speed */
    struct estimate_speed speed; /* zeros: not measured */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    /* under the lock */
    uint64_t news;               /* incremented by each change that a thread may wait for */
    bool leaving, full;          /* full: nothing can be stored, so nothing is trained */
    uint64_t turns;
    int looking;                 /* active callers of jobs_start and jobs_resume */
    struct job_record *first;           /* in order of request */
    struct shared_task *tasks;
    struct model *cached_model;  /* the latest one, cached while jobs wait */
    struct job_tasks kept_tasks; /* the tasks of the same job */
    char *message;
};

void jobs__say(struct jobs *j, const char *text);
/* Call these with the lock held. */
struct job_record *jobs__find(struct jobs *j, int64_t id);
void jobs__changed(struct jobs *j); /* wakes waiting threads */
void jobs__apply(struct job_record *job);  /* applies requests to a running run */
/* Waits on `changed` until `news` differs from `seen`, at most `seconds` (< 0: no limit); with the lock
 * held. */
void jobs__await(struct jobs *j, uint64_t seen, double seconds);

/* job_start.c */
struct job_record *job_new(struct jobs *j);
void job_free(struct job_record *job);
/* Prepares a request.  New run: checks it, completes its config and creates a record with an id.  Stored
 * run (resumed, with its id): takes ownership of it. */
int job_prepare(struct job_record *job, struct err *e);
/* Queues a prepared job. */
void job_queue(struct job_record *job);
/* Sets the screen's data while it waits. */
void job_describe(struct job_record *job, const struct run_config *c);
bool job_taken_back(struct job_record *job);
/* Caches the model and the tasks (takes ownership of both) until the run is built; NULL: clears the cache. */
void job_keep(struct jobs *j, struct model *m, const struct job_tasks *t);
void job_drop_request(struct job_record *job);
/* job_tasks.c */
void jobs__task_free(struct shared_task *t);
/* Reads and encodes the tasks of a config, or takes them from the cache; on failure *out is empty. */
int job_tasks_take(struct jobs *j, struct model *m, const struct run_config *c, struct job_tasks *out,
                   struct err *e);
void job_tasks_done(struct jobs *j, struct job_tasks *tasks);
/* Registers tasks that were requested by name under their names in the completed config. */
void job_tasks_know(struct jobs *j, const struct job_tasks *tasks, const struct model *m,
                    const struct run_config *c);
struct run_tasks job_tasks_of(const struct job_tasks *tasks);
/* Returns the split of the primary metric; NULL: there is none. */
const char *job_tasks_split(const struct job_tasks *tasks);

/* job_room.c */
/* Estimates time and memory of a new run for its record. */
void job_room_estimate(struct job_record *job, const struct plan *p, const struct model *m,
                       const struct job_tasks *t, struct history_row *row);
/* Reserves the estimated memory of a run whose model and examples are loaded.  ERR_USAGE where more is needed
 * than is available when no other run of this process trains, unless it is forced. */
int job_room_take(struct job_record *job, const struct model *m, const struct job_tasks *t, struct err *e);
/* Returns whether a queued run fits next to those that were built, or reports once that it waits; with the
 * lock held. */
bool job_room_is_free(struct job_record *job);

/* job_build.c */
void *jobs__start(void *jobs);      /* the starter's thread */
/* Releases model and data after the run. */
void job_let_go(struct job_record *job);
/* Ends a queued job that never started. */
void job_take_back(struct job_record *job);

/* job_supervise.c */
void *jobs__supervise(void *jobs);       /* the supervisor's thread */
/* Pauses every run while the disk is full; afterwards those continue that nobody else paused. */
void jobs__hold(struct jobs *j, bool full, const char *why);

/* job_events.c */
void jobs__event(void *self, const struct event *e); /* self: struct job_record */

void request_copy(struct job_request *to, const struct job_request *from);

#endif
