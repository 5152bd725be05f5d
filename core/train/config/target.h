/* Targets of texts: what the decoder reads and has to predict, and how much each token counts in the
 * loss.  The decoder reads the start token, then the target less its last token; mBART has the
 * target's last token, its language, for a start. */
#ifndef CORE_TRAIN_CONFIG_TARGET_H
#define CORE_TRAIN_CONFIG_TARGET_H

#include "core/data/dataset.h"
#include "core/model/model.h"
#include "core/train/config/config.h"

/* All rows of a step together; what its loss is a mean over. */
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

/* Whether the decoder reads a target's last token first (mBART: its language), and not a start
 * token of its own. */
bool target_begins_with_last(const struct arch *arch);

#endif
