/* State of Compare: groups of runs side by side, with their differences and curves.  Data and strings
 * belong to the app, the rest to the view.
 *
 * In compare.c; drawn in compare_draw.c. */
#ifndef VIEWS_COMPARE_H
#define VIEWS_COMPARE_H

#include <stdbool.h>
#include <stdint.h>

#include "views/plot.h"

enum { COMPARE_RUNS = 500 /* compared at most */, COMPARE_CURVES = 72, COMPARE_LIVE = 24 /* read again */ };

/* The metric, task and examples of values; groups of one kind can be averaged, subtracted and ranked. */
struct compare_kind {
    const char *name;    /* on its tab: "reviews accuracy" */
    const char *metric;  /* NULL: a task without evaluations */
    const char *task, *rows;
    bool points;         /* shown ×100 */
};
struct compare_group {
    const char *name, *state, *seeds;
    /* In words: the mean over seeds; the paired difference from the best other group of its kind; what
     * follows from it.  NULL: not known. */
    const char *evidence, *difference, *follows;
    int kind;            /* without a value, that of other runs of its task */
    bool other_rows;     /* evaluated on other examples of the task */
    int n;               /* runs that count */
    double mean, sd, low, high, rank, seconds; /* NaN: none */
    int64_t trained;
    const int64_t *run;
    int runs;
    const char *repeats; /* the runs that repeat others and are not counted; NULL: none */
    int repeated;        /* how many these are */
};
struct compare_difference {
    const char *key;
    const char *const *value; /* of each group; NULL: none */
    const char *const *effect; /* of each kind, its main effects in words; NULL: none */
};
/* The curves of a run, or the means over n runs of a group. */
struct compare_curve {
    int group, n;
    struct plot_data loss, metric;
};
struct compare_data {
    const struct compare_kind *kind;
    const struct compare_group *group;
    const struct compare_difference *difference;
    const struct compare_curve *curve, *mean; /* of runs; of groups */
    int kinds, groups, differences, curves, means, runs, curves_left; /* curves_left: omitted curves */
    const char *const *metric;      /* names of the metrics of all evaluated runs */
    int metrics;
};

/* All kinds, in sections; chosen when the data arrive. */
enum compare_tab { COMPARE_ALL = -1, COMPARE_CHOOSE = -2 };

struct compare_view {
    struct compare_data data;
    char failed[900];    /* the reason for missing data; "" */
    bool busy;           /* requested */
    int64_t *run;        /* requested, owned */
    int runs;
    int left;            /* omitted runs of the list */
    bool mixed;          /* runs on other examples are included */
    int metric;          /* 0: the primary metric of each run; else one of data.metric */
    /* the view's own */
    int part;            /* 0 groups, 1 differences */
    int kind;            /* the tab: a kind, or one of enum compare_tab */
    int cursor, top;     /* among the groups shown */
    int key, key_top;    /* among the differences shown */
    bool partial;        /* also differences in settings that some of the groups do not have */
    bool losses;         /* the chart shows losses, not the metric */
    bool each;           /* the charts show each run, not the means of groups */
    int smooth;
    bool log;
};
/* Returns the group under the cursor, or NULL. */
const struct compare_group *compare_at_cursor(const struct compare_view *v);
/* Writes the groups on the tab, best first within a kind, to *out, which the caller frees; returns their
 * number. */
int compare_shown(const struct compare_view *v, int **out);
/* Writes the settings in which the groups on the tab differ to *out, which the caller frees; returns their
 * number.  *partial: how many more only some of the groups have (counted, unless they are shown). */
int compare_differing(const struct compare_view *v, int **out, int *partial);
/* Returns the kind that the table's heads describe: of the tab, or of the group under the cursor; NULL
 * without groups. */
const struct compare_kind *compare_kind_of(const struct compare_view *v);
/* Returns how many groups a tab has. */
int compare_tab_groups(const struct compare_view *v, int tab);

#endif
