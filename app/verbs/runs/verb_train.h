/* What verbs that train a run share: verb_train.c, verb_pretrain.c. */
#ifndef APP_VERBS_RUNS_VERB_TRAIN_H
#define APP_VERBS_RUNS_VERB_TRAIN_H

#include "app/jobs/jobs.h"
#include "app/verbs/verbs.h"

/* Trains it in an open store, told as petri train tells it, for each of the seeds; *id: the first one's
 * number, 0 where none was begun. */
int verb_train_runs(const struct args *a, struct store *s, struct job_request *r, const uint64_t *seed,
                    int seeds, int64_t *id, struct err *e);

enum { VERB_SEEDS = 64 };
/* What the options of train ask for: a run with each of the seeds.  base: what holds where an option is not
 * given, neither
 * --like nor --from; NULL: the defaults.  config_release(&r->config), not after a failure; strings are the
 * arguments'. */
int verb_train_request(const struct args *a, const struct run_config *base, struct job_request *r,
                       uint64_t seed[VERB_SEEDS], int *seeds, struct err *e);

#endif
