/* Attention of one row: what each head of a layer looks at, as the model computes it. */
#ifndef CORE_ANALYSIS_ATTENTION_H
#define CORE_ANALYSIS_ATTENTION_H

#include "core/train/use/predict.h"

struct attention_map {
    int heads, tokens;
    int joined, joined_at; /* of the tokens those that a method joined to the row (a prompt's), and the place
                              of the first */
    int extra;   /* keys that a method puts before the tokens (a prefix); their columns come first */
    double *p;   /* heads × tokens × (extra + tokens): shares, each line's sum is 1 */
};

/* Row `row` of d (encoded) at layer 1…encoder_layers, without dropout: of the model as it is, or
 * with a predictor's method (NULL: none).  On the caller's thread.  ERR_FAILED when a share is not
 * finite; *out is then empty.  attention_map_release frees. */
int attention_of_row(const struct model *m, const struct predictor *p, const struct dataset *d, size_t row,
                     int layer, struct attention_map *out, struct err *e);
void attention_map_release(struct attention_map *a);

#endif
