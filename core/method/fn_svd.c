/* (x W_d ⊙ e) W_u: a change of low rank as three factors, of which e is pruned while it trains (budget.h). */
#include <stdio.h>
#include <stdlib.h>

#include "core/base/mem.h"
#include "core/engine/blas.h"
#include "core/method/check.h"
#include "core/method/count.h"
#include "core/method/fn.h"
#include "core/method/merge.h"

static bool fn_svd_shape_down(const struct module *m, const struct arch *a, struct slot_shape *out) {
    *out = (struct slot_shape){ m->size, tap_width(a, m->read), false };
    return true;
}

static bool shape_values(const struct module *m, const struct arch *a, struct slot_shape *out) {
    (void)a;
    *out = (struct slot_shape){ 1, m->size, false };
    return true;
}

static bool fn_svd_shape_up(const struct module *m, const struct arch *a, struct slot_shape *out) {
    *out = (struct slot_shape){ tap_width(a, m->write), m->size, false };
    return true;
}

static const struct function_slot fn_svd_slots[] = {
    { SLOT_DOWN_W, "W_d", false, START_DRAWN, fn_svd_shape_down },
    { SLOT_SINGULAR, "e", true, START_ZERO, shape_values },
    { SLOT_UP_W, "W_u", false, START_DRAWN, fn_svd_shape_up },
    { 0 },
};

static node fn_svd_apply(struct tape *t, const struct use *u) {
    node scale, x = use_dropout(t, u, u->x, 0);
    double s = use_factor(u, &scale);
    x = op_linear_groups(t, x, use_slot(u, SLOT_DOWN_W), NODE_NONE, ACT_NONE, u->groups);
    x = op_channel_scale_groups(t, x, use_slot(u, SLOT_SINGULAR), u->groups);
    return op_linear_add_groups(t, u->value, x, use_slot(u, SLOT_UP_W), NODE_NONE, s, scale, u->groups);
}

static const struct function_place fn_svd_places[] = { { "q", TAP_A_Q },
                                                       { "k", TAP_A_K },
                                                       { "v", TAP_A_V },
                                                       { "o", TAP_A_OUT },
                                                       { "w1", TAP_F_PRE },
                                                       { "w2", TAP_F_OUT },
                                                       { 0 } };

/* ---- rules, counts, texts ---- */

static bool fn_svd_check(struct check *c, const struct module *m) {
    if (m->init == INIT_LORA)
        ERROR(c, "V42", "init=lora: both matrices of an SVD are drawn, its values e start at 0; use bert");
    if (source_is_hyper(m->source))
        ERROR(c, "V42", "an SVD that a generator makes is not built: use source=free");
    return true;
}

static void fn_svd_terms(struct terms *t, const struct module *m, const struct arch *a) {
    terms_matrices(t, a, m);
    terms_add(t, "r", "%d", m->size);
}

static void fn_svd_formula(const struct module *m, const struct formula_words *w, char out[160]) {
    (void)m;
    snprintf(out, 160, "Δh%s = (%s W_d ⊙ e) W_u", w->sub, w->x);
}

/* ---- merging ---- */

static const char *fn_svd_unmergeable(const struct plan *p, const struct module *m) {
    (void)p;
    return module_is_map(m) ? NULL : "an SVD over more than one map has no single weight to go into";
}

/* W += s·W_u diag(e) W_d. */
static int fn_svd_merge(struct merge *x, const struct merge_at *at, struct err *e) {
    const struct module *m = &x->p->method.module[at->module];
    int i = merge_tensor(x, at, tap_weight_role(m->write)), rank = m->size;
    const struct tensor_info *t = &x->m->tensor[i];
    const real *learned = merge_values(x, at, SLOT_SCALE), *value = merge_values(x, at, SLOT_SINGULAR),
               *up = merge_values(x, at, SLOT_UP_W);
    real s = m->comp == COMP_SCALED ? (real)m->scale : learned ? *learned : 1;
    size_t n = (size_t)t->rows * (size_t)rank;
    real *w = merge_copy(x, i, e), *own = w ? mem_try(n, sizeof *own) : NULL;
    if (!own) return w ? err_set(e, ERR_SYSTEM, "no memory for a change of %s", t->name) : ERR_SYSTEM;
    for (size_t k = 0; k < n; k++) own[k] = up[k] * value[k % (size_t)rank];
    blas_gemm(false, false, t->rows, t->cols, rank, s, own, rank, merge_values(x, at, SLOT_DOWN_W), t->cols,
              1, w, t->cols);
    free(own);
    return 0;
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
    .places = fn_svd_places,
    .slots = fn_svd_slots,
    .apply = fn_svd_apply,
    .check = fn_svd_check,
    .terms = fn_svd_terms,
    .formula = fn_svd_formula,
    .label = terms_label,
    .unmergeable = fn_svd_unmergeable,
    .merge = fn_svd_merge,
    .turn = MERGE_ADDS,
};
