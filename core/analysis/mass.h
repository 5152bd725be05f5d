/* The share of attention mass on the keys that a method puts before the tokens. */
#ifndef CORE_ANALYSIS_MASS_H
#define CORE_ANALYSIS_MASS_H

#include "core/train/use/predict.h"

/* Self-attention of the encoder, of the decoder, and its cross-attention: which of them have such keys, layer
 * by layer. */
struct mass_place {
    int stack, site, layer; /* layer from 0 */
};
struct attention_mass {
    int places, heads;
    struct mass_place *at; /* in the order of the model; those of a kind are all there or none */
    double *share; /* places × heads: the mean over rows of the mean over a row's tokens; NaN where the
                    * softmax of a layer has no such keys */
};

/* Whether a method has such keys at an attention of that kind: prefixes that share the tokens' softmax. */
bool attention_has_mass(const struct method *m, int stack, int site);

/* Computes the shares for the examples of d (encoded, at least one) with the predictor's method and current
 * task, without dropout; the decoder reads the targets and is left out if there are none.  A prefix with a
 * separate softmax (composition add or scaled) has no share.  The result does not depend on the number of
 * workers.  ERR_FAILED names the first row whose shares are not finite; *out is then empty.
 * attention_mass_release frees. */
int attention_mass(const struct model *m, const struct predictor *p, const struct dataset *d,
                   struct crew *crew, struct attention_mass *out, struct err *e);
void attention_mass_release(struct attention_mass *a);

#endif
