/* Target texts: decoder inputs, labels and loss weights of tokens. The decoder reads the start token, then
 * the target without its last token; mBART starts with the target's last token, which is the language. */
#ifndef CORE_TRAIN_CONFIG_TARGET_H
#define CORE_TRAIN_CONFIG_TARGET_H

#include "core/data/dataset.h"
#include "core/model/model.h"
#include "core/train/config/config.h"

/* Totals over the examples of a step, by which its loss is averaged. */
struct target_count {
    size_t rows, tokens, longest;
};
void target_count_row(struct target_count *c, const struct dataset *d, uint32_t row);
size_t target_length(const struct dataset *d, uint32_t row);

/* The weight of each target token of a row that has `tokens` of them, so that the weighted sum of
 * the tokens' losses over all rows of the step is
 *   tokens      the mean over its target tokens,
 *   rows        the mean over its rows of each row's mean,
 *   sum         the sum,
 *   positions   the sum over rows × the longest target: the mean over positions as a padded batch
 *               has them, where the padded ones count 0. */
double target_weight(enum loss_mean mean, const struct target_count *of, size_t tokens);

/* Returns whether the decoder starts with the target's last token (mBART: the language) instead of a start
 * token. */
bool target_begins_with_last(const struct arch *arch);

#endif
