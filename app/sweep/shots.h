/* Few-shot runs in the database (core/train/fewshot/fewshot.h defines draws): a run for all draws, whose
 * record is created before the first is trained, and a set of runs, one per draw, that are ordinary jobs:
 * with the few-shot run as their parent, the set as their sweep, TASK/kK/dD as their cell and a tag by
 * which lists hide them. Results of draws are also stored with the few-shot run under TASK/kK/dD, and the
 * mean and standard deviation of each k under TASK/kK.  A stopped or interrupted few-shot run resumes with
 * the unfinished draws; several processes may share it. */
#ifndef APP_SWEEP_SHOTS_H
#define APP_SWEEP_SHOTS_H

#include "core/base/buf.h"
#include "core/train/config/config.h"
#include "core/train/fewshot/fewshot.h"
#include "store/store.h"

struct shots;

/* A request.  Borrowed. */
struct shots_request {
    int64_t parent;               /* the run from which draws are initialized; 0: none */
    const char *model;            /* path of its model given by the user; or NULL */
    const struct run_config *rows; /* of one task: the members that describe the data */
    const char *tasks;            /* or a table of tasks: folders, names, a list file; NULL: of rows alone */
    const struct run_config
        *base; /* without a parent, or with another method: method, model and options */
    bool method_said;             /* with a parent: base's method, initialized from the common modules */
    struct fewshot how;
    bool tune_said;
    bool start_said;              /* else how.start is the default for the parent's method */
    int64_t steps;                /* 0: 100 epochs over the shots, or how's stop loss */
    int64_t batch;                /* 0: the config's, or how.per_class */
    double lr;                    /* 0: the parent's */
    int64_t eval_rows, seed;      /* < 0: the parent's */
    const char *note, *name, *cell;
};
struct shots_hook {
    void *self;
    void (*say)(void *self, const char *text);                        /* shows a line to the user */
    void (*done)(void *self, int64_t run, const struct fewshot_result *x, const char *metric);
    bool (*stop)(void *self);
};

/* Reads model, data and the parent and checks the request, before anything is stored. */
int shots_prepare(struct store *s, const struct shots_request *r, struct shots_hook hook, struct shots **out,
                  struct err *e);
/* Creates the record of the run, with the request's note and name.  with: the first run of those requested
 * together; 0: this is the first, or the only one. */
int shots_begin(struct shots *x, const struct shots_request *r, int64_t with, struct err *e);
/* Prepares and begins a single run. */
int shots_new(struct store *s, const struct shots_request *r, struct shots_hook hook, struct shots **out,
              struct err *e);
/* Resumes a stopped or interrupted few-shot run, or one of its draws by its own id; if another process is
 * training it, draws are trained here too.  `model` as above. */
int shots_resume(struct store *s, int64_t run, const char *model, struct shots_hook hook, struct shots **out,
                 struct err *e);
/* Trains the missing draws.  ERR_INTERRUPTED when stopped: the run is then resumable; ERR_USAGE where the
 * estimated memory of a draw is not available, unless `force`. */
int shots_train(struct shots *x, int workers, bool force, struct err *e);
void shots_free(struct shots *x);
int64_t shots_id(const struct shots *x);

/* The results of a stored few-shot run so far, read from its draws: for `petri show` and the output of
 * verbs. */
struct shots_result_task {
    char *task, *metric;
};
struct shots_left_out {
    char *task, *why;
};
struct shots_results {
    int64_t run, from,
        with; /* from: the run from which its draws were initialized; with: as for shots_begin; 0 */
    struct fewshot how;
    bool table;
    struct fewshot_results results;
    int tasks;
    struct shots_result_task *of;
    char *method;
    int known;      /* tasks of the run that it started from */
    char **known_name;
    int left_outs;  /* tasks that could not be evaluated */
    struct shots_left_out *left_out;
};
int shots_results(struct store *s, const struct store_run *run, struct shots_results *out, struct err *e);
void shots_results_release(struct shots_results *r);
bool shots_results_have_k(const struct shots_results *r, int k);
const struct shots_result_task *shots_results_find(const struct shots_results *r,
                                                   const char *task); /* NULL: unknown task */
/* Writes the list of results per task and k (core/train/fewshot/fewshot.h), one run after the other. */
void shots_results_list(const struct shots_results *r, int runs, struct buf *b);

#endif
