/* Running a sweep: starts or resumes its missing runs, a few at a time, until this process can do no more.
 * Several processes may run one sweep, and sweeps with equal cells: a run is started by the process that
 * has the hold of its key (store_hold), which checks its state again first.  A run that cannot be started
 * stores its reason and stops no other. */
#ifndef APP_SWEEP_SWEEP_WORK_H
#define APP_SWEEP_SWEEP_WORK_H

#include "app/sweep/sweep_runs.h"

struct sweep_work;

struct sweep_worker {
    bool force;  /* start runs even if their estimated memory is not available */
    int at_once; /* maximum number of active runs; one more than train avoids that the model and data are
                    read again */
    /* Selects the runs (cell, seed by index); NULL: all. */
    bool (*mine)(void *self, int cell, int seed);
    /* Shows a line to the user: a run that could not be started, a full disk. */
    void (*say)(void *self, const char *text);
    /* Starts the run of a draw, or resumes *run: sets *run to the id of its job; 0: the draw is dropped,
     * which it stored.  NULL: runs are started from the cells.  An error ends the work. */
    int (*begin)(void *self, int cell, int seed, int64_t *run, struct err *e);
    void *self;
};
/* Creates the work of a stored plan; plan, store and jobs are borrowed. */
struct sweep_work *sweep_work_new(struct sweep_plan *p, struct store *s, struct jobs *j,
                                  const struct sweep_worker *how, struct err *e);
/* Starts as many runs as there is room for and releases ended ones; returns immediately.  *left: something
 * remains to be done, here or by another process.  An error ends the work (sweep_work_stop). */
int sweep_work_step(struct sweep_work *w, bool *left, struct err *e);
/* Stops the runs of this process, each with a checkpoint; continue stepping until nothing is left. */
void sweep_work_stop(struct sweep_work *w);
/* Returns an active run to wait for (jobs_wait); 0: none. */
int64_t sweep_work_run(const struct sweep_work *w);
/* Steps until nothing is left.  `interrupted` is polled; when it returns true, the work stops; `each`
 * (NULL: none) is called after steps that polled for ended runs, and its error ends the work.
 * ERR_INTERRUPTED if it was stopped. */
int sweep_work_through(struct sweep_work *w, bool (*interrupted)(void *self),
                       int (*each)(void *self, struct err *e), struct err *e);
/* Frees the work; its runs have ended, or the jobs are gone. */
void sweep_work_free(struct sweep_work *w);

#endif
