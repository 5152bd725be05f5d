/* x ⊙ l: one factor a channel. */
#include "core/method/fn.h"

static bool shape(const struct module *m, const struct arch *a, struct slot_shape *out) {
    *out = (struct slot_shape){1, tap_width(a, m->write), false};
    return true;
}

static const struct function_slot slots[] = {
    {SLOT_CHANNEL, "l", true, START_ONE, shape},
    {0},
};

static node apply(struct tape *t, const struct use *u) {
    return op_channel_scale_groups(t, u->value, use_slot(u, SLOT_CHANNEL), u->groups);
}

const struct function function_scale = {
    .name = "scale",
    .form = FORM_CHANGE,
    .keys = TAKES_PLACE | TAKES_COMP | TAKES_HEADS | TAKES_SOURCE,
    .usual = {.write = TAP_A_K, .comp = COMP_MULTIPLY},
    .slots = slots,
    .apply = apply,
};
