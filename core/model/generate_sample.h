/* Drawing the next token from logits: temperature, top-k, top-p and min-p, in the order and by the rules of
 * transformers. */
#ifndef CORE_MODEL_GENERATE_SAMPLE_H
#define CORE_MODEL_GENERATE_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/engine/real.h"

struct token_sampling {
    bool on;            /* false: the token with the largest logit is taken */
    double temperature; /* divides the logits; above 0 */
    int top_k;          /* only the k largest logits and those equal to the last of them; 0: all */
    double top_p;       /* only the most probable tokens that together have at least this probability; 1: all */
    double min_p;       /* only tokens at least this probable relative to the best one; 0: all */
    uint64_t seed;
};

/* The tokens that may be drawn, with their probabilities. */
struct sampled {
    struct sampled_token {
        double p;
        int32_t id;
    } *at;
    int count;
    size_t room;
};
void sampled_release(struct sampled *s);

/* Computes the tokens that may be drawn from the logits of ids 0 … n-1, of which the `banned` ids are excluded;
 * count 0 for NaN or infinite logits. */
void sample_tokens(const struct token_sampling *how, const real *logits, int n, const int32_t *banned,
                   int bans, struct sampled *out);
/* Returns the token at u in [0, 1) of the cumulative distribution; -1 when there are none. */
int32_t sample_at(const struct sampled *s, double u);
/* Applies the repetition penalty to the values logits[id] - shift of the ids, into `copy`: a negative value is
 * multiplied by it, others are divided. */
void sample_penalize(double penalty, const real *logits, real shift, const int32_t *ids, int n,
                     real *copy);

#endif
