/* What each task of a run with several came to, read from the history. */
#ifndef APP_HISTORY_TASK_RESULTS_H
#define APP_HISTORY_TASK_RESULTS_H

#include "core/base/buf.h"
#include "store/store.h"

/* The split that the average of several tasks is stored under. */
#define ALL_TASKS_SPLIT "tasks"

struct task_result {
    char *task, *metric; /* the deciding one */
    double value; /* of the kept checkpoint: at the run's best step, or at the task's own; NaN without */
    char *undefined;     /* why there is no value; NULL otherwise */
    int64_t step;
    double majority;     /* NaN: the task has none */
    int64_t rows;        /* dev rows; 0: not known */
};
struct task_results {
    int count;           /* 0: a run with one task */
    struct task_result *of;
};
/* Whether the run has more than one task. */
bool task_results_several(const struct store_run *run);
/* Of a run, whole or of a list, which is then read whole; nothing for one with one task.  ERR_INPUT for a
 * config that cannot be read. */
int task_results(struct store *s, const struct store_run *run, struct task_results *out, struct err *e);
void task_results_copy(struct task_results *to, const struct task_results *from);
void task_results_release(struct task_results *r);
/* The members "tasks" and "average" of a JSON object; nothing for a run with one task. */
void task_results_json(const struct task_results *r, const struct store_run *run, struct buf *b);

#endif
