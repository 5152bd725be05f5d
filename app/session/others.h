/* Runs that this process does not train, as rows of Train's list: those that other processes train now, and
 * those that were requested. */
#ifndef APP_SESSION_OTHERS_H
#define APP_SESSION_OTHERS_H

#include "store/store.h"
#include "views/train.h"

enum { OTHERS_MOST = 32, OTHERS_ASKED = 2 };

struct other_runs {
    struct store_run *stored; /* the rows' strings point into it */
    struct job_row *row;      /* active ones first, newest first */
    int rows;
    struct other_name {
        int64_t run;
        char *name;
    } *name;                  /* names of the runs that have one, by id */
    int names;
    int64_t version; /* version of the database when it was read (store_version), or an earlier one */
};
/* Reads the newest active runs of the database, at most OTHERS_MOST, including those of this process, and
 * the runs `asked` (0: none; NULL: none at all); and the names of all runs with ids from `from` (0: none).
 * Release with other_runs_free. */
int other_runs_read(struct store *s, const int64_t asked[OTHERS_ASKED], int64_t from, struct other_runs **out,
                    struct err *e);
void other_runs_free(struct other_runs *o); /* NULL is ignored */
/* Returns the name of such a run, or NULL. */
const char *other_runs_name(const struct other_runs *o, int64_t run);
/* Returns whether one of them is active: it may change, or its process may end, without a change of the
 * database. */
bool other_runs_living(const struct other_runs *o);
/* Returns whether the two lists differ in a run or a state. */
bool other_runs_differ(const struct other_runs *a, const struct other_runs *b);
/* Returns the row of the run, or NULL. */
const struct job_row *other_runs_find(const struct other_runs *o, int64_t run);

#endif
