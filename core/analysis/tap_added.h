/* The change Δh that a method adds to activations at the tap points that it writes, per layer. */
#ifndef CORE_ANALYSIS_TAP_ADDED_H
#define CORE_ANALYSIS_TAP_ADDED_H

#include "core/train/use/predict.h"

struct tap_added_layer {
    double largest;    /* max|Δh| over examples, tokens, channels and tap points; 0 where nothing is
                        * written */
    double added, was; /* Σ Δh² and Σ h² over the same: |Δh|/|h| is the root of their ratio */
};
struct tap_added {
    int layers;                 /* of the encoder */
    struct tap_added_layer *layer;
};

/* Computes the changes for the examples of d (encoded, at least one) in the encoder with the predictor's
 * method, without dropout: at each tap point the output of the method minus its input, separately for both
 * stages of a tap. Keys of a prefix and changed weights write no tap. The result does not depend on the
 * number of workers. ERR_FAILED if a value is NaN or infinite; *out is then empty. Freed with
 * tap_added_release. */
int tap_added(const struct model *m, const struct predictor *p, const struct dataset *d, struct crew *crew,
              struct tap_added *out, struct err *e);
void tap_added_release(struct tap_added *a);

#endif
