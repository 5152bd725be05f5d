/* Few-shot adaptation: the result of a method on k examples per class of a task, over several sampled
 * support sets (draws).
 *
 * One protocol for `petri adapt` and for tables of tasks: draws are functions of a seed; each is a separate
 * run from the same initialization, whose last checkpoint is evaluated (no evaluated example selects a step,
 * a learning rate or a length). */
#ifndef CORE_TRAIN_FEWSHOT_FEWSHOT_H
#define CORE_TRAIN_FEWSHOT_FEWSHOT_H

#include "core/base/buf.h"
#include "core/base/json.h"
#include "core/data/task.h"
#include "core/method/plan.h"
#include "core/train/run/event.h"

enum { FEWSHOT_KS = 16, FEWSHOT_DRAWS = 1000 };

/* The known task from which a draw is initialized. */
enum fewshot_start {
    FEWSHOT_VOTE,   /* the one whose prototype has the highest mean cosine similarity with the support set */
    FEWSHOT_WORST,  /* the one with the lowest */
    FEWSHOT_RANDOM, /* a random one, by seed and draw */
    FEWSHOT_LOWEST, /* the one with whose weights the support set has the lowest loss (retrieve.h) */
    FEWSHOT_MEAN,   /* the mean of all */
    FEWSHOT_NAMED,
    FEWSHOT_STARTS
};
const char *fewshot_start_name(enum fewshot_start s);

/* Settings of few-shot adaptation, in addition to the config of the run. */
struct fewshot {
    int ks, k[FEWSHOT_KS];
    int draws;
    enum fewshot_start start;
    char named[PLAN_TASK];
    unsigned parts;   /* PLAN_ bits: trainable parts (core/method/carry.h) */
    double stop_loss; /* 0: all steps */
    bool default_stop; /* instead of stop_loss: 1e-3 up to four examples per class, else 1e-2 (Bansal et al.
                      * 2022) */
    int per_class;    /* batch size per class (of texts and scores: 16 in total); 0: the config's batch
                       * size */
    bool files; /* support sets are files of the task (core/data/leopard.h), else they are sampled from its
                 * training set */
    bool other;       /* the initial run has another method: common parameters are transferred */
    bool zero;        /* also evaluate before the first step */
    bool keep;        /* store the tensors of every draw, else only those of the first */
};
double fewshot_stop_loss(const struct fewshot *f, int k);
/* Parses "4,16,32": increasing integers from 1. ERR_USAGE. */
int fewshot_parse_ks(const char *text, struct fewshot *f, struct err *e);
/* Parses "row,head". */
int fewshot_parse_parts(const char *text, unsigned *parts, struct err *e);
/* Writes the settings as members of a JSON object, and reads them. */
void fewshot_members(const struct fewshot *f, struct buf *b);
int fewshot_from_json(const json_t *o, struct fewshot *f, struct err *e);

/* Samples support set number `draw` by seed: k labeled examples per class, or k in all without classes; the
 * set of a larger k contains that of a smaller one.  pick (k times the classes, at least k) gets their
 * numbers in ascending order; returns how many.  ERR_INPUT names a class with fewer examples. */
int fewshot_draw(const struct dataset *d, int k, uint64_t seed, int draw, int *pick, struct err *e);

/* Results of a draw. */
struct fewshot_metric {
    char name[24];
    double value;
    char undefined[80]; /* why the value is missing; "" otherwise */
};
struct fewshot_scores {
    int count;
    struct fewshot_metric metric[EVENT_METRICS];
    bool constant, none_valid;
};
struct fewshot_result {
    char task[PLAN_TASK];
    int k, draw;
    char start[PLAN_TASK];      /* the known task that it was initialized from, "mean", or "" */
    int known;                  /* known tasks that were compared; 0: none */
    double *near;               /* per known task: mean cosine similarity or loss; owned */
    int *votes;                 /* per known task: examples nearest to it; owned; NULL with losses */
    int64_t steps;
    double seconds, loss;       /* duration of training; loss of its last step */
    char rows[80];              /* the evaluated examples */
    struct fewshot_scores zero; /* before the first step; empty unless requested */
    struct fewshot_scores scores;
    char left_out[200];         /* reason why it was not trained; "" otherwise */
};
struct fewshot_results { /* by task, k and draw */
    int count;
    struct fewshot_result *of;
};
void fewshot_results_release(struct fewshot_results *r);
const struct fewshot_result *fewshot_find(const struct fewshot_results *r, const char *task, int k, int draw);
/* Returns the value of a metric, or NULL. */
const struct fewshot_metric *fewshot_metric(const struct fewshot_scores *s, const char *name);

/* Inserts a result in the order of task, k and draw, so that sums do not depend on the order of completion.
 * Takes ownership of *r. */
void fewshot_add(struct fewshot_results *r, struct fewshot_result *x);
/* Writes what is known about a draw before its first step (k, draw, initialization) as members of a JSON
 * object, and reads it. */
void fewshot_draw_members(const struct fewshot_result *x, struct buf *b);
void fewshot_read_draw(const json_t *o, struct fewshot_result *x);

/* Statistics over the draws of one k of a task. */
struct fewshot_summary {
    int n;            /* draws with a value */
    double mean, sd;  /* sd with divisor n − 1; NaN for too few */
    double majority;  /* NaN: not applicable */
};
struct fewshot_summary fewshot_sum_up(const struct fewshot_results *r, const char *task, int k,
                                      const char *metric, bool zero);
/* Returns the known task from which most draws of this k were initialized, the first of equals; NULL:
 * none. */
const char *fewshot_most(const struct fewshot_results *r, const char *task, int k);
/* Writes the results of each k of a task as elements of a list: {"k","prototype","vote",…} of draws that
 * selected a known task, whose names in the order of near are `known`; in a table, with `method`:
 * {"task","k","method","run","from",…}. */
struct fewshot_table {
    const char *task, *metric, *method;
    const char *const *known;
    int64_t run,
        from; /* in a table of several runs: the run of these draws, and the run that they were initialized
               * from; 0 */
};
void fewshot_results_json(const struct fewshot_results *r, const struct fewshot *f,
                          const struct fewshot_table *t, struct buf *b);

#endif
