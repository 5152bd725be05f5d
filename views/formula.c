/* A module in the field's notation. */
#include <stdio.h>
#include <string.h>

#include "views/compose_edit.h"

/* What the module reads, as the formula's variable. */
static const char *input_of(const struct module *m) {
    if (m->read == TAP_F_NORM) return "LN(h + res)";
    return m->read == m->write ? "h" : m->read == TAP_A_Q ? "q" : "x";
}

static const char *act_sign(enum act a) { return method_act_name(a); }

void formula_delta(const struct module *m, const char *sub, char out[160]) {
    char site[32];
    const char *x = input_of(m);
    site_words(m, site);
    switch (m->fn) {
    case FN_BOTTLENECK:
        if (m->heads != HEADS_SHARED && m->read == TAP_A_Q)
            snprintf(out, 160, "\u0394h%s = %s(q W_d\u1D40/\u221Ad_h%s) W_u%s  each head", sub, act_sign(m->act),
                     m->biases ? " + b_d" : "", m->biases ? " + b_u" : "");
        else
            snprintf(out, 160, "\u0394h%s = %s(%s W_d%s) W_u%s", sub, act_sign(m->act), x,
                     m->biases ? " + b_d" : "", m->biases ? " + b_u" : "");
        break;
    case FN_LINEAR: snprintf(out, 160, "\u0394h%s = %s W_d W_u", sub, x); break;
    case FN_SOFTMAX:
        snprintf(out, 160, "\u0394h%s = softmax(x W_q P_k\u1D40/\u221Ad_h) P_v", sub);
        break;
    case FN_SCALE: snprintf(out, 160, "l%s: one factor a channel", sub); break;
    case FN_BIAS: snprintf(out, 160, "b%s: additive vectors, %s", sub, site); break;
    case FN_FULL: snprintf(out, 160, "W%s: weights, %s", sub, site); break;
    case FN_COUNT: *out = 0;
    }
}

void formula_compose(const struct module *m, const char *sub, char out[160]) {
    switch (m->comp) {
    case COMP_ADD: snprintf(out, 160, "h \u2190 h + \u0394h%s", sub); break;
    case COMP_SCALED: snprintf(out, 160, "h \u2190 h + %g \u0394h%s", m->scale, sub); break;
    case COMP_LEARNED: snprintf(out, 160, "h \u2190 h + s \u0394h%s, s from %g", sub, m->scale); break;
    case COMP_GATED: snprintf(out, 160, "h \u2190 (1\u2212\u03BB) h + \u03BB \u0394h%s", sub); break;
    case COMP_MULTIPLY:
        if (m->fn == FN_SCALE) snprintf(out, 160, "h \u2190 h \u2299 l%s", sub);
        else snprintf(out, 160, "h \u2190 h \u2299 \u0394h%s", sub);
        break;
    case COMP_IN_WEIGHT:
        snprintf(out, 160, "trained where they are");
        break;
    case COMP_COUNT: *out = 0;
    }
}
