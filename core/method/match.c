#include "core/method/match.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/method/backbone.h"
#include "core/method/carry.h"
#include "core/method/keys.h"
#include "core/method/network.h"
#include "core/method/sources.h"

/* How a call differs from the preset: in sizes; in a reparameterization that is used only in training; in
 * other settings. */
enum far { FAR_SIZE, FAR_ROAD, FAR_SWITCH };

/* A call under construction. */
struct call_text {
    struct buf args;
    enum far far;
};

static void match_add(struct call_text *c, const char *key, const char *value, enum far far) {
    buf_printf(&c->args, "%s%s=%s", c->args.size ? "," : "", key, value);
    if (far > c->far) c->far = far;
}

/* Finds the first module that takes the field and the preset's module at the same place; for the place
 * itself, the first that differs. */
static bool takers(const struct key *k, const struct module *run, const struct module *base, int n,
                   const struct module **x, const struct module **y) {
    bool differs = k->words == stack_names || k->words == site_names;
    for (int i = 0; i < n; i++)
        if (key_takes(k, &run[i]) && key_takes(k, &base[i]) &&
            (!differs || !key_same(k, &run[i], &base[i]))) {
            *x = &run[i];
            *y = &base[i];
            return true;
        }
    return false;
}

/* Sets the run's MLP in the preset's prefixes, with the initialization that belongs to it. */
static void give_mlp(const struct module *run, struct module *base, int n) {
    for (int i = 0; i < n; i++) {
        if (!module_takes(&base[i], TAKES_MLP) || base[i].source == SOURCE_MLP || run[i].source != SOURCE_MLP)
            continue;
        base[i].source = SOURCE_MLP;
        base[i].mid = run[i].mid;
        base[i].mid_act = run[i].mid_act;
        base[i].init = INIT_DEFAULT;
        module_normalize(&base[i]);
    }
}

/* Adds s, mlp and b, which are shorthand for parts of other fields. */
static void add_short(struct call_text *c, const struct key *k, const struct module *x,
                      const struct module *y, const struct module *run, struct module *base, int n) {
    char text[KEY_TEXT], inner[KEY_TEXT + 8];
    if (k->bit == TAKES_S && (x->comp != y->comp || x->scale != y->scale)) {
        bool fixed = x->comp == COMP_SCALED && y->comp == COMP_SCALED;
        if (fixed) text_from_double(x->scale, text);
        else format_comp(x, text);
        match_add(c, fixed || x->comp == COMP_LEARNED ? "s" : "comp", text, fixed ? FAR_SIZE : FAR_SWITCH);
    } else if (!strcmp(k->name, "mlp") && x->source == SOURCE_MLP &&
               (y->source != SOURCE_MLP || x->mid != y->mid || x->mid_act != y->mid_act)) {
        format_mlp(x, text);
        bool bend = strchr(text, ',');
        snprintf(inner, sizeof inner, bend ? "mlp(%s)" : "%s", text);
        match_add(c, bend ? "source" : "mlp", inner, y->source == SOURCE_MLP ? FAR_SIZE : FAR_ROAD);
        give_mlp(run, base, n);
    } else if (!strcmp(k->name, "b") && source_is_prompt(x->source) && source_is_prompt(y->source) &&
               x->mid != y->mid) {
        snprintf(text, sizeof text, "%d", x->mid);
        match_add(c, k->name, text, FAR_SIZE);
        for (int i = 0; i < n; i++)
            if (source_is_prompt(base[i].source)) base[i].mid = x->mid;
    }
}

static void add_field(struct call_text *c, const struct key *k, const struct module *run, struct module *base,
                      int n) {
    enum far far = key_is_number(k) && k->kind != KEY_LAYERS ? FAR_SIZE : FAR_SWITCH;
    const struct module *x, *y, *z;
    char text[KEY_TEXT];
    if (!takers(k, run, base, n, &x, &y)) return;
    if (k->kind == KEY_OTHER) {
        add_short(c, k, x, y, run, base, n);
        return;
    }
    bool by_s = k->words == comp_names && takers(key_find("s"), x, y, 1, &z, &z);
    if (by_s || key_same(k, x, y) || (k->words == source_names && x->source == SOURCE_MLP)) return;
    key_print(k, x, text);
    match_add(c, k->name, text, far);
    if (k->words == heads_names && x->read != y->read) match_add(c, "read", tap_name(x->read), far);
}

/* The order of settings in a call; others follow. */
static const char *const order[] = { "l", "r", "s", "mlp", "b", "seed", "dropout", "act", "biases", "norm",
                                     "norm-before", "residual", "end", "shift", "length", "comp", "source",
                                     "rank", "rule", "heads", "init", "layers", "stack", "place", "pool",
                                     "rows", "learn", "site" };

static bool is_ordered(const struct key *k) {
    for (size_t i = 0; i < COUNT_OF(order); i++)
        if (!strcmp(order[i], k->name)) return true;
    return false;
}

static void add_fields(struct call_text *c, const struct module *run, struct module *base, int n) {
    const struct key *k;
    for (size_t i = 0; i < COUNT_OF(order); i++) add_field(c, key_find(order[i]), run, base, n);
    for (int i = 0; (k = key_at(i)); i++)
        if (k->kind != KEY_OTHER && k->words != tap_names && k->words != target_names && !is_ordered(k))
            add_field(c, k, run, base, n);
}

/* Returns the word of at= for a module's place, or NULL. */
static const char *place_word(const struct module *m) {
    const struct function *f = function_of(m);
    if (m->read != function_place_read(f, m->write)) return NULL;
    for (const struct function_place *at = f->places; at && at->word; at++)
        if (at->tap == m->write) return at->word;
    return NULL;
}

/* Moves the preset to the places of the run with at=; returns false if that is impossible. */
static bool move(struct call_text *c, struct method *base, const struct module *run, int n) {
    struct buf places = BUF_INIT;
    enum fn fn = base->module[0].fn;
    bool good = function_at(fn)->places;
    for (int i = 0; i < base->count; i++) good &= base->module[i].fn == fn;
    for (int i = 0; i < n; i++) {
        const char *word = good && run[i].fn == fn ? place_word(&run[i]) : NULL;
        if (!word) good = false;
        else buf_printf(&places, "%s%s", i ? "+" : "", word);
    }
    if (good) {
        struct module first = base->module[0];
        base->count = n;
        for (int i = 0; i < n; i++) {
            base->module[i] = first;
            base->module[i].read = run[i].read;
            base->module[i].write = run[i].write;
            module_normalize(&base->module[i]);
        }
        bool peft = !strcmp(buf_text(&places), "k+v+ctx+act");
        bool all = function_at(fn)->places == function_maps && !strcmp(buf_text(&places), "q+k+v+o+w1+up+w2");
        if (peft) buf_puts(&c->args, "peft");
        else if (all) buf_puts(&c->args, "at=all-linear");
        else buf_printf(&c->args, "at=%s", buf_text(&places));
        c->far = FAR_SWITCH;
    }
    buf_release(&places);
    return good;
}

static bool same_places(const struct method *base, const struct module *run, int n) {
    if (base->count != n) return false;
    for (int i = 0; i < n; i++) {
        const struct module *x = &run[i], *y = &base->module[i];
        bool place = x->write == y->write && (x->read == y->read || x->heads != y->heads);
        if (x->fn != y->fn || x->target != y->target || !place) return false;
    }
    return true;
}

/* Replaces the backbone setting of the preset by that of the run. If the preset freezes the backbone, trained
 * parts of it are separate modules of the text. */
static bool with_backbone(struct call_text *c, const struct preset *p, struct method *base,
                          const struct module *run, int n) {
    struct method other = *base;
    enum backbone own = backbone_of(base->module, base->count), its = backbone_of(run, n);
    if (own == its || own == BACKBONE_COUNT || its == BACKBONE_COUNT) return false;
    if (own == BACKBONE_FROZEN && !networks_on(&p->method)) return false;
    if (!backbone_set(&other, its, true)) return false;
    method_normalize(&other);
    if (!same_places(&other, run, n)) return false;
    *base = other;
    if (own == BACKBONE_NORMS && its == BACKBONE_FROZEN) match_add(c, "norms", "no", FAR_SWITCH);
    else match_add(c, "backbone", backbone_words[its], FAR_SWITCH);
    return true;
}

static bool parses_to(const char *text, const struct module *run, int n) {
    struct method m;
    struct err e = ERR_INIT;
    if (method_parse(text, &m, &e) || m.count != n) return false;
    method_normalize(&m);
    for (int i = 0; i < n; i++)
        if (!module_equal(&m.module[i], &run[i])) return false;
    return true;
}

/* Returns the source of keys and values computed from prompts, SOURCE_FREE: none. */
static enum source prompts_of(const struct module *m, int n) {
    for (int i = 0; i < n; i++)
        if (source_is_prompt(m[i].source)) return m[i].source;
    return SOURCE_FREE;
}

static bool match_by_task(const struct module *m, int n) {
    for (int i = 0; i < n; i++)
        if (source_row(m[i].source)->by_task) return true;
    return false;
}

static bool has_source(const struct module *m, int n, enum source s) {
    for (int i = 0; i < n; i++)
        if (m[i].source == s) return true;
    return false;
}

/* Returns whether the preset may name the run. A preset with weights per task does not name modules without
 * them, nor generated ones: its shorter name would replace the established one. */
static bool may_name(const struct preset *p, const struct module *run, int n) {
    if (!p->method.count || p->same_as || networks_on(&p->method)) return false;
    if (prompts_of(run, n) != SOURCE_FREE &&
        prompts_of(run, n) != prompts_of(p->method.module, p->method.count))
        return false;
    const struct module *own = p->method.module;
    if (has_source(own, p->method.count, SOURCE_TASK) && !has_source(run, n, SOURCE_TASK))
        return false;
    if (has_source(run, n, SOURCE_FUSION) && has_source(own, p->method.count, SOURCE_KRONECKER))
        return false;
    return match_by_task(run, n) || !match_by_task(own, p->method.count);
}

/* Returns the call of one preset, or NULL. `run` is normalized. */
static char *spell(const struct preset *p, const struct module *run, int n, enum far *far) {
    struct method base = p->method;
    struct call_text c = { .far = FAR_SIZE };
    char *text = NULL;
    method_normalize(&base);
    if (same_places(&base, run, n) || (base.count && (with_backbone(&c, p, &base, run, n) ||
                                                      move(&c, &base, run, n)))) {
        add_fields(&c, run, base.module, n);
        text = c.args.size ? xprintf("%s(%s)", p->name, buf_text(&c.args)) : xstrdup(p->name);
        if (!parses_to(text, run, n)) {
            free(text);
            text = NULL;
        }
    }
    buf_release(&c.args);
    *far = c.far;
    return text;
}

/* Returns the call of the preset and the settings of the method's networks that differ; NULL if it is another
 * method. */
static char *spell_networks(const struct preset *p, const struct method *m, const struct method *normal,
                            struct match *found) {
    enum far far = FAR_SWITCH;
    struct buf text = BUF_INIT;
    bool same = networks_equal(&p->method, m),
         extends = networks_on(&p->method) && networks_extend(m, &p->method);
    char *call = same || extends ? spell(p, normal->module, normal->count, &far) : NULL;
    if (!call) return NULL;
    buf_puts(&text, call);
    free(call);
    networks_changes(m, &p->method, &text);
    *found = (struct match){ p, same && far != FAR_SWITCH };
    return buf_take(&text);
}

char *match_networks(const struct method *m, struct match *found) {
    struct method x = *m;
    char *best = NULL;
    *found = (struct match){ NULL, false };
    if (!networks_on(m)) return NULL;
    method_normalize(&x);
    for (int i = 0; i < preset_count(); i++) {
        const struct preset *p = preset_at(i);
        struct match one;
        char *text = spell_networks(p, m, &x, &one);
        bool same = text && networks_equal(&p->method, m);
        if (!text || (best && !same && strlen(text) >= strlen(best))) {
            free(text);
            continue;
        }
        free(best);
        best = text;
        *found = one;
        if (same) break;
    }
    return best;
}

char *match_run(const struct module *m, int n, struct match *found) {
    struct method run = { .count = n };
    char *best = NULL;
    struct match at = { NULL, false };
    enum far least = FAR_SWITCH;
    if (n == 0) return NULL;
    memcpy(run.module, m, (size_t)n * sizeof *m);
    method_normalize(&run);
    for (int i = 0; i < preset_count(); i++) {
        const struct preset *p = preset_at(i);
        enum far far = FAR_SWITCH;
        char *text = may_name(p, run.module, n) ? spell(p, run.module, n, &far) : NULL;
        /* An unchanged published method is preferred to a shorter name with changed settings. */
        if (!text || (best && (far > least || (far == least && strlen(text) >= strlen(best))))) {
            free(text);
            continue;
        }
        free(best);
        best = text;
        least = far;
        at = (struct match){ p, far != FAR_SWITCH };
    }
    if (found) *found = at;
    return best;
}

const struct preset *method_preset(const struct method *m) {
    struct method x = *m;
    struct match found = { NULL, false };
    if (x.head != METHOD_HEAD_TRAINED) return NULL;
    if (x.count == 0) return networks_on(&x) ? NULL : preset_find("head");
    method_forget_runs(&x); /* the initialization does not change the method */
    method_normalize(&x);
    if (networks_on(&x)) free(match_networks(&x, &found));
    else free(match_run(x.module, x.count, &found));
    return found.sizes_only ? found.preset : NULL;
}
