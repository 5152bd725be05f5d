/* A merge under way, for the functions' files.  Private to core/method. */
#ifndef CORE_METHOD_MERGE_H
#define CORE_METHOD_MERGE_H

#include "core/method/slots.h"

struct merge {
    const struct plan *p;
    const struct model *m;
    const real *params;
    real **out; /* one a model tensor */
};

/* A layer of a module's span. */
struct merge_at {
    int module, stack, site, layer;
};

/* The trained values of a slot there, or NULL. */
const real *merge_values(const struct merge *x, const struct merge_at *at, enum slot slot);
/* The merged copy of a model tensor, to be changed; NULL with *e without memory. */
real *merge_copy(struct merge *x, int tensor, struct err *e);
/* The index of the model's tensor of a role there, or -1. */
int merge_tensor(const struct merge *x, const struct merge_at *at, enum tensor_role role);
/* The module's scale: s, the learned one, or 1. */
double merge_scale(const struct merge *x, const struct merge_at *at);

/* A change of low rank: up (out×r) with factors of its rows and of its columns (NULL: none), and down (r×in,
 * `cols` from one row to the next; 0: in). */
struct merge_change {
    const real *up, *outer, *inner, *down;
    int cols;
};
/* Adds s · diag(outer) up diag(inner) down to the map that the module writes. */
int merge_low(struct merge *x, const struct merge_at *at, const struct merge_change *change, struct err *e);
/* A function's `unmergeable`: only changes of one map can be folded. */
const char *merge_of_maps(const struct plan *p, const struct module *m);

#endif
