/* A run of the history, or a model, opened for use: its checkpoint on its model, and what it was made
 * with. */
#ifndef APP_HISTORY_OPENED_H
#define APP_HISTORY_OPENED_H

#include "app/history/backbone.h"
#include "core/data/dataset.h"
#include "core/train/config/config.h"
#include "core/train/use/predict.h"
#include "store/store.h"

/* A predictor with what it came from. */
struct opened {
    struct model *model;
    struct predictor *predictor;
    struct run_config config; /* of the run, of several tasks as if it had the one in use; zeroed for a
                               * model's own head */
    bool several;             /* the run has more than one task */
    struct run_config
        whole; /* where one of several is in use, the run's with all of them; zeroed otherwise */
    bool all;                 /* and all of them are here: `config` is the run's own */
    char *method;             /* of the run, as text; NULL without one */
    char *called, *title; /* "#3", "#3 the best"; and with its method behind: "#3 lora", "#3 the best: lora";
                             NULL without one */
    int64_t run;              /* 0: a model */
    int64_t step;             /* of the run's checkpoint */
    const char **name;        /* labels in the order of the outputs */
    int names;
};

/* The run's best checkpoint on its model, looked for as backbone_open does; names stay empty.  `task`: which
 * of its tasks, by name; NULL: the only one (ERR_USAGE lists several).  What is worth saying about the model
 * goes to `said` (may be NULL), a line each.  On failure opened_release frees. */
int opened_run(struct opened *o, struct store *s, int64_t id, const char *task,
               const struct backbone_hint *hint, struct buf *said, struct err *e);
/* The same with all tasks of the run (predictor_open_all); where each task has a best checkpoint of its own
 * that is said, and the last one taken. */
int opened_run_all(struct opened *o, struct store *s, int64_t id, const struct backbone_hint *hint,
                   struct buf *said, struct err *e);
/* The best checkpoint's path, of the task where it has one of its own, or the last when no best one was kept;
 * caller frees.  *step (may be NULL): its own, or 0.  NULL and *e when there is none. */
char *opened_checkpoint(struct store *s, int64_t run, const char *task, int64_t *step, struct err *e);
/* What is said of a run that knows no facts of its model (core/model/facts.h).  Caller frees. */
char *opened_facts_unknown(int64_t run);
void opened_release(struct opened *o);

/* How a table is read where nobody says. */
struct table_reader {
    const char *column; /* of the text; NULL: the first that is one */
    enum data_header header;
    const char *delimiter;
};
/* How the run read its tables; points into *o. */
struct table_reader opened_reader(const struct opened *o);

#endif
