/* Results of few-shot runs as tables. */
#ifndef APP_VERBS_RUNS_SHOTS_TABLE_H
#define APP_VERBS_RUNS_SHOTS_TABLE_H

#include "app/sweep/shots_group.h"

/* Prints one line per method for the tasks and k of the first run, the means over tasks, the tasks by gain,
 * the skipped draws with their reasons, and published results. */
void shots_table_print(const struct shots_results *r, int runs);

#endif
