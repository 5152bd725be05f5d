/* What the tasks of runs with several came to, for Runs and a run's page. */
#ifndef APP_SESSION_RESULT_CACHE_H
#define APP_SESSION_RESULT_CACHE_H

#include "app/history/task_results.h"
#include "views/runs.h"

/* The results of runs read before, so that a list that is asked for again and again reads what has
 * changed. */
struct result_cache {
    struct kept_results *kept;
    size_t count, room;
};
void result_cache_release(struct result_cache *t);
/* Of a row of the history (store_list): read, or as they were read; a copy.  Nothing for a run with one
 * task. */
int result_cache_of(struct result_cache *t, struct store *s, const struct store_run *row,
                    struct task_results *out, struct err *e);
/* The same as a screen takes them; points into *r; caller frees. */
struct task_row *result_cache_rows(const struct task_results *r);

#endif
