/* A generator: one network that makes the values of all modules whose source is hyper, from conditions: the
 * task, its prototype, the layer, the place, the row itself (Karimi Mahabadi et al. 2021; Ivison and Peters
 * 2022; Zhao et al. 2023).
 *
 *   I(τ, ℓ, p, i) = LN(W_2 relu(W_1 [z_τ; k_τ; g_i; e_ℓ; e_p] + b_1) + b_2),   vec(slot) = A_slot I + a_slot
 *
 * z_τ and k_τ are of all stacks; layer and place embeddings, the projection and the heads are a stack's own.
 * With the task alone for a condition one projection serves all.  Of heads there is a set for a stack
 * (net=stack), for each place in it (net=site) or for each layer and place (net=layer).  biases=no leaves out
 * all of b and a.  A place is one module at one sublayer.
 *
 * Where no row enters, everything is made once a step for each task, by the prologue.  g_i is of the mean h
 * over the row's tokens: then everything is made in the shard, for each of its rows, when h is there.
 *
 * A method may have two of them, the second of modules whose source is hyper2; a row enters one of them at
 * most. Private to core/method: hyper.c, and at work hyper_make.c. */
#ifndef CORE_METHOD_HYPER_H
#define CORE_METHOD_HYPER_H

#include "core/method/build.h"
#include "core/method/network.h"

/* Written hyper(task=64, layer=64, place=64, hidden=128, inner=64, norm=yes, net=stack, start=normal), and
 * prototype=0, instance=none, tap=0, pass=1, biases=yes where they are not usual. */
extern const struct network hyper_network, hyper2_network;

/* The generator that a row is among the conditions of, or NULL; whether there is one; whether it makes the
 * module. */
const struct hyper *hyper_of_rows(const struct method *m);
bool hyper_by_row(const struct method *m);
bool hyper_makes_rows(const struct method *m, int module);
/* The layer of the encoder that h is of, 0: its output; columns of what enters of a row. */
int hyper_tap(const struct method *m);
int hyper_row_width(const struct method *m, const struct arch *a);
bool hyper_one_projection(const struct hyper *h);
/* The generator whose prototypes, else task embeddings, a prototype loss compares rows with; -1. */
int hyper_of_prototypes(const struct method *m);
/* The plan's list that generator g's values are in: made tensors, or those that are made for each row. Others
 * may be in it too. */
struct plan_made *hyper_values(const struct plan *p, int g, int *n);
bool hyper_made_by(const struct plan *p, int g, const struct plan_made *of);

/* Puts a method into the form that it has on this model.  Where it makes modules of a decoder and the model
 * has an encoder alone, the encoder's lower half stands for the encoder and its upper half for the decoder,
 * and rows' vectors are of the lower one's output unless a tap is said.  Whether that was so. */
bool hyper_fit(struct method *m, const struct arch *a);

/* What makes the generators impossible on this model, or NULL: static text, and the rule. */
const char *hyper_fault(const struct method *m, const struct arch *a, const char **rule);

/* Adds their tensors, once the modules' made ones are there, and numbers these. */
void hyper_plan(struct build *b);
void hyper_init(const struct plan *p, const struct plan_tensor *t, struct rng_key key, real *out);

/* Makes all values of generator g into x->made[…]. */
void hyper_make(const struct making *x, int g);

/* What is made for rows.  A stack's values of one slot stand in one matrix, the rows' blocks of each layer
 * and place one above another: those of row i are block first + i of `blocks`. */
struct row_value {
    node value;
    int first, blocks;
};
/* Makes a stack's into value[…], in the order of the plan's row_tensor.  leaf: of the plan's tensors; h: one
 * vector a row (rows × hyper_row_width), task[i]: the row's. */
void hyper_make_rows(const struct plan *p, struct tape *t, const node *leaf, int stack, node h,
                     const int *task, struct row_value *value);

#endif
