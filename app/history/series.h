/* A run's points, evaluations and texts in the arrays that charts take, made in one way for a run that
 * trains here, one that was resumed and one that is only stored.  It grows: what is there already (a
 * step that is not after the last one) is passed over, so that the same may be told again. */
#ifndef APP_HISTORY_SERIES_H
#define APP_HISTORY_SERIES_H

#include "core/base/err.h"
#include "core/train/config/config.h"
#include "store/store.h"
#include "views/train.h"

/* Results of a stage before the last are kept as "stage1/dev.accuracy". */
#define SERIES_STAGE "stage"

struct run_series {
    struct series view; /* its pointers are the arrays below; the same for as long as nothing is added */
    double *step, *loss, *lr, *norm, *tokens, *seconds;
    size_t room;
    double *eval_step, *eval_value, *eval_loss;
    size_t eval_room;
    struct train_sample *sample; /* its texts are owned */
    size_t sample_room;
    char *decides, *rows; /* decides: "dev.accuracy", the metric of the view */
    bool staged;
    struct task_arrays *of; /* of view.task */
    struct term_arrays *part; /* of view.term */
};

/* Of run `run` (0: of none), nothing in it yet; series_free. */
struct run_series *series_new(int64_t run);
void series_free(struct run_series *s); /* NULL is no work */

/* Takes from a run (whole, store.h) what its curves are of: the primary metric, its tasks and their expected
 * shares of a batch, where its stages begin, the steps of an epoch; the metric alone where its config cannot
 * be read. */
void series_begin(struct run_series *s, const struct store_run *run);
/* tokens: of the step alone; seconds: of training until then.  NaN: not kept. */
struct series_step {
    int64_t step;
    double loss, lr, norm, tokens, seconds;
};
void series_point(struct run_series *s, const struct series_step *x);
/* A further value of a step under the name that the history has it by: the loss of a task, "TASK/loss", or a
 * component of the loss, "loss.task".  Other names are metrics of the step, and passed over. */
void series_value(struct run_series *s, const char *name, int64_t step, double value);
/* Results, those of a step one after another: of the run, and of its tasks. */
void series_evaluations(struct run_series *s, const struct store_evals *v);
/* A text is copied. */
void series_sample(struct run_series *s, const struct train_sample *x);
/* Adds what another series of the same run has after what is there. */
void series_take(struct run_series *s, const struct run_series *from);

/* Adds what the store has of the run (whole) from the last step on. */
int series_read(struct run_series *s, struct store *store, const struct store_run *run, struct err *e);

#endif
