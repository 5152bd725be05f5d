/* (x W_d ⊙ e) W_u: a change of low rank as three factors, of which e is pruned while it trains (budget.h). */
#include <stdio.h>

#include "core/method/check.h"
#include "core/method/count.h"
#include "core/method/fn.h"
#include "core/method/merge.h"

static const struct function_slot slots[] = {
    { SLOT_DOWN_W, "W_d", START_DRAWN, .rows = DIM_SIZE, .cols = DIM_READ },
    { SLOT_SINGULAR, "e", START_ZERO, .rows = DIM_ONE, .cols = DIM_SIZE },
    { SLOT_UP_W, "W_u", START_DRAWN, .rows = DIM_WRITE, .cols = DIM_SIZE },
    { 0 },
};

static node apply(struct tape *t, const struct use *u) {
    node scale, x = use_dropout(t, u, u->x, 0);
    double s = use_factor(u, &scale);
    x = op_linear_groups(t, x, use_slot(u, SLOT_DOWN_W), NODE_NONE, ACT_NONE, u->groups);
    x = op_channel_scale_groups(t, x, use_slot(u, SLOT_SINGULAR), u->groups);
    return op_linear_add_groups(t, u->value, x, use_slot(u, SLOT_UP_W), NODE_NONE, s, scale, u->groups);
}

/* ---- rules, counts, texts ---- */

static bool check(struct check *c, const struct module *m) {
    if (m->init == INIT_LORA)
        ERROR(c, "V42", "init=lora: both matrices of an SVD are drawn, its values e start at 0; use bert");
    if (source_is_hyper(m->source))
        ERROR(c, "V42", "an SVD that a generator makes is not built: use source=free");
    return true;
}

static void terms(struct terms *t, const struct module *m, const struct arch *a) {
    terms_matrices(t, m, a);
    terms_add(t, "r", "%d", m->size);
}

static void formula(const struct module *m, const struct formula_words *w, char out[160]) {
    (void)m;
    snprintf(out, 160, "Δh%s = (%s W_d ⊙ e) W_u", w->sub, w->x);
}

/* ---- merging ---- */

/* W += s·W_u diag(e) W_d. */
static int merge(struct merge *x, const struct merge_at *at, struct err *e) {
    const struct merge_change change = { .up = merge_values(x, at, SLOT_UP_W),
                                         .inner = merge_values(x, at, SLOT_SINGULAR),
                                         .down = merge_values(x, at, SLOT_DOWN_W) };
    return merge_low(x, at, &change, e);
}

const struct function function_svd = {
    .name = "svd",
    .title = "SVD",
    .says = "Two matrices of rank r with a value for each of the r between them: (x W_d ⊙ e) W_u. AdaLoRA's "
            "function; with a budget the least of all values are pruned while it trains. It can be folded "
            "into the weight.",
    .form = FORM_CHANGE,
    .keys = TAKES_PLACE | TAKES_R | TAKES_S | TAKES_ALPHA | TAKES_READ | TAKES_COMP | TAKES_SOURCE |
            TAKES_INIT | TAKES_DROPOUT,
    .comps = COMPS_ADDING,
    .usual = { .size = 12, .read = TAP_A_IN, .write = TAP_A_Q, .init = INIT_BERT },
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
