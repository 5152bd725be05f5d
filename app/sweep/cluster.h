/* A sweep on a cluster: a folder with its description (spec.json) and scripts for Slurm (job.sh, merge.sh),
 * whose tasks have each a database of their own in tasks/, merged when all are over. */
#ifndef APP_SWEEP_CLUSTER_H
#define APP_SWEEP_CLUSTER_H

#include "app/sweep/sweep_runs.h"

struct cluster_request {
    const char *folder;   /* made; must be absent or empty */
    const char *database; /* what is merged into; absolute */
    const char *program;  /* petri's; absolute */
    const char *sbatch;   /* options for Slurm, or NULL */
    int workers;          /* of a task */
    int at_once;          /* tasks that run at once; 0: all */
    int longest;          /* tasks of an array at most (MaxArraySize); of more runs each task has several */
};
/* Writes the folder for the plan's runs that lack (sweep_plan_find) in the store, where it is kept.  *tasks
 * and *runs: how many. */
int cluster_write(struct sweep_plan *p, struct store *s, const struct cluster_request *r, int *tasks,
                  int *runs, struct err *e);

struct cluster_run {
    int cell, seed; /* by index */
};
struct cluster_task {
    int runs;
    struct cluster_run *run;
};
struct cluster {
    char *folder, *database, *working, *uid; /* working: the folder in which paths of the options are meant */
    int workers, tasks;
    struct cluster_task *task;
    struct sweep_plan plan;
};
/* ERR_INPUT, ERR_NOT_FOUND; cluster_release, also after a failure. */
int cluster_read(const char *folder, struct cluster *c, struct err *e);
void cluster_release(struct cluster *c);
/* Where the task's database is; caller frees. */
char *cluster_database(const struct cluster *c, int task);
/* What has come of all tasks, as JSON:
 * {"sweep","database","tasks":[{"index","state","runs":[…]}],"runs":{STATE:N}}. */
int cluster_status(struct cluster *c, struct buf *out, struct err *e);

#endif
