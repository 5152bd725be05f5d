/* ATTEMPT (Asai et al. 2022): a prompt generated per example from a trainable prompt and frozen prompts of
 * other runs (source fusion). With x the maximum over the example's token embeddings and p_j the maximum over
 * the rows of prompt j,
 *
 *   H = LN(W_u silu(W_d x)),  a = softmax_j(p_j · H / T),  P = P_own + Σ_j a_j P_j   (P_own is among them)
 *
 * Private to core/method. */
#ifndef CORE_METHOD_ATTEMPT_H
#define CORE_METHOD_ATTEMPT_H

#include "core/method/build.h"
#include "core/method/network.h"

extern const struct network attempt_network;

/* Returns why the method is invalid, or NULL; sets *module to the module concerned, -1 for the whole
 * method. */
const char *attempt_fault(const struct method *m, int *module);
/* Returns whether the module is a frozen prompt of another run. */
bool attempt_is_source(const struct module *m);

void attempt_plan(struct build *b);
bool attempt_is_own(const struct plan_tensor *t);
void attempt_init(const struct plan_tensor *t, struct rng_key key, real *out);

/* Returns the prompt rows of each sequence, concatenated. prompt: the frozen prompts, then the trainable
 * one, all l×d; leaf: leaves of the plan's tensors. */
node attempt_rows(struct tape *t, const struct plan *p, const node *leaf, node words,
                  const struct tape_rows *tokens, const node *prompt, int prompts);

/* Returns the formula, "a = softmax_j(…)"; the caller frees it. */
char *attempt_formula(const struct method *m);

#endif
