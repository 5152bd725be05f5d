/* Few-shot runs joined to the store (core/train/fewshot/fewshot.h says what a draw is): a run for all draws,
 * whose row is there before the first is trained, and a set of runs, one for each draw, that are jobs like any
 * other: with the run as their parent, the set as their sweep, TASK/kK/dD as their cell and a tag by which lists
 * leave them out.  What draws come to is the whole's too, under TASK/kK/dD, and each k's mean and standard
 * deviation under TASK/kK.  A run that was stopped or interrupted goes on with the draws that have not
 * finished; several processes may share it. */
#ifndef APP_SWEEP_SHOTS_H
#define APP_SWEEP_SHOTS_H

#include "core/base/buf.h"
#include "core/train/config/config.h"
#include "core/train/fewshot/fewshot.h"
#include "store/store.h"

struct shots;

/* What is asked for.  Borrowed. */
struct shots_request {
    int64_t parent;               /* the run that draws begin from; 0: none */
    const char *model;            /* where its model lies now, by the user; or NULL */
    const struct run_config *rows; /* of one task: the members that say which rows */
    const char *tasks;            /* or a table of tasks: folders, names, a list file; NULL: of rows alone */
    const struct run_config
        *base; /* without a parent, or with a method of its own: method, model and options */
    bool method_said;             /* with a parent: base's method, which begins with what both have */
    struct fewshot how;
    bool tune_said;
    bool start_said;              /* else how.start is what the parent's method makes usual */
    int64_t steps;                /* 0: 100 passes over the shots, or how's stop loss */
    int64_t batch;                /* 0: the config's, or how.per_class */
    double lr;                    /* 0: the parent's */
    int64_t eval_rows, seed;      /* < 0: the parent's */
    const char *note, *name, *cell;
};
struct shots_hook {
    void *self;
    void (*say)(void *self, const char *text);                        /* a line for the user */
    void (*done)(void *self, int64_t run, const struct fewshot_result *x, const char *metric);
    bool (*stop)(void *self);
};

/* Reads model, rows and the parent and refuses what cannot be done, before anything is stored. */
int shots_prepare(struct store *s, const struct shots_request *r, struct shots_hook hook, struct shots **out,
                  struct err *e);
/* Makes the run's row, with the request's note and name.  with: the first run of those that were asked for
 * together; 0: it is that one, or alone. */
int shots_begin(struct shots *x, const struct shots_request *r, int64_t with, struct err *e);
/* Both, alone. */
int shots_new(struct store *s, const struct shots_request *r, struct shots_hook hook, struct shots **out,
              struct err *e);
/* Takes up a stopped or interrupted one, or one draw of it by its own number; of one that another process has in
 * work draws are trained here too.  `model` as above. */
int shots_resume(struct store *s, int64_t run, const char *model, struct shots_hook hook, struct shots **out,
                 struct err *e);
/* Trains what is missing.  ERR_INTERRUPTED when stopped: the run is then resumable. */
int shots_train(struct shots *x, int workers, struct err *e);
void shots_free(struct shots *x);
int64_t shots_id(const struct shots *x);

/* What a stored few-shot run came to so far, read from its draws: for `petri show` and the verbs'
 * results. */
struct shots_result_task {
    char *task, *metric;
};
struct shots_left_out {
    char *task, *why;
};
struct shots_results {
    int64_t run, from, with; /* from: the run that its draws began from; with: as shots_begin; 0 */
    struct fewshot how;
    bool table;
    struct fewshot_results results;
    int tasks;
    struct shots_result_task *of;
    char *method;
    int known;      /* tasks of the run that it began from, as draws looked at them */
    char **known_name;
    int left_outs;  /* tasks that could not be scored */
    struct shots_left_out *left_out;
};
int shots_results(struct store *s, const struct store_run *run, struct shots_results *out, struct err *e);
void shots_results_release(struct shots_results *r);
bool shots_results_have_k(const struct shots_results *r, int k);
const struct shots_result_task *shots_results_find(const struct shots_results *r,
                                                   const char *task); /* NULL: none of its */
/* The list of what each task's each k came to (core/train/fewshot/fewshot.h), one run's after the other's. */
void shots_results_list(const struct shots_results *r, int runs, struct buf *b);

#endif
