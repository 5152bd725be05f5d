/* AdapterFusion (Pfeiffer et al. 2021): frozen adapters of other runs, joined at each place by attention over
 * what each makes of the same tokens.
 *
 *   q = Q x + b_q    k_n = K z_n + b_k    a = softmax_n(q · k_n)    Δh = Σ a_n V z_n
 *
 * z_n: Δh of the n-th module of source fusion that writes this tap here, with its s; x: what these modules
 * read.  Where a map is left out the vector itself stands in its place.  The modules keep their values
 * (init=run(N)); Q, K and V are trained, one set at each place.  b_k adds the same to all scores of a token:
 * it is kept, as the library adapters keeps it, and has no gradient. */
#ifndef CORE_METHOD_FUSION_H
#define CORE_METHOD_FUSION_H

#include "core/base/rng.h"
#include "core/engine/tape.h"
#include "core/method/fn.h"
#include "core/method/network.h"

struct build;

/* Written fusion(query=yes, key=yes, value=yes, of=read, residual=after, start=identity, weight=0.01). */
extern const struct network fusion_network;

/* What was made so far of the modules that meet at one place. */
struct fused {
    node z[MIX_MOST];
    int count;
};

/* Why the method cannot be, or NULL: *module is which one of it, -1 for all. */
const char *fusion_fault(const struct method *m, const struct arch *a, int *module);
/* Adds a module's frozen values in one span; and, behind all modules, the maps. */
void fusion_plan_module(struct build *b, int module, const struct span *s);
void fusion_plan(struct build *b);
void fusion_init(const struct method *m, const struct plan_tensor *t, struct rng_key key, real *out);
/* Takes Δh of a module into its place's; with the last of them returns `base` (h, or what stands for it) with
 * what all make, before that what the tap holds. */
node fusion_apply(struct tape *t, const struct use *u, node base, node delta);
/* Σ ‖I − V‖² over all places (Frobenius); its gradient times the fusion's weight is added to grads. */
double fusion_identity(const struct plan *p, const real *params, real *grads);
/* Whether there is such a term of the loss. */
bool fusion_has_identity(const struct method *m);
/* "a = softmax_n((Q x + b_q)·(K z_n + b_k)), Δh = Σ a_n V z_n".  Caller frees. */
char *fusion_formula(const struct method *m);

/* A text whose item fusion(…) says runs=3|5: the runs (at most MIX_MOST) and the text without that key,
 * caller frees; 0: there is none, and *rest is NULL.  ERR_USAGE below 0 for what is no such list. */
int fusion_runs(const char *name, const char *text, int run[MIX_MOST], char **rest, struct err *e);

#endif
