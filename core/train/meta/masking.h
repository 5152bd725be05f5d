/* Masked language modeling (BERT, Devlin et al. 2019): about 15% of the words of each example are selected
 * for prediction; 80% of their tokens are replaced by the mask, 10% by a random token, and 10% are unchanged.
 * The selection is a pure function of the key and the example.
 *
 * In masking.c; scores in masked_score.c. */
#ifndef CORE_TRAIN_META_MASKING_H
#define CORE_TRAIN_META_MASKING_H

#include "core/base/rng.h"
#include "core/method/attach.h"

struct masking;
/* Creates the masking of a model. whole: all tokens of a word are selected together. ERR_USAGE for a model
 * without support for masked language modeling, or without a tokenizer or mask token. */
struct masking *masking_new(const struct model *m, bool whole, struct err *e);
void masking_free(struct masking *k);
/* Returns the id of the mask token, or -1. */
int32_t masking_token(const struct tokenizer *t);

/* A token to predict: its position in the example, and the token that replaces it. */
struct masked {
    uint32_t at;
    int32_t put;
};
/* Writes the selected tokens to `out` (room for n) by position and returns their number: 15% of the n tokens
 * without special and unknown ones, rounded, but at least one if there is any. */
size_t masking_draw(const struct masking *k, struct rng_key key, const int32_t *ids, size_t n,
                    struct masked *out);

/* Returns the key of an example in a step; evaluations use step 0 and seed 0, training steps count from 1. */
struct rng_key masking_key(uint64_t seed, uint64_t step, uint64_t row_id);
/* Masks the examples of a packed batch, whose loss is the mean over the `all` masked tokens of the step. */
void masking_apply(const struct masking *k, struct arena *memory, struct batch *b, uint64_t seed,
                   uint64_t step, double all);
/* Returns the encoder outputs at the masked tokens of the batch. */
node masking_rows(struct forward *f, node encoded);

/* Scoring of a split, in fixed chunks that any worker may process; the masks are the same in every evaluation
 * of every run. */
struct masked_scoring {
    const struct masking *masking; /* borrowed */
    const struct dataset *data;
    int chunks;
    uint32_t *order, *first; /* as in struct scoring */
    double *loss;            /* per example: Σ −log p of the masked tokens */
    uint32_t *masks, *right; /* per example: number of masked tokens, and of those with the highest
                              * probability */
};
void masked_scoring_init(struct masked_scoring *s, const struct masking *k, const struct dataset *d);
void masked_scoring_release(struct masked_scoring *s);
int64_t masked_scoring_examples(const struct masked_scoring *s, int chunk);
/* Scores a chunk. Returns false for NaN or infinite logits; *bad is then the number of the first such row in
 * its file. */
bool masked_scoring_chunk(struct masked_scoring *s, int chunk, struct tape *tape, struct arena *arena,
                          struct attach *attach, const struct model *m, const real *params,
                          const real *generated, uint64_t *bad);
/* Computes the metrics: loss is the mean over masked tokens, accuracy the share of them with the highest
 * probability; release with metrics_release. */
struct metrics;
void masked_scoring_metrics(const struct masked_scoring *s, struct metrics *out);

#endif
