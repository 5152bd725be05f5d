/* The draws of a few-shot run, trained by a pool: as many at once as it has workers. */
#ifndef CORE_TRAIN_FEWSHOT_FEWSHOT_RUN_H
#define CORE_TRAIN_FEWSHOT_FEWSHOT_RUN_H

#include "core/train/config/config.h"
#include "core/train/fewshot/fewshot.h"
#include "core/train/fewshot/fewshot_meta.h"
#include "core/train/run/pool.h"
#include "core/train/use/predict.h"

/* A checkpoint of a draw. */
struct fewshot_file {
    int k, draw;
    bool first;           /* of the first draw of all */
    const char *path, *sha256;
    int64_t step;
};

struct fewshot_work {
    int64_t run;                  /* the id that draws are trained under */
    const struct fewshot *how;
    const char *task_name;        /* that results are kept by */
    const struct run_config *c;   /* of the new task: complete but for its train rows */
    struct model *m;
    struct task *task;            /* prepared by run_prepare_task */
    /* The rows of a draw as a task of its own, prepared, with the task's classes; NULL: they are drawn from
     * the task's train rows.  Where the draw is to be left out, `why` says it. */
    int (*rows)(void *self, int k, int draw, struct task *out, char why[200], struct err *e);
    const struct predictor *from; /* the run that draws begin from (predictor_open_all), or NULL */
    const struct fewshot_meta
        *meta; /* or one that was learned over episodes, whose inner rule adapts; from is NULL */
    const char *record;           /* path of the record (fewshot.h) */
    const char *folder;           /* of the tensors that are kept */
    const char *copies; /* folder with those of the runs that modules begin with (start.h), or NULL */
    struct pool *pool;
    void *self;
    /* On the caller's thread: a draw is done and in the record; before it, a file that it left. */
    void (*file)(void *self, const struct fewshot_file *f);
    void (*done)(void *self, const struct fewshot_result *x);
    bool (*stop)(void *self);     /* asked all the time; true: what is in hand is given up */
};

/* The config that such draws have, of a run's and the new task's rows: what serves several tasks together is
 * taken away.  c is the run's, with the new rows; config_complete is still to come. */
void fewshot_config(struct run_config *c);
/* Whether all that is asked for can be done: rows enough for each draw, tasks to begin from, something to
 * train. */
int fewshot_check(const struct fewshot_work *w, struct err *e);
/* Does what *r, as the record was read, lacks; what is done is added, also on failure.  ERR_INTERRUPTED when
 * stopped. */
int fewshot_run(const struct fewshot_work *w, struct fewshot_results *r, struct err *e);

#endif
