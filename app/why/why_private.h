/* Internals of the diagnostics: their input (why_read.c), and the rules on training points (why_curve.c),
 * changed parameters (why_moved.c), the amount of training (why_plan.c), evaluations (why_score.c) and
 * examples (why_rows.c). */
#ifndef APP_WHY_WHY_PRIVATE_H
#define APP_WHY_WHY_PRIVATE_H

#include "app/why/why.h"
#include "core/data/report_read.h"
#include "core/train/config/config.h"

/* The points of one name, by step. */
struct why_curve {
    size_t count;
    int64_t *step;
    double *value;
};

/* One evaluation on the first validation split of a task. */
struct why_eval {
    int64_t step;
    double value, loss;    /* NaN: none, or not a number */
    bool has_value, has_loss; /* the point exists, even if NaN */
    const char *undefined; /* reason for an undefined value */
    bool constant, none_valid, best;
};

/* One of the run's tasks, and the results on its first validation split. */
struct why_task {
    const char *name;      /* of a multi-task run; else "" */
    const char *metric;    /* the primary metric */
    const char *split;     /* "dev", "rte/dev"; points into `split_name` */
    char *split_name;
    int evals;
    struct why_eval *eval;
    double majority;       /* NaN: none */
    double invalid;        /* outputs of the last evaluation that name no class; NaN: none */
    int64_t rows;          /* evaluated examples; 0: unknown */
    double test;           /* on the test set; NaN: not evaluated */
    const struct report_facts *train, *dev; /* NULL: not recorded */
};

/* The changes of each module that the run reported at its end (core/train/run/moved.h), with its name:
 * "module 2 (lora(r=8))". */
struct why_group {
    char *name;
    double from, to, tensors, same, still, unreached; /* 0 if an older version did not record it */
};
struct why_moved {
    int groups;
    struct why_group *group;
    char *since;              /* "since step 0"; points into the evaluations */
    double frozen,
        unchanged; /* number of the model's frozen parameters; whether they are unchanged; NaN: unknown */
};
struct why_run {
    const struct store_run *run;
    struct run_config config;
    struct store_evals evals; /* the tasks' strings point into it */
    struct why_curve loss, norm;
    double last_rate;      /* NaN: not recorded */
    int tasks;
    struct why_task *task;
    int reports;
    struct report_facts *report;
    struct why_moved moved;
    int64_t differs;       /* points that differed after resuming */
    int64_t tries; /* finished runs of the method on the same validation set if this one has the best value,
                    * else 0; repeated runs count once, here and in `seeds` */
    struct why_seeds {
        int64_t seeds;
        double low, high, mean;
    } seeds; /* finished runs that differ only in the seed: their best
              * values; empty unless this run is one of them */
    int64_t repeats; /* the first run with the same configuration, seed and data, if it is an earlier one;
                        else 0 */
    bool repeats_differ;   /* the repeated runs have different weights */
};
int why_read(struct store *s, const struct store_run *run, struct why_run *out, struct err *e);
void why_run_release(struct why_run *r);
/* Reads the changes from evaluations that are already loaded; release with why_moved_release. */
void why_moved_read(const struct why_run *r, struct why_moved *out);
void why_moved_release(struct why_moved *m);
void why_moved_facts(const struct why_run *r, struct why *w);

/* Adds a diagnostic.  `figures`: "rate", 10.0, "own", 0.003, NULL. */
void why_add(struct why *w, const char *kind, char *text, ...) __attribute__((sentinel));
/* Returns "rte: " for a task of a multi-task run, else ""; caller frees. */
char *why_of_task(const struct why_task *t);

/* Return the means of the first and last tenth of a curve's finite values, at least one value each. */
double why_first(const struct why_curve *c);
double why_last(const struct why_curve *c);
/* Returns the standard error of a proportion p over n examples, bounded away from 0. */
double why_share_error(double p, int64_t n);
/* Returns whether the metric is a proportion of the examples, whose standard error is known. */
bool why_is_share(const char *metric);

typedef void why_rule(const struct why_run *r, struct why *w);
typedef void why_task_rule(const struct why_run *r, const struct why_task *t, struct why *w);
/* Numbers of kinds of each list; the lists end with NULL. */
enum {
    WHY_CURVE_KINDS = 10,
    WHY_PLAN_KINDS = 11,
    WHY_MOVED_KINDS = 4,
    WHY_SCORE_KINDS = 12,
    WHY_ROWS_KINDS = 11
};
extern why_rule *const why_curve_rules[WHY_CURVE_KINDS + 1]; /* why_curve.c */
extern why_rule *const why_moved_rules[WHY_MOVED_KINDS + 1]; /* why_moved.c */
extern why_rule *const why_plan_rules[WHY_PLAN_KINDS + 1];   /* why_plan.c */
extern why_task_rule *const why_score_rules[WHY_SCORE_KINDS + 1]; /* why_score.c */
extern why_task_rule *const why_rows_rules[WHY_ROWS_KINDS + 1];   /* why_rows.c */

#endif
