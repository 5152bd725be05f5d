/* A stored run, or a model, opened for use: its checkpoint loaded on its model, and its metadata. */
#ifndef APP_HISTORY_OPENED_H
#define APP_HISTORY_OPENED_H

#include "app/history/backbone.h"
#include "core/data/dataset.h"
#include "core/train/config/config.h"
#include "core/train/use/predict.h"
#include "store/store.h"

/* A predictor and its origin. */
struct opened {
    struct model *model;
    struct predictor *predictor;
    enum precision precision; /* of a model without a predictor */
    struct run_config config; /* of the run, reduced to the task in use; zeroed for a
                               * model's own head */
    bool several;             /* the run has more than one task */
    struct run_config
        whole; /* with all tasks, when one of several is in use; zeroed otherwise */
    bool all;                 /* all tasks are in use: `config` is the run's own */
    char *method;             /* of the run, as text; NULL without one */
    char *called, *title; /* "#3", "#3 the best"; followed by the method: "#3 lora", "#3 the best: lora";
                             NULL without one */
    int64_t run;              /* 0: a model */
    int64_t step;             /* of the run's checkpoint */
    const char **name;        /* labels in the order of the outputs */
    int names;
};

/* Opens the run's best checkpoint on its model, which is found as by backbone_open; label names stay empty.
 * `task`: one of its tasks by name; NULL: the only one (ERR_USAGE when it has several).  Remarks on the
 * model go to `notes` (may be NULL), a line each.  On failure opened_release frees. */
int opened_run(struct opened *o, struct store *s, int64_t id, const char *task,
               const struct backbone_hint *hint, struct buf *notes, struct err *e);
/* Opens a run with all its tasks (predictor_open_all); when each task has its own best checkpoint, it adds
 * a note and uses the last one. */
int opened_run_all(struct opened *o, struct store *s, int64_t id, const struct backbone_hint *hint,
                   struct buf *notes, struct err *e);
/* Returns the path of the best checkpoint, of the task if it has its own, or of the last one without a best
 * one; caller frees.  *step (may be NULL): its step, or 0.  NULL and *e when there is none. */
char *opened_checkpoint(struct store *s, int64_t run, const char *task, int64_t *step, struct err *e);
/* Returns the note for a run without the facts of its model (core/model/facts.h).  Caller frees. */
char *opened_facts_unknown(int64_t run);
void opened_release(struct opened *o);

/* How tables are read when the user specifies nothing. */
struct table_reader {
    const char *column; /* of the text; NULL: the first text column */
    enum data_header header;
    const char *delimiter;
};
/* Returns how the run read its tables; points into *o. */
struct table_reader opened_reader(const struct opened *o);

#endif
