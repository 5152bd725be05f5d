/* Training from the command line, for verb_train.c, verb_pretrain.c and the ':' line of the screens. */
#ifndef APP_VERBS_RUNS_VERB_TRAIN_H
#define APP_VERBS_RUNS_VERB_TRAIN_H

#include "app/jobs/jobs.h"
#include "app/verbs/verbs.h"

/* Trains one run per seed in an open store, with the output of petri train.  *id: number of the first run,
 * 0 where none was started. */
int verb_train_runs(const struct args *a, struct store *s, struct job_request *r, const uint64_t *seed,
                    int seeds, int64_t *id, struct err *e);

enum { VERB_SEEDS = 64 };
/* Reads the options of train: the request and the seeds of its runs.  base: the values of options that are
 * not given, without --like and --from; NULL: the defaults.  The caller calls config_release(&r->config),
 * except after a failure; strings belong to the arguments. */
int verb_train_request(const struct args *a, const struct run_config *base, struct job_request *r,
                       uint64_t seed[VERB_SEEDS], int *seeds, struct err *e);

#endif
