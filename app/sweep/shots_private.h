/* What shots.c, shots_open.c, shots_rows.c and shots_results.c share. */
#ifndef APP_SWEEP_SHOTS_PRIVATE_H
#define APP_SWEEP_SHOTS_PRIVATE_H

#include <pthread.h>

#include "app/jobs/starts.h"
#include "app/sweep/shots.h"
#include "app/sweep/sweep_runs.h"
#include "core/method/plan.h"
#include "core/train/fewshot/fewshot_run.h"

/* A task whose draws are trained. */
struct shots_task {
    char name[PLAN_TASK];    /* in keys */
    struct run_config c;     /* of it alone, complete */
    bool opened;
    struct task task;
    struct plan *plan;       /* what a draw trains; NULL: not asked for yet */
    char *prefix;            /* of draws that are files (core/data/leopard.h); NULL: they are drawn */
    bool pair;
    char **class_name;       /* of such a task: the eval file's */
    int classes;
};

struct shots {
    struct store *store;
    struct shots_hook hook;
    int64_t id, parent;      /* parent 0: draws begin as the method does */
    int64_t with;            /* the first run of those that were asked for together; 0 */
    struct run_config c;     /* of all tasks */
    struct fewshot how;
    bool table;              /* of any number of tasks */
    struct model *model;
    struct predictor *from;  /* or NULL */
    struct fewshot_meta *meta; /* or it was learned over episodes */
    struct job_starts starts; /* other runs whose values modules begin with; while it is made */
    int tasks;
    struct shots_task *of;
    struct shots_task *at;   /* the one whose draw is opened */
    struct sweep_plan plan;  /* the set of its draws */
    struct jobs *jobs;       /* while it trains */
    int64_t only;            /* the one draw's run that is to be trained; 0: all */
    bool joined;             /* another process owns it and tells what comes of it; draws are trained here too */
    bool recalling, *taken;  /* of each draw that has a run whether its result is there */
    pthread_mutex_t lock;
    char *failure;           /* under it: the first run that failed */
    struct buf left_out;     /* JSON: tasks that are not trained, and why */
    char *folder;
    struct fewshot_results results;
    double seconds;          /* trained, of all draws */
    char weights[65];        /* of the first draw; "": not trained here */
};

/* A task's name as keys can hold it. */
void shots__key_name(const char *task, char out[PLAN_TASK]);
/* Says the lines, and releases them. */
void shots__say(const struct shots *x, struct buf *lines);
/* What a stored run's config says beside a config's members; json_decref(*all), of which "fewshot" is a
 * member. */
int shots__read_how(const struct store_run *run, struct fewshot *how, json_t **all, struct err *e);

/* What the draws of a task are made of. */
struct fewshot_work shots__work(struct shots *x, const struct shots_task *t);
/* What a draw of a task trains; NULL with *e. */
struct plan *shots__plan(struct shots *x, struct shots_task *t, struct err *e);
/* What a finished draw's run came to; r has its task, k and number. */
int shots__read_draw(struct store *s, int64_t run, struct fewshot_result *r, struct err *e);

/* shots_rows.c */
/* The tasks of --tasks into x->of, their rows described but not read: a folder of LEOPARD's layout, or of
 * such, or any list.  Those of the layout that have no eval file, or one below 100 rows, are left out and
 * said. */
int shots__find_tasks(struct shots *x, const char *what, struct err *e);
/* Reads and prepares a task whose config is known; one of the layout by the draws that it asks for. */
int shots__open_task(struct shots *x, struct shots_task *t, struct err *e);
void shots__task_release(struct shots_task *t);
/* fewshot_work.rows of draws that are files; self is the struct shots, the task is x->at. */
int shots__draw(void *self, int k, int draw, struct task *out, char why[200], struct err *e);

#endif
