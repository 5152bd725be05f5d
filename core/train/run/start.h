/* A run that begins with other runs' values: a copy of them lies in its folder, so that whatever becomes of
 * the others, it begins anew from the same.  The first one's (the only one's, or of those that the method
 * names the lowest number's) is start.safetensors, another's start.N.safetensors. */
#ifndef CORE_TRAIN_RUN_START_H
#define CORE_TRAIN_RUN_START_H

#include "core/train/use/predict.h"

struct run;
/* How many values of a plan of one task those of `from`, run number `run`, are the start of; the head's are
 * not counted. run 0: all that both have; else those of modules that say so (init=run(N)), and 0 with
 * *lacking one that has none; else -1. */
size_t start_values(const struct plan *p, int run, const struct predictor *from, int *lacking);
/* Keeps them in the folder of a run with this config.  `from` is plain (predictor_make_plain); `run`: 0 for
 * the first. */
int start_keep(const struct predictor *from, const struct run_config *c, const char *folder, int run,
               struct err *e);
/* Sets the values of a run that was just begun, where its folder has such a copy; says in its log what it
 * took.  The head's rows go to the classes of their names; where one has none, or modules say whose values
 * they begin with, the head stays as it is.  ERR_USAGE for such a module without a copy. */
int start_take(struct run *r, const char *folder, struct err *e);

#endif
