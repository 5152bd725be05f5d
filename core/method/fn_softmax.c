/* softmax(x W_q P_kᵀ/√d_h) P_v: l additional keys and values for every query (a prefix). */
#include <stdio.h>

#include "core/method/check.h"
#include "core/method/count.h"
#include "core/method/fn.h"

static const struct function_slot slots[] = {
    { SLOT_KEY, "P_k", START_DRAWN, .rows = DIM_SIZE, .cols = DIM_KEYS },
    { SLOT_VALUE, "P_v", START_DRAWN, .rows = DIM_SIZE, .cols = DIM_KEYS },
    { 0 },
};

/* A softmax over a single separate key is 1 for any key. */
static bool still(const struct module *m, int slot, bool shift) {
    (void)shift;
    return slot == SLOT_KEY && m->comp != COMP_GATED && m->size == 1;
}

static void keys_of(struct tape *t, const struct use *u, struct kv_set *set) {
    int gates = comp_gates(u->m->comp);
    set->key = use_dropout(t, u, use_slot(u, SLOT_KEY), 0);
    set->value = use_dropout(t, u, use_slot(u, SLOT_VALUE), 1);
    if (!gates) return;
    node first = use_gate(t, u, 0);
    set->key = op_gated_copies(t, set->key, first);
    set->value = op_gated_copies(t, set->value, gates > 1 ? use_gate(t, u, 1) : first);
}

/* ---- rules, counts, texts ---- */

/* A gated module at another tap gets its error from the rule for gates. */
static bool check(struct check *c, const struct module *m) {
    if (m->write == TAP_A_HEAD || m->comp == COMP_GATED) return true;
    ERROR(c, "V2",
          "a prefix (softmax) applies only at the attention heads: use write=a.head");
    return false;
}

/* Checks positions skipped before the text, as PEFT does in training. */
static void check_shift(struct check *c, const struct module *m) {
    const struct arch *a = c->a;
    if ((!a->positions && !a->causal) || a->decoder_layers)
        ERROR(
            c, "V76",
            "shift=yes needs a model with one stack and learned or rotary position embeddings: omit shift=");
    else if (m->size + 3 > arch_max_length(a))
        ERROR(c, "V76", "l = %d skipped positions leave no room for text in the model's %d positions",
              m->size, arch_max_length(a));
    else if (method_position_shift(c->m) != m->size)
        ERROR(
            c, "V76",
            "positions of the text are shifted once: all prefixes with shift=yes must have the same length");
    for (int i = 0; i < c->m->count; i++)
        if (function_of(&c->m->module[i])->form == FORM_ROWS && c->m->module[i].write == TAP_EMBED_WORDS)
            ERROR(c, "V76", "module %d also shifts the positions of the text: remove one of the two", i + 1);
}

static void advise(struct check *c, const struct module *m) {
    if (m->shift) check_shift(c, m);
    if (m->size > c->a->head_width)
        INFO(c, "V20",
             "l = %d is above the head width %d: the change of each head's output has rank at most %d",
             m->size, c->a->head_width, c->a->head_width);
    if (m->comp == COMP_GATED && c->a->attention_dropout > 0)
        WARN(c, "V34",
             "with attention dropout %g the gate is exact only in evaluation: in training, dropout also "
             "applies to the attention on the prefix",
             c->a->attention_dropout);
}

/* Positions are shifted once, by the length of one prefix. */
static bool joins(const struct module *m) {
    return m->comp == COMP_GATED && !m->shift && source_is_trained(m->source);
}

static void pair(struct check *c, const struct module *x, int first, const struct module *y) {
    if (joins(x) && joins(y) && x->source == y->source)
        WARN(c, "V29", "this module and module %d are equivalent to one prefix of length %d + %d", first + 1,
             x->size, y->size);
}

static void terms(struct terms *t, const struct module *m, const struct arch *a) {
    char letters[64];
    snprintf(letters, sizeof letters, "2·l·%s", terms_letter(a, TAP_A_K));
    terms_add(t, letters, "2·%d·%d", m->size, tap_width(a, TAP_A_K));
}

static void formula(const struct module *m, const struct formula_words *w, char out[160]) {
    const char *formula = source_is_prompt(m->source) ? ", P = relu(P_τ Dᵀ) Uᵀ" : "";
    snprintf(out, 160, "Δh%s = softmax(x W_q P_kᵀ%s) P_v%s", w->sub, w->scores, formula);
}

static void label(const struct module *m, const struct arch *a, char out[64]) {
    if (a) snprintf(out, 64, "P %d×%d", m->size, tap_width(a, TAP_A_K));
    else snprintf(out, 64, "P l %d", m->size);
}

const struct function function_softmax = {
    .name = "softmax",
    .title = "softmax keys",
    .description = "l trainable keys and values that every query attends to (a prefix).",
    .form = FORM_KEYS,
    .keys = TAKES_PLACE | TAKES_L | TAKES_S | TAKES_MLP | TAKES_COMP | TAKES_SOURCE | TAKES_INIT |
            TAKES_DROPOUT | TAKES_SHIFT,
    .comps = COMPS_ADDING | COMPS_GATED | COMPS_GATE | COMPS_GATES,
    .defaults = { .size = 16,
                  .write = TAP_A_HEAD,
                  .comp = COMP_GATED,
                  .heads = HEADS_FACTORIZED,
                  .init = INIT_BERT },
    /* Maps from a prompt to keys and values need different rows from the start. */
    .init_if_generated = INIT_NORMAL,
    .slots = slots,
    .no_gradient = still,
    .keys_of = keys_of,
    .check = check,
    .advise = advise,
    .pair = pair,
    .joins = joins,
    .terms = terms,
    .formula = formula,
    .label = label,
    .unmerged = "a prefix is part of the softmax: it cannot be merged into a weight",
};
