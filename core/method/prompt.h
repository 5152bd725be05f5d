/* Softmax keys and values computed from one prompt per task (HyperPrompt, He et al. 2022):
 *
 *   P_k = relu(P_τ D_k^T) U_k^T,   P_v = relu(P_τ D_v^T) U_v^T,   at every layer
 *
 * P_τ of l×d is the prompt of a task, shared by all layers of a span; D of b×d and U of (H·d_h)×b are
 * separate per layer, and shared by all tasks (prompt-share), separate per task (prompt-sep), or generated
 * per task by the hypernetwork (prompt-global). Private to core/method. */
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

/* Adds the trained and generated tensors of a module of such a source in one span. */
void prompt_plan(struct build *b, int module, const struct span *s);
/* Computes P_k or P_v from the prompts and the two maps, for all tasks (concatenated), or for one if both
 * are. */
node prompt_value(const struct plan *p, struct tape *t, node prompt, node down, node up);
/* Computes one generated tensor whose maps are trained. */
int prompt_make(const struct prologue *x);
/* Returns the slots of the maps of a generated tensor, D then U. */
void prompt_slots(const struct plan_generated *of, enum slot out[2]);

#endif
