/* Runs that this process does not train, as rows of Train's list: those that others train now, and those that
 * were asked for. */
#ifndef APP_SESSION_OTHERS_H
#define APP_SESSION_OTHERS_H

#include "store/store.h"
#include "views/train.h"

enum { OTHERS_MOST = 32, OTHERS_ASKED = 2 };

struct other_runs {
    struct store_run *stored; /* what the rows' strings point into */
    struct job_row *row;      /* living ones first, newest first */
    int rows;
    struct other_name {
        int64_t run;
        char *name;
    } *name;                  /* of runs that have one, by number */
    int names;
    int64_t version;          /* of the history as it was read (store_version), or an earlier one */
};
/* Reads the newest living runs of the history, OTHERS_MOST at most, this process's among them, and the runs
 * `asked` (0: none; NULL: none at all); names of all runs from number `from` on (0: of none).
 * other_runs_free. */
int other_runs_read(struct store *s, const int64_t asked[OTHERS_ASKED], int64_t from, struct other_runs **out,
                    struct err *e);
void other_runs_free(struct other_runs *o); /* NULL is let pass */
/* What such a run is called, or NULL. */
const char *other_runs_name(const struct other_runs *o, int64_t run);
/* Whether one of them is living, so that it may change, or its process be gone, without a change of the
 * history. */
bool other_runs_living(const struct other_runs *o);
/* Whether what one holds is not what the other holds: another run, another state. */
bool other_runs_differ(const struct other_runs *a, const struct other_runs *b);
/* The run's row, or NULL. */
const struct job_row *other_runs_find(const struct other_runs *o, int64_t run);

#endif
