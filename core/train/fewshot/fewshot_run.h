/* A few-shot draw as a run: its examples, its initialization, its config. */
#ifndef CORE_TRAIN_FEWSHOT_FEWSHOT_RUN_H
#define CORE_TRAIN_FEWSHOT_FEWSHOT_RUN_H

#include "core/train/config/config.h"
#include "core/train/fewshot/fewshot.h"
#include "core/train/fewshot/fewshot_meta.h"
#include "core/train/run/run.h"
#include "core/train/use/predict.h"

/* What the draws of a task are made of. */
struct fewshot_work {
    const struct fewshot *how;
    const char *task_name;        /* that results are kept by */
    const struct run_config *c;   /* of the new task: complete but for its train rows */
    struct model *m;
    struct task *task;            /* prepared by run_prepare_task */
    /* Provides the examples of a draw as a prepared task with the task's classes; NULL: they are sampled from
     * the task's training set.  `why` gets the reason if the draw is to be left out. */
    int (*rows)(void *self, int k, int draw, struct task *out, char why[200], struct err *e);
    const struct predictor *from; /* the run that draws begin from (predictor_open_all), or NULL */
    const struct fewshot_meta
        *meta; /* or one that was learned over episodes, whose inner rule adapts; from is NULL */
    const char *copies; /* folder with those of the runs that modules begin with (start.h), or NULL */
    void *self;
};

/* The config that such draws have, of a run's and the new task's rows: what serves several tasks together is
 * taken away.  c is the run's, with the new rows; config_complete is still to come. */
void fewshot_config(struct run_config *c);
/* Whether all that is asked for can be done: rows enough for each draw, tasks to begin from, something to
 * train. */
int fewshot_check(const struct fewshot_work *w, struct err *e);
/* Whether the inner rule of a run that was learned over episodes adapts the draws (fewshot_meta_draws). */
bool fewshot_by_rule(const struct fewshot_work *w);

/* A draw in hand. */
struct fewshot_draw {
    struct task task; /* the new one with the shots for train rows */
    struct task own;  /* as they were read, if they are not a view of the task */
    struct run_config c;
    int start;        /* the known task that it begins from, or CARRY_MEAN */
    struct fewshot_result result; /* task, k, draw and where it begins; left_out: the rest is empty */
};
/* Takes the shots and chooses where the draw begins.  fewshot_close, also after a failure. */
int fewshot_open(const struct fewshot_work *w, int k, int draw, struct fewshot_draw *x, struct err *e);
/* Its run under that number; the draw must outlive it.  `folder`: of its tensors; NULL: none are kept. */
struct run *fewshot_begin(const struct fewshot_work *w, struct fewshot_draw *x, int64_t run,
                          const char *folder, struct event_sink sink, struct err *e);
void fewshot_close(struct fewshot_draw *x);

#endif
