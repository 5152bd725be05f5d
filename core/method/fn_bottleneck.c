/* φ(x W_d + b_d) W_u + b_u: an adapter, for all columns together or per head, with or without a norm. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "core/method/check.h"
#include "core/method/count.h"
#include "core/method/fn.h"
#include "core/method/fusion.h"

/* ---- tensors ---- */

/* Returns the number of columns that W_d produces. */
static int64_t inner(const struct module *m, const struct arch *a) {
    return m->heads == HEADS_SHARED ? m->size : (int64_t)a->heads * m->size;
}

static bool fit_down(const struct module *m, const struct arch *a, struct slot_shape *out) {
    out->rows = inner(m, a);
    if (m->heads == HEADS_FACTORIZED) out->cols = a->head_width;
    return true;
}

static bool fit_down_bias(const struct module *m, const struct arch *a, struct slot_shape *out) {
    out->cols = inner(m, a);
    return m->biases;
}

static bool fit_up_bias(const struct module *m, const struct arch *a, struct slot_shape *out) {
    (void)a;
    (void)out;
    return m->biases;
}

static bool fit_norm(const struct module *m, const struct arch *a, struct slot_shape *out) {
    (void)a;
    out->one = m->norm == NORM_SHARED;
    return m->norm != NORM_NONE;
}

static bool fit_before(const struct module *m, const struct arch *a, struct slot_shape *out) {
    (void)a;
    (void)out;
    return m->norm_before;
}

static const struct function_slot slots[] = {
    { SLOT_BEFORE_W, "gamma_0", START_ONE, .rows = DIM_ONE, .cols = DIM_READ, .fit = fit_before },
    { SLOT_BEFORE_B, "beta_0", START_ZERO, .rows = DIM_ONE, .cols = DIM_READ, .fit = fit_before },
    { SLOT_DOWN_W, "W_d", START_DRAWN, .rows = DIM_SIZE, .cols = DIM_READ, .fit = fit_down },
    { SLOT_DOWN_B, "b_d", START_ZERO, .rows = DIM_ONE, .cols = DIM_SIZE, .fit = fit_down_bias },
    { SLOT_UP_W, "W_u", START_DRAWN_OUT, .rows = DIM_WRITE, .cols = DIM_SIZE },
    { SLOT_UP_B, "b_u", START_ZERO, .rows = DIM_ONE, .cols = DIM_WRITE, .fit = fit_up_bias },
    { SLOT_NORM_W, "gamma", START_ONE, .rows = DIM_ONE, .cols = DIM_WRITE, .fit = fit_norm },
    { SLOT_NORM_B, "beta", START_ZERO, .rows = DIM_ONE, .cols = DIM_WRITE, .fit = fit_norm },
    { 0 },
};

/* The last bias, which is added equally to all keys. */
static bool still(const struct module *m, int slot, bool shift) {
    bool last = slot == (m->norm == NORM_NONE ? SLOT_UP_B : SLOT_NORM_B);
    return last && m->write == TAP_A_K && !shift && m->comp != COMP_GATE;
}

/* ---- forward ---- */

static node norm_by(struct tape *t, const struct use *u, node x, enum slot gamma,
                    const struct row_groups *groups) {
    enum { LAYERNORM_EPS_E7 = 100 }; /* PyTorch's 1e-5 */
    return op_layernorm_groups(t, x, NODE_NONE, use_slot(u, gamma), use_slot(u, gamma + 1),
                               LAYERNORM_EPS_E7 * 1e-7, groups);
}

static node normed(struct tape *t, const struct use *u, node x) {
    if (u->m->norm == NORM_NONE) return x;
    return norm_by(t, u, x, SLOT_NORM_W, u->m->norm == NORM_SHARED ? NULL : u->groups);
}

/* Returns the tensor to which Δh is added. */
static node residual_of(struct tape *t, const struct use *u) {
    bool ffn = tap_is_ffn(u->m->write);
    if (u->m->residual == RESIDUAL_READ) return u->x;
    return u->m->residual == RESIDUAL_WRITTEN
               ? u->value
               : op_add(t, u->value, u->site->value[ffn ? TAP_F_RES : TAP_A_RES]);
}

/* Returns s·x, with a constant or learned s. */
static node scaled(struct tape *t, node x, double s, node scale) {
    return scale == NODE_NONE ? op_scale(t, x, s) : op_add_scaled(t, op_scale(t, x, 0), x, s, scale);
}

/* Composition with a gate or with a factor per channel. */
static node leave_by_factors(struct tape *t, const struct use *u, node base, node x) {
    if (u->m->norm == NORM_SUM) return normed(t, u, use_compose(t, u, base, x));
    if (u->m->norm == NORM_SCALED) return op_add(t, base, normed(t, u, use_compose(t, u, NODE_NONE, x)));
    return use_compose(t, u, base, normed(t, u, x));
}

/* The part after the activation, for shared heads. */
static node leave(struct tape *t, const struct use *u, node x, double s, node scale) {
    node up = use_slot(u, SLOT_UP_W), up_b = use_slot(u, SLOT_UP_B), base = residual_of(t, u);
    if (u->m->source == SOURCE_FUSION)
        return fusion_apply(t, u, base,
                            scaled(t, op_linear_groups(t, x, up, up_b, ACT_NONE, u->groups), s, scale));
    if (u->m->comp == COMP_CHANNEL || u->m->comp == COMP_GATE)
        return leave_by_factors(t, u, base, op_linear_groups(t, x, up, up_b, ACT_NONE, u->groups));
    if (u->m->norm == NORM_NONE) return op_linear_add_groups(t, base, x, up, up_b, s, scale, u->groups);
    if (u->m->norm == NORM_SUM)
        return normed(t, u, op_linear_add_groups(t, base, x, up, up_b, s, scale, u->groups));
    x = op_linear_groups(t, x, up, up_b, ACT_NONE, u->groups);
    if (u->m->norm == NORM_SCALED) return op_add(t, base, normed(t, u, scaled(t, x, s, scale)));
    return op_add_scaled(t, base, normed(t, u, x), s, scale);
}

static node apply(struct tape *t, const struct use *u) {
    const struct module *m = u->m;
    const struct arch *arch = u->arch;
    node scale, down = use_slot(u, SLOT_DOWN_W), x = u->x;
    node down_b = use_slot(u, SLOT_DOWN_B), up_b = use_slot(u, SLOT_UP_B);
    double s = use_factor(u, &scale);
    if (m->norm_before) x = norm_by(t, u, x, SLOT_BEFORE_W, u->groups);
    if (m->heads == HEADS_FACTORIZED) {
        if (m->read == TAP_A_Q && arch->scale_scores) x = op_scale(t, x, 1 / sqrt(arch->head_width));
        x = op_head_linear(t, x, down, arch->heads);
        if (down_b != NODE_NONE) x = op_bias(t, x, down_b);
        if (m->act != ACT_NONE) x = op_act(t, x, m->act);
    } else {
        x = op_linear_groups(t, x, down, down_b, m->act, u->groups);
    }
    x = use_dropout(t, u, x, 0);
    if (m->heads == HEADS_SHARED) return leave(t, u, x, s, scale);
    x = op_head_linear(t, x, use_slot(u, SLOT_UP_W), arch->heads);
    if (up_b != NODE_NONE) x = op_bias(t, x, up_b);
    return use_compose(t, u, u->value, x);
}

/* ---- rules, counts, texts ---- */

static void advise(struct check *c, const struct module *m) {
    double in = tap_width(c->a, m->read), out = tap_width(c->a, m->write),
           ffn = 2.0 * c->a->width * c->a->inner;
    if (tap_is_ffn(m->write) && m->size * (in + out) > ffn)
        WARN(c, "V18", "a bottleneck of width %d has more parameters than the FFN that it adapts (%.0f): "
                       "use a smaller r", m->size, ffn);
}

static void terms(struct terms *t, const struct module *m, const struct arch *a) {
    char letters[64];
    terms_matrices(t, m, a);
    if (!m->biases) return;
    snprintf(letters, sizeof letters, "%s + %s", m->heads == HEADS_SHARED ? "r" : "H·r",
             terms_letter(a, m->write));
    terms_add(t, letters, "%" PRId64 " + %d", inner(m, a), tap_width(a, m->write));
}

static void formula(const struct module *m, const struct formula_words *w, char out[160]) {
    const char *act = method_act_name(m->act), *down = m->biases ? " + b_d" : "",
               *up = m->biases ? " + b_u" : "";
    char x[64];
    snprintf(x, sizeof x, m->norm_before ? "LN_0(%s)" : "%s", w->x);
    if (m->heads != HEADS_SHARED && m->read == TAP_A_Q)
        snprintf(out, 160, "Δh%s = %s(q W_dᵀ%s%s) W_u%s  per head", w->sub, act, w->scores, down, up);
    else snprintf(out, 160, "Δh%s = %s(%s W_d%s) W_u%s", w->sub, act, x, down, up);
}

const struct function function_bottleneck = {
    .name = "bottleneck",
    .title = "bottleneck",
    .description = "A small MLP of width r: φ(x W_d + b_d) W_u + b_u. The function of an adapter.",
    .form = FORM_CHANGE,
    .keys = TAKES_PLACE | TAKES_R | TAKES_S | TAKES_ACT | TAKES_BIASES | TAKES_NORM | TAKES_RESIDUAL |
            TAKES_READ | TAKES_COMP | TAKES_HEADS | TAKES_SOURCE | TAKES_INIT | TAKES_DROPOUT,
    .comps = COMPS_ADDING | COMPS_CHANNEL | COMPS_GATE,
    .per_head = true,
    .defaults = { .size = 16,
                  .act = ACT_RELU,
                  .biases = true,
                  .read = TAP_F_IN,
                  .write = TAP_F_OUT,
                  .init = INIT_BERT },
    .slots = slots,
    .no_gradient = still,
    .apply = apply,
    .advise = advise,
    .terms = terms,
    .formula = formula,
    .label = terms_label,
    .unmerged = "a bottleneck applies a nonlinearity: it cannot be merged into a weight",
};
