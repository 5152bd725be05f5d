/* φ(x M): a whole matrix with an activation.  Not one of petri's functions: recipe_dtest adds it to a copy of
 * core/method, to show that a function is one file and one line. */
#include <stdio.h>

#include "core/method/check.h"
#include "core/method/count.h"
#include "core/method/fn.h"

static const struct function_slot slots[] = {
    { SLOT_OWN, "M", START_DRAWN, .rows = DIM_WRITE, .cols = DIM_READ },
    {0},
};

static node apply(struct tape *t, const struct use *u) {
    node scale, x = use_dropout(t, u, u->x, 0);
    double s = use_factor(u, &scale);
    x = op_linear_groups(t, x, use_slot(u, SLOT_OWN), NODE_NONE, u->m->act, u->groups);
    return op_add_scaled(t, u->value, x, s, scale);
}

static bool check(struct check *c, const struct module *m) {
    if (m->source != SOURCE_TASK || m->comp != COMP_LEARNED) return true;
    ERROR(c, "V47", "a trainable scale per task of a dense layer is not supported: use comp=add or comp=scaled");
    return false;
}

static void terms(struct terms *t, const struct module *m, const struct arch *a) {
    char letters[64];
    snprintf(letters, sizeof letters, "%s·%s", terms_letter(a, m->read), terms_letter(a, m->write));
    terms_add(t, letters, "%d·%d", tap_width(a, m->read), tap_width(a, m->write));
}

static void formula(const struct module *m, const struct formula_words *w, char out[160]) {
    snprintf(out, 160, "Δh%s = %s(%s M)", w->sub, method_act_name(m->act), w->x);
}

const struct function function_dense = {
    .name = "dense",
    .title = "dense",
    .description = "A whole matrix with an activation: φ(x M).",
    .form = FORM_CHANGE,
    .keys = TAKES_PLACE | TAKES_S | TAKES_ACT | TAKES_READ | TAKES_COMP | TAKES_SOURCE | TAKES_INIT |
            TAKES_DROPOUT,
    .comps = COMPS_ADDING,
    .defaults = {.act = ACT_TANH, .read = TAP_F_IN, .write = TAP_F_OUT, .init = INIT_BERT},
    .slots = slots,
    .apply = apply,
    .check = check,
    .terms = terms,
    .formula = formula,
    .unmerged = "a dense map bends its input: no weight of the model does the same",
};
