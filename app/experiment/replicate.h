/* Running what an experiment lacks: each run and each measure is a petri of its own, so that the file's lines
 * are what is run, and what ends early is gone on with like any other run.
 *
 * A run is found again by the cell stored with it, "NAME/CELL seed S: petri train …", and a measure by its
 * name among the run's points; a cell whose text was changed has neither. */
#ifndef APP_EXPERIMENT_REPLICATE_H
#define APP_EXPERIMENT_REPLICATE_H

#include "app/experiment/experiment.h"
#include "store/store.h"

struct replicate {
    struct store *store;
    const char *database; /* its path, for the petris that are started */
    const char *data;     /* what stands for {data}; NULL: nothing may ask for it */
    int workers;
    double until; /* clock_seconds after which nothing is begun, and a run is stopped with a checkpoint */
    bool dry;             /* nothing is run: what is there is read */
    bool all;             /* also the cells that are skipped unasked */
    bool (*interrupted)(void);
    void (*tell)(const char *line); /* what is begun */
};
/* Fills in what there is and runs what lacks.  Returns 0 also when the time ran out: *lacking tells how many
 * runs and measures are missing then.  ERR_INTERRUPTED after an interrupt, ERR_FAILED where one of the petris
 * failed, with its line; what was done before stays in *r. */
int replicate(const struct replicate *how, const struct experiment *x, struct experiment_result *r,
              int *lacking, struct err *e);

#endif
