/* A plan under construction: the functions with which plan.c and the sources add tensors.  Private to
 * core/method. */
#ifndef CORE_METHOD_BUILD_H
#define CORE_METHOD_BUILD_H

#include "core/method/fn.h"

struct prologue; /* sources.h */

struct build {
    struct plan *p;
    const struct arch *a;
    size_t room, generated_room, example_room;
    char place[64]; /* "enc.3.self/linear.q": set by build_place */
    bool overflow;  /* a sum overflowed */
};

/* Sets the place of the tensors added next: a module in a span, at a layer (-1: all layers). */
void build_place(struct build *b, int module, const struct span *s, int layer);
/* Adds a trained tensor of a module; `blocks`: 1, or the tasks (rows are those of one block). */
void build_own(struct build *b, int module, const struct span *s, int layer, enum slot slot, int blocks,
               int64_t rows, int64_t cols);
/* Adds a tensor that the prologue generates for a slot, of `blocks` blocks with `rows` rows each. */
void build_generated(struct build *b, int module, const struct span *s, int layer, enum slot slot, int blocks,
                     int64_t rows, int64_t cols);
/* Adds a tensor that is generated per example; the sizes are those of one example. */
void build_per_example(struct build *b, int module, const struct span *s, int layer, enum slot slot,
                       int64_t rows, int64_t cols);
/* Adds a tensor of the retriever. */
void build_retriever(struct build *b, enum slot slot, int64_t rows, int64_t cols);
/* Returns a tensor of no module and no layer, of the encoder, which is stored; matrices decay. */
struct plan_tensor build_part(enum plan_kind kind, enum slot slot, int64_t rows, int64_t cols);
/* Adds a tensor under a name; returns its count of values. */
__attribute__((format(printf, 3, 4)))
size_t build_network(struct build *b, struct plan_tensor t, const char *name, ...);
/* Adds the trained tensors of the module's composition at one layer. */
void build_composition(struct build *b, int module, const struct span *s, int layer, int blocks);
/* Adds the slots of a module at one layer as trained tensors; layer -1: one for the whole span. */
void build_slots(struct build *b, int module, const struct span *s, int layer, int blocks);

/* Returns whether two tensors of one role are at the same place of two plans. */
bool build_same_place(const struct plan_tensor *x, const struct plan_tensor *y);

#endif
