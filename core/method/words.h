/* A masked-word head as in BERT: for a token's vector h
 *
 *   t = LN(act(h W + b))    logits = t Eᵀ + c
 *
 * with the word embeddings E of the model, tied, and a bias c for each token. Private to core/method; the
 * public part is in attach.h. */
#ifndef CORE_METHOD_WORDS_H
#define CORE_METHOD_WORDS_H

#include "core/base/rng.h"
#include "core/method/build.h"

/* Adds its tensors to a plan: "head.words.weight" …, stored. */
void words_plan(struct build *b);
/* Initializes from the model's head if it has one, else from N(0, 0.02), biases 0, the norm's weight 1. */
void words_init(struct rng_key key, const struct model *m, const struct plan_tensor *t, real *out);

#endif
