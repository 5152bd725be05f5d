/* Comparison of few-shot runs, one per method: those requested together, or any; their results over the
 * tasks, and per task.  For tables, curves and run pages. */
#ifndef APP_SWEEP_SHOTS_GROUP_H
#define APP_SWEEP_SHOTS_GROUP_H

#include "app/sweep/shots.h"
#include "core/base/report.h"

struct shots_group {
    int runs;
    struct shots_results *of; /* in the order of their ids, or as given */
    char *repeats;            /* "run 3 repeats run 1 (…)": omitted runs; NULL: none */
};
/* Opens these runs; of runs that repeat each other (core/train/config/evidence.h), the counted one.
 * ERR_USAGE names a run that is not a few-shot run. */
int shots_group_open(struct store *s, const int64_t *run, int runs, struct shots_group *out, struct err *e);
/* Opens the run and all runs requested with it that are not in the trash. */
int shots_group_of(struct store *s, int64_t run, struct shots_group *out, struct err *e);
void shots_group_release(struct shots_group *g);

/* Returns "lora(r=8)", or "lora(r=8) from #3"; caller frees. */
char *shots_label(const struct shots_results *r);

/* Statistics over the tasks: the mean of their means; sd over draws (n − 1) of the mean over the tasks, for
 * draws that have a value for all tasks; NaN for fewer than two. */
struct shots_point {
    double mean, sd;
    int tasks, draws;
};
struct shots_point shots_point(const struct shots_results *r, int k);

/* The tasks sorted by gain at one k, largest first: the last run's mean minus the first one's; for a single
 * run, minus the majority baseline.  Tasks missing in a run are omitted. */
struct shots_gain {
    const char *task; /* owned by the results of the first run */
    double *value;    /* each run's mean */
    double majority, gain;
};
struct shots_gains {
    int count, k;     /* the largest k common to all; 0: none */
    struct shots_gain *of;
};
void shots_gains(const struct shots_group *g, struct shots_gains *out);
void shots_gains_release(struct shots_gains *g);

/* The result of a run on a task with k shots, for text (with the label of shots_label) and CSV. */
struct shots_line {
    int64_t run, from;
    const char *method, *label, *task, *metric,
        *start; /* start: the task from which most draws were initialized; NULL: none */
    int k;
    struct fewshot_summary of;
    double f1_macro, before;
};
extern const struct report_column shots_line_columns[];
struct shots_line shots_line(const struct shots_results *r, const struct shots_result_task *t, int k);

/* Writes a line per run, task and k: "run,method,from,task,k,metric,mean,sd,n,majority,f1_macro". */
void shots_group_csv(const struct shots_group *g, struct buf *b);

#endif
