/* Runs side by side (comparison.c): groups of equal runs but for their seeds, with means and intervals;
 * differences of pairs of groups over the seeds they share; what is best at its cost; ranks.  What each axis
 * is worth is comparison_effects.c's, comparison_output.c prints.  Values are as stored.
 *
 * Values may be averaged, compared and ranked where they are of one kind: the same metric of the same split
 * and rows of the same task.  A group is of one kind; groups of different kinds stand side by side, and
 * nothing is said over them but what each axis is worth and the mean of ranks, for which tasks are blocks. */
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
    double value, final, seconds; /* best and last of the metric; NaN: none */
    int64_t peak; /* bytes that the run needed at most; 0: not known */
    enum store_state state;
    bool other_rows; /* with allow_rows: on other rows than the kind's first run */
    char *kernel; /* of the matrix library and processor, or NULL */
    char evidence[65], *weights; /* evidence_key, and SHA-256 of the trained parameters or NULL */
    int64_t ended;   /* UTC milliseconds */
    int64_t counted; /* set by comparison_take: the run of its evidence that counts, its own id where that is
                      * this one; 0: none, as it is not finished or has no value */
    bool differs;    /* set by comparison_take: runs of its evidence have different weights */
};
enum { KIND_NONE = -1, KIND_SEVERAL = -2 };
enum { COMPARED_RUNGS = 3 };
struct compared_group {
    char *name;  /* what a reader calls it */
    char **axis; /* of each axis of the comparison, its value; NULL: it has none */
    bool valid;
    char *reason; /* why it is not, or why runs of it failed */
    int64_t trained;
    int runs, wanted; /* seeds asked for */
    struct compared_run *run;
    int kind;        /* of comparison's kinds; KIND_NONE without a value; KIND_SEVERAL: no mean is told */
    bool other_rows; /* one of its runs is */
    struct spread value, final; /* over the runs that count; of one kind */
    char *size, *sized; /* its size beside the one asked for, likewise; NULL: none was */
    char *stands;       /* in place of its runs' state: "stopped at rung 1 of 3"; NULL: that */
    char *rungs, *runged; /* its values at the rungs, as JSON and in a line; NULL: it has none */
    double rung[COMPARED_RUNGS]; /* their means, where it has any; NaN: it did not come so far */
    char *tune, *tuned; /* how its learning rate was found, as JSON and in a line; NULL: it was said */
};
struct compared_kind {
    char *metric, *split, *task; /* "accuracy", "dev", "reviews" */
    char *rows;                  /* "dev of reviews (sha256 …), 256 rows" */
    int direction;               /* 1: higher is better */
    int64_t first;               /* a run of it */
};
struct side_by_side {
    char *title;      /* a sweep's text, or NULL */
    int64_t id;       /* of the sweep, 0: none */
    char *asked;      /* a metric in place of the one that decided each run; NULL */
    bool allow_rows;  /* values of a metric on other rows of a task are of one kind, marked */
    bool final;       /* a run's value is its last, not its best */
    char *mixed;      /* in a line, why nothing is said over all groups; NULL: all are of one kind */
    int kinds;
    struct compared_kind *kind;
    int axes, groups;
    char **axis;      /* names */
    bool *log;        /* of each axis: its numbers are even in the log */
    bool *inner;      /* and it is a part of another's values, which tell it anyway */
    struct compared_group *group;
};
void comparison_release(struct side_by_side *c);
/* A further axis, of which the groups so far have no value. */
void comparison_axis(struct side_by_side *c, const char *name, bool log);
bool comparison_is_of_tasks(const struct side_by_side *c,
                            int axis); /* its values are tasks, which are blocks */
struct compared_group *comparison_add(struct side_by_side *c, const char *name);
/* Why the groups of all kinds cannot be blocks of one model, each a task by the same metric; NULL: they can.
 * Caller frees. */
char *comparison_no_blocks(const struct side_by_side *c);
/* What a run came to, and of which of c's kinds (a new one where it must be) that is; KIND_NONE: it has no
 * value. ERR_NOT_FOUND where the metric asked for is none of the run's. */
int comparison_read(struct side_by_side *c, struct store *s, const struct store_run *run,
                    struct compared_run *out, int *kind, struct err *e);
/* Takes the run into the group, over with what it owns. */
void comparison_take(struct side_by_side *c, struct compared_group *g, const struct compared_run *run,
                     int kind);

/* What stands of it; else "finished" where all are, else the state of the first that is not; "waiting" where
 * a seed has no run, "failed" where it could not be begun; "invalid". */
const char *comparison_state(const struct compared_group *g);
/* A run of the group failed, or could not be begun: the group says the seed and why. */
void comparison_failed(struct compared_group *g, uint64_t seed, const char *reason);

/* Returns whether the run of a group enters means, pairs and effects: it finished, has a value, and stands
 * for its evidence (core/train/config/evidence.h). */
bool comparison_counts(const struct side_by_side *c, const struct compared_run *r);
/* Returns whether another run of its evidence counts in its place. */
bool comparison_repeated(const struct compared_run *r);
/* Returns whether it is the first of the group's runs that count with its seed. */
bool comparison_counts_seed(const struct side_by_side *c, const struct compared_group *g, int run);
double comparison_value(const struct side_by_side *c, const struct compared_run *r);
/* Of the finished runs that repeat no other, without one of all: NaN without any. */
double comparison_seconds(const struct compared_group *g); /* their mean */
double comparison_memory(
    const struct compared_group *g); /* mean of the peaks in bytes; NaN unless all are known */
/* Whether the groups' values are told in points (×100) on screen. */
bool comparison_in_points(const struct side_by_side *c, int kind);

/* Differences of two groups of one kind, over the seeds that both have; of several runs of a seed, as of
 * different descriptions in a group by columns, the mean is taken first. */
struct compared_pair {
    int a, b; /* groups */
    struct spread s;
    bool differs, equal; /* at 5 % */
    double p, p_equal; /* adjusted by Holm's method over the pairs, those of equality as a family of their
                          own; NaN: no test */
};
enum { COMPARISON_PAIRS_OF = 40 }; /* of more groups only those with the best of their kind are compared */
/* `margin` > 0 also claims "equal within".  Caller frees. */
size_t comparison_pairs(const struct side_by_side *c, double margin, struct compared_pair **out);
/* Returns in words whether the pair, one of k, differs, or is equal within `margin`, with its interval and
 * adjusted p.  The caller frees. */
char *comparison_claim(const struct side_by_side *c, const struct compared_pair *p, size_t k, double margin);
/* Returns "A and B: no seed in common, …" for two groups with values of one kind that share none, else NULL.
 * The caller frees. */
char *comparison_unpaired(const struct side_by_side *c, int a, int b);

/* What a group costs. */
enum compared_cost { COST_TRAINED, COST_SECONDS, COST_MEMORY };
/* Nothing of its kind is as good at a lower cost.  Seconds and memory are compared among runs of one machine
 * and kernel alone, memory among those that were alone in their process. */
bool comparison_on_front(const struct side_by_side *c, int group, enum compared_cost cost);
/* Why the cost cannot be compared over the groups; NULL: it can.  Caller frees. */
char *comparison_no_cost(const struct side_by_side *c, enum compared_cost cost);
/* Among those of its kind: 1 for the best; equal means share the mean of their places.  NaN without a
 * value. */
double comparison_rank(const struct side_by_side *c, int group);
/* Of all groups that agree in every axis but the task, the mean rank over all tasks; NaN where a task lacks
 * one, or an axis has no value.  `first`: whether `group` is the first of them. */
double comparison_rank_of_tasks(const struct side_by_side *c, int group, bool *first);

/* ---- what each axis is worth (comparison_effects.c) ---- */

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
    char *why;   /* why there are none; NULL */
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
/* The numbers of a group's runs; the caller frees. */
int64_t *comparison_run_ids(const struct compared_group *g);
/* Returns in words which runs repeat others of the group and do not count, "runs 1, 3 repeat run 4 (…)", or
 * NULL where none does.  The caller frees. */
char *comparison_repeats(const struct compared_group *g);
/* Writes "1, 2, 3": the seeds of the runs that count, each once; in place of what does not fit in `room`
 * bytes "…". */
void comparison_seeds(const struct side_by_side *c, const struct compared_group *g, char *out, size_t room);

#endif
