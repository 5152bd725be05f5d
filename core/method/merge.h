/* A merge in progress, for the files of functions. Private to core/method. */
#ifndef CORE_METHOD_MERGE_H
#define CORE_METHOD_MERGE_H

#include "core/method/slots.h"

struct merge {
    const struct plan *p;
    const struct model *m;
    const real *params;
    real **out; /* one per model tensor */
};

/* A layer of a module's span. */
struct merge_at {
    int module, stack, site, layer;
};

/* Returns the trained values of a slot there, or NULL. */
const real *merge_values(const struct merge *x, const struct merge_at *at, enum slot slot);
/* Returns the merged copy of a model tensor, to be modified; NULL with *e if out of memory. */
real *merge_copy(struct merge *x, int tensor, struct err *e);
/* Returns the index of the model's tensor of a role there, or -1. */
int merge_tensor(const struct merge *x, const struct merge_at *at, enum tensor_role role);
/* Returns the module's scale: s, the learned one, or 1. */
double merge_scale(const struct merge *x, const struct merge_at *at);

/* A low-rank change: up (out×r) with optional factors of its rows and columns (NULL: none), and down (r×in,
 * with row stride `cols`; 0: in). */
struct merge_change {
    const real *up, *outer, *inner, *down;
    int cols;
};
/* Adds s · diag(outer) up diag(inner) down to the map that the module writes. */
int merge_low(struct merge *x, const struct merge_at *at, const struct merge_change *change, struct err *e);
/* A function's `unmergeable`: only changes of one map can be merged. */
const char *merge_of_maps(const struct plan *p, const struct module *m);

#endif
