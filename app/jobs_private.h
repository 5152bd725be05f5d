/* What jobs.c, job_start.c and job_events.c share. */
#ifndef APP_JOBS_PRIVATE_H
#define APP_JOBS_PRIVATE_H

#include <pthread.h>

#include "app/jobs.h"
#include "core/train/pool.h"

enum { RETRY_MS = 5000 };
enum { KEY_LOSS, KEY_LR, KEY_NORM, KEY_TOKENS, KEYS };

/* A task read and encoded once for all runs that want the same rows. */
struct shared_task {
    struct shared_task *next;
    char *key;
    int users;
    struct task task;
};

struct job {
    struct job *next;
    struct jobs *jobs;
    int64_t id;
    struct run *run; /* NULL once put away */
    struct model *model;
    struct shared_task *task;
    bool over, held; /* held: paused by the keeper because the disk is full */
    int64_t retry;   /* when to set going a run that paused itself, monotonic ms; 0: never */
    /* what a screen shows; under jobs->lock */
    char *method, *task_name, *metric, *rows, *reason;
    uint64_t seed;
    int64_t trained, model_values;
    struct run_progress last; /* kept when the run is put away */
    size_t points, points_room;
    double *point; /* points × 4: step, loss, lr, norm */
    size_t evaluations, evaluations_room;
    struct job_evaluation *evaluation;
    size_t samples, samples_room;
    struct job_sample *sample;
    double majority;
};

struct pending {
    struct pending *next;
    bool resume;
    int64_t id;
    struct job_request request;
};

struct jobs {
    struct store *store;
    struct pool *pool;
    struct jobs_hook hook;
    int key[KEYS];
    size_t left_out; /* records that the store could not keep and the user was told of */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t keeper;
    bool leaving;
    struct job *first;
    struct shared_task *tasks;
    struct pending *pending;
    int starting;
    char *message;
};

void jobs__say(struct jobs *j, const char *text);
struct job *jobs__find(struct jobs *j, int64_t id); /* with the lock held */
void jobs__add(struct jobs *j, struct job *job);
void jobs__sample_release(struct job_sample *s);
void jobs__event(void *self, const struct event *e); /* self: struct job */
struct shared_task *jobs__task(struct jobs *j, struct model *m, const struct task_source *s,
                               const struct run_config *c, struct err *e);
void jobs__task_done(struct jobs *j, struct shared_task *t);
void request_copy(struct job_request *to, const struct job_request *from);
void request_release(struct job_request *r);

#endif
