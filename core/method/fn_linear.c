/* x W_d W_u: a low-rank change (LoRA). */
#include <stdio.h>

#include "core/method/check.h"
#include "core/method/count.h"
#include "core/method/fn.h"
#include "core/method/merge.h"

static const struct function_slot slots[] = {
    { SLOT_DOWN_W, "W_d", START_DRAWN, .rows = DIM_SIZE, .cols = DIM_READ },
    { SLOT_UP_W, "W_u", START_DRAWN_OUT, .rows = DIM_WRITE, .cols = DIM_SIZE },
    { 0 },
};

static node apply(struct tape *t, const struct use *u) {
    node scale, down = use_slot(u, SLOT_DOWN_W);
    double s = use_factor(u, &scale);
    node x = use_dropout(t, u, u->x, 0);
    x = op_linear_groups(t, x, down, NODE_NONE, ACT_NONE, u->groups);
    if (u->m->comp == COMP_CHANNEL || u->m->comp == COMP_GATE)
        return use_compose(t, u, u->value,
                           op_linear_groups(t, x, use_slot(u, SLOT_UP_W), NODE_NONE, ACT_NONE, u->groups));
    return op_linear_add_groups(t, u->value, x, use_slot(u, SLOT_UP_W), NODE_NONE, s, scale, u->groups);
}

/* ---- rules, counts, texts ---- */

static void advise(struct check *c, const struct module *m) {
    enum tap r = m->read, w = m->write;
    double in = tap_width(c->a, r), out = tap_width(c->a, w), values = m->size * (in + out);
    if (module_is_map(m) && values >= in * out)
        WARN(c, "V17",
             "rank %d has %.0f parameters, but the full %.0f×%.0f matrix has only %.0f: use a lower rank "
             "or full(write=%s)",
             m->size, values, out, in, in * out, tap_name(w));
    if ((r == TAP_F_IN && w == TAP_F_OUT) || (r == TAP_A_IN && (w == TAP_A_OUT || w == TAP_A_CTX)))
        INFO(c, "V3",
             "a linear parallel adapter spans more than one linear layer, so it cannot be merged into the "
             "weights");
    if (r == w && (w == TAP_A_OUT || w == TAP_F_OUT))
        WARN(c, "V4",
             "equivalent to a LoRA on %s whose change is restricted to W W_d W_u: use linear(r=%d; "
             "write=%s), which is more expressive",
             w == TAP_A_OUT ? "W_o" : "W_2", m->size, tap_name(w));
}

/* Modules with separate gates or channel factors cannot be joined. */
static bool joins(const struct module *m) {
    return 1u << m->comp & COMPS_ADDING && source_is_trained(m->source);
}

static void pair(struct check *c, const struct module *x, int first, const struct module *y) {
    if (joins(x) && x->read == y->read && x->comp == y->comp && x->scale == y->scale &&
        x->source == y->source)
        WARN(c, "V28", "this module and module %d are equivalent to one module of rank %d + %d", first + 1,
             x->size, y->size);
}

static void formula(const struct module *m, const struct formula_words *w, char out[160]) {
    (void)m;
    snprintf(out, 160, "Δh%s = %s W_d W_u", w->sub, w->x);
}

/* ---- merging ---- */

static const char *unmergeable(const struct plan *p, const struct module *m) {
    if (m->comp == COMP_GATE)
        return "the gate depends on the example: it cannot be merged into a weight";
    return merge_of_maps(p, m);
}

/* W += s·W_u W_d, with a factor per output if there is one. */
static int merge(struct merge *x, const struct merge_at *at, struct err *e) {
    const struct merge_change change = { .up = merge_values(x, at, SLOT_UP_W),
                                         .outer = merge_values(x, at, SLOT_CHANNEL),
                                         .down = merge_values(x, at, SLOT_DOWN_W) };
    return merge_low(x, at, &change, e);
}

const struct function function_linear = {
    .name = "linear",
    .title = "linear",
    .description =
        "Two matrices of rank r without a nonlinearity: x W_d W_u. The function of LoRA; parallel to a "
        "linear layer, it can be merged into the weight.",
    .form = FORM_CHANGE,
    .keys = TAKES_PLACE | TAKES_R | TAKES_S | TAKES_ALPHA | TAKES_READ | TAKES_COMP | TAKES_HEADS |
            TAKES_SOURCE | TAKES_INIT | TAKES_DROPOUT,
    .comps = COMPS_ADDING | COMPS_CHANNEL | COMPS_GATE,
    .defaults = { .size = 8, .read = TAP_A_IN, .write = TAP_A_Q, .init = INIT_LORA },
    .linear = true,
    .places = function_maps,
    .slots = slots,
    .apply = apply,
    .advise = advise,
    .pair = pair,
    .joins = joins,
    .terms = terms_matrices,
    .formula = formula,
    .label = terms_label,
    .unmergeable = unmergeable,
    .merge = merge,
    .turn = MERGE_ADDS,
};
