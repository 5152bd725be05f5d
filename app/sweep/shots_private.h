/* Internals of shots.c, shots_open.c, shots_rows.c and shots_results.c. */
#ifndef APP_SWEEP_SHOTS_PRIVATE_H
#define APP_SWEEP_SHOTS_PRIVATE_H

#include <pthread.h>

#include "app/jobs/starts.h"
#include "app/sweep/shots.h"
#include "app/sweep/sweep_runs.h"
#include "core/method/plan.h"
#include "core/train/fewshot/fewshot_run.h"

/* A task of a few-shot run. */
struct shots_task {
    char name[PLAN_TASK];    /* in keys */
    struct run_config c;     /* of this task only, complete */
    bool opened;
    struct task task;
    struct plan *plan;       /* plan of a draw; NULL: not computed yet */
    bool fits;               /* the memory of its draws was checked */
    char *prefix;            /* of draws that are files (core/data/leopard.h); NULL: they are sampled */
    bool pair;
    char **class_name;       /* for draws in files: those of the eval file */
    int classes;
};

struct shots {
    struct store *store;
    struct shots_hook hook;
    int64_t id, parent;      /* parent 0: draws are initialized by the method */
    int64_t with;            /* the first run of those requested together; 0 */
    struct run_config c;     /* of all tasks */
    struct fewshot how;
    bool table;              /* of any number of tasks */
    struct model *model;
    struct predictor *from;  /* or NULL */
    bool force;              /* train even if the estimated memory is not available */
    struct fewshot_meta *meta; /* or it was trained on episodes */
    struct job_starts starts; /* runs from which modules are initialized; during creation */
    int tasks;
    struct shots_task *of;
    struct shots_task *at;   /* the task whose draw is being opened */
    struct sweep_plan plan;  /* the set of its draws */
    struct jobs *jobs;       /* while it trains */
    int64_t only;            /* the only draw to train, by its run; 0: all */
    bool joined;             /* another process owns it and records its results; draws are trained here too */
    bool recalling, *taken;  /* taken: of each draw with a run, whether its result is recorded */
    pthread_mutex_t lock;
    char *failure;           /* guarded by lock: the first run that failed */
    struct buf left_out;     /* JSON: dropped tasks and the reasons */
    char *folder;
    struct fewshot_results results;
    double seconds;          /* trained, of all draws */
    char weights[65];        /* of the first draw; "": not trained here */
};

/* Writes a task's name in the form used in keys. */
void shots__key_name(const char *task, char out[PLAN_TASK]);
/* Shows the lines, and releases them. */
void shots__say(const struct shots *x, struct buf *lines);
/* Reads the few-shot settings of a stored run's config; json_decref(*all), of which "fewshot" is a member. */
int shots__read_how(const struct store_run *run, struct fewshot *how, json_t **all, struct err *e);

/* Returns the parts from which draws of a task are built. */
struct fewshot_work shots__work(struct shots *x, const struct shots_task *t);
/* Returns the plan of a draw of a task; NULL with *e. */
struct plan *shots__plan(struct shots *x, struct shots_task *t, struct err *e);
/* Reads the result of a finished draw; r has its task, k and number. */
int shots__read_draw(struct store *s, int64_t run, struct fewshot_result *r, struct err *e);

/* shots_rows.c */
/* Finds the tasks of --tasks and adds them to x->of, with their data described but not read: a folder in
 * LEOPARD's layout, or of such folders, or any task list.  Tasks of the layout without an eval file, or
 * with one below 100 examples, are dropped and reported. */
int shots__find_tasks(struct shots *x, const char *what, struct err *e);
/* Reads and prepares a task whose config is known; for the layout, by its requested draws. */
int shots__open_task(struct shots *x, struct shots_task *t, struct err *e);
void shots__task_release(struct shots_task *t);
/* fewshot_work.rows for draws that are files; self is the struct shots, the task is x->at. */
int shots__draw(void *self, int k, int draw, struct task *out, char why[200], struct err *e);

#endif
