/* Results of each task of a multi-task run, read from the database. */
#ifndef APP_HISTORY_TASK_RESULTS_H
#define APP_HISTORY_TASK_RESULTS_H

#include "core/base/buf.h"
#include "store/store.h"

/* The split under which the average of several tasks is stored. */
#define ALL_TASKS_SPLIT "tasks"

struct task_result {
    char *task, *metric; /* the primary one */
    double value; /* of the best checkpoint, of the run or of the task; NaN: none */
    char *undefined;     /* the reason for a missing value; NULL otherwise */
    int64_t step;
    double majority;     /* NaN: the task has none */
    int64_t rows;        /* validation examples; 0: unknown */
};
struct task_results {
    int count;           /* 0: a run with one task */
    struct task_result *of;
};
/* Returns whether the run has more than one task. */
bool task_results_several(const struct store_run *run);
/* Reads the results of a run (reloads a list entry); empty for a run with one task.  ERR_INPUT for an
 * invalid config. */
int task_results(struct store *s, const struct store_run *run, struct task_results *out, struct err *e);
void task_results_copy(struct task_results *to, const struct task_results *from);
void task_results_release(struct task_results *r);
/* Writes the members "tasks" and "average" of a JSON object; nothing for a run with one task. */
void task_results_json(const struct task_results *r, const struct store_run *run, struct buf *b);

#endif
