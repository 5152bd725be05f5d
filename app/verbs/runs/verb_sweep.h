/* What the files of the verb sweep share: verb_sweep.c, verb_cluster.c. */
#ifndef APP_VERBS_RUNS_VERB_SWEEP_H
#define APP_VERBS_RUNS_VERB_SWEEP_H

#include "app/sweep/sweep_work.h"
#include "app/verbs/verbs.h"

/* Says of each run when it ends. */
struct jobs_hook verb_sweep_hook(void);
/* Works until nothing is left, or it was stopped (ERR_INTERRUPTED); what is wrong with one run stops no
 * other.  `at_once`: so many are begun and not over at most, 0: as many as workers.  `mine`: of which cells
 * and seeds, NULL: all. */
int verb_sweep_work(struct sweep_plan *p, struct store *s, struct jobs *j, int workers, int at_once,
                    bool (*mine)(void *self, int cell, int seed), void *self, struct err *e);

/* Writes --slurm's folder. */
int verb_sweep_slurm(const struct args *a, struct sweep_plan *p, struct store *s, int workers, struct err *e);
/* petri sweep task DIR INDEX; petri sweep status DIR */
int verb_sweep_task(const struct args *a, int workers, struct err *e);
int verb_sweep_status(const struct args *a, struct err *e);

#endif
