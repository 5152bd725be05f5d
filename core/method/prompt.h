/* Softmax keys and values made of one prompt a task (HyperPrompt, He et al. 2022):
 *
 *   P_k = relu(P_τ D_k^T) U_k^T,   P_v = relu(P_τ D_v^T) U_v^T,   at every layer
 *
 * P_τ of l×d is a task's own, one for all layers of a span; D of b×d and U of (H·d_h)×b are each layer's, and
 * one for all tasks (prompt-share), each task's (prompt-sep), or made by the generator for each task
 * (prompt-global). Private to core/method. */
#ifndef CORE_METHOD_PROMPT_H
#define CORE_METHOD_PROMPT_H

#include "core/method/build.h"

/* The four maps D_k, U_k, D_v, U_v of a module at one layer. */
enum { PROMPT_MAPS = 4 };
struct prompt_map {
    enum slot slot;
    const char *name;
    int rows, cols;
};
void prompt_maps(const struct module *m, const struct arch *a, struct prompt_map out[PROMPT_MAPS]);

/* Adds what a module of such a source trains and makes in one span. */
void prompt_plan(struct build *b, int module, const struct span *s);
/* Makes P_k or P_v from the prompts and its two maps, of all tasks one above another or (both alike) one for
 * all. */
node prompt_value(const struct plan *p, struct tape *t, node prompt, node down, node up);
/* One made tensor whose maps are trained. */
int prompt_make(const struct making *x);
/* The maps of a made tensor's slot, D then U. */
void prompt_slots(const struct plan_made *of, enum slot out[2]);

#endif
