/* Masked words (BERT, Devlin et al. 2019): of each row's words some 15 % are drawn to be guessed; of their
 * tokens 80 % become the mask, 10 % any token, 10 % stay.  What is drawn is a pure function of the key and
 * the row, whoever packs it.
 *
 * In masking.c; scores in masked_score.c. */
#ifndef CORE_TRAIN_META_MASKING_H
#define CORE_TRAIN_META_MASKING_H

#include "core/base/rng.h"
#include "core/method/attach.h"

struct masking;
/* whole: words of several tokens are drawn as one.  ERR_USAGE, with what would be right: a model that petri
 * does not mask words for (masking_fits), or one without a tokenizer or mask token. */
struct masking *masking_new(const struct model *m, bool whole, struct err *e);
void masking_free(struct masking *k);
/* The mask's token, or -1. */
int32_t masking_token(const struct tokenizer *t);

/* A token to be guessed: where it stands in its row, and what stands there in its place. */
struct masked {
    uint32_t at;
    int32_t put;
};
/* Fills out (room for n) in rising order and returns how many: 15 % of the row's n tokens but special and
 * unknown ones, rounded, and one at least where there is any. */
size_t masking_draw(const struct masking *k, struct rng_key key, const int32_t *ids, size_t n,
                    struct masked *out);

/* The key of a row in a step; evaluations take step 0 of seed 0, steps count from 1. */
struct rng_key masking_key(uint64_t seed, uint64_t step, uint64_t row_id);
/* Masks the rows of a batch that was just packed, whose loss is the mean over `all` tokens (of the whole
 * step). */
void masking_apply(const struct masking *k, struct arena *memory, struct batch *b, uint64_t seed,
                   uint64_t step, double all);
/* The encoder's rows of the batch's masked tokens. */
node masking_rows(struct forward *f, node encoded);

/* Scoring a split: in fixed chunks that any worker may take, each row's masks the same at every evaluation of
 * every run. */
struct masked_scoring {
    const struct masking *masking; /* borrowed */
    const struct dataset *data;
    int chunks;
    uint32_t *order, *first; /* as struct scoring */
    double *loss;            /* rows: Σ −log p of the masked tokens */
    uint32_t *masks, *right; /* rows: how many there are, and how many are the likeliest */
};
void masked_scoring_init(struct masked_scoring *s, const struct masking *k, const struct dataset *d);
void masked_scoring_release(struct masked_scoring *s);
int64_t masked_scoring_rows(const struct masked_scoring *s, int chunk);
/* False when a logit is not finite; *bad is then the first such row's number in its file. */
bool masked_scoring_chunk(struct masked_scoring *s, int chunk, struct tape *tape, struct arena *arena,
                          struct attach *attach, const struct model *m, const real *params, const real *made,
                          uint64_t *bad);
/* The loss is the mean over masked tokens, the accuracy the share of them that is the likeliest;
 * metrics_release. */
struct metrics;
void masked_scoring_metrics(const struct masked_scoring *s, struct metrics *out);

#endif
