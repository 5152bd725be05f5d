/* Parts of the verb sweep: verb_sweep.c, verb_cluster.c. */
#ifndef APP_VERBS_RUNS_VERB_SWEEP_H
#define APP_VERBS_RUNS_VERB_SWEEP_H

#include "app/sweep/sweep_work.h"
#include "app/verbs/verbs.h"

/* Returns a hook that prints a line when a run ends. */
struct jobs_hook verb_sweep_hook(void);
/* Trains the missing runs until none is left, or an interrupt (ERR_INTERRUPTED); a run that fails does not
 * stop the others.  `at_once`: maximum number of concurrent runs, 0: as many as workers.  `mine`: selects
 * cells and seeds, NULL: all. */
int verb_sweep_work(const struct args *a, struct sweep_plan *p, struct store *s, struct jobs *j, int workers,
                    int at_once, bool (*mine)(void *self, int cell, int seed), void *self, struct err *e);

/* Writes the folder of --slurm. */
int verb_sweep_slurm(const struct args *a, struct sweep_plan *p, struct store *s, int workers, struct err *e);
/* Run petri sweep task DIR INDEX and petri sweep status DIR. */
int verb_sweep_task(const struct args *a, int workers, struct err *e);
int verb_sweep_status(const struct args *a, struct err *e);

#endif
