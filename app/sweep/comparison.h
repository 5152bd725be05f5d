/* Comparison of runs (comparison.c): groups of runs that differ only in their seeds, with means and
 * intervals; paired differences of groups over common seeds; Pareto fronts; ranks.  Main effects of the
 * axes are in comparison_effects.c, evidence in words in comparison_evidence.c, printing in
 * comparison_output.c.  Values are as stored.
 *
 * Values can be averaged, compared and ranked if they are of the same kind: the same metric on the same
 * split and examples of the same task.  A group is of one kind; over groups of different kinds only the
 * main effects of axes and mean ranks are computed, with tasks as blocks. */
#ifndef APP_SWEEP_COMPARISON_H
#define APP_SWEEP_COMPARISON_H

#include <stdbool.h>
#include <stdint.h>

#include "core/analysis/statistics.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "store/store.h"

struct compared_run {
    int64_t id, trained;
    uint64_t seed;
    double value, final, seconds; /* best and last value of the metric; NaN: none */
    double done;  /* share of its steps */
    int64_t peak; /* peak memory in bytes; 0: unknown */
    enum store_state state;
    bool other_rows; /* with allow_rows: evaluated on other examples than the kind's first run */
    char *kernel; /* of the matrix library and processor, or NULL */
    char evidence[65], *weights; /* evidence_key, and SHA-256 of the trained parameters or NULL */
    int64_t ended;   /* UTC milliseconds */
    int64_t counted; /* set by comparison_take: the counted run of its evidence, its own id if that is
                      * this one; 0: none, because it is not finished or has no value */
    bool differs;    /* set by comparison_take: runs of its evidence have different weights */
};
enum { KIND_NONE = -1, KIND_SEVERAL = -2 };
enum { COMPARED_RUNGS = 3 };
struct compared_group {
    char *name;  /* name to show */
    char **axis; /* value of each axis of the comparison; NULL: none */
    bool valid;
    char *reason; /* why it is invalid, or why runs of it failed */
    int64_t trained;
    int runs, wanted; /* requested number of seeds */
    struct compared_run *run;
    int kind;        /* index of its kind; KIND_NONE: no value; KIND_SEVERAL: no mean */
    bool other_rows; /* one of its runs has it */
    struct spread value, final; /* over the counted runs; of one kind */
    struct interval interval;   /* 95%, of the mean value */
    char *size, *sized; /* its size and the requested one, as JSON and in a line; NULL: none requested */
    char *status_text;  /* replaces the state of its runs: "stopped at rung 1 of 3"; NULL: none */
    char *rungs, *runged; /* its values at the rungs, as JSON and in a line; NULL: none */
    double rung[COMPARED_RUNGS]; /* their means; NaN: not reached */
    char *tune, *tuned; /* how its learning rate was tuned, as JSON and in a line; NULL: it was given */
};
struct compared_kind {
    char *metric, *split, *task; /* "accuracy", "dev", "reviews" */
    char *rows;                  /* "dev of reviews (sha256 …), 256 examples" */
    int direction;               /* 1: higher is better */
    int64_t first;               /* the first run of this kind */
};
struct side_by_side {
    char *title;      /* a sweep's text, or NULL */
    int64_t id;       /* of the sweep, 0: none */
    char *asked;      /* a metric that replaces the primary one of each run; NULL */
    bool allow_rows;  /* values on different examples of a task are of one kind, marked */
    bool final;       /* a run's value is its last, not its best */
    char *mixed; /* in a line, why groups cannot be compared with each other; NULL: all are of one kind */
    int kinds;
    struct compared_kind *kind;
    int axes, groups;
    char **axis;      /* names */
    bool *log;        /* of each axis: its numbers are evenly spaced in the log */
    bool *inner;      /* and it is part of another axis, whose values include it */
    struct compared_group *group;
};
void comparison_release(struct side_by_side *c);
/* Adds an axis, for which existing groups have no value. */
void comparison_axis(struct side_by_side *c, const char *name, bool log);
bool comparison_is_of_tasks(const struct side_by_side *c,
                            int axis); /* whether its values are tasks, which are blocks */
struct compared_group *comparison_add(struct side_by_side *c, const char *name);
/* Returns why the groups of all kinds cannot be blocks of one model, each a task with the same metric;
 * NULL: they can.  Caller frees. */
char *comparison_no_blocks(const struct side_by_side *c);
/* Reads the result of a run and its kind (added if it is new); KIND_NONE: it has no value.  ERR_NOT_FOUND
 * if the run does not have the requested metric. */
int comparison_read(struct side_by_side *c, struct store *s, const struct store_run *run,
                    struct compared_run *out, int *kind, struct err *e);
/* Adds the run to the group, which takes ownership of its members. */
void comparison_take(struct side_by_side *c, struct compared_group *g, const struct compared_run *run,
                     int kind);

/* Returns the override of the state, or "finished" if all runs are, else the state of the first that is not;
 * "waiting" if a seed has no run, "failed" if it could not be started; "invalid". */
const char *comparison_state(const struct compared_group *g);
/* Records the seed and the reason of a run of the group that failed or could not be started. */
void comparison_failed(struct compared_group *g, uint64_t seed, const char *reason);

/* Returns whether a run enters means, pairs and effects: it is finished, has a value, and is the counted
 * run of its evidence (core/train/config/evidence.h). */
bool comparison_counts(const struct side_by_side *c, const struct compared_run *r);
/* Returns whether another run of its evidence counts instead. */
bool comparison_repeated(const struct compared_run *r);
/* Returns whether it is the first counted run of the group with its seed. */
bool comparison_counts_seed(const struct side_by_side *c, const struct compared_group *g, int run);
double comparison_value(const struct side_by_side *c, const struct compared_run *r);
/* Means over the finished runs without repeats; without finished runs, over all; NaN: none. */
double comparison_seconds(const struct compared_group *g); /* their mean */
double comparison_memory(
    const struct compared_group *g); /* mean of the peaks in bytes; NaN unless all are known */
/* Returns whether the groups' values are shown in percentage points (×100). */
bool comparison_in_points(const struct side_by_side *c, int kind);

/* Paired differences of two groups of one kind over their common seeds; several runs of a seed, as in
 * groups by columns, are averaged first. */
struct compared_pair {
    int a, b; /* groups */
    struct spread s; /* of the differences a − b */
    struct interval interval; /* 95%, of their mean, not adjusted */
    bool differs, equal; /* at the 5% level */
    double p, p_equal; /* adjusted by Holm's method over the pairs, those of equality as a separate
                          family; NaN: no test */
};
enum { COMPARISON_PAIRS_OF = 40 }; /* with more groups, only pairs with the best of a kind are compared */
/* Computes the pairs; `margin` > 0 also tests for equality within it.  Caller frees. */
size_t comparison_pairs(const struct side_by_side *c, double margin, struct compared_pair **out);

/* ---- evidence in words (comparison_evidence.c) ---- */

/* Returns a sentence on whether the pair, one of k, differs, or is equal within `margin`, with its interval
 * and adjusted p.  The caller frees. */
char *comparison_claim(const struct side_by_side *c, const struct compared_pair *p, size_t k, double margin);
/* Returns "A and B: no common seeds, …" for two groups of one kind without common seeds, else NULL. The
 * caller frees.  In comparison.c. */
char *comparison_unpaired(const struct side_by_side *c, int a, int b);
/* The evidence on a group: its mean over seeds, and its paired difference from the best other group of its
 * kind. */
struct compared_evidence {
    double rank;      /* comparison_rank */
    int against;      /* the best other group; -1: none */
    char *mean;       /* "mean 65.72 ± 0.92 sd of 3 seeds (1, 2, 3), 95% CI [63.44, 68.00]"; NULL: no value */
    char *difference; /* "paired difference from …"; NULL: no common seed */
    char *follows;    /* the sentence on what follows; NULL: no other group */
    char *runs;       /* "runs #3 65.28, #12 66.78"; NULL: none */
};
/* Returns the evidence on each group; release with comparison_evidence_release. */
struct compared_evidence *comparison_evidence(const struct side_by_side *c);
void comparison_evidence_release(struct compared_evidence *e, int groups);
/* Writes for each axis the main effects of its levels, with their intervals, to line[axis]: NULL without an
 * estimate.  The caller frees them. */
void comparison_effect_lines(const struct side_by_side *c, char **line);
/* Returns the best group of a comparison of one kind, with its mean, and after how many of the finished runs
 * it became the best for good; NULL without a value.  The caller frees. */
char *comparison_leader(const struct side_by_side *c);

/* ---- costs and ranks ---- */

/* The cost of a group. */
enum compared_cost { COST_TRAINED, COST_SECONDS, COST_MEMORY };
/* Returns whether the group is on the Pareto front: none of its kind is as good at a lower cost.  Time and
 * memory are compared only among runs of one machine and kernel, memory only among runs that were alone in
 * their process. */
bool comparison_on_front(const struct side_by_side *c, int group, enum compared_cost cost);
/* Returns why the cost cannot be compared over the groups; NULL: it can.  Caller frees. */
char *comparison_no_cost(const struct side_by_side *c, enum compared_cost cost);
/* Returns the rank within its kind: 1 for the best; equal means share the mean of their ranks.  NaN without
 * a value. */
double comparison_rank(const struct side_by_side *c, int group);
/* Returns the mean rank over all tasks of the groups that agree in every axis except the task; NaN if a
 * task is missing, or an axis has no value.  `first`: whether `group` is the first of them. */
double comparison_rank_of_tasks(const struct side_by_side *c, int group, bool *first);

/* ---- main effects of the axes (comparison_effects.c) ---- */

struct compared_effect {
    int axis, axis2;            /* axis2 −1: a main effect */
    const char *level, *level2; /* the comparison's; NULL: a slope */
    size_t n;
    double value, low, high;    /* NaN: aliased; no interval without a degree of freedom */
    bool log;                   /* of a slope: per e-fold */
    bool open;
    char *aliased;              /* with what; NULL */
};
struct compared_effects {
    int count;
    struct compared_effect *effect;
    char *why;   /* why they cannot be computed; NULL */
    double df;
    char *about; /* "12 runs; blocks: task (2), seed (1, 2, 3)" */
};
void comparison_effects(const struct side_by_side *c, struct compared_effects *out);
void comparison_effects_release(struct compared_effects *e);

/* ---- text (comparison_output.c) ---- */

struct compared_options {
    double margin;
    enum compared_cost cost;
};
void comparison_json(const struct side_by_side *c, const struct compared_options *o, struct buf *out);
void comparison_csv(const struct side_by_side *c, struct buf *out);
void comparison_markdown(const struct side_by_side *c, const struct compared_options *o, struct buf *out);
/* Returns the ids of a group's runs; the caller frees. */
int64_t *comparison_run_ids(const struct compared_group *g);
/* Returns a sentence on which runs repeat others of the group and do not count, "runs 1, 3 repeat run 4
 * (…)", or NULL.  The caller frees. */
char *comparison_repeats(const struct compared_group *g);
/* Writes "1, 2, 3": the seeds of the counted runs, each once; truncated with "…" to `room` bytes. */
void comparison_seeds(const struct side_by_side *c, const struct compared_group *g, char *out, size_t room);

#endif
