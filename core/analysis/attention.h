/* Attention of one example: the attention probabilities of each head of a layer, as computed by the model. */
#ifndef CORE_ANALYSIS_ATTENTION_H
#define CORE_ANALYSIS_ATTENTION_H

#include "core/train/use/predict.h"

struct attention_map {
    int heads, tokens;
    int joined, joined_at; /* number of tokens that a method inserts into the sequence (a prompt), and the
                            * position of the first */
    int extra;   /* keys that a method prepends (a prefix); their columns come first */
    double *p;   /* heads × tokens × (extra + tokens): attention probabilities, each row sums to 1 */
};

/* Computes the attention of example `row` of d (encoded) in layer 1…encoder_layers, without dropout: of the
 * model alone in a precision, or with a predictor's method (NULL: none). Runs on the caller's thread.
 * ERR_FAILED when a probability is NaN or infinite; *out is then empty. Freed with attention_map_release. */
int attention_of_row(const struct model *m, const struct predictor *p, enum precision precision,
                     const struct dataset *d, size_t row, int layer, struct attention_map *out,
                     struct err *e);
void attention_map_release(struct attention_map *a);

#endif
