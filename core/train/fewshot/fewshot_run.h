/* A few-shot draw as a run: its examples, its initialization, its config. */
#ifndef CORE_TRAIN_FEWSHOT_FEWSHOT_RUN_H
#define CORE_TRAIN_FEWSHOT_FEWSHOT_RUN_H

#include "core/train/config/config.h"
#include "core/train/fewshot/fewshot.h"
#include "core/train/fewshot/fewshot_meta.h"
#include "core/train/run/run.h"
#include "core/train/use/predict.h"

/* The inputs of a task's draws. */
struct fewshot_work {
    const struct fewshot *how;
    const char *task_name;        /* under which results are stored */
    const struct run_config *c;   /* config of the new task, complete except for its training set */
    struct model *m;
    struct task *task;            /* prepared by run_prepare_task */
    /* Provides the examples of a draw as a prepared task with the task's classes; NULL: they are sampled from
     * the task's training set.  `why` gets the reason if the draw is to be left out. */
    int (*rows)(void *self, int k, int draw, struct task *out, char why[200], struct err *e);
    const struct predictor *from; /* the run from which draws are initialized (predictor_open_all), or NULL */
    const struct fewshot_meta
        *meta; /* or a run trained over episodes, whose inner loop adapts; from is then NULL */
    const char *copies; /* folder with the tensors of the runs from which modules are initialized (start.h),
                         * or NULL */
    void *self;
};

/* Converts the config of a run with the data of the new task to that of its draws: multi-task options are
 * reset. config_complete follows. */
void fewshot_config(struct run_config *c);
/* Checks that all draws are possible: enough examples, known tasks to select from, trainable parameters. */
int fewshot_check(const struct fewshot_work *w, struct err *e);
/* Returns whether the inner loop of a run trained over episodes adapts the draws (fewshot_meta_draws). */
bool fewshot_by_rule(const struct fewshot_work *w);

/* A draw in progress. */
struct fewshot_draw {
    struct task task; /* the new task with the support set as training set */
    struct task own;  /* the examples as read, if they are not a view of the task */
    struct run_config c;
    int start;        /* the known task from which it is initialized, or CARRY_MEAN */
    struct fewshot_result result; /* task, k, draw and initialization; left_out: the rest is empty */
};
/* Samples the support set and selects the initialization. Call fewshot_close, also after a failure. */
int fewshot_open(const struct fewshot_work *w, int k, int draw, struct fewshot_draw *x, struct err *e);
/* Creates its run with that id; the draw must outlive it. `folder`: for its tensors; NULL: none are
 * stored. */
struct run *fewshot_begin(const struct fewshot_work *w, struct fewshot_draw *x, int64_t run,
                          const char *folder, struct event_sink sink, struct err *e);
void fewshot_close(struct fewshot_draw *x);

#endif
