/* The axes of a module and the choices on each: what a choice would make of the module,
 * and whether the method would then still be a valid point. */
#include <stdio.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/method/functions.h"
#include "core/method/keys.h"
#include "core/train/config/regime.h"
#include "views/compose_edit.h"

/* A field by name, or an axis that is more or other than a field of the table; then come the table's other
 * fields that have a label. */
static const struct {
    const char *name, *key;
} axes[AXIS_NAMED] = {
    { "function", NULL }, { "position", NULL }, { NULL, "site" }, { NULL, "stack" }, { "insertion", NULL },
    { NULL, "comp" }, { "size", NULL }, { NULL, "layers" }, { NULL, "source" }, { "scale", NULL },
    { "inner width", NULL }, { NULL, "act" }, { NULL, "heads" }, { NULL, "init" }, { NULL, "dropout" },
    { NULL, "learn" }
};

/* The nth labeled field that `axes` does not name. */
static const struct key *other_field(int n) {
    const struct key *k;
    for (int i = 0; (k = key_at(i)); i++) {
        bool named = !k->label;
        for (int a = 0; a < AXIS_NAMED; a++) named |= axes[a].key && !strcmp(axes[a].key, k->name);
        if (!named && !n--) return k;
    }
    return NULL;
}

int axis_count(void) {
    int n = AXIS_NAMED;
    while (other_field(n - AXIS_NAMED)) n++;
    return n;
}

const struct key *axis_key(const struct module *m, enum axis a) {
    if (a >= AXIS_NAMED) return other_field((int)a - AXIS_NAMED);
    if (a == AXIS_SCALE) return &key_scale;
    if (a == AXIS_MID) return &key_mid;
    if (a == AXIS_SIZE) return key_find(m && module_takes(m, TAKES_L) ? "l" : "r");
    return axes[a].key ? key_find(axes[a].key) : NULL;
}

const char *axis_name(enum axis a) {
    const struct key *k = a < AXIS_NAMED && axes[a].name ? NULL : axis_key(NULL, a);
    return k ? k->label : axes[a].name;
}

static const char *tap_words(enum tap t) {
    static const char *const words[TAP_COUNT] = {
        [TAP_NONE] = "\u2013",         [TAP_A_RES] = "attn residual",
        [TAP_A_IN] = "attn in",        [TAP_A_Q] = "attn q",
        [TAP_A_K] = "attn k",          [TAP_A_V] = "attn v",
        [TAP_A_HEAD] = "attn heads",   [TAP_A_CTX] = "attn ctx",
        [TAP_A_OUT] = "attn out",      [TAP_A_END] = "attn end",
        [TAP_F_RES] = "ffn residual",  [TAP_F_IN] = "ffn in",
        [TAP_F_PRE] = "ffn pre",       [TAP_F_ACT] = "ffn act",
        [TAP_F_UP] = "ffn up",
        [TAP_F_OUT] = "ffn out",       [TAP_F_NORM] = "LN(ffn out)",
        [TAP_A_NORM] = "LN(attn out)", [TAP_F_END] = "ffn end",
        [TAP_EMBED] = "embedding",     [TAP_EMBED_WORDS] = "embed words"
    };
    return words[t];
}

/* Returns whether the module has the axis, on any model. */
static bool has_axis(const struct module *m, enum axis a) {
    const struct key *k = axis_key(m, a);
    switch (a) {
    case AXIS_INSERTION: return module_takes(m, TAKES_READ);
    case AXIS_SIZE: return module_is_sized(m);
    case AXIS_SCALE: return comp_has_scale(m->comp);
    case AXIS_MID: return source_width(m->source);
    default: return !k || key_takes(k, m);
    }
}

bool axis_applies(const struct module *m, const struct arch *arch, enum axis a) {
    const struct key *k = axis_key(m, a);
    return has_axis(m, a) && (!k || !k->acts || k->acts(m, arch));
}

bool compose_axis_applies(const struct compose_view *v, enum axis a) {
    const struct module *m = &v->config.method.module[v->part];
    if (a == AXIS_LEARN && m->learn == LEARN_BOTH && !config_is_meta(&v->config)) return false;
    return axis_applies(m, v->arch, a);
}

/* Returns a word, or a flag, as the screens show it. */
static const char *key_shown(const struct key *k, int value) {
    return k->kind == KEY_FLAG ? (value ? "yes" : "no") : k->shown ? k->shown[value] : k->words[value];
}

struct phrase site_words(const struct module *m) {
    static const char *const targets[TARGET_COUNT] = { "\u2013", "", "all", "LayerNorms",
                                                      "embeddings", "pooler" };
    static const char *const maps[TAP_COUNT] = {
        [TAP_A_Q] = "W_q", [TAP_A_K] = "W_k", [TAP_A_V] = "W_v", [TAP_A_OUT] = "W_o",
        [TAP_F_PRE] = "W_1", [TAP_F_UP] = "W_up",  [TAP_F_OUT] = "W_2" };
    const char *word = module_in_weight(m) ? targets[m->target] : tap_words(m->write);
    bool narrow = module_takes_site(m) && m->site != SITE_ALL;
    const char *site = narrow ? site_name(m->site) : "", *gap = narrow ? " " : "";
    if (m->target == TARGET_TAP)
        return phrase("of %s%s%s", maps[m->write] ? maps[m->write] : "?", gap, site);
    if (narrow && !module_in_weight(m)) /* in place of "attn" */
        return phrase("%s%s", site, word + strcspn(word, " "));
    return phrase("%s%s%s", word, gap, site);
}

/* "all", "3\u201312", "dec", "dec 3\u2013". */
static struct phrase layers_value(const struct module *m) {
    static const char *const stacks[] = { "enc", "dec", "" };
    char range[32] = "";
    bool whole = m->last == 0 && m->first <= 1, one = m->stack != STACK_ALL;
    if (whole && !one) snprintf(range, sizeof range, "all");
    else if (!whole && m->last == 0) snprintf(range, sizeof range, "%d\u2013", m->first);
    else if (!whole && m->first == m->last) snprintf(range, sizeof range, "%d", m->first);
    else if (!whole) snprintf(range, sizeof range, "%d\u2013%d", m->first, m->last);
    return phrase("%s%s%s", stacks[m->stack], one && *range ? " " : "", range);
}

struct phrase axis_value(const struct module *m, enum axis a) {
    const struct key *k = axis_key(m, a);
    enum function_form form = function_of(m)->form;
    char text[KEY_TEXT];
    bool composes = a == AXIS_COMPOSITION;
    if (!has_axis(m, a))
        return phrase("%s", a == AXIS_INSERTION && form == FORM_KEYS                  ? "parallel"
                            : (a == AXIS_INSERTION || composes) && form == FORM_ROWS ? "concat"
                            : composes                                               ? "in place"
                                                                                     : "\u2013");
    if (a == AXIS_FUNCTION) return phrase("%s", function_of(m)->title);
    if (a == AXIS_POSITION) return site_words(m);
    if (a == AXIS_INSERTION) return phrase("%s", module_is_sequential(m) ? "sequential" : "parallel");
    if (a == AXIS_LAYERS) return layers_value(m);
    if (a == AXIS_SIZE) return phrase("%s %d", k->name, m->size);
    if (a == AXIS_SCALE) return phrase("%g", m->scale);
    if (k->kind == KEY_WORD && k->words != init_names) return phrase("%s", key_shown(k, key_number(k, m)));
    key_print(k, m, text);
    return phrase("%s", text);
}

/* Returns the tap that a parallel module reads for a tap that it writes. */
static enum tap parallel_read(enum fn fn, enum tap write) {
    if (function_at(fn)->linear && tap_map_input(write) != TAP_NONE) return tap_map_input(write);
    if (write == TAP_A_HEAD) return TAP_A_Q;
    if (write >= TAP_F_RES && write <= TAP_F_END) return TAP_F_IN;
    return write == TAP_EMBED ? TAP_EMBED : TAP_A_IN;
}

static void compose_choose_move_to(struct module *m, enum tap write) {
    bool sequential = module_is_sequential(m);
    if (function_of(m)->per_head) {
        if (write == TAP_A_HEAD && m->heads == HEADS_SHARED) m->heads = HEADS_FACTORIZED;
        if (write != TAP_A_HEAD) m->heads = HEADS_SHARED;
    }
    m->write = write;
    m->read = sequential ? write : parallel_read(m->fn, write);
    if (sequential && write == TAP_A_HEAD) m->read = TAP_A_Q;
}

/* Returns the module with another function, at the same position where the function allows it. */
static struct module with_function(const struct module *m, enum fn fn) {
    struct module n = module_default(fn);
    n.first = m->first;
    n.last = m->last;
    n.stack = m->stack;
    n.site = m->site;
    if (fn == m->fn) return *m;
    bool placed = m->write != TAP_NONE && m->write != TAP_A_HEAD;
    if (placed && module_takes(&n, TAKES_READ)) {
        n.read = m->read;
        n.write = m->write;
        if (!module_takes(m, TAKES_READ)) n.read = parallel_read(fn, n.write);
        if (comp_has_scale(m->comp)) {
            n.comp = m->comp;
            n.scale = m->scale;
        }
    } else if (placed && module_is_in_place(&n)) {
        n.write = n.read = m->write;
    }
    if (m->size > 0 && n.size > 0) n.size = m->size;
    module_normalize(&n);
    return n;
}

struct choice_list {
    struct choice *of;
    int count;
    const struct arch *arch; /* NULL: no model is selected */
};

/* The up projection is offered only where there is one. */
static bool is_offered(const struct choice_list *l, enum tap tap) {
    return tap != TAP_F_UP || (l->arch && l->arch->gated);
}

static struct choice *compose_choose_add(struct choice_list *l, const char *name, const char *says,
                                         const struct module *m) {
    BUG_IF(l->count == COMPOSE_CHOICES);
    struct choice *c = &l->of[l->count++];
    memset(c, 0, sizeof *c);
    snprintf(c->name, sizeof c->name, "%s", name);
    c->says = says;
    c->module = *m;
    return c;
}

static void list_functions(struct choice_list *l, const struct module *m) {
    for (int f = 0; f < FN_COUNT; f++) {
        struct module n = with_function(m, (enum fn)f);
        compose_choose_add(l, function_at((enum fn)f)->title, function_at((enum fn)f)->description, &n)
            ->current = m->fn == (enum fn)f;
    }
}

static void list_targets(struct choice_list *l, const struct module *m) {
    static const struct {
        enum target target;
        enum tap tap;
        const char *name, *says;
    } targets[] = {
        { TARGET_ALL, TAP_NONE, "all", "All tensors of this kind in the model." },
        { TARGET_NORMS, TAP_NONE, "LayerNorms", "Weights and biases of the LayerNorms." },
        { TARGET_EMBEDDINGS, TAP_NONE, "embeddings", "The embedding matrices and their LayerNorm." },
        { TARGET_POOLER, TAP_NONE, "pooler",
          "The linear layer on the first token, before the classification head." },
        { TARGET_TAP, TAP_A_Q, "of W_q", "The query projection." },
        { TARGET_TAP, TAP_A_K, "of W_k", "The key projection." },
        { TARGET_TAP, TAP_A_V, "of W_v", "The value projection." },
        { TARGET_TAP, TAP_A_OUT, "of W_o", "The output projection of the attention heads." },
        { TARGET_TAP, TAP_F_PRE, "of W_1", "The first linear layer of the feed-forward sublayer." },
        { TARGET_TAP, TAP_F_UP, "of W_up", "The up projection of the gated feed-forward sublayer." },
        { TARGET_TAP, TAP_F_OUT, "of W_2", "The second linear layer of the feed-forward sublayer." },
    };
    for (size_t i = 0; i < COUNT_OF(targets); i++) {
        struct module n = *m;
        if (!is_offered(l, targets[i].tap)) continue;
        n.target = targets[i].target;
        n.write = targets[i].tap;
        module_normalize(&n);
        compose_choose_add(l, targets[i].name, targets[i].says, &n)->current =
            m->target == n.target && m->write == n.write;
    }
}

static void list_positions(struct choice_list *l, const struct module *m) {
    static const struct {
        enum tap tap;
        const char *says;
    } taps[] = {
        { TAP_A_Q, "The queries x W_q + b_q." },
        { TAP_A_K, "The keys x W_k + b_k." },
        { TAP_A_V, "The values x W_v + b_v." },
        { TAP_A_HEAD,
          "Output of each attention head, before W_o; only here is the gate \u03BB(x) available." },
        { TAP_A_CTX, "The concatenated attention heads: the input of W_o." },
        { TAP_A_OUT, "Output of the attention sublayer, before the residual connection." },
        { TAP_F_PRE, "Inside the feed-forward sublayer, before its activation." },
        { TAP_F_UP, "The up projection of the gated feed-forward sublayer." },
        { TAP_F_ACT, "Inside the feed-forward sublayer, after its activation (intermediate size)." },
        { TAP_F_OUT, "Output of the feed-forward sublayer, before the residual connection." },
        { TAP_EMBED, "The output of the embeddings, the input of the first layer." },
        { TAP_EMBED_WORDS, "The word embeddings, before position embeddings and LayerNorm. A prompt is "
                           "prepended here, which shifts the tokens." },
    };
    bool rows = function_of(m)->form == FORM_ROWS, words = function_of(m)->of_words;
    for (size_t i = 0; i < COUNT_OF(taps); i++) {
        struct module n = *m;
        if (!is_offered(l, taps[i].tap)) continue;
        if (taps[i].tap == TAP_EMBED_WORDS ? !rows && !words : words) continue;
        if (rows && taps[i].tap != TAP_EMBED_WORDS && taps[i].tap != TAP_EMBED) continue;
        /* equal to the heads for a function per head */
        bool keys = function_of(m)->form == FORM_KEYS;
        if (keys && taps[i].tap == TAP_A_CTX) continue;
        if (m->write != taps[i].tap) compose_choose_move_to(&n, taps[i].tap);
        if (keys) {
            n = *m; /* normalizing would hide the other position */
            n.write = taps[i].tap;
        } else {
            if (n.comp == COMP_GATED) n.comp = COMP_ADD;
            module_normalize(&n);
        }
        compose_choose_add(l, tap_words(taps[i].tap), taps[i].says, &n)->current = m->write == taps[i].tap;
    }
}

static void list_insertions(struct choice_list *l, const struct module *m) {
    static const enum tap order[] = { TAP_A_IN,  TAP_A_Q,   TAP_A_HEAD, TAP_A_CTX, TAP_F_IN,
                                     TAP_F_PRE, TAP_F_UP,  TAP_F_ACT,  TAP_A_OUT,
                                     TAP_F_OUT };
    char name[48];
    struct module n = *m;
    n.read = m->write;
    compose_choose_add(l, "sequential",
                       "Reads the output that it modifies: h \u2190 h + f(h).", &n)
        ->current = m->read == m->write;
    if (m->write == TAP_F_OUT || m->write == TAP_A_OUT) {
        n.read = m->write == TAP_F_OUT ? TAP_F_NORM : TAP_A_NORM;
        compose_choose_add(
            l, "sequential, LN first",
            "Reads LN(output + residual), taken before the adapter, and adds to the output (Pfeiffer).", &n)
            ->current = m->read == n.read;
    }
    for (size_t i = 0; i < COUNT_OF(order); i++) {
        if (!is_offered(l, order[i])) continue;
        bool same_part = (order[i] <= TAP_A_END) == (m->write <= TAP_A_END);
        if (order[i] == m->write || !same_part || (order[i] > m->write && m->write != TAP_EMBED)) continue;
        if (order[i] == TAP_A_HEAD && m->heads == HEADS_SHARED) continue;
        if (order[i] == TAP_A_CTX && m->heads != HEADS_SHARED) continue;
        n.read = order[i];
        snprintf(name, sizeof name, "parallel from %s", tap_words(order[i]));
        compose_choose_add(
            l, name, "Reads an earlier activation x, in parallel to the frozen sublayer: h \u2190 h + f(x).",
            &n)
            ->current = m->read == order[i];
    }
}

/* Applies what else a choice changes; false: the module cannot have it. */
static bool settle(const struct module *m, struct module *n, const struct key *k, int value) {
    if (k->words == comp_names) {
        if (n->comp == COMP_SCALED && m->comp != COMP_SCALED && m->comp != COMP_LEARNED) n->scale = 2;
        return function_of(m)->comps >> value & 1 || value <= COMP_MULTIPLY;
    }
    if (k->words == init_names) n->from_run = 0;
    if (k->words == source_names) {
        if (n->source == SOURCE_KRONECKER && m->source != n->source) n->factor = 1;
        if (n->source != m->source) n->init = INIT_DEFAULT; /* the default of the new source */
        if (source_width(n->source) != source_width(m->source)) n->mid = source_width(n->source);
    }
    if (k->words != site_names) return true;
    module_normalize(n);
    return n->site == value;
}

/* Lists the values of a field, the neutral one first. */
static void list_words(struct choice_list *l, const struct key *k, const struct module *m) {
    int count = (k->kind == KEY_FLAG ? 2 : k->count) - k->first;
    int start = k->neutral > k->first ? k->neutral - k->first : 0;
    bool other = k->words == init_names && m->from_run;
    if (other) {
        char run[KEY_TEXT];
        key_print(k, m, run);
        compose_choose_add(l, run, "Initialized from a stored copy of the parameters of that run.", m)
            ->current = true;
    }
    for (int i = 0; i < count; i++) {
        int value = k->first + (start + i) % count;
        struct module n = *m;
        key_choose(k, &n, value);
        if ((k->each && !k->each[value]) || !settle(m, &n, k, value)) continue;
        compose_choose_add(l, key_shown(k, value), k->each ? k->each[value] : k->description, &n)->current =
            !other && key_number(k, m) == value;
    }
}

static void list_axis(struct choice_list *l, enum axis a, const struct module *m) {
    const struct key *k = axis_key(m, a);
    if (a == AXIS_FUNCTION) list_functions(l, m);
    else if (a == AXIS_INSERTION) list_insertions(l, m);
    else if (a == AXIS_POSITION && module_in_weight(m)) list_targets(l, m);
    else if (a == AXIS_POSITION) list_positions(l, m);
    else if (!key_is_number(k)) list_words(l, k, m);
}

/* The choice of this name for another module; if there is none, one that begins with the same word (parallel
 * from another input).  A module without such a choice stays as it is. */
static void choose_same(enum axis a, const char *name, const struct arch *arch, struct module *m) {
    struct choice of[COMPOSE_CHOICES];
    struct choice_list l = { of, 0, arch };
    size_t word = strcspn(name, " ,");
    int best = -1;
    if (!axis_applies(m, arch, a)) return;
    list_axis(&l, a, m);
    for (int i = l.count - 1; i >= 0; i--)
        if (!strncmp(of[i].name, name, word) && strcspn(of[i].name, " ,") == word) best = i;
    for (int i = 0; i < l.count; i++)
        if (!strcmp(of[i].name, name)) best = i;
    if (best >= 0 && !of[best].current) *m = of[best].module;
}

void compose_choose(const struct compose_view *v, const struct choice *k, struct method *out) {
    *out = v->config.method;
    out->module[v->part] = k->module;
    for (int i = 0; i < out->count; i++)
        if (i != v->part && compose_reaches(v, i)) choose_same(v->axis, k->name, v->arch, &out->module[i]);
    if (v->axis == AXIS_SOURCE) network_settle(out); /* its generator comes and goes with it */
}

/* A choice is not allowed when it brings an error that the method did not have, be it at
 * another module. */
static void judge(const struct compose_view *v, struct choice *c) {
    struct method m;
    struct finding found[COMPOSE_FINDINGS];
    c->allowed = true;
    if (!v->arch || c->current) return;
    compose_choose(v, c, &m);
    struct run_config changed = v->config; /* a shallow copy with another method; owns nothing */
    changed.method = m;
    int n = method_check(&m, v->arch, found, COMPOSE_FINDINGS);
    if (n < COMPOSE_FINDINGS) n += regime_check(&changed, v->arch, found + n, COMPOSE_FINDINGS - n);
    for (int i = 0; i < n && i < COMPOSE_FINDINGS; i++) {
        if (found[i].level != LEVEL_ERROR) continue;
        bool had = false;
        for (int j = 0; j < v->facts.findings; j++)
            had |= v->facts.finding[j].level == LEVEL_ERROR &&
                   v->facts.finding[j].module == found[i].module &&
                   !strcmp(v->facts.finding[j].rule, found[i].rule);
        if (had) continue;
        c->allowed = false;
        memcpy(c->why, found[i].text, sizeof c->why);
        return;
    }
}

void compose_list(struct compose_view *v) {
    v->choice_count = 0;
    if (v->part >= v->config.method.count) {
        v->choice = 0;
        network_list(v);
        return;
    }
    struct choice_list l = { v->choices, 0, v->arch };
    list_axis(&l, v->axis, &v->config.method.module[v->part]);
    v->choice_count = l.count;
    int current = 0;
    for (int i = 0; i < v->choice_count; i++) {
        judge(v, &v->choices[i]);
        if (v->choices[i].current) current = i;
    }
    v->choice = current;
}
