/* Runs of few shots side by side, a method each: those that were asked for together, or any; what they come
 * to over the tasks, and task by task.  For tables, curves and the run's page. */
#ifndef APP_SWEEP_SHOTS_GROUP_H
#define APP_SWEEP_SHOTS_GROUP_H

#include "app/sweep/shots.h"
#include "core/base/report.h"

struct shots_group {
    int runs;
    struct shots_results *of; /* in the order of their numbers, or as they were given */
    char *repeats;            /* "run 3 repeats run 1 (…)": runs that are left out; NULL: none */
};
/* Opens those runs; of runs that repeat one another (core/train/config/evidence.h) the one that counts.  ERR_USAGE
 * names one that is not of few shots. */
int shots_group_open(struct store *s, const int64_t *run, int runs, struct shots_group *out, struct err *e);
/* The run and all that were asked for with it and are not in the trash. */
int shots_group_of(struct store *s, int64_t run, struct shots_group *out, struct err *e);
void shots_group_release(struct shots_group *g);

/* "lora(r=8)", "lora(r=8) from #3"; caller frees. */
char *shots_label(const struct shots_results *r);

/* Over the tasks: the mean of their means; sd over draws (n − 1), of each draw that all tasks have a value of
 * the mean over the tasks; NaN where there are fewer than two. */
struct shots_point {
    double mean, sd;
    int tasks, draws;
};
struct shots_point shots_point(const struct shots_results *r, int k);

/* Tasks by gain at one k, the largest first: the last run's mean less the first one's; of one run alone less
 * the majority's share.  Tasks that one of them lacks are left out. */
struct shots_gain {
    const char *task; /* the first run's results own it */
    double *value;    /* each run's mean */
    double majority, gain;
};
struct shots_gains {
    int count, k;     /* the largest k that all have; 0: none */
    struct shots_gain *of;
};
void shots_gains(const struct shots_group *g, struct shots_gains *out);
void shots_gains_release(struct shots_gains *g);

/* What a run came to on a task with k shots, for text (with the label of shots_label) and CSV. */
struct shots_line {
    int64_t run, from;
    const char *method, *label, *task, *metric,
        *start; /* start: the task that most draws began from; NULL: none */
    int k;
    struct fewshot_summary of;
    double f1_macro, before;
};
extern const struct report_column shots_line_columns[];
struct shots_line shots_line(const struct shots_results *r, const struct shots_result_task *t, int k);

/* A line a run, task and k: "run,method,from,task,k,metric,mean,sd,n,majority,f1_macro". */
void shots_group_csv(const struct shots_group *g, struct buf *b);

#endif
