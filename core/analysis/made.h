/* Mean of the weights that a hypernetwork generates per example. */
#ifndef CORE_ANALYSIS_MADE_H
#define CORE_ANALYSIS_MADE_H

#include "core/train/use/predict.h"

/* The mean over the rows of d (encoded, at least one) of each value that the predictor's method makes for a
 * row, its task in use: the plan's example_tensor one behind another, *out (caller frees).  The same for any
 * number of workers. ERR_FAILED where one is not finite; *out is then NULL. */
int made_for_rows(const struct model *m, const struct predictor *p, const struct dataset *d,
                  struct crew *crew, real **out, struct err *e);
/* How many these are. */
size_t generated_per_example(const struct plan *p);

#endif
