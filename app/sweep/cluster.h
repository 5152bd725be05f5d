/* A sweep on a cluster: a folder with its description (spec.json) and Slurm scripts (job.sh, merge.sh);
 * each task has its own database in tasks/, and all are merged at the end. */
#ifndef APP_SWEEP_CLUSTER_H
#define APP_SWEEP_CLUSTER_H

#include "app/sweep/sweep_runs.h"

struct cluster_request {
    const char *folder;   /* created; must be absent or empty */
    const char *database; /* target of the merge; absolute */
    const char *program;  /* petri's; absolute */
    const char *sbatch;   /* options for Slurm, or NULL */
    int workers;          /* of a task */
    int at_once;          /* tasks that run concurrently; 0: all */
    int longest; /* maximum number of tasks of an array (MaxArraySize); with more runs, a task has several */
};
/* Writes the folder for the plan's missing runs (sweep_plan_find) in the store that contains it.  *tasks
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
    char *folder, *database, *working,
        *uid; /* working: the folder to which paths of the options are relative */
    int workers, tasks;
    struct cluster_task *task;
    struct sweep_plan plan;
};
/* Reads the folder; ERR_INPUT, ERR_NOT_FOUND; release with cluster_release, also after a failure. */
int cluster_read(const char *folder, struct cluster *c, struct err *e);
void cluster_release(struct cluster *c);
/* Returns the path of the task's database; caller frees. */
char *cluster_database(const struct cluster *c, int task);
/* Writes the status of all tasks as JSON:
 * {"sweep","database","tasks":[{"index","state","runs":[…]}],"runs":{STATE:N}}. */
int cluster_status(struct cluster *c, struct buf *out, struct err *e);

#endif
