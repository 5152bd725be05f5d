#include "core/train/target.h"

#include "core/base/mem.h"

static size_t length_of(const struct dataset *d, uint32_t row) {
    return d->target_start[row + 1] - d->target_start[row];
}

struct target_count target_count(const struct dataset *d, const uint32_t *rows, int n) {
    struct target_count c = { .rows = (size_t)n };
    for (int i = 0; i < n; i++) {
        size_t length = length_of(d, rows[i]);
        c.tokens += length;
        if (length > c.longest) c.longest = length;
    }
    return c;
}

double target_weight(enum loss_mean mean, const struct target_count *of, size_t tokens) {
    switch (mean) {
    case MEAN_TOKENS: return 1 / (double)of->tokens;
    case MEAN_ROWS: return 1 / ((double)of->rows * (double)tokens);
    case MEAN_SUM: return 1;
    case MEAN_POSITIONS: return 1 / ((double)of->rows * (double)of->longest);
    }
    BUG("mean %d", (int)mean);
}

bool target_begins_with_last(const struct arch *arch) {
    return arch->family == FAMILY_MBART || arch->decoder_start < 0;
}

void target_pack(struct batch *b, struct arena *a, const struct arch *arch, const struct dataset *d,
                 const uint32_t *rows, int n, enum loss_mean mean, const struct target_count *of) {
    size_t tokens = target_count(d, rows, n).tokens;
    BUG_IF(b->rows != n);
    b->target_tokens = (int)tokens;
    b->target_in = arena_keep(a, tokens * sizeof *b->target_in);
    b->target_positions = arena_keep(a, tokens * sizeof *b->target_positions);
    b->target_out = arena_keep(a, tokens * sizeof *b->target_out);
    b->target_weight = arena_keep(a, tokens * sizeof *b->target_weight);
    b->target_start = arena_keep(a, ((size_t)n + 1) * sizeof *b->target_start);
    int at = 0;
    for (int i = 0; i < n; i++) {
        const int32_t *ids = d->target_ids + d->target_start[rows[i]];
        size_t length = length_of(d, rows[i]);
        BUG_IF(!length);
        int32_t start = target_begins_with_last(arch) ? ids[length - 1] : arch->decoder_start;
        double weight = of ? target_weight(mean, of, length) : 0;
        b->target_start[i] = at;
        for (size_t j = 0; j < length; j++, at++) {
            b->target_in[at] = j ? ids[j - 1] : start;
            b->target_positions[at] = (int32_t)j;
            b->target_out[at] = ids[j];
            b->target_weight[at] = (real)weight;
        }
    }
    b->target_start[n] = at;
}
