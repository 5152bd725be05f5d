/* ((x A) ⊙ d) B ⊙ b: two vectors of factors around a random projection, which is one for all places and never
 * trained. */
#include <stdio.h>
#include <stdlib.h>

#include "core/base/mem.h"
#include "core/engine/blas.h"
#include "core/method/check.h"
#include "core/method/count.h"
#include "core/method/fn.h"
#include "core/method/merge.h"
#include "core/method/projection.h"

static bool shape_inner(const struct module *m, const struct arch *a, struct slot_shape *out) {
    (void)a;
    *out = (struct slot_shape){ 1, m->size, false };
    return true;
}

static bool shape_outer(const struct module *m, const struct arch *a, struct slot_shape *out) {
    *out = (struct slot_shape){ 1, tap_width(a, m->write), false };
    return true;
}

static const struct function_slot fn_projected_slots[] = {
    { SLOT_INNER, "d", true, START_TENTH, shape_inner },
    { SLOT_OUTER, "b", true, START_ZERO, shape_outer },
    { 0 },
};

/* ---- at work ---- */

/* The first columns of A, or rows of B: it is as wide as the widest map. */
static node columns(struct tape *t, node x, int n) {
    return tape_cols_of(t, x) == n ? x : op_cols(t, x, 0, n);
}
static node first_rows(struct tape *t, node x, int n) {
    return tape_rows_of(t, x) == n ? x : op_rows(t, x, 0, n);
}

static node fn_projected_apply(struct tape *t, const struct use *u) {
    int in = tape_cols_of(t, u->x), out = tape_cols_of(t, u->value);
    node a = columns(t, use_network(u, SLOT_PROJECTION_A), in),
         b = first_rows(t, use_network(u, SLOT_PROJECTION_B), out);
    node x = op_linear(t, use_dropout(t, u, u->x, 0), a, NODE_NONE);
    x = op_channel_scale_groups(t, x, use_slot(u, SLOT_INNER), u->groups);
    x = op_channel_scale_groups(t, op_linear(t, x, b, NODE_NONE), use_slot(u, SLOT_OUTER), u->groups);
    return op_add(t, u->value, x);
}

static const struct function_place fn_projected_places[] = { { "q", TAP_A_Q },
                                                             { "k", TAP_A_K },
                                                             { "v", TAP_A_V },
                                                             { "o", TAP_A_OUT },
                                                             { "w1", TAP_F_PRE },
                                                             { "w2", TAP_F_OUT },
                                                             { 0 } };

/* ---- rules, counts, texts ---- */

static bool fn_projected_check(struct check *c, const struct module *m) {
    for (int i = 0; i < c->at; i++) {
        const struct module *o = &c->m->module[i];
        if (o->fn != m->fn || (o->size == m->size && o->seed == m->seed)) continue;
        ERROR(c, "V72",
              "the projection is one for all places, of one rank and one seed: module %d has r=%d, seed=%d",
              i + 1, o->size, o->seed);
        break;
    }
    if (source_is_hyper(m->source))
        ERROR(c, "V42", "vectors around a projection that a generator makes are not built: use source=task");
    return true;
}

static void fn_projected_terms(struct terms *t, const struct module *m, const struct arch *a) {
    char letters[64];
    snprintf(letters, sizeof letters, "r + %s", terms_letter(a, m->write));
    terms_add(t, letters, "%d + %d", m->size, tap_width(a, m->write));
}

static void fn_projected_formula(const struct module *m, const struct formula_words *w, char out[160]) {
    (void)m;
    snprintf(out, 160, "Δh%s = ((%s A) ⊙ d) B ⊙ b, A and B random and frozen", w->sub, w->x);
}

/* ---- merging ---- */

static const char *fn_projected_unmergeable(const struct plan *p, const struct module *m) {
    (void)p;
    return module_is_map(m)
               ? NULL
               : "vectors around a projection over more than one map have no single weight to go into";
}

/* W += diag(b) B diag(d) A. */
static int fn_projected_merge(struct merge *x, const struct merge_at *at, struct err *e) {
    const struct module *m = &x->p->method.module[at->module];
    int i = merge_tensor(x, at, tap_weight_role(m->write)), rank = m->size;
    const struct tensor_info *t = &x->m->tensor[i];
    const struct plan_tensor *a = plan_network(x->p, SLOT_PROJECTION_A),
                             *b = plan_network(x->p, SLOT_PROJECTION_B);
    const real *inner = merge_values(x, at, SLOT_INNER), *outer = merge_values(x, at, SLOT_OUTER);
    real *w = merge_copy(x, i, e), *up = w ? mem_try((size_t)t->rows * (size_t)rank, sizeof *up) : NULL;
    if (!up) return w ? err_set(e, ERR_SYSTEM, "no memory for a change of %s", t->name) : ERR_SYSTEM;
    for (int r = 0; r < t->rows; r++)
        for (int k = 0; k < rank; k++) {
            size_t at_k = (size_t)r * (size_t)rank + (size_t)k;
            up[at_k] = outer[r] * x->params[b->offset + at_k] * inner[k];
        }
    blas_gemm(false, false, t->rows, t->cols, rank, 1, up, rank, x->params + a->offset, a->cols, 1, w,
              t->cols);
    free(up);
    return 0;
}

const struct function function_projected = {
    .name = "projected",
    .title = "random projection",
    .says = "Two learned vectors around a random projection that is frozen and one for all places: ((x A) ⊙ "
            "d) B ⊙ b. VeRA's function; behind a linear map it can be folded into the weight.",
    .form = FORM_CHANGE,
    .keys = TAKES_PLACE | TAKES_R | TAKES_SEED | TAKES_READ | TAKES_SOURCE | TAKES_DROPOUT,
    .comps = 1 << COMP_ADD,
    .usual = { .size = 256, .read = TAP_A_IN, .write = TAP_A_Q },
    .linear = true,
    .places = fn_projected_places,
    .slots = fn_projected_slots,
    .apply = fn_projected_apply,
    .check = fn_projected_check,
    .terms = fn_projected_terms,
    .formula = fn_projected_formula,
    .label = terms_label,
    .unmergeable = fn_projected_unmergeable,
    .merge = fn_projected_merge,
    .turn = MERGE_ADDS,
};
