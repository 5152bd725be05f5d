/* What runs of few shots came to, as tables. */
#ifndef APP_VERBS_RUNS_SHOTS_TABLE_H
#define APP_VERBS_RUNS_SHOTS_TABLE_H

#include "app/sweep/shots_group.h"

/* A line a method: of the first run's tasks and k, over the tasks, and the tasks by gain; what was left out,
 * and what was published. */
void shots_table_print(const struct shots_results *r, int runs);

#endif
