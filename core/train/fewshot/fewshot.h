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
    FEWSHOT_VOTE,   /* the one whose prototype is nearest to the shots, by mean cosine */
    FEWSHOT_WORST,  /* the one whose is farthest */
    FEWSHOT_RANDOM, /* any, by seed and draw */
    FEWSHOT_LOWEST, /* the one with whose weights the shots have the lowest loss (retrieve.h) */
    FEWSHOT_MEAN,   /* the mean over all */
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
    unsigned parts;   /* PLAN_ bits that train (core/method/carry.h) */
    double stop_loss; /* 0: all steps */
    bool usual_stop; /* in place of stop_loss: 1e-3 up to four rows a class, else 1e-2 (Bansal et al. 2022) */
    int per_class;    /* rows a step for each class (of texts and scores: 16 in all); 0: the config's batch */
    bool files; /* a draw is a file of the task's (core/data/leopard.h), else it is drawn from its train rows
                 */
    bool other;       /* the run that draws begin from has another method: what both have is taken over */
    bool zero;        /* scored before the first step too */
    bool keep;        /* each draw's tensors are kept, else the first one's */
};
double fewshot_stop_loss(const struct fewshot *f, int k);
/* "4,16,32": whole numbers from 1, rising.  ERR_USAGE. */
int fewshot_parse_ks(const char *text, struct fewshot *f, struct err *e);
/* "row,head". */
int fewshot_parse_parts(const char *text, unsigned *parts, struct err *e);
/* As members of a JSON object, and out of it. */
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
    char start[PLAN_TASK];      /* the known task that it began from, "mean", or "" */
    int known;                  /* tasks that were looked at; 0: none was */
    double *near;               /* of each, mean cosine or loss; owned */
    int *votes;                 /* of each, shots that are nearest to it; owned; NULL with losses */
    int64_t steps;
    double seconds, loss;       /* of training; the last step's */
    char rows[80];              /* which rows were scored */
    struct fewshot_scores zero; /* before the first step; none unless asked for */
    struct fewshot_scores scores;
    char left_out[200];         /* why it was not trained; "" otherwise */
};
struct fewshot_results { /* by task, k and draw */
    int count;
    struct fewshot_result *of;
};
void fewshot_results_release(struct fewshot_results *r);
const struct fewshot_result *fewshot_find(const struct fewshot_results *r, const char *task, int k, int draw);
/* A metric's value, or NULL. */
const struct fewshot_metric *fewshot_metric(const struct fewshot_scores *s, const char *name);

/* Adds a result in the order of task, k and draw, whichever was done first: sums over them are then the same.
 * *r takes it over. */
void fewshot_add(struct fewshot_results *r, struct fewshot_result *x);
/* Writes what is known of a draw before its first step (k, draw, where it begins) as members of a JSON
 * object, and reads it. */
void fewshot_draw_members(const struct fewshot_result *x, struct buf *b);
void fewshot_read_draw(const json_t *o, struct fewshot_result *x);

/* Over the draws of one k of a task. */
struct fewshot_summary {
    int n;            /* draws with a value */
    double mean, sd;  /* sd with n − 1; NaN where there are too few */
    double majority;  /* NaN: the task has none */
};
struct fewshot_summary fewshot_sum_up(const struct fewshot_results *r, const char *task, int k,
                                      const char *metric, bool zero);
/* The task that most draws of this k began from, the first of equals; NULL: none was chosen. */
const char *fewshot_most(const struct fewshot_results *r, const char *task, int k);
/* What each k of a task came to, as elements of a list: {"k","prototype","vote",…} of draws that chose among
 * known tasks, whose names in the order of near are `known`; of a table, where `method` is given,
 * {"task","k","method","run","from",…}. */
struct fewshot_table {
    const char *task, *metric, *method;
    const char *const *known;
    int64_t run,
        from; /* of a table: whose draws these are, of several runs, and the run that they began from; 0 */
};
void fewshot_results_json(const struct fewshot_results *r, const struct fewshot *f,
                          const struct fewshot_table *t, struct buf *b);

#endif
