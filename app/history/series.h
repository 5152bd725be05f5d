/* The points, evaluations and generated texts of a run in the arrays that charts take, for a run that
 * trains here, was resumed or is only stored.  The arrays only grow: a step that is not after the last one
 * is ignored, so that values may be added twice. */
#ifndef APP_HISTORY_SERIES_H
#define APP_HISTORY_SERIES_H

#include "core/base/err.h"
#include "core/train/config/config.h"
#include "store/store.h"
#include "views/train.h"

/* Results of a stage before the last are stored as "stage1/dev.accuracy". */
#define SERIES_STAGE "stage"

struct run_series {
    struct series view; /* its pointers are the arrays below; the same for as long as nothing is added */
    double *step, *loss, *lr, *norm, *tokens, *seconds;
    size_t room;
    double *eval_step, *eval_value, *eval_loss;
    size_t eval_room;
    struct train_sample *sample; /* its texts are owned */
    size_t sample_room;
    char *decides, *rows; /* decides: "dev.accuracy", the primary metric of the view */
    bool staged;
    struct task_arrays *of; /* of view.task */
    struct term_arrays *part; /* of view.term */
};

/* Returns an empty series of run `run` (0: none); release with series_free. */
struct run_series *series_new(int64_t run);
void series_free(struct run_series *s); /* NULL is ignored */

/* Takes the metadata of a run (whole, store.h): the primary metric, its tasks and their expected shares of
 * a batch, the start of its stages, the steps per epoch; only the metric when its config is invalid. */
void series_begin(struct run_series *s, const struct store_run *run);
/* tokens: of the step alone; seconds: training time until then.  NaN: not recorded. */
struct series_step {
    int64_t step;
    double loss, lr, norm, tokens, seconds;
};
void series_point(struct run_series *s, const struct series_step *x);
/* Adds a further value of a step by its name in the database: the loss of a task, "TASK/loss", or a loss
 * component, "loss.task".  Other names are metrics of the step and are ignored. */
void series_value(struct run_series *s, const char *name, int64_t step, double value);
/* Adds evaluation results of the run and of its tasks, in the order of the steps. */
void series_evaluations(struct run_series *s, const struct store_evals *v);
/* Adds a generated sample; the text is copied. */
void series_sample(struct run_series *s, const struct train_sample *x);
/* Appends what another series of the same run has after the last step of this one. */
void series_take(struct run_series *s, const struct run_series *from);

/* Appends what the database has of the run (whole) after the last step. */
int series_read(struct run_series *s, struct store *store, const struct store_run *run, struct err *e);

#endif
