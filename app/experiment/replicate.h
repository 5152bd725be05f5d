/* Runs the missing cells of an experiment: each run and each measure is a separate petri process, so that
 * the lines of the file are the commands that are run, and interrupted runs can be resumed.
 *
 * A run is found again by the cell stored with it, "NAME/CELL seed S: petri train …", and a measure by its
 * name among the run's points; changing the text of a cell invalidates both. */
#ifndef APP_EXPERIMENT_REPLICATE_H
#define APP_EXPERIMENT_REPLICATE_H

#include "app/experiment/experiment.h"
#include "store/store.h"

struct replicate {
    struct store *store;
    const char *database; /* its path, for the child processes */
    const char *data;     /* value of {data}; NULL: lines must not use it */
    int workers;
    double until; /* clock_seconds after which nothing is started, and a run is stopped with a checkpoint */
    bool dry;             /* run nothing; read the stored results */
    bool all;             /* include the cells that are skipped by default */
    bool (*interrupted)(void);
    void (*tell)(const char *line); /* called with each started command */
};
/* Reads stored results and runs the missing cells.  Returns 0 also when the time ran out: *missing is the
 * number of runs and measures that are still missing.  ERR_INTERRUPTED after an interrupt, ERR_FAILED with
 * the command when a process failed; results until then remain in *r. */
int replicate(const struct replicate *how, const struct experiment *x, struct experiment_result *r,
              int *missing, struct err *e);

#endif
