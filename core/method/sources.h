/* Sources: the origin of the values of a module's slots (W_d, b_d, W_u, P_k, l, …). Each source has a row
 * with the tensors that it trains, what it generates from them, and when. Other code gets a slot's node by
 * module, place and slot (attach.c), independent of the source.  Private to core/method. */
#ifndef CORE_METHOD_SOURCES_H
#define CORE_METHOD_SOURCES_H

#include "core/engine/tape.h"
#include "core/method/build.h"

enum source_when {
    SOURCE_IN_PLACE, /* the trained tensor is the value */
    SOURCE_PROLOGUE, /* generated once per step from trained tensors */
};

/* A prologue in progress: the next tensor is `of`, generated tensor `first` of the plan. */
struct prologue {
    const struct plan *p;
    const struct model *m;
    struct tape *t;
    const real *params;
    real *grads; /* NULL: none */
    node *generated; /* of each generated tensor */
    int first;
    const struct plan_generated *of;
};

struct source_row {
    enum source_when when;
    bool over_layers; /* shared by all layers of a span */
    bool by_task;     /* one block of rows per task */
    bool in_training; /* the trained tensors are needed only for training; the generated ones are stored */
    /* Adds the trained and generated tensors of a module in one span. */
    void (*plan)(struct build *b, int module, const struct span *s);
    /* SOURCE_PROLOGUE: generates the tensors that were planned together, starting at x->first, into
     * x->generated[first …]; returns the index after the last of them. */
    int (*make)(const struct prologue *x);
};
const struct source_row *source_row(enum source s);

/* Returns a tensor of the flat block as a leaf of a tape, frozen if `grads` is NULL. */
node source_leaf(struct tape *t, const struct plan_tensor *x, const real *params, real *grads);
/* Returns the tensor of a slot from which x->of is generated. */
node prologue_leaf(const struct prologue *x, enum slot slot);

#endif
