/* A generator (hypernetwork): one network that generates the weights of all modules with source hyper from
 * conditions: the task, its prototype, the layer, the place, the example (Karimi Mahabadi et al. 2021; Ivison
 * and Peters 2022; Zhao et al. 2023).
 *
 *   I(τ, ℓ, p, i) = LN(W_2 relu(W_1 [z_τ; k_τ; g_i; e_ℓ; e_p] + b_1) + b_2),   vec(slot) = A_slot I + a_slot
 *
 * z_τ and k_τ are shared by all stacks; layer and place embeddings, the projection and the heads are separate
 * per stack. If the task is the only condition, all stacks share one projection. There is a set of heads per
 * stack (net=stack), per place in it (net=site) or per layer and place (net=layer). biases=no omits all b and
 * a. A place is one module at one sublayer.
 *
 * Without the condition g_i, the prologue generates the weights once per step and task. g_i is computed from
 * the mean h over the example's tokens: then each shard generates the weights per example, once h is
 * available.
 *
 * A method can have two generators, the second for modules with source hyper2; at most one depends on the
 * example. Private to core/method: hyper.c, and at work hyper_generate.c. */
#ifndef CORE_METHOD_HYPER_H
#define CORE_METHOD_HYPER_H

#include "core/method/build.h"
#include "core/method/network.h"

/* Written hyper(task=64, layer=64, place=64, hidden=128, inner=64, norm=yes, net=stack, start=normal), and
 * prototype=0, instance=none, tap=0, pass=1, biases=yes if they differ from the default. */
extern const struct network hyper_network, hyper2_network;

/* Return the generator that is conditioned on the example, or NULL; whether there is one; whether it
 * generates the module. */
const struct hyper *hyper_with_example(const struct method *m);
bool hyper_per_example(const struct method *m);
bool hyper_is_per_example(const struct method *m, int module);
/* Return the encoder layer of h, 0: the output; the width of the example's condition. */
int hyper_tap(const struct method *m);
int hyper_example_width(const struct method *m, const struct arch *a);
bool hyper_one_projection(const struct hyper *h);
/* Returns the generator whose prototypes (or else task embeddings) a prototype loss uses; -1: none. */
int hyper_of_prototypes(const struct method *m);
/* Returns the plan's list with the values of generator g: generated tensors, or per-example ones. The list
 * can contain others too. */
struct plan_generated *hyper_values(const struct plan *p, int g, int *n);
bool hyper_generates(const struct plan *p, int g, const struct plan_generated *of);

/* Adapts a method to this model. If it generates modules of a decoder and the model has only an encoder,
 * the lower half of the encoder is treated as the encoder and the upper half as the decoder, and example
 * vectors are read at the output of the lower half unless a tap is set. Returns whether this applies. */
bool hyper_fit(struct method *m, const struct arch *a);

/* Returns why the generators are invalid on this model, or NULL: static text, and the rule. */
const char *hyper_fault(const struct method *m, const struct arch *a, const char **rule);

/* Adds the generators' tensors, after the generated tensors of the modules, and numbers the latter. */
void hyper_plan(struct build *b);
void hyper_init(const struct plan *p, const struct plan_tensor *t, struct rng_key key, real *out);

/* Generates all values of generator g into x->generated[…]. */
void hyper_generate(const struct prologue *x, int g);

/* Values generated per example. A stack's values of one slot are in one matrix, in which the blocks of each
 * layer and place are concatenated: those of row i are block first + i of `blocks`. */
struct example_value {
    node value;
    int first, blocks;
};
/* Generates the values of a stack into value[…], in the order of the plan's example_tensor. leaf: leaves of
 * the plan's tensors; h: one vector per row (rows × hyper_example_width), task[i]: the task of row i. */
void hyper_generate_per_example(const struct plan *p, struct tape *t, const node *leaf, int stack, node h,
                                const int *task, struct example_value *value);

#endif
