#include "views/explain.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/method/distance.h"
#include "core/method/attach.h"
#include "core/method/equal.h"
#include "core/method/attempt.h"
#include "core/method/fusion.h"
#include "core/method/functions.h"
#include "core/method/keys.h"
#include "views/compose_edit.h"

/* A member of the JSON form. */
static const char *section_name(enum explain_section s) {
    static const char *const names[EXPLAIN_SECTIONS] = { "about", "axes",   "formula", "trains",
                                                         "costs", "equals", "released" };
    return names[s];
}

const char *explain_section_title(enum explain_section s) {
    static const char *const titles[EXPLAIN_SECTIONS] = { "overview",
                                                          "axes",
                                                          "formula",
                                                          "trainable parameters",
                                                          "cost",
                                                          "equivalent methods",
                                                          "differences in the published code" };
    return titles[s];
}

/* Takes the text. */
static void add_line(struct explain_page *page, enum explain_section section, char *text) {
    GROW(page->line, page->room, page->count + 1);
    page->line[page->count++] = (struct explain_line){ section, text };
}

#define add(page, section, ...) add_line(page, section, xprintf(__VA_ARGS__))

/* Takes `text`; nothing of NULL. */
static void add_taken(struct explain_page *page, enum explain_section section, const char *label,
                      char *text) {
    if (text) add(page, section, "%s%s", label, text);
    free(text);
}

static void add_about(struct explain_page *page, const struct method *m, const struct preset *preset) {
    char *text = method_text(m), *spelled = method_canonical(m);
    if (preset) add(page, EXPLAIN_ABOUT, "%s", preset->note);
    add(page, EXPLAIN_ABOUT, "as text: %s", text);
    if (strcmp(text, spelled)) add(page, EXPLAIN_ABOUT, "expanded: %s", spelled);
    if (preset && *preset->sizes)
        add(page, EXPLAIN_ABOUT, "default sizes %s, learning rate %g with AdamW", preset->sizes, preset->lr);
    if (preset && preset->regime) add(page, EXPLAIN_ABOUT, "training regime: %s", preset->regime);
    free(text);
    free(spelled);
}

/* ---- axes and formulas ---- */

static void explain_add_axes(struct explain_page *page, const struct module *m, int number) {
    struct buf b = BUF_INIT;
    char layers[KEY_TEXT];
    buf_printf(&b, "%d  %s", number, function_of(m)->title);
    if (module_takes(m, TAKES_READ))
        buf_printf(&b, " · reads %s, writes %s: %s", tap_name(m->read), tap_name(m->write),
                   module_insertion(m));
    else if (m->write != TAP_NONE) buf_printf(&b, " · at %s", tap_name(m->write));
    else buf_printf(&b, " · %s", target_name(m->target));
    if (!module_in_weight(m))
        buf_printf(&b, " · composition %s · source %s", axis_value(m, AXIS_COMPOSITION).text,
                   source_name(m->source));
    if (source_width(m->source)) buf_printf(&b, " of width %d", m->mid);
    if (module_is_sized(m)) buf_printf(&b, " · %s %d", module_takes(m, TAKES_L) ? "l" : "r", m->size);
    if (module_takes(m, TAKES_ACT)) buf_printf(&b, " · %s", method_act_name(m->act));
    if (m->norm != NORM_NONE) buf_printf(&b, " · norm %s", norm_name(m->norm));
    if (m->norm_before) buf_puts(&b, " · norm before");
    if (m->residual != RESIDUAL_WRITTEN) buf_printf(&b, " · residual %s", residual_name(m->residual));
    if (m->ending != END_MODEL) buf_printf(&b, " · end %s", ending_name(m->ending));
    char init[INIT_TEXT];
    module_init_text(m, init);
    if (module_takes(m, TAKES_INIT)) buf_printf(&b, " · init %s", init);
    key_layers_text(m, layers);
    buf_printf(&b, " · layers %s", layers);
    if (m->stack != STACK_ALL) buf_printf(&b, " of the %s", stack_name(m->stack));
    if (module_takes_site(m) && m->site != SITE_ALL) buf_printf(&b, " · site %s", site_name(m->site));
    add(page, EXPLAIN_AXES, "%s", buf_text(&b));
    buf_release(&b);
}

static void add_generators(struct explain_page *page, const struct method *m) {
    for (int g = 0; g < GENERATORS; g++) {
        char *formula = method_generator_formula(m, g);
        if (formula) add(page, EXPLAIN_FORMULA, "%s: %s", g ? "second generator" : "generator", formula);
        free(formula);
    }
}

static void add_formulas(struct explain_page *page, const struct method *m, const struct arch *a) {
    for (int i = 0; i < m->count; i++) {
        char sub[16] = "", delta[160], compose[160];
        if (m->count > 1) snprintf(sub, sizeof sub, "_%d", i + 1);
        formula_delta(&m->module[i], a, sub, delta);
        formula_compose(&m->module[i], sub, compose);
        add(page, EXPLAIN_FORMULA, "%d  %s;  %s", i + 1, delta, compose);
    }
    add_generators(page, m);
    if (m->retriever.on)
        add(page, EXPLAIN_FORMULA,
            "retriever: %s, with h averaged over the tokens of an example; loss + %g·(contrastive losses), "
            "temperature %g",
            m->retriever.width ? "z = W_2 relu(W_1 h + b_1) + b_2" : "z = h", m->retriever.weight,
            m->retriever.temperature);
    if (m->fusion.on) add_taken(page, EXPLAIN_FORMULA, "fusion: ", fusion_formula(m));
    if (m->attempt.on) add_taken(page, EXPLAIN_FORMULA, "attempt: ", attempt_formula(m));
    if (m->pruning.on && m->pruning.mask == MASK_LEARNED)
        add(page, EXPLAIN_FORMULA,
            "z = min(1, max(0, 3s − 1.5)), s = σ(log u − log(1−u) + α); loss + %g·(expected number of "
            "nonzero z)",
            m->pruning.weight);
    if (fusion_has_identity(m))
        add(page, EXPLAIN_FORMULA, "loss + %g·Σ ‖I − V‖², over all fusion layers", m->fusion.weight);
    const struct classifier *c = &m->classifier;
    if (c->on)
        add(page, EXPLAIN_FORMULA, "classifier: %s%s of %s",
            c->layers > 1 ? method_act_name(c->act) : "p W + b", c->layers > 1 ? "(p W_1 + b_1) W + b" : "",
            c->pooler ? "the model's pooler p" : "the first token p of the encoder output");
    if (!m->count) add(page, EXPLAIN_FORMULA, "none: no module is added to the model");
}

/* ---- what trains, and what it costs ---- */

static void add_trains(struct explain_page *page, const struct plan *p, const struct arch *a) {
    char shown[32], own[32];
    for (int i = 0; i < p->method.count; i++) {
        char *how = plan_arithmetic(p, a, i);
        add(page, EXPLAIN_TRAINS, "module %d: %s", i + 1, how);
        free(how);
    }
    add_taken(page, EXPLAIN_TRAINS, "generator: ", plan_network_arithmetic(p, "hyper"));
    add_taken(page, EXPLAIN_TRAINS, "second generator: ", plan_network_arithmetic(p, "hyper2"));
    add_taken(page, EXPLAIN_TRAINS, "retriever: ", plan_network_arithmetic(p, "retriever"));
    add_taken(page, EXPLAIN_TRAINS, "fusion: ", plan_network_arithmetic(p, "fusion"));
    add_taken(page, EXPLAIN_TRAINS, "attempt: ", plan_network_arithmetic(p, "attempt"));
    text_thousands((int64_t)p->head, shown);
    if (p->head && p->method.head == METHOD_HEAD_TRAINED)
        add(page, EXPLAIN_TRAINS, "head%s: %s", p->tasks > 1 ? "s" : "", shown);
    text_thousands((int64_t)(p->trained_method - p->own), shown);
    text_thousands((int64_t)p->own, own);
    if (p->tasks > 1)
        add(page, EXPLAIN_TRAINS, "%s shared by %d tasks, %s specific to one task", shown, p->tasks,
            own);
}

static void add_costs(struct explain_page *page, const struct plan *p) {
    enum { STATE = 4 * sizeof(real) }; /* value, gradient, two moments */
    char trained[32], model[32], kept[32];
    const char *why;
    double share = 100.0 * (double)p->trained_method / (double)p->model;
    text_thousands((int64_t)p->trained_method, trained);
    text_thousands((int64_t)p->model, model);
    text_thousands((int64_t)p->stored_method, kept);
    add(page, EXPLAIN_COSTS, "%s trainable parameters, %.3f%% of the model's %s, without the head", trained,
        share, model);
    if (p->tasks > 1) add(page, EXPLAIN_COSTS, "%.3f%% per task, for %d tasks", share / p->tasks, p->tasks);
    add(page, EXPLAIN_COSTS, "%s parameters stored in the adapter", kept);
    add(page, EXPLAIN_COSTS, "%.1f MB in training for parameters, gradients and AdamW moments",
        (double)(p->trained_method + p->head) * STATE * 1e-6);
    if (attach_can_merge(p, &why))
        add(page, EXPLAIN_COSTS, "can be merged into the model's weights: no cost at inference");
    else add(page, EXPLAIN_COSTS, "cannot be merged into the model's weights: %s", why);
}

static void add_findings(struct explain_page *page, const struct method *m, const struct arch *a) {
    static const char *const levels[] = { "note", "warning", "error" };
    struct finding f[16];
    int n = method_check(m, a, f, COUNT_OF(f));
    for (int i = 0; i < n && i < (int)COUNT_OF(f); i++)
        add(page, EXPLAIN_COSTS, "%s %s: %s", levels[f[i].level], f[i].rule, f[i].text);
}

/* ---- the rest ---- */

/* Whether a call of the preset has the scale of the method, whose sizes it takes. */
static bool is_scaled_as(const struct preset *p, const struct method *m) {
    const struct module *x = &m->module[0];
    return !m->count || x->comp != COMP_SCALED ||
           fabs(preset_scale(p, x) - x->scale) <= 1e-9 * fabs(x->scale);
}

/* Presets that are written as another one's call: the same point, or the same with another scale. */
static void explain_add_words(struct explain_page *page, const struct method *m, const struct preset *named,
                              const struct preset *is) {
    const struct preset *first = named && named->same_as ? preset_find(named->same_as) : NULL, *p;
    if (first && is_scaled_as(first, m)) add(page, EXPLAIN_EQUALS, "same method as %s", first->name);
    else if (first)
        add(page, EXPLAIN_EQUALS, "%s with s = %g instead of %g", first->name, m->module[0].scale,
            preset_scale(first, &m->module[0]));
    for (int i = 0; is && (p = preset_at(i)); i++) {
        if (p == named || !p->same_as || strcmp(p->same_as, is->name)) continue;
        if (is_scaled_as(p, m)) add(page, EXPLAIN_EQUALS, "%s is another name for %s", p->name, is->name);
        else
            add(page, EXPLAIN_EQUALS, "%s is %s with s = %g instead of %g", p->name, is->name,
                preset_scale(p, &m->module[0]), m->module[0].scale);
    }
}

static void add_equals(struct explain_page *page, const struct method *m, const struct preset *preset,
                       const struct preset *is, const struct arch *a) {
    const struct equality *q;
    explain_add_words(page, m, preset, is);
    for (int i = 0; (q = equality_at(i)); i++)
        if (equality_applies(q, m, a)) add(page, EXPLAIN_EQUALS, "%s: %s", q->id, q->text);
    const struct preset *near = method_nearest_preset_except(m, is);
    if (near) {
        char *from = xprintf("from %s: ", near->name);
        add_taken(page, EXPLAIN_EQUALS, from, method_difference(m, &near->method));
        free(from);
    }
    add_taken(page, EXPLAIN_EQUALS,
              is ? "nearest other preset: " : "nearest published method: ", method_nearest_except(m, is));
}

/* Of what is no preset itself, what is known of the nearest one. */
static void add_released(struct explain_page *page, const struct method *m, const struct preset *preset) {
    const struct preset *of = preset ? preset : method_nearest_preset(m);
    if (!of || !of->released) add(page, EXPLAIN_RELEASED, "no known differences");
    else if (preset) add(page, EXPLAIN_RELEASED, "%s", of->released);
    else add(page, EXPLAIN_RELEASED, "of %s, the nearest published method: %s", of->name, of->released);
}

void explain_fill(struct explain_page *out, const struct method *given, const struct preset *named,
                  const struct plan *p, const struct arch *a) {
    struct method m = *given;
    const struct preset *is = method_preset(&m), *preset = named ? named : is;
    *out = (struct explain_page){ 0 };
    for (int i = 0; i < m.count; i++) module_normalize(&m.module[i]);
    out->title = preset ? xprintf("%s: %s", preset->title, preset->paper) : method_text(&m);
    add_about(out, &m, preset);
    for (int i = 0; i < m.count; i++) explain_add_axes(out, &m.module[i], i + 1);
    if (!m.count) add(out, EXPLAIN_AXES, "no module: only the head");
    add_formulas(out, &m, a);
    if (p) add_trains(out, p, a);
    if (p) add_costs(out, p);
    if (a) add_findings(out, &m, a);
    add_equals(out, &m, preset, is, a);
    add_released(out, &m, preset);
}

void explain_release(struct explain_page *page) {
    for (size_t i = 0; i < page->count; i++) free(page->line[i].text);
    free(page->line);
    free(page->title);
    *page = (struct explain_page){ 0 };
}

void explain_json(const struct explain_page *page, struct buf *out) {
    json_member_string(out, "title", page->title);
    for (int s = 0; s < EXPLAIN_SECTIONS; s++) {
        json_add_key(out, section_name((enum explain_section)s));
        buf_putc(out, '[');
        for (size_t i = 0; i < page->count; i++)
            if ((int)page->line[i].section == s) json_member_string(out, NULL, page->line[i].text);
        buf_putc(out, ']');
    }
}
