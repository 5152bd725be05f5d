/* Fills the masks of a text, by a predictor with a masked language modeling head. */
#ifndef CORE_TRAIN_USE_FILL_H
#define CORE_TRAIN_USE_FILL_H

#include "core/train/use/predict.h"

struct filled_word {
    int32_t id;
    double probability;
};
struct filled {
    int masks;     /* number of masks, in the order of the text */
    int words;     /* tokens per mask, most probable first */
    struct filled_word *word; /* masks × words */
};
/* Writes the `most` most probable tokens for every [MASK] of a text; release with filled_release. ERR_USAGE:
 * the text has no mask or is too long, or the predictor is not a masked language model (predictor_fills).
 * ERR_FAILED: NaN or infinite logits. */
int predictor_fill(struct predictor *p, const char *text, size_t n, int most, struct crew *crew,
                   struct filled *out, struct err *e);
void filled_release(struct filled *f);

#endif
