/* A run that begins with another's values: a copy of them lies in its folder (start.safetensors), so that whatever becomes of the other,
 * it begins anew from the same. */
#ifndef CORE_TRAIN_START_H
#define CORE_TRAIN_START_H

#include "core/train/predict.h"

struct run;
/* How many values of a plan of one task those of `from` are the start of; the head's are not counted.  Where modules say
 * whose values they begin with (init=run(N)), of these alone, and 0 with *lacking one that has none; else -1. */
size_t start_values(const struct plan *p, const struct predictor *from, int *lacking);
/* Keeps them in the folder of a run with this config.  `from` is plain (predictor_make_plain). */
int start_keep(const struct predictor *from, const struct run_config *c, const char *folder, struct err *e);
/* Whether a run's folder has such a copy: its config alone does not say what comes of it. */
bool start_is_kept(const char *folder);
/* Sets the values of a run that was just begun, where its folder has such a copy; says in its log what it took.  The
 * head's rows go to the classes of their names; where one has none, or modules say whose values they begin with, the head
 * stays as it is.  ERR_USAGE for such a module without a copy. */
int start_take(struct run *r, const char *folder, struct err *e);

#endif
