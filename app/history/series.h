/* A run's points, evaluations and texts in the arrays that charts take, made in one way for a run that
 * trains here, one that was resumed and one that is only stored.  It grows: what is there already (a
 * step that is not after the last one) is passed over, so that the same may be told again. */
#ifndef APP_HISTORY_SERIES_H
#define APP_HISTORY_SERIES_H

#include "core/base/err.h"
#include "core/train/config.h"
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
    bool taking; /* the set in hand is new */
    char *metric, *rows;
    struct task_arrays *of; /* of view.task */
    struct term_arrays *part; /* of view.term */
};

/* Of run `run` (0: of none), nothing in it yet; series_free. */
struct run_series *series_new(int64_t run);
void series_free(struct run_series *s); /* NULL is no work */

/* tokens: of the step alone; seconds: of training until then.  NaN: not kept. */
struct series_step {
    int64_t step;
    double loss, lr, norm, tokens, seconds;
};
void series_point(struct run_series *s, const struct series_step *x);
/* Steps a pass of a run over so many training rows; 0: it makes none. */
double series_epoch(const struct run_config *c, size_t rows);
/* Values NaN: undefined, or not told.  metric, rows: copied. */
struct series_evaluation {
    int64_t step;
    const char *metric, *rows;
    double value, loss, majority;
    bool best;
};
void series_evaluation(struct run_series *s, const struct series_evaluation *v);
/* Where a run in stages goes on to the next one. */
void series_stages(struct run_series *s, const struct run_config *c);
/* Of several tasks: what each is called and measured by (copied), and its expected share of a batch's rows (NaN: not
 * known).  Again: only a share that was not known is taken.  And their points, `at` counting tasks from 0; of
 * an evaluation the first one of a step counts. */
void series_task(struct run_series *s, const char *name, const char *metric, double share);
void series_task_point(struct run_series *s, int at, int64_t step, double loss);
void series_task_evaluation(struct run_series *s, int at, const struct series_evaluation *v);
/* A named part of the loss, "loss.task" (copied): the first point of one makes it known. */
void series_term_point(struct run_series *s, const char *name, int64_t step, double loss);
/* The task of that name, or -1. */
int series_task_find(const struct run_series *s, const char *name);
/* Adds what another series of the same run has of its tasks, of the loss's parts and of its stages after what is there. */
void series_take_tasks(struct run_series *s, const struct run_series *from);
/* Texts of one step come together: a set of a step that is not after the last one's is passed over.
 * `more`: of the set that was begun.  Texts are copied. */
void series_sample(struct run_series *s, const struct train_sample *x, bool more);

/* Adds what the store has of the run (whole, store.h) from the last step on. */
int series_read(struct run_series *s, struct store *store, const struct store_run *run, struct err *e);

#endif
