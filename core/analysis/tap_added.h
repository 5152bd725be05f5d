/* What a method adds to the values at the taps that it writes: Δh, layer by layer. */
#ifndef CORE_ANALYSIS_TAP_ADDED_H
#define CORE_ANALYSIS_TAP_ADDED_H

#include "core/train/use/predict.h"

struct tap_added_layer {
    double largest;    /* max|Δh| over rows, tokens, values and the taps written there; 0 where nothing is */
    double added, was; /* Σ Δh² and Σ h² over the same: |Δh|/|h| is the root of their ratio */
};
struct tap_added {
    int layers;                 /* of the encoder */
    struct tap_added_layer *layer;
};

/* Of the rows of d (encoded, at least one) through the encoder with the predictor's method, without dropout:
 * at each tap what the model goes on with less what it computed, both stages of a tap apart.  Keys of a
 * prefix and changed weights write no tap.  The same for any number of workers.  ERR_FAILED where a value is
 * not finite; *out is then empty. tap_added_release. */
int tap_added(const struct model *m, const struct predictor *p, const struct dataset *d, struct crew *crew,
              struct tap_added *out, struct err *e);
void tap_added_release(struct tap_added *a);

#endif
