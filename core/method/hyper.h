/* The generator: one network that makes the values of all modules whose source is hyper, for each task, layer
 * and place (Karimi Mahabadi et al. 2021; Zhao et al. 2023).
 *
 *   I(τ, ℓ, p) = LN(W_2 relu(W_1 [z_τ; e_ℓ; e_p] + b_1) + b_2),   vec(slot) = A_slot I + a_slot
 *
 * z_τ is of all stacks; layer and place embeddings, the projection and the heads are a stack's own.  With the
 * task alone for a condition one projection serves all.  net=layer: a head for each layer and place, else one a
 * stack.  A place is one module at one sublayer.  Private to core/method. */
#ifndef CORE_METHOD_HYPER_H
#define CORE_METHOD_HYPER_H

#include "core/base/buf.h"
#include "core/base/json.h"
#include "core/method/build.h"

/* Text form: hyper(task=64, layer=64, place=64, hidden=128, inner=64, norm=yes, net=stack, start=normal). */
int hyper_set(struct hyper *h, const char *key, const char *value, struct err *e);
void hyper_text(const struct hyper *h, bool full, struct buf *out);
void hyper_json(const struct hyper *h, struct buf *out);
int hyper_from_json(const json_t *o, struct hyper *h, struct err *e);

/* What makes the generator impossible on this model, or NULL: static text. */
const char *hyper_fault(const struct method *m, const struct arch *a);

/* Adds its tensors, once the modules' made ones are there. */
void hyper_plan(struct build *b);
void hyper_init(const struct plan *p, const struct plan_tensor *t, struct rng_key key, real *out);
/* Makes all values of source hyper into made[…] on a tape. */
void hyper_make(const struct plan *p, struct tape *t, const real *params, real *grads, node *made);

#endif
