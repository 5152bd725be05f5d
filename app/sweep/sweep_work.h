/* Working on a sweep: what its cells lack is begun or gone on with, a few runs at a time, until nothing is
 * left that this process could do.  Several processes may work on one sweep, and on sweeps with equal cells:
 * a run is begun by who has the hold of its key (store_hold), and looked for anew before that.  A run that
 * cannot be begun keeps its reason and stops no other. */
#ifndef APP_SWEEP_SWEEP_WORK_H
#define APP_SWEEP_SWEEP_WORK_H

#include "app/sweep/sweep_runs.h"

struct sweep_work;

struct sweep_worker {
    int at_once; /* runs begun and not over, at most; one more than train keeps model and rows from being read
                    anew */
    /* Only these cells' runs (cell, seed by index); NULL: all. */
    bool (*mine)(void *self, int cell, int seed);
    /* A line for the user: a run that could not be begun, a full disk. */
    void (*say)(void *self, const char *text);
    /* Begins a draw's run, or goes on with *run: a job of the number that it puts there; 0: the draw is left
     * out, which it stored.  NULL: runs are begun by what the cells say.  What fails ends the work. */
    int (*begin)(void *self, int cell, int seed, int64_t *run, struct err *e);
    void *self;
};
/* The plan is in the history; plan, store and jobs are borrowed. */
struct sweep_work *sweep_work_new(struct sweep_plan *p, struct store *s, struct jobs *j,
                                  const struct sweep_worker *how, struct err *e);
/* Begins what there is room for and puts away what is over; returns at once.  *left: something is still to be
 * done, here or by another process.  An error ends the work (sweep_work_stop). */
int sweep_work_step(struct sweep_work *w, bool *left, struct err *e);
/* Stops the runs of this process, each with a checkpoint; steps go on until nothing is left. */
void sweep_work_stop(struct sweep_work *w);
/* Whether somebody asked all who work on the sweep to stop (store_sweep_stop), or this one was. */
bool sweep_work_stopped(const struct sweep_work *w);
/* A run in work here that one may wait for (jobs_wait); 0: none is. */
int64_t sweep_work_run(const struct sweep_work *w);
/* Steps until nothing is left.  `interrupted` is asked all the time, true: the work stops; `each` (NULL: none)
 * is called after steps that looked for runs that are over, its error ends the work.  ERR_INTERRUPTED where it was stopped. */
int sweep_work_through(struct sweep_work *w, bool (*interrupted)(void *self),
                       int (*each)(void *self, struct err *e), struct err *e);
/* Its runs are over, or the jobs are gone. */
void sweep_work_free(struct sweep_work *w);

#endif
