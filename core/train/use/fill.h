/* Words for the masks of a text, by a predictor that guesses masked words. */
#ifndef CORE_TRAIN_USE_FILL_H
#define CORE_TRAIN_USE_FILL_H

#include "core/train/use/predict.h"

struct filled_word {
    int32_t id;
    double probability;
};
struct filled {
    int masks;     /* in the order of the text */
    int words;     /* of each, the likeliest first */
    struct filled_word *word; /* masks × words */
};
/* The `most` likeliest tokens for every [MASK] of a text; filled_release.  ERR_USAGE: the text has none, or
 * one is beyond the longest text; the predictor guesses none (predictor_fills).  ERR_FAILED: a logit is not
 * finite. */
int predictor_fill(struct predictor *p, const char *text, size_t n, int most, struct crew *crew,
                   struct filled *out, struct err *e);
void filled_release(struct filled *f);

#endif
