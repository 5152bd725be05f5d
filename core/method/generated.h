/* A head that is made from a few labelled rows, of LEOPARD and those after it: for classes that come with an
 * episode.
 *
 *   of a pooled row p:  f = F_2 tanh(F_1 p + a_1) + a_2,  l = G_2 tanh(G_1 p + b_1) + b_2
 *   of class c:         (w_c, b_c) = the mean of l over the rows of class c that make the head
 *   logits:             f · w_c + b_c
 *
 * The label vectors (w_c, b_c) are then values of their own, which an inner loop adapts.  Private to
 * core/method, but for what attach.h says. */
#ifndef CORE_METHOD_GENERATED_H
#define CORE_METHOD_GENERATED_H

#include "core/method/build.h"
#include "core/method/network.h"

/* Written generated-head(hidden=384, width=256, learn=outer, rates=moving). */
extern const struct network generated_network;

/* Adds the maps to a plan over episodes: "head.feature.W_1" …, kept.  Others have an ordinary head. */
void generated_plan(struct build *b);
/* Start: truncated N(0, 0.02), biases 0. */
void generated_init(struct rng_key key, const struct plan_tensor *t, real *out);

/* Sets which tensors the inner loop adapts at which rate, and which the outer one learns; adds the tensor of
 * the rates where they are learned. */
void learn_plan(struct build *b);

#endif
