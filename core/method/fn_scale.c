/* x ⊙ l: one factor per channel (IA3). */
#include <stdio.h>

#include "core/base/mem.h"
#include "core/method/check.h"
#include "core/method/count.h"
#include "core/method/fn.h"
#include "core/method/merge.h"

static const struct function_slot slots[] = {
    { SLOT_CHANNEL, "l", START_ONE, .rows = DIM_ONE, .cols = DIM_WRITE },
    { 0 },
};

static node apply(struct tape *t, const struct use *u) {
    return op_channel_scale_groups(t, u->value, use_slot(u, SLOT_CHANNEL), u->groups);
}

static const struct function_place places[] = { { "q", TAP_A_Q },       { "k", TAP_A_K },
                                                { "v", TAP_A_V },       { "ctx", TAP_A_CTX },
                                                { "o", TAP_A_OUT },     { "pre", TAP_F_PRE },
                                                { "act", TAP_F_ACT },   { "out", TAP_F_OUT },
                                                { "embed", TAP_EMBED }, { "gate", TAP_F_PRE },
                                                { "up", TAP_F_UP },     { "down", TAP_F_ACT }, /* its input */
                                                { 0 } };

/* ---- rules, counts, texts ---- */

static bool check(struct check *c, const struct module *m) {
    if (m->comp == COMP_MULTIPLY) return true;
    ERROR(c, "V9", "a scale only multiplies: omit comp=; to add a vector, use bitfit or bias(write=%s)",
          tap_name(m->write));
    return false;
}

static void advise(struct check *c, const struct module *m) {
    if (m->write == TAP_A_Q)
        WARN(c, "V8", "scaling q and scaling k are equivalent: use write=a.k");
    if (m->write == TAP_F_PRE && c->a->act != ACT_RELU)
        WARN(c, "V10",
             "the model does not use ReLU, so scaling f.pre is not equivalent to scaling f.act: use "
             "write=f.act, "
             "as (IA)³ does");
}

static void pair(struct check *c, const struct module *x, int first, const struct module *y) {
    (void)first;
    (void)y;
    WARN(c, "V44", "two scales at %s are equivalent to one, their product: remove one of the two",
         tap_name(x->write));
}

static void terms(struct terms *t, const struct module *m, const struct arch *a) {
    terms_add(t, terms_letter(a, m->write), "%d", tap_width(a, m->write));
}

static void formula(const struct module *m, const struct formula_words *w, char out[160]) {
    (void)m;
    snprintf(out, 160, "l%s: one factor per channel", w->sub);
}

static void label(const struct module *m, const struct arch *a, char out[64]) {
    if (a) snprintf(out, 64, "⊙ %d", tap_width(a, m->write));
    else snprintf(out, 64, "⊙ l");
}

/* ---- merging ---- */

/* The map into which a scale at this tap is merged. */
struct fold {
    enum tap map;  /* identified by its output */
    bool columns;  /* the tap is the layer's input */
};

static bool fold_of(const struct module *m, struct fold *out) {
    switch (m->write) {
    case TAP_A_Q:
    case TAP_A_K:
    case TAP_A_V:
    case TAP_A_OUT:
    case TAP_F_PRE:
    case TAP_F_UP:
    case TAP_F_OUT:
    case TAP_EMBED: *out = (struct fold){ m->write, false }; return true;
    case TAP_A_CTX: *out = (struct fold){ TAP_A_OUT, true }; return true;
    case TAP_F_ACT: *out = (struct fold){ TAP_F_OUT, true }; return true;
    default: return false;
    }
}

static const char *unmergeable(const struct plan *p, const struct module *m) {
    struct fold fold;
    if (m->write == TAP_EMBED && !p->embed_norm)
        return "a scale at embed is merged into the LayerNorm of the embeddings, which this model does not "
               "have";
    return fold_of(m, &fold) ? NULL
                             : "a scale at this tap cannot be merged: no linear layer outputs or reads the "
                               "tap";
}

static void scale_values(real *w, int rows, int cols, const real *l, bool columns) {
    for (int r = 0; r < rows; r++)
        for (int c = 0; c < cols; c++) w[(size_t)r * (size_t)cols + (size_t)c] *= l[columns ? c : r];
}

static int merge(struct merge *x, const struct merge_at *at, struct err *e) {
    const struct module *m = &x->p->method.module[at->module];
    const real *l = merge_values(x, at, SLOT_CHANNEL);
    struct fold fold;
    if (!fold_of(m, &fold)) BUG("a scale at %s cannot be merged", tap_name(m->write));
    const enum tensor_role roles[] = { tap_weight_role(fold.map), tap_bias_role(fold.map) };
    for (int k = 0; k < (fold.columns ? 1 : 2); k++) {
        int i = merge_tensor(x, at, roles[k]);
        if (i < 0) continue; /* a map without a bias */
        const struct tensor_info *t = &x->m->tensor[i];
        real *w = merge_copy(x, i, e);
        if (!w) return ERR_SYSTEM;
        /* The elements of a vector are the outputs of the map. */
        if (t->vector) scale_values(w, t->cols, 1, l, false);
        else scale_values(w, t->rows, t->cols, l, fold.columns);
    }
    return 0;
}

const struct function function_scale = {
    .name = "scale",
    .title = "scale",
    .description = "One trainable factor per channel: x ⊙ l (IA3). It can be merged into the weights.",
    .sign = "l",
    .form = FORM_CHANGE,
    .keys = TAKES_PLACE | TAKES_COMP | TAKES_HEADS | TAKES_SOURCE,
    .comps = COMPS_MULTIPLY,
    .defaults = { .write = TAP_A_K, .comp = COMP_MULTIPLY },
    .slots = slots, .apply = apply,
    .write_help = "the tap to scale",
    .places = places, .check = check, .advise = advise, .pair = pair,
    .terms = terms, .formula = formula, .label = label,
    .unmergeable = unmergeable, .merge = merge,
    .turn = MERGE_MULTIPLIES,
};
