/* A head generated from a few labeled examples, as in LEOPARD and its successors: for the classes of an
 * episode.
 *
 *   for a pooled row p:  f = F_2 tanh(F_1 p + a_1) + a_2,  l = G_2 tanh(G_1 p + b_1) + b_2
 *   for class c:         (w_c, b_c) = the mean of l over the support examples of class c
 *   logits:             f · w_c + b_c
 *
 * The label vectors (w_c, b_c) are then parameters, which an inner loop adapts. Private to core/method; the
 * public part is in attach.h. */
#ifndef CORE_METHOD_GENERATED_H
#define CORE_METHOD_GENERATED_H

#include "core/method/build.h"
#include "core/method/network.h"

/* Written generated-head(hidden=384, width=256, learn=outer, rates=moving). */
extern const struct network generated_network;

/* Adds the maps to a meta-training plan: "head.feature.W_1" …, stored. Other plans have an ordinary head. */
void generated_plan(struct build *b);
/* Initializes from truncated N(0, 0.02), biases 0. */
void generated_init(struct rng_key key, const struct plan_tensor *t, real *out);

/* Sets which tensors the inner loop adapts, with which rate, and which the outer loop trains; adds the
 * tensor of the rates if they are learned. */
void learn_plan(struct build *b);

#endif
