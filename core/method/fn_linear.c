/* x W_d W_u: a change of low rank. */
#include "core/method/fn.h"

static bool shape_down(const struct module *m, const struct arch *a, struct slot_shape *out) {
    *out = (struct slot_shape){m->size, tap_width(a, m->read), false};
    return true;
}

static bool shape_up(const struct module *m, const struct arch *a, struct slot_shape *out) {
    *out = (struct slot_shape){tap_width(a, m->write), m->size, false};
    return true;
}

static const struct function_slot slots[] = {
    {SLOT_DOWN_W, "W_d", false, START_DRAWN, shape_down},
    {SLOT_UP_W, "W_u", false, START_DRAWN_OUT, shape_up},
    {0},
};

static node apply(struct tape *t, const struct use *u) {
    node scale, down = use_slot(u, SLOT_DOWN_W);
    double s = use_factor(u, &scale);
    node x = use_dropout(t, u, u->x, 0);
    x = op_linear_groups(t, x, down, NODE_NONE, ACT_NONE, u->groups);
    return op_linear_add_groups(t, u->value, x, use_slot(u, SLOT_UP_W), NODE_NONE, s, scale, u->groups);
}

const struct function function_linear = {
    .name = "linear",
    .form = FORM_CHANGE,
    .keys = TAKES_PLACE | TAKES_R | TAKES_S | TAKES_ALPHA | TAKES_READ | TAKES_COMP | TAKES_HEADS | TAKES_SOURCE | TAKES_INIT |
            TAKES_DROPOUT,
    .usual = {.size = 8, .read = TAP_A_IN, .write = TAP_A_Q, .init = INIT_LORA},
    .linear = true,
    .slots = slots,
    .apply = apply,
};
