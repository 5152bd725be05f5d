/* Results of the tasks of multi-task runs, for Runs and run pages. */
#ifndef APP_SESSION_RESULT_CACHE_H
#define APP_SESSION_RESULT_CACHE_H

#include "app/history/task_results.h"
#include "views/runs.h"

/* A cache of results, so that a list that is refreshed repeatedly reads only what has changed. */
struct result_cache {
    struct kept_results *kept;
    size_t count, room;
};
void result_cache_release(struct result_cache *t);
/* Returns a copy of the results of a row (store_list), from the cache if it is unchanged; empty for a run
 * with one task. */
int result_cache_of(struct result_cache *t, struct store *s, const struct store_run *row,
                    struct task_results *out, struct err *e);
/* Converts the results for a screen; points into *r; caller frees. */
struct task_row *result_cache_rows(const struct task_results *r);

#endif
