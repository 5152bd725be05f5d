/* Mean of the weights that a hypernetwork generates per example. */
#ifndef CORE_ANALYSIS_MADE_H
#define CORE_ANALYSIS_MADE_H

#include "core/train/use/predict.h"

/* Computes the mean over the examples of d (encoded, at least one) of each value that the predictor's method
 * generates per example, for its current task: the plan's example tensors concatenated, *out (caller frees).
 * The result does not depend on the number of workers. ERR_FAILED if a value is NaN or infinite; *out is then
 * NULL. */
int generated_mean(const struct model *m, const struct predictor *p, const struct dataset *d,
                  struct crew *crew, real **out, struct err *e);
/* Returns the number of these values. */
size_t generated_per_example(const struct plan *p);

#endif
