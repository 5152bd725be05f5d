/* Reparameterizations of the rows of a prompt (fn_prompt.c), and their initial values (prompt_start.c):
 *
 *   mlp(h)      E → Linear(d, h) → φ → Linear(h, h) → φ → Linear(h, d)
 *   lstm(h)     E → two layers of an LSTM, h each way → Linear(2h, 2h) → relu → Linear(2h, d)
 *   product(k)  P ⊙ (u_τ v_τ), P shared by all tasks, u_τ of l×k and v_τ of k×d separate per task
 *
 * as in PEFT: the first two are its P_TUNING, the third its MULTITASK_PROMPT_TUNING.  Private
 * to core/method. */
#ifndef CORE_METHOD_PROMPT_ROWS_H
#define CORE_METHOD_PROMPT_ROWS_H

#include "core/method/build.h"
#include "core/method/count.h"

enum { PROMPT_LSTM_LAYERS = 2 };

/* Returns the number of stored rows of one prompt: twice its length if the other half is for a decoder. */
int prompt_rows_kept(const struct module *m, const struct arch *a);

/* For the tensors SLOT_LSTM …: return the name, "W_ih.0", or "W_ih.0r" in the reverse direction; whether it
 * is a bias. */
const char *prompt_lstm_name(enum slot slot);
bool prompt_lstm_is_bias(enum slot slot);

void prompt_rows_plan(struct build *b, int module, const struct span *s);
int prompt_rows_make(const struct prologue *x);
/* Adds the terms of the trained parameters from which the rows are computed. */
void prompt_rows_terms(struct terms *t, const struct plan *p, const struct module *m, const struct arch *a);

/* Initializes rows from the model's embeddings (init_is_of_rows): `blocks` prompts, concatenated, into
 * out. */
void prompt_rows_start(const struct module *m, const struct plan_tensor *t, const struct model *model,
                       const struct plan_words *words, struct rng_key key, real *out);

#endif
