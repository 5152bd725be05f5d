/* The retriever: one vector per example, from the encoder's output, for contrastive losses over the whole
 * batch.
 *
 *   h = the mean over the example's tokens of the encoder's output (of its layer `tap`),  z = W_2 relu(W_1 h
 * + b_1) + b_2
 *
 * or z = h with width 0 (PHA's ablation without a retriever).  Private to core/method, except retrieve(). */
#ifndef CORE_METHOD_RETRIEVER_H
#define CORE_METHOD_RETRIEVER_H

#include "core/method/build.h"
#include "core/method/network.h"

/* Written retriever(hidden=128, width=64, instance=supcon, prototype=none, weight=0.1, temperature=0.1,
 * tap=0). */
extern const struct network retriever_network;

/* Returns the width of its vectors on this model. */
int retriever_width(const struct retriever *r, const struct arch *a);

/* Adds its tensors to a plan: "retriever.W_1" …, stored. */
void retriever_plan(struct build *b);
/* Initializes from U(−1/√in, 1/√in), biases too, as PyTorch's linear layers. */
void retriever_init(struct rng_key key, const struct plan_tensor *t, int in, real *out);

#endif
