/* The formulas of a module. */
#include <stdio.h>

#include "core/method/functions.h"
#include "views/compose_edit.h"

/* Returns the symbol of the module's input. */
static const char *input_of(const struct module *m) {
    if (m->read == TAP_F_NORM || m->read == TAP_A_NORM) return "LN(h + res)";
    return m->read == m->write ? "h" : m->read == TAP_A_Q ? "q" : "x";
}

void formula_delta(const struct module *m, const struct arch *a, const char *sub, char out[160]) {
    struct phrase site = site_words(m);
    const struct formula_words w = { input_of(m), sub, site.text, !a || a->scale_scores ? "/\u221Ad_h" : "" };
    function_of(m)->formula(m, &w, out);
}

/* A bottleneck with norms or a residual of its own: "h ← LN(h + res + 2 Δh); ends so". */
static void compose_ends(const struct module *m, const char *sub, char out[160]) {
    static const char *const ends[END_COUNT] = { "", ";  end of the sublayer" };
    const char *base = m->residual == RESIDUAL_READ     ? input_of(m)
                       : m->residual == RESIDUAL_STREAM ? "h + res"
                                                        : "h";
    char delta[64], factor[32] = "";
    if (m->comp == COMP_SCALED) snprintf(factor, sizeof factor, "%g ", m->scale);
    if (m->comp == COMP_LEARNED) snprintf(factor, sizeof factor, "s ");
    if (m->comp == COMP_GATE && m->scale == 1) snprintf(factor, sizeof factor, "g ");
    if (m->comp == COMP_GATE && m->scale != 1) snprintf(factor, sizeof factor, "%g g ", m->scale);
    if (m->norm == NORM_SCALED) snprintf(delta, sizeof delta, "LN_1(%s\u0394h%s)", factor, sub);
    else if (m->norm == NORM_OWN || m->norm == NORM_SHARED)
        snprintf(delta, sizeof delta, "%sLN_1(\u0394h%s)", factor, sub);
    else snprintf(delta, sizeof delta, "%s\u0394h%s", factor, sub);
    snprintf(out, 160, m->norm == NORM_SUM ? "h \u2190 LN_1(%s + %s)%s" : "h \u2190 %s + %s%s", base, delta,
             ends[m->ending]);
}

static void formula_gate(const struct module *m, const char *sub, char out[160]) {
    bool keys = function_of(m)->form == FORM_KEYS, two = m->comp == COMP_GATES;
    char factor[32] = "";
    if (m->scale != 1) snprintf(factor, sizeof factor, "%g ", m->scale);
    if (!keys)
        snprintf(out, 160, "h ← h + %sg Δh%s, g = mean σ(%s·w + b) over the tokens", factor,
                 sub, input_of(m));
    else
        snprintf(out, 160,
                 "h \u2190 (1\u2212\u03BB) h + \u03BB \u0394h%s, P_k times g%s, P_v times g%s, g = mean "
                 "\u03C3(x\u00B7w + b)",
                 sub, two ? "\u2096" : "", two ? "\u1D65" : "");
}

void formula_compose(const struct module *m, const char *sub, char out[160]) {
    const char *sign;
    if (m->source == SOURCE_FUSION && m->fn == FN_PROMPT) {
        snprintf(out, 160, "P%s frozen, for attention over prompts", sub);
        return;
    }
    if (m->source == SOURCE_FUSION) {
        char factor[32] = "";
        if (m->comp == COMP_SCALED) snprintf(factor, sizeof factor, "%g ", m->scale);
        snprintf(out, 160, "z%s = %sΔh%s, frozen, for the fusion", sub,
                 m->comp == COMP_LEARNED ? "s " : factor, sub);
        return;
    }
    bool ends = m->residual != RESIDUAL_WRITTEN || m->ending != END_MODEL || m->norm == NORM_SCALED ||
                m->norm == NORM_SUM;
    if (ends) {
        compose_ends(m, sub, out);
        return;
    }
    if (function_of(m)->composed) {
        snprintf(out, 160, "%s", function_of(m)->composed);
        return;
    }
    switch (m->comp) {
    case COMP_ADD: snprintf(out, 160, "h \u2190 h + \u0394h%s", sub); break;
    case COMP_SCALED: snprintf(out, 160, "h \u2190 h + %g \u0394h%s", m->scale, sub); break;
    case COMP_LEARNED: snprintf(out, 160, "h \u2190 h + s \u0394h%s, s = %g at init", sub, m->scale); break;
    case COMP_GATED: snprintf(out, 160, "h \u2190 (1\u2212\u03BB) h + \u03BB \u0394h%s", sub); break;
    case COMP_MULTIPLY:
        sign = function_of(m)->sign;
        snprintf(out, 160, "h \u2190 h \u2299 %s%s", sign ? sign : "\u0394h", sub);
        break;
    case COMP_CONCAT:
        snprintf(out, 160,
                 m->place == PLACE_AFTER_BOS ? "X \u2190 [x_0; P%s; x_1 \u2026]" : "X \u2190 [P%s; X]", sub);
        break;
    case COMP_IN_WEIGHT:
        snprintf(out, 160, "trained in place");
        break;
    case COMP_CHANNEL:
        snprintf(out, 160, "h \u2190 h + s \u2299 \u0394h%s, s = %g at init", sub, m->scale);
        break;
    case COMP_GATE:
    case COMP_GATES: formula_gate(m, sub, out); break;
    case COMP_COUNT: *out = 0;
    }
}
