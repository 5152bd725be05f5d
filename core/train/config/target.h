/* Target texts: decoder inputs, labels and loss weights of tokens. The decoder reads the start token, then
 * the target without its last token; mBART starts with the target's last token, which is the language. */
#ifndef CORE_TRAIN_CONFIG_TARGET_H
#define CORE_TRAIN_CONFIG_TARGET_H

#include "core/data/dataset.h"
#include "core/model/model.h"
#include "core/train/config/config.h"

/* Totals over the examples of a step, by which its loss is averaged. */
struct target_count {
    size_t examples, tokens, longest;
};
void target_count_example(struct target_count *c, const struct dataset *d, uint32_t row);
size_t target_length(const struct dataset *d, uint32_t row);

/* Returns the weight of each target token of an example with `tokens` of them, by which the weighted sum of
 * token losses over all examples of the step is
 *   tokens      the mean over target tokens,
 *   rows        the mean over examples of each example's mean,
 *   sum         the sum,
 *   positions   the sum divided by examples × the longest target: the mean over the positions of a padded
 *               batch, with loss 0 at padded ones. */
double target_weight(enum loss_mean mean, const struct target_count *of, size_t tokens);

/* Returns whether the decoder starts with the target's last token (mBART: the language) instead of a start
 * token. */
bool target_begins_with_last(const struct arch *arch);

#endif
