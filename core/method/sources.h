/* Sources: who makes the values of a module's slots (W_d, b_d, W_u, P_k, l, …).  One row a source: what
 * it trains, what it makes of that, and when.  A slot's node is asked for by module, place and slot
 * (attach.c); who made it is nobody else's business.  Private to core/method. */
#ifndef CORE_METHOD_SOURCES_H
#define CORE_METHOD_SOURCES_H

#include "core/engine/tape.h"
#include "core/method/build.h"

enum source_when {
    SOURCE_IN_PLACE, /* what is trained is the value */
    SOURCE_PROLOGUE, /* made once a step from what is trained */
};

/* A prologue under way: `of`, made tensor `first` of the plan, is next. */
struct making {
    const struct plan *p;
    const struct model *m;
    struct tape *t;
    const real *params;
    real *grads; /* NULL: none */
    node *made;  /* of each made tensor */
    int first;
    const struct plan_made *of;
};

struct source_row {
    enum source_when when;
    bool over_layers; /* one for all layers of a span */
    bool by_task;     /* a block of rows for each task */
    bool in_training; /* what is trained is needed for training alone; what it makes is kept */
    /* Adds what it trains and makes for a module in one span. */
    void (*plan)(struct build *b, int module, const struct span *s);
    /* SOURCE_PROLOGUE: makes the tensors that were planned together, from x->first on, into
     * x->made[first …]; returns the first one that is not among them. */
    int (*make)(const struct making *x);
};
const struct source_row *source_row(enum source s);

/* A tensor's values in the flat block as a leaf of a tape; without `grads` it is frozen. */
node source_leaf(struct tape *t, const struct plan_tensor *x, const real *params, real *grads);
/* The tensor of a slot that x->of is made of. */
node making_leaf(const struct making *x, enum slot slot);

#endif
