/* How much of an encoder's self-attention goes to the keys that a method puts before the tokens. */
#ifndef CORE_ANALYSIS_MASS_H
#define CORE_ANALYSIS_MASS_H

#include "core/train/predict.h"

struct attention_mass {
    int layers, heads;
    double *share; /* layers × heads: the mean over rows of the mean over a row's tokens; NaN where the softmax of a
                    * layer has no such keys */
};

/* Of the rows of d (encoded, at least one) with the predictor's method, its task in use, without dropout.  A prefix
 * with a softmax of its own (composition add or scaled) has no share.  The same for any number of workers.  ERR_FAILED
 * names the first row whose shares are not finite; *out is then empty.  attention_mass_release frees. */
int attention_mass(const struct model *m, const struct predictor *p, const struct dataset *d, struct crew *crew,
                   struct attention_mass *out, struct err *e);
void attention_mass_release(struct attention_mass *a);

#endif
