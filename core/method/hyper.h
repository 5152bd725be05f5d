/* The generator: one network that makes the values of all modules whose source is hyper, for each task, layer
 * and place (Karimi Mahabadi et al. 2021; Zhao et al. 2023).
 *
 *   I(τ, ℓ, p) = LN(W_2 relu(W_1 [z_τ; e_ℓ; e_p] + b_1) + b_2),   vec(slot) = A_slot I + a_slot
 *
 * z_τ is of all stacks; layer and place embeddings, the projection and the heads are a stack's own.  With the
 * task alone for a condition one projection serves all.  Of heads there is a set for
 * a stack (net=stack), for each place in it (net=site) or for each layer and place (net=layer).  biases=no leaves
 * out all of b and a.  A place is one module at one sublayer.  Private to core/method. */
#ifndef CORE_METHOD_HYPER_H
#define CORE_METHOD_HYPER_H

#include "core/method/build.h"
#include "core/method/network.h"

/* Written hyper(task=64, layer=64, place=64, hidden=128, inner=64, norm=yes, net=stack, start=normal, biases=yes). */
extern const struct network hyper_network;

/* What makes the generator impossible on this model, or NULL: static text. */
const char *hyper_fault(const struct method *m, const struct arch *a);

/* Adds its tensors, once the modules' made ones are there. */
void hyper_plan(struct build *b);
void hyper_init(const struct plan *p, const struct plan_tensor *t, struct rng_key key, real *out);
/* Makes all values of source hyper into made[…] on a tape. */
void hyper_make(const struct plan *p, struct tape *t, const real *params, real *grads, node *made);

#endif
