/* AdapterFusion (Pfeiffer et al. 2021): frozen adapters of other runs, joined at each place by attention over
 * their outputs for the same tokens.
 *
 *   q = Q x + b_q    k_n = K z_n + b_k    a = softmax_n(q · k_n)    Δh = Σ a_n V z_n
 *
 * z_n: Δh of the n-th module of source fusion that writes this tap here, with its s; x: what these modules
 * read.  Without a map the vector itself is used. The modules are frozen with the
 * parameters of their runs (init=run(N)); Q, K and V are trained, one set at each place.  b_k adds the same
 * to all scores of a token: it is stored, as in the adapters library, and has no gradient. */
#ifndef CORE_METHOD_FUSION_H
#define CORE_METHOD_FUSION_H

#include "core/base/rng.h"
#include "core/engine/tape.h"
#include "core/method/fn.h"
#include "core/method/network.h"

struct build;

/* Written fusion(query=yes, key=yes, value=yes, of=read, residual=after, start=identity, weight=0.01). */
extern const struct network fusion_network;

/* The outputs so far of the modules at one place. */
struct fused {
    node z[MIX_MOST];
    int count;
};

/* Returns why the method is invalid, or NULL; sets *module to the module concerned, -1 for the whole
 * method. */
const char *fusion_fault(const struct method *m, const struct arch *a, int *module);
/* Add a module's frozen parameters in one span and, after all modules, the maps. */
void fusion_plan_module(struct build *b, int module, const struct span *s);
void fusion_plan(struct build *b);
void fusion_init(const struct method *m, const struct plan_tensor *t, struct rng_key key, real *out);
/* Adds Δh of a module to those of its place. For the last module of the place returns `base` (h, or its
 * substitute) plus the result of the fusion; before that the current value of the tap. */
node fusion_apply(struct tape *t, const struct use *u, node base, node delta);
/* Returns Σ ‖I − V‖² over all places (Frobenius); adds its gradient, times the fusion's weight, to grads. */
double fusion_identity(const struct plan *p, const real *params, real *grads);
/* Returns whether the method has this loss component. */
bool fusion_has_identity(const struct method *m);
/* Returns the formula, "a = softmax_n((Q x + b_q)·(K z_n + b_k)), Δh = Σ a_n V z_n". The caller frees it. */
char *fusion_formula(const struct method *m);

/* Reads runs=3|5 of the item fusion(…) of a text: sets the runs (at most MIX_MOST) and *rest, the text
 * without this key, which the caller frees. Returns their number; 0 without the key, with *rest NULL; a
 * negative value (ERR_USAGE) for an invalid list. */
int fusion_runs(const char *name, const char *text, int run[MIX_MOST], char **rest, struct err *e);

#endif
