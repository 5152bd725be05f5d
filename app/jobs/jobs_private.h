/* What jobs.c, job_supervise.c, job_start.c, job_build.c, job_tasks.c and job_events.c share.
 *
 * A job goes one way: asked → queued → building → in work → over.  While it waits it is a description
 * and a number; model, rows and parameters are there from building on, and are let go with the work.
 * Two threads move jobs on: the starter (asked, queued, building: what takes long) and the supervisor (in
 * work, and whatever ends).  A job's own data belong to the thread that moves it; what is marked below
 * is shared under jobs->lock. */
#ifndef APP_JOBS_JOBS_PRIVATE_H
#define APP_JOBS_JOBS_PRIVATE_H

#include <pthread.h>

#include "app/jobs/jobs.h"
#include "core/train/run/pool.h"

enum { RETRY_MS = 5000 };
enum { KEY_LOSS, KEY_LR, KEY_NORM, KEY_TOKENS, KEY_SECONDS, KEYS };

/* A task read and encoded once for all runs that want the same rows. */
struct shared_task {
    struct shared_task *next;
    char *key, *frozen_key; /* as it was asked for; as the frozen config names it, NULL before */
    bool of_folder; /* its splits were looked for in a folder */
    char *state; /* of its files when they were read: another one, and they are read anew */
    int users;
    struct task task;
};

/* The tasks of one job, in its order. */
struct job_tasks {
    bool episodes;   /* the run is over episodes */
    int count;
    struct shared_task **of;
    struct task **task;
};

enum job_stage {
    JOB_ASKED,    /* nothing is kept of it yet: it can be dropped */
    JOB_QUEUED,   /* its row is in the store, which owns its lock; it waits for its turn */
    JOB_BUILDING, /* model and rows are read, parameters made */
    JOB_IN_WORK,  /* in the pool */
    JOB_OVER,     /* what a screen shows is left */
};

struct job_record {
    struct job_record *next;
    struct jobs *jobs;
    struct job_built built;      /* the caller builds it; else empty */
    struct job_request *request; /* asked to building; the config is frozen from queued on */
    bool resumed;                /* begun before; `was` and `why`: how it stood */
    const char *given;           /* where its model lies now, by the user; the caller's; or NULL */
    bool quiet;                  /* the caller takes its failure (jobs_failure) */
    int workers;                 /* limit of the run; 0: all */
    int64_t stop_at;             /* it stops after its evaluation there; 0: it does not */
    enum store_state was;
    char *why;
    struct run *run;             /* in work */
    struct model *model;
    struct job_tasks tasks;
    /* under jobs->lock */
    enum job_stage stage;
    int64_t id;                  /* 0: asked, and no number yet */
    uint64_t turn;               /* place in the queue: the least is next */
    bool stop, paused;           /* as the user wants */
    int64_t retry;               /* when to set going a run that paused itself, clock_ms; 0: it has not */
    struct err failure;          /* why it could not be built */
    char *method, *task_name, *reason;
    uint64_t seed;
    struct run_progress last;    /* while it is not in work */
    bool constant, none_valid;   /* of the latest evaluation of the split that decides */
    struct run_series *series;   /* what came of it in this process; NULL: not built yet */
};

struct jobs {
    struct store *store;
    struct pool *pool;
    struct jobs_hook hook;
    int key[KEYS];
    pthread_t supervisor, starter;
    size_t left_out; /* the supervisor's: records that the store could not keep and the user was told of */
    pthread_mutex_t measuring;   /* guards rate */
    double rate;                 /* of jobs_rate; 0: not measured */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    /* under the lock */
    uint64_t news;               /* grows with each change that a thread may wait for */
    bool leaving, full;          /* full: nothing can be kept, so nothing is trained */
    uint64_t turns;
    int looking;                 /* callers of jobs_start and jobs_resume that are not done yet */
    struct job_record *first;           /* in the order asked */
    struct shared_task *tasks;
    struct model *kept;          /* the latest one, while jobs wait: it is not read twice */
    struct job_tasks kept_tasks; /* nor are those of the same job */
    char *message;
};

void jobs__say(struct jobs *j, const char *text);
/* These with the lock held. */
struct job_record *jobs__find(struct jobs *j, int64_t id);
void jobs__changed(struct jobs *j); /* wakes whoever waits */
void jobs__apply(struct job_record *job);  /* tells a run in work what is wanted of it */
/* Waits on `changed` until there is news since `seen`, at most `seconds` (< 0: no limit); with the lock. */
void jobs__await(struct jobs *j, uint64_t seen, double seconds);

/* job_start.c */
struct job_record *job_new(struct jobs *j);
void job_free(struct job_record *job);
/* Looks at what was asked.  A new run: checks it, freezes its config and gives it a row and a number.  A
 * stored one (resumed, with its number): takes it over. */
int job_look(struct job_record *job, struct err *e);
/* Lists a job that was looked at; it waits for its turn. */
void job_queue(struct job_record *job);
/* What a screen shows of it while it waits. */
void job_describe(struct job_record *job, const struct run_config *c);
bool job_taken_back(struct job_record *job);
/* Keeps the model and the tasks (both taken over) until the run is built; NULL: no longer. */
void job_keep(struct jobs *j, struct model *m, const struct job_tasks *t);
void job_drop_request(struct job_record *job);
/* job_tasks.c */
void jobs__task_free(struct shared_task *t);
/* Reads and encodes the tasks of a config, or finds them read; on failure *out is empty. */
int job_tasks_take(struct jobs *j, struct model *m, const struct run_config *c, struct job_tasks *out,
                   struct err *e);
void job_tasks_done(struct jobs *j, struct job_tasks *tasks);
/* Rows that were asked for by a name are found again by what the name stood for in the frozen config. */
void job_tasks_know(struct jobs *j, const struct job_tasks *tasks, const struct model *m,
                    const struct run_config *c);
struct run_tasks job_tasks_of(const struct job_tasks *tasks);
/* The split whose metric decides "best"; NULL: there is none. */
const char *job_tasks_split(const struct job_tasks *tasks);

/* job_build.c */
void *jobs__start(void *jobs);      /* the starter's thread */
/* After the work: model and rows have a user less. */
void job_let_go(struct job_record *job);
/* Ends a job that was queued and never begun. */
void job_take_back(struct job_record *job);

/* job_supervise.c */
void *jobs__supervise(void *jobs);       /* the supervisor's thread */
/* While the disk is full every run waits; afterwards those go on that nobody else holds. */
void jobs__hold(struct jobs *j, bool full, const char *why);

/* job_events.c */
void jobs__event(void *self, const struct event *e); /* self: struct job_record */

void request_copy(struct job_request *to, const struct job_request *from);

#endif
