/* softmax(x W_q P_kᵀ/√d_h) P_v: l keys and values that every query attends to, a prefix. */
#include "core/method/fn.h"

static bool shape(const struct module *m, const struct arch *a, struct slot_shape *out) {
    *out = (struct slot_shape){m->size, tap_width(a, m->write), false};
    return true;
}

static const struct function_slot slots[] = {
    {SLOT_KEY, "P_k", false, START_DRAWN, shape},
    {SLOT_VALUE, "P_v", false, START_DRAWN, shape},
    {0},
};

/* A softmax over one key of its own is 1 whatever the key. */
static bool still(const struct module *m, int slot, bool shift) {
    (void)shift;
    return slot == SLOT_KEY && m->comp != COMP_GATED && m->size == 1;
}

static void keys_of(struct tape *t, const struct use *u, struct kv_set *set) {
    set->key = use_dropout(t, u, use_slot(u, SLOT_KEY), 0);
    set->value = use_dropout(t, u, use_slot(u, SLOT_VALUE), 1);
}

const struct function function_softmax = {
    .name = "softmax",
    .form = FORM_KEYS,
    .keys = TAKES_PLACE | TAKES_L | TAKES_S | TAKES_MLP | TAKES_COMP | TAKES_SOURCE | TAKES_INIT | TAKES_DROPOUT,
    .usual = {.size = 16, .write = TAP_A_HEAD, .comp = COMP_GATED, .heads = HEADS_FACTORISED, .init = INIT_BERT},
    /* The embedding behind a prefix's network must tell the prefix's places apart from the start: at 0.02 all
     * of them would come out as one. */
    .made_init = INIT_NORMAL,
    .slots = slots,
    .still = still,
    .keys_of = keys_of,
};
