/* A prefix as a gated adapter: the output of one softmax over prefix and tokens, compared with
 * (1 − λ) h + λ Δh computed separately. */
#ifndef CORE_ANALYSIS_GATED_H
#define CORE_ANALYSIS_GATED_H

#include "core/train/use/predict.h"

struct gated_form {
    int heads, tokens;      /* of the first row */
    double *share; /* tokens × heads of the first row: λ, the share of the softmax mass on the prefix */
    double least, most;     /* λ over all rows, tokens and heads */
    double gap; /* largest difference of a value of a.head, as the model computes it, from the gated form */
    double size;            /* the largest |value| there, the reference for the gap */
};

/* Computes the gated form of the examples of d (encoded, at least one) in the encoder's layer `layer` (from
 * 1) with the predictor's method.  h is the softmax over a row's own keys, Δh that over the prefix alone, λ
 * the share of the joint mass, each computed here in double of q, k, v and the prefix's keys and values.
 * ERR_USAGE where no prefix shares that softmax.  gated_form_release. */
int gated_form_of(const struct model *m, const struct predictor *p, const struct dataset *d, int layer,
                  struct gated_form *out, struct err *e);
void gated_form_release(struct gated_form *g);

#endif
