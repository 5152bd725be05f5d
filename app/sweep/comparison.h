/* Runs side by side (comparison.c; comparison_output.c prints them): groups of equal runs but for their seeds, with
 * means and intervals; differences of pairs of groups over the seeds they share; what each axis is worth; what is best
 * at its size.  Values are as stored. */
#ifndef APP_SWEEP_COMPARISON_H
#define APP_SWEEP_COMPARISON_H

#include <stdbool.h>
#include <stdint.h>

#include "core/analysis/statistics.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "store/store.h"

struct compared_run {
    int64_t id;
    uint64_t seed;
    double value, final, seconds; /* best and last of the metric; NaN: none */
    enum store_state state;
};
struct compared_group {
    char *name;  /* what a reader calls it */
    char **axis; /* of each axis of the comparison, its value; NULL: it has none */
    bool valid;
    char *reason; /* why it is not */
    int64_t trained;
    int runs, wanted; /* seeds asked for */
    struct compared_run *run;
    struct spread value, final; /* over the runs that count */
};
struct side_by_side {
    char *title;         /* a sweep's text, or NULL */
    int64_t id;          /* of the sweep, 0: none */
    char *metric, *rows; /* what all values are of; rows: "dev of reviews, 256 rows" */
    int direction;       /* 1: higher is better */
    char *mixed;         /* why these runs cannot be ranked; NULL: they can */
    int axes, groups;
    char **axis; /* names */
    struct compared_group *group;
};
void comparison_release(struct side_by_side *c);
struct compared_group *comparison_add(struct side_by_side *c, const char *name);
/* Takes the run into the group.  What all must have in common (metric, split, rows) is checked; where it differs
 * `mixed` says so. */
int comparison_take(struct side_by_side *c, struct compared_group *g, struct store *s, const struct store_run *run,
                    struct err *e);

/* Whether the run enters means: it is finished and has a value. */
bool comparison_counts(const struct compared_run *r);
/* Over the seeds that both have. */
struct spread comparison_pair(const struct compared_group *a, const struct compared_group *b);

/* The results; `margin` > 0 also claims "equal within". */
void comparison_json(const struct side_by_side *c, double margin, struct buf *out);
void comparison_csv(const struct side_by_side *c, struct buf *out);
void comparison_markdown(const struct side_by_side *c, double margin, struct buf *out);

#endif
