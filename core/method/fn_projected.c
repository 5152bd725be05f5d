/* ((x A) ⊙ d) B ⊙ b: two vectors of factors around a random projection, which is one for all places and never
 * trained. */
#include <stdio.h>

#include "core/method/check.h"
#include "core/method/count.h"
#include "core/method/fn.h"
#include "core/method/merge.h"
#include "core/method/projection.h"

static const struct function_slot slots[] = {
    { SLOT_INNER, "d", START_TENTH, .rows = DIM_ONE, .cols = DIM_SIZE },
    { SLOT_OUTER, "b", START_ZERO, .rows = DIM_ONE, .cols = DIM_WRITE },
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

static node apply(struct tape *t, const struct use *u) {
    int in = tape_cols_of(t, u->x), out = tape_cols_of(t, u->value);
    node a = columns(t, use_network(u, SLOT_PROJECTION_A), in),
         b = first_rows(t, use_network(u, SLOT_PROJECTION_B), out);
    node x = op_linear(t, use_dropout(t, u, u->x, 0), a, NODE_NONE);
    x = op_channel_scale_groups(t, x, use_slot(u, SLOT_INNER), u->groups);
    x = op_channel_scale_groups(t, op_linear(t, x, b, NODE_NONE), use_slot(u, SLOT_OUTER), u->groups);
    return op_add(t, u->value, x);
}

/* ---- rules, counts, texts ---- */

static bool check(struct check *c, const struct module *m) {
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

static void terms(struct terms *t, const struct module *m, const struct arch *a) {
    char letters[64];
    snprintf(letters, sizeof letters, "r + %s", terms_letter(a, m->write));
    terms_add(t, letters, "%d + %d", m->size, tap_width(a, m->write));
}

static void formula(const struct module *m, const struct formula_words *w, char out[160]) {
    (void)m;
    snprintf(out, 160, "Δh%s = ((%s A) ⊙ d) B ⊙ b, A and B random and frozen", w->sub, w->x);
}

/* ---- merging ---- */

/* W += diag(b) B diag(d) A. */
static int merge(struct merge *x, const struct merge_at *at, struct err *e) {
    const struct plan_tensor *a = plan_network(x->p, SLOT_PROJECTION_A),
                             *b = plan_network(x->p, SLOT_PROJECTION_B);
    const struct merge_change change = { x->params + b->offset, merge_values(x, at, SLOT_OUTER),
                                         merge_values(x, at, SLOT_INNER), x->params + a->offset,
                                         (int)a->cols };
    return merge_low(x, at, &change, e);
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
    .places = function_maps,
    .slots = slots,
    .apply = apply,
    .check = check,
    .terms = terms,
    .formula = formula,
    .label = terms_label,
    .unmergeable = merge_of_maps,
    .merge = merge,
    .turn = MERGE_ADDS,
};
