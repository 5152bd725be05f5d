/* ATTEMPT (Asai et al. 2022): a prompt that is made for each row, of the method's own and of prompts that
 * other runs trained, which are held still (source fusion).  With x the maximum over the row's words, p_j
 * that over prompt j's rows,
 *
 *   H = LN(W_u silu(W_d x)),  a = softmax_j(p_j · H / T),  P = P_own + Σ_j a_j P_j   (the own one is among
 * them)
 *
 * Private to core/method. */
#ifndef CORE_METHOD_ATTEMPT_H
#define CORE_METHOD_ATTEMPT_H

#include "core/method/build.h"
#include "core/method/network.h"

extern const struct network attempt_network;

/* Why the method cannot be, or NULL; *module: whose fault it is, -1: the whole. */
const char *attempt_fault(const struct method *m, int *module);
/* Whether the module is a prompt of another run's, held still. */
bool attempt_is_source(const struct module *m);

void attempt_plan(struct build *b);
bool attempt_is_own(const struct plan_tensor *t);
void attempt_init(const struct plan_tensor *t, struct rng_key key, real *out);

/* The rows of each sequence, one below another.  prompt: the others', and last the method's own, all l×d;
 * leaf: of the plan's tensors. */
node attempt_rows(struct tape *t, const struct plan *p, const node *leaf, node words,
                  const struct tape_rows *tokens, const node *prompt, int prompts);

/* "a = softmax_j(…)"; caller frees. */
char *attempt_formula(const struct method *m);

#endif
