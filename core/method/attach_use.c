#include "core/method/attach_in.h"

#include "core/base/mem.h"
#include "core/method/functions.h"

static node use_leaf_at(const struct attach *a, int module, const struct site *s, enum slot slot) {
    int i = attach_slots(a, module, attach_place_at(a, s))[slot];
    return i < 0 ? NODE_NONE : a->leaf[i];
}

node use_slot(const struct use *u, enum slot slot) {
    const struct attach *a = u->attach;
    int generated = attach_generated_slots(a, u->module, attach_place_at(a, u->site))[slot],
        row = generated - a->p->generated;
    if (generated >= 0 && row < 0) return a->generated[generated];
    if (generated < 0) return use_leaf_at(a, u->module, u->site, slot);
    bool keys = function_of(u->m)->form == FORM_KEYS;
    return keys ? example_weights_keys(a->rows, a->tape, row) : example_weights_value(a->rows, a->tape, row);
}

node use_network(const struct use *u, enum slot slot) {
    return u->attach->leaf[plan_network(u->attach->p, slot) - u->attach->p->tensor];
}

node use_weight(struct tape *t, const struct use *u, enum tensor_role role) {
    const struct attach *a = u->attach;
    const struct model *m = a->m;
    int i = arch_find(m->tensor, m->tensors, role, u->site->stack, u->site->sublayer, u->site->layer);
    if (i < 0) return NODE_NONE;
    if (a->of_model[i] >= 0) return attach_weight(a, i);
    const real *w = model_weight(m, i);
    return w ? tape_frozen(t, m->tensor[i].rows, m->tensor[i].cols, w) : NODE_NONE;
}

const struct plan *use_plan(const struct use *u) { return u->attach->p; }

node use_leaf(const struct use *u, int tensor) { return u->attach->leaf[tensor]; }

uint64_t use_dropout_site(const struct use *u) { return attach_drop(u->attach, u->module, u->site)[1]; }

real *use_room(const struct use *u, size_t n) {
    const struct attach *a = u->attach;
    struct use_values *x = &a->room[(size_t)u->module * a->places + attach_place_at(a, u->site)];
    GROW(x->value, x->room, n);
    return x->value;
}

double use_factor(const struct use *u, node *learned) {
    *learned = use_slot(u, SLOT_SCALE);
    return u->m->comp == COMP_SCALED ? u->m->scale : 1;
}

node use_gate(struct tape *t, const struct use *u, int gate) {
    node w = use_slot(u, SLOT_GATE_W), b = use_slot(u, SLOT_GATE_B);
    if (comp_gates(u->m->comp) > 1) {
        w = op_rows(t, w, gate, gate + 1);
        b = op_cols(t, b, gate, gate + 1);
    }
    const struct tape_rows *rows = function_of(u->m)->form == FORM_KEYS ? u->site->rows : u->rows;
    return op_pool_mean(t, op_linear_groups(t, u->x, w, b, ACT_SIGMOID, u->groups), rows);
}

node use_compose(struct tape *t, const struct use *u, node base, node delta) {
    node scale;
    double s = use_factor(u, &scale);
    if (u->m->comp == COMP_GATE) {
        if (u->m->scale != 1) delta = op_scale(t, delta, u->m->scale);
        return op_add_gated(t, base, delta, use_gate(t, u, 0), u->rows);
    }
    if (u->m->comp == COMP_CHANNEL)
        return op_add(t, base, op_channel_scale_groups(t, delta, use_slot(u, SLOT_CHANNEL), u->groups));
    return op_add_scaled(t, base, delta, s, scale);
}

node use_dropout(struct tape *t, const struct use *u, node x, int which) {
    return op_dropout(t, x, u->rows, u->m->dropout, attach_drop(u->attach, u->module, u->site)[which]);
}
