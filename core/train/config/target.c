#include "core/train/config/target.h"

#include "core/base/mem.h"

size_t target_length(const struct dataset *d, uint32_t row) {
    return d->target_start[row + 1] - d->target_start[row];
}

void target_count_example(struct target_count *c, const struct dataset *d, uint32_t row) {
    size_t length = target_length(d, row);
    c->examples++;
    c->tokens += length;
    if (length > c->longest) c->longest = length;
}

double target_weight(enum loss_mean mean, const struct target_count *of, size_t tokens) {
    switch (mean) {
    case MEAN_TOKENS: return 1 / (double)of->tokens;
    case MEAN_EXAMPLES: return 1 / ((double)of->examples * (double)tokens);
    case MEAN_SUM: return 1;
    case MEAN_POSITIONS: return 1 / ((double)of->examples * (double)of->longest);
    }
    BUG("unknown loss mean %d", (int)mean);
}

bool target_begins_with_last(const struct arch *arch) {
    return arch->family == FAMILY_MBART || arch->decoder_start < 0;
}
