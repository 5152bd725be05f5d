/* Runs of the database in groups: runs that differ only in the seed, or by requested columns. */
#ifndef APP_SWEEP_GROUPING_H
#define APP_SWEEP_GROUPING_H

#include <jansson.h>

#include "app/sweep/comparison.h"

struct grouping {
    struct side_by_side of;
    bool asked;       /* grouped by columns */
    int runs;
    bool *called;     /* of each group, whether a name that somebody gave is in its own */
    char **key;       /* of each group, what makes a run one of it */
    char **task;      /* of each group, the task of its first run */
    json_t *metrics; /* names of those that all evaluated runs have on their deciding split; NULL: none is
                        evaluated */
    json_t **options; /* of each group what its runs were made with, an object of texts; "several" where they
                         differ */
};
/* `by`: "fn,write,lr": columns of a run (method, task, model, preset, regime, tags), of its modules (fn, act,
 * read, write, insertion, comp, source, heads, init, target, layers, size, mid, scale) or options; NULL:
 * everything but the seed. ERR_USAGE names what is none.  grouping_release, also after a failure. */
int grouping_begin(struct grouping *g, const char *by, struct err *e);
void grouping_release(struct grouping *g);
int grouping_add(struct grouping *g, struct store *s, int64_t run, struct err *e);
/* All that pass the filter, by number, at most `most` (0: all); *left: how many more there were.
 * ERR_NOT_FOUND: none. */
int grouping_filter(struct grouping *g, struct store *s, const char *filter, int64_t most, int64_t *left,
                    struct err *e);

/* A setting in which the groups differ. */
struct grouping_difference {
    const char *key;   /* an option in JSON, or an axis of the method; the grouping's */
    const char *name;  /* of the option on the command line; else the key */
    const char **value; /* of each group, the grouping's; NULL: it has none */
};
/* Lists them: options in the order of help, then axes, then the rest by name.  The caller frees each value
 * and the array. */
size_t grouping_differences(const struct grouping *g, struct grouping_difference **out);
/* Returns for each of these differences the main effects of the setting among the groups of a kind, in words;
 * NULL: not one of the options in which all of them differ, or without an estimate.  The caller frees each
 * and the array. */
char **grouping_effects(const struct grouping *g, int kind, const struct grouping_difference *d, size_t n);
/* Adds to the name of each group the options in which the groups of its task differ, at most three:
 * "lora lr=0.01 #3".  Call it once, after all runs have been added; no effect on groups by columns. */
void grouping_name(struct grouping *g);

/* The axes of a comparison (a sweep's) replaced by such columns of its groups' runs. */
int comparison_by(struct side_by_side *c, struct store *s, const char *by, struct err *e);

#endif
