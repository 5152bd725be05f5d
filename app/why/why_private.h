/* What the rules of app/why look at (why_read.c), and how they say what they found: of the training's points
 * why_curve.c, of what moved why_moved.c, of how much was planned why_plan.c, of evaluations why_score.c, of
 * the rows why_rows.c. */
#ifndef APP_WHY_WHY_PRIVATE_H
#define APP_WHY_WHY_PRIVATE_H

#include "app/why/why.h"
#include "core/data/report_read.h"
#include "core/train/config/config.h"

/* Points of one name, by step. */
struct why_curve {
    size_t count;
    int64_t *step;
    double *value;
};

/* One evaluation of a task's first dev split. */
struct why_eval {
    int64_t step;
    double value, loss;    /* NaN: none, or not a number */
    bool has_value, has_loss; /* there is such a point, whatever it is */
    const char *undefined; /* why the value is none */
    bool constant, none_valid, best;
};

/* One of the run's tasks, and what its first dev split was scored. */
struct why_task {
    const char *name;      /* of several; "" */
    const char *metric;    /* the deciding one */
    const char *split;     /* "dev", "rte/dev"; points into `split_name` */
    char *split_name;
    int evals;
    struct why_eval *eval;
    double majority;       /* NaN: none */
    double invalid;        /* answers of the last evaluation that are no class; NaN: none */
    int64_t rows;          /* scored; 0: not known */
    double test;           /* on the test rows; NaN: not scored */
    const struct report_facts *train, *dev; /* NULL: not kept */
};

/* What the run told of its modules when it was over (core/train/run/moved.h), of each its name: "module 2
 * (lora(r=8))". */
struct why_group {
    char *name;
    double from, to, tensors, same, still, unreached; /* 0 where an older petri told nothing of it */
};
struct why_moved {
    int groups;
    struct why_group *group;
    char *since;              /* "since step 0"; points into the evaluations */
    double frozen, unchanged; /* values of the model, and whether they are what they were; NaN: not told */
};
struct why_run {
    const struct store_run *run;
    struct run_config config;
    struct store_evals evals; /* what the tasks' strings point into */
    struct why_curve loss, norm;
    double last_rate;      /* NaN: none was told */
    int tasks;
    struct why_task *task;
    int reports;
    struct report_facts *report;
    struct why_moved moved;
    int64_t differs;       /* points that a resumed run computed otherwise */
    int64_t tries; /* finished runs of the method on these dev rows, where this one has the best value of all;
                    * else 0. Of runs that repeat one another one is counted, here and in `seeds` */
    struct why_seeds {
        int64_t seeds;
        double low, high, mean;
    } seeds; /* finished runs that differ in the seed alone, their best
              * values; none but where this is one of them */
    int64_t
        repeats; /* the first run of this description, seed and data, where that is an earlier one; else 0 */
    bool repeats_differ;   /* runs of it have different weights */
};
int why_read(struct store *s, const struct store_run *run, struct why_run *out, struct err *e);
void why_run_release(struct why_run *r);
/* Of evaluations that are read already; why_moved_release frees. */
void why_moved_read(const struct why_run *r, struct why_moved *out);
void why_moved_release(struct why_moved *m);
void why_moved_facts(const struct why_run *r, struct why *w);

/* Adds a finding.  `figures`: "rate", 10.0, "own", 0.003, NULL. */
void why_add(struct why *w, const char *kind, char *text, ...) __attribute__((sentinel));
/* "rte: " of several tasks, else ""; caller frees. */
char *why_of_task(const struct why_task *t);

/* Means of the first and last tenth of a curve's finite values, at least one each. */
double why_first(const struct why_curve *c);
double why_last(const struct why_curve *c);
/* The standard error of a share p over n rows, kept off 0. */
double why_share_error(double p, int64_t n);
/* Whether the metric is a share of the rows: then its error is known. */
bool why_is_share(const char *metric);

typedef void why_rule(const struct why_run *r, struct why *w);
typedef void why_task_rule(const struct why_run *r, const struct why_task *t, struct why *w);
/* How many kinds they know; the lists end with NULL. */
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
