/* Initialization of a run from other runs: their parameters are copied to its folder, so that it can start
 * over after they are deleted. The copy of the first run (the only one, or the one with the lowest id in the
 * method) is start.safetensors, those of others are start.N.safetensors. */
#ifndef CORE_TRAIN_RUN_START_H
#define CORE_TRAIN_RUN_START_H

#include "core/train/use/predict.h"

struct run;
/* Returns the number of parameters of a single-task plan that are initialized from `from`, the run with id
 * `run`, without the head. run 0: all that both have; else those of modules with init=run(N), or 0 with
 * *lacking set to a module that `from` does not have (else -1). */
size_t start_values(const struct plan *p, int run, const struct predictor *from, int *lacking);
/* Copies the parameters to the folder of a run with this config. `from` is plain (predictor_make_plain);
 * `run`: 0 for the first. */
int start_keep(const struct predictor *from, const struct run_config *c, const char *folder, int run,
               struct err *e);
/* Initializes the parameters of a new run from the copies in its folder, if any, and reports it in the log.
 * Rows of the head are matched with classes by name; the head is not copied where a class has none, or with
 * init=run(N). ERR_USAGE for a module without a copy. */
int start_take(struct run *r, const char *folder, struct err *e);

#endif
