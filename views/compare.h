/* State of Compare: groups of runs side by side, with what they differ in and their curves.  Data and strings
 * belong to the app; what is shown of them to the view.
 *
 * In compare.c; drawn in compare_draw.c. */
#ifndef VIEWS_COMPARE_H
#define VIEWS_COMPARE_H

#include <stdbool.h>
#include <stdint.h>

#include "views/plot.h"

enum { COMPARE_RUNS = 500 /* compared at most */, COMPARE_CURVES = 24 };

/* What values are of; groups of one kind may be averaged, subtracted and ranked. */
struct compare_kind {
    const char *metric, *task, *rows;
    bool points;         /* shown ×100 */
};
struct compare_group {
    const char *name, *state, *seeds, *claim; /* claim: beside the best of its kind, a sentence; NULL */
    int kind;            /* -1: no value */
    bool other_rows;     /* measured on other rows of the task */
    int n;               /* runs that count */
    double mean, sd, low, high, rank, seconds; /* NaN: none */
    int64_t trained;
    const int64_t *run;
    int runs;
    const char *repeats; /* which of its runs repeat others and do not count; NULL: none */
};
struct compare_difference {
    const char *key;
    const char *const *value; /* of each group; NULL: it has none */
};
struct compare_curve {
    int group;
    uint64_t seed;
    struct plot_data loss, metric;
};
struct compare_data {
    const struct compare_kind *kind;
    const struct compare_group *group;
    const struct compare_difference *difference;
    const struct compare_curve *curve;
    int kinds, groups, differences, curves, runs, curves_left; /* left: for which there was no room */
    const char *mixed;              /* in a line why they stand side by side only; NULL */
    const char *const *metric;      /* names of those that all evaluated runs have */
    int metrics;
    int repeats;                    /* of the runs those that repeat another and do not count */
};

struct compare_view {
    struct compare_data data;
    char failed[900];    /* why there is none; "" */
    bool busy;           /* asked for */
    int64_t *run;        /* asked for, owned */
    int runs;
    int left;            /* runs of the list that were too many */
    bool mixed;          /* other rows are allowed */
    int metric;          /* 0: what decided each run; else one of data.metric */
    /* the view's own */
    int part;            /* 0 groups, 1 differences */
    int kind;            /* shown alone; -1: all */
    int cursor, top;     /* among the groups shown */
    int key, key_top;    /* among the differences */
    bool losses;         /* the chart has losses, not the metric */
    int smooth;
    bool log;
};
/* The group under the cursor, or NULL. */
const struct compare_group *compare_at_cursor(const struct compare_view *v);
/* Groups shown, in order: best first within a kind, in *out, which the caller frees; how many. */
int compare_shown(const struct compare_view *v, int **out);

#endif
