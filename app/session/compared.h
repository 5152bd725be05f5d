/* Comparison of runs in the data structures of the Compare screen. */
#ifndef APP_SESSION_COMPARED_H
#define APP_SESSION_COMPARED_H

#include "app/history/series.h"
#include "app/sweep/grouping.h"
#include "views/compare.h"

struct compared_page {
    struct compare_data data; /* owns the pointers below */
    struct grouping groups;
    struct compare_kind *kind;
    struct compare_group *group;
    struct compared_evidence *evidence; /* of each group */
    struct grouping_difference *differs;
    struct compare_difference *difference;
    char ***effect;             /* of each kind, of each difference; owned */
    struct compare_curve *curve, *mean; /* mean: its arrays are owned */
    struct run_series **series; /* of each curve */
    const char **metric;
    char **text;                /* owned: seeds, names of kinds, repeats */
    int texts;
    int64_t **run;              /* of each group */
    int repeated;               /* runs that are not counted */
};
/* Reads these runs; metric "": the primary metric of each; other_rows: compare runs of a task that were
 * evaluated on different examples.  Release with compared_page_free. */
int compared_page_read(struct store *s, const int64_t *run, int runs, const char *metric, bool other_rows,
                       struct compared_page **out, struct err *e);
void compared_page_free(struct compared_page *p); /* NULL is ignored */

#endif
