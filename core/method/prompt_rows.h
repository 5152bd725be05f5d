/* What stands behind the rows of a prompt (fn_prompt.c) where they are not trained as they are, and where
 * they start (prompt_start.c):
 *
 *   mlp(h)      E → Linear(d, h) → φ → Linear(h, h) → φ → Linear(h, d)
 *   lstm(h)     E → two layers of an LSTM, h each way → Linear(2h, 2h) → relu → Linear(2h, d)
 *   product(k)  P ⊙ (u_τ v_τ), one P for all tasks, u_τ of l×k and v_τ of k×d each task's
 *
 * the first two as the library PEFT has them (its P_TUNING), the third its MULTITASK_PROMPT_TUNING.  Private
 * to core/method. */
#ifndef CORE_METHOD_PROMPT_ROWS_H
#define CORE_METHOD_PROMPT_ROWS_H

#include "core/method/build.h"
#include "core/method/count.h"

enum { PROMPT_LSTM_LAYERS = 2 };

/* Rows of one prompt as it is kept: twice its length where the other half stands for a decoder's. */
int prompt_rows_kept(const struct module *m, const struct arch *a);

/* Of the tensors SLOT_LSTM …: "W_ih.0", of the way back "W_ih.0r"; whether it is a bias. */
const char *prompt_lstm_name(enum slot slot);
bool prompt_lstm_is_bias(enum slot slot);

void prompt_rows_plan(struct build *b, int module, const struct span *s);
int prompt_rows_make(const struct making *x);
/* The arithmetic of what is trained behind the rows. */
void prompt_rows_terms(struct terms *t, const struct plan *p, const struct module *m, const struct arch *a);

/* Rows that start from the model's words (init_is_of_rows): `blocks` prompts one above another into out. */
void prompt_rows_start(const struct module *m, const struct plan_tensor *t, const struct model *model,
                       const struct plan_words *words, struct rng_key key, real *out);

#endif
