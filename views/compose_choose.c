/* The axes of a module and the choices on each: what a choice would make of the module,
 * and whether the method would then still be a valid point. */
#include <stdio.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/method/functions.h"
#include "core/train/regime.h"
#include "views/compose_edit.h"

const char *axis_name(enum axis a) {
    static const char *const names[] = {
        "function", "position", "site",  "stack",       "insertion",  "composition", "size",  "layers",
        "source",   "scale",    "inner width", "activation", "heads", "start", "dropout", "biases",
        "learn", "norm before", "norm", "residual", "end", "length", "shift",
        "place", "row read", "rows kept"};
    _Static_assert(COUNT_OF(names) == AXIS_COUNT, "a name for each axis");
    return names[a];
}

static const char *tap_words(enum tap t) {
    static const char *const words[TAP_COUNT] = {
        [TAP_NONE] = "\u2013",        [TAP_A_RES] = "attn residual", [TAP_A_IN] = "attn in",
        [TAP_A_Q] = "attn q",         [TAP_A_K] = "attn k",          [TAP_A_V] = "attn v",
        [TAP_A_HEAD] = "attn heads",  [TAP_A_CTX] = "attn ctx",      [TAP_A_OUT] = "attn out",
        [TAP_A_END] = "attn end",     [TAP_F_RES] = "ffn residual",  [TAP_F_IN] = "ffn in",
        [TAP_F_PRE] = "ffn pre",      [TAP_F_ACT] = "ffn act",       [TAP_F_OUT] = "ffn out",
        [TAP_F_NORM] = "LN(ffn out)", [TAP_A_NORM] = "LN(attn out)", [TAP_F_END] = "ffn end",       [TAP_EMBED] = "embedding",
        [TAP_EMBED_WORDS] = "embed words"};
    return words[t];
}

bool axis_applies(const struct module *m, const struct arch *arch, enum axis a) {
    bool decoder = arch && arch->decoder_layers;
    switch (a) {
    case AXIS_SITE: return decoder && module_takes_site(m);
    case AXIS_STACK: return decoder && function_of(m)->form != FORM_ROWS;
    case AXIS_INSERTION: return module_takes(m, TAKES_READ);
    case AXIS_COMPOSITION: return module_takes(m, TAKES_COMP);
    case AXIS_SIZE: return module_is_sized(m);
    case AXIS_INIT: return module_takes(m, TAKES_INIT);
    case AXIS_DROPOUT: return module_takes(m, TAKES_DROPOUT);
    case AXIS_SOURCE: return module_takes(m, TAKES_SOURCE);
    case AXIS_SCALE: return comp_has_scale(m->comp);
    case AXIS_MID: return source_width(m->source);
    case AXIS_ACTIVATION: return module_takes(m, TAKES_ACT);
    case AXIS_BIASES: return module_takes(m, TAKES_BIASES);
    case AXIS_NORM_BEFORE: case AXIS_NORM: return module_takes(m, TAKES_NORM);
    case AXIS_RESIDUAL: case AXIS_ENDING: return module_takes(m, TAKES_RESIDUAL);
    case AXIS_LENGTH: return module_takes(m, TAKES_LENGTH);
    case AXIS_SHIFT: return module_takes(m, TAKES_SHIFT) && arch && arch->positions && !decoder;
    case AXIS_HEADS: return function_of(m)->per_head;
    case AXIS_LAYERS: return function_of(m)->form != FORM_ROWS;
    case AXIS_PLACE: return module_takes(m, TAKES_ROWS);
    case AXIS_POOL: return module_takes(m, TAKES_ROWS) && m->place == PLACE_FIRST && !decoder;
    case AXIS_ROWS: return module_takes(m, TAKES_ROWS) && decoder;
    default: return true;
    }
}

bool compose_axis_applies(const struct compose_view *v, enum axis a) {
    const struct module *m = &v->config.method.module[v->part];
    if (a == AXIS_LEARN && m->learn == LEARN_BOTH && !config_is_meta(&v->config)) return false;
    return axis_applies(m, v->arch, a);
}

void site_words(const struct module *m, char out[32]) {
    static const char *const targets[TARGET_COUNT] = {"\u2013", "", "all", "LayerNorms",
                                                      "embeddings", "pooler"};
    static const char *const maps[TAP_COUNT] = {
        [TAP_A_Q] = "W_q", [TAP_A_K] = "W_k", [TAP_A_V] = "W_v", [TAP_A_OUT] = "W_o",
        [TAP_F_PRE] = "W_1", [TAP_F_OUT] = "W_2"};
    const char *word = module_in_weight(m) ? targets[m->target] : tap_words(m->write);
    bool narrow = module_takes_site(m) && m->site != SITE_ALL;
    const char *site = narrow ? site_name(m->site) : "", *gap = narrow ? " " : "";
    if (m->target == TARGET_TAP)
        snprintf(out, 32, "of %s%s%s", maps[m->write] ? maps[m->write] : "?", gap, site);
    else if (narrow && !module_in_weight(m)) /* in place of "attn" */
        snprintf(out, 32, "%s%s", site, word + strcspn(word, " "));
    else snprintf(out, 32, "%s%s%s", word, gap, site);
}

/* "all", "3\u201312", "dec", "dec 3\u2013". */
static void compose_choose_layers_value(const struct module *m, char out[64]) {
    static const char *const stacks[] = {"enc", "dec", ""};
    char range[32] = "";
    bool whole = m->last == 0 && m->first <= 1, one = m->stack != STACK_ALL;
    if (whole && !one) snprintf(range, sizeof range, "all");
    else if (!whole && m->last == 0) snprintf(range, sizeof range, "%d\u2013", m->first);
    else if (!whole && m->first == m->last) snprintf(range, sizeof range, "%d", m->first);
    else if (!whole) snprintf(range, sizeof range, "%d\u2013%d", m->first, m->last);
    snprintf(out, 64, "%s%s%s", stacks[m->stack], one && *range ? " " : "", range);
}

void axis_value(const struct module *m, enum axis a, char out[64]) {
    static const char *const comps[] = {"add",     "scaled", "learned s",       "gated \u03BB", "multiply",
                                        "in place", "concat", "learned channel", "input gate",   "input gates"};
    _Static_assert(COUNT_OF(comps) == COMP_COUNT, "a word for each composition");
    const char *text = "";
    char site[32];
    *out = 0;
    bool has = a == AXIS_SITE ? module_takes_site(m) : axis_applies(m, NULL, a) || a == AXIS_STACK;
    if (!has) {
        snprintf(out, 64, "%s", a == AXIS_INSERTION && function_of(m)->form == FORM_KEYS ? "parallel"
                                : a == AXIS_INSERTION && function_of(m)->form == FORM_ROWS ? "concat"
                                : a == AXIS_COMPOSITION && function_of(m)->form == FORM_ROWS ? "concat"
                                : a == AXIS_COMPOSITION                                  ? "in place"
                                                                                         : "\u2013");
        return;
    }
    switch (a) {
    case AXIS_FUNCTION: text = function_of(m)->title; break;
    case AXIS_POSITION:
        site_words(m, site);
        snprintf(out, 64, "%s", site);
        return;
    case AXIS_INSERTION: text = module_is_sequential(m) ? "sequential" : "parallel"; break;
    case AXIS_COMPOSITION: text = comps[m->comp]; break;
    case AXIS_SIZE: snprintf(out, 64, "%s %d", module_takes(m, TAKES_L) ? "l" : "r", m->size); return;
    case AXIS_SITE: text = site_name(m->site); break;
    case AXIS_STACK: text = stack_name(m->stack); break;
    case AXIS_LAYERS: compose_choose_layers_value(m, out); return;
    case AXIS_SOURCE: text = source_name(m->source); break;
    case AXIS_SCALE: snprintf(out, 64, "%g", m->scale); return;
    case AXIS_MID: snprintf(out, 64, "%d", m->mid); return;
    case AXIS_ACTIVATION: text = method_act_name(m->act); break;
    case AXIS_HEADS: text = heads_name(m->heads); break;
    case AXIS_INIT: module_init_text(m, out); return;
    case AXIS_DROPOUT: snprintf(out, 64, "%g", m->dropout); return;
    case AXIS_BIASES: text = m->biases ? "yes" : "no"; break;
    case AXIS_LEARN: text = learn_name(m->learn); break;
    case AXIS_NORM_BEFORE: text = m->norm_before ? "yes" : "no"; break;
    case AXIS_NORM: text = norm_name(m->norm); break;
    case AXIS_RESIDUAL: text = residual_name(m->residual); break;
    case AXIS_ENDING: text = ending_name(m->ending); break;
    case AXIS_LENGTH: text = length_name(m->length); break;
    case AXIS_SHIFT: text = m->shift ? "yes" : "no"; break;
    case AXIS_PLACE: text = prompt_place_name(m->place); break;
    case AXIS_POOL: text = prompt_pool_name(m->pool); break;
    case AXIS_ROWS: text = prompt_rows_name(m->rows); break;
    case AXIS_COUNT: break;
    }
    if (*text) snprintf(out, 64, "%s", text);
}

/* The read tap that "parallel" means at a write tap. */
static enum tap parallel_read(enum fn fn, enum tap write) {
    if (function_at(fn)->linear && tap_map_input(write) != TAP_NONE) return tap_map_input(write);
    if (write == TAP_A_HEAD) return TAP_A_Q;
    if (write >= TAP_F_RES && write <= TAP_F_END) return TAP_F_IN;
    return write == TAP_EMBED ? TAP_EMBED : TAP_A_IN;
}

static void compose_choose_move_to(struct module *m, enum tap write) {
    bool sequential = module_is_sequential(m);
    if (function_of(m)->per_head) {
        if (write == TAP_A_HEAD && m->heads == HEADS_SHARED) m->heads = HEADS_FACTORISED;
        if (write != TAP_A_HEAD) m->heads = HEADS_SHARED;
    }
    m->write = write;
    m->read = sequential ? write : parallel_read(m->fn, write);
    if (sequential && write == TAP_A_HEAD) m->read = TAP_A_Q;
}

/* The module with another function, at the same place where it can stay there. */
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
    module_normalise(&n);
    return n;
}

static struct choice *compose_choose_add(struct compose_view *v, const char *name, const char *says,
                                         const struct module *m) {
    BUG_IF(v->choice_count == COMPOSE_CHOICES);
    struct choice *c = &v->choices[v->choice_count++];
    memset(c, 0, sizeof *c);
    snprintf(c->name, sizeof c->name, "%s", name);
    c->says = says;
    c->module = *m;
    return c;
}

static void list_functions(struct compose_view *v, const struct module *m) {
    for (int f = 0; f < FN_COUNT; f++) {
        struct module n = with_function(m, (enum fn)f);
        compose_choose_add(v, function_at((enum fn)f)->title, function_at((enum fn)f)->says,
                           &n)->current = m->fn == (enum fn)f;
    }
}

static void list_targets(struct compose_view *v, const struct module *m) {
    static const struct {
        enum target target;
        enum tap tap;
        const char *name, *says;
    } targets[] = {
        {TARGET_ALL, TAP_NONE, "all", "Every such tensor of the model."},
        {TARGET_NORMS, TAP_NONE, "LayerNorms", "Weights and biases of the LayerNorms."},
        {TARGET_EMBEDDINGS, TAP_NONE, "embeddings", "The embedding tables and their LayerNorm."},
        {TARGET_POOLER, TAP_NONE, "pooler", "The map that the classifier reads the first token through."},
        {TARGET_TAP, TAP_A_Q, "of W_q", "The map that makes the queries."},
        {TARGET_TAP, TAP_A_K, "of W_k", "The map that makes the keys."},
        {TARGET_TAP, TAP_A_V, "of W_v", "The map that makes the values."},
        {TARGET_TAP, TAP_A_OUT, "of W_o", "The map from the heads back to the width."},
        {TARGET_TAP, TAP_F_PRE, "of W_1", "The first map of the feed-forward part."},
        {TARGET_TAP, TAP_F_OUT, "of W_2", "The second map of the feed-forward part."},
    };
    for (size_t i = 0; i < COUNT_OF(targets); i++) {
        struct module n = *m;
        n.target = targets[i].target;
        n.write = targets[i].tap;
        module_normalise(&n);
        compose_choose_add(v, targets[i].name, targets[i].says, &n)->current =
            m->target == n.target && m->write == n.write;
    }
}

static void list_positions(struct compose_view *v, const struct module *m) {
    static const struct {
        enum tap tap;
        const char *says;
    } taps[] = {
        {TAP_A_Q, "The queries x W_q + b_q: what a token looks for."},
        {TAP_A_K, "The keys x W_k + b_k: what a token is found by."},
        {TAP_A_V, "The values x W_v + b_v: what a token gives when it is attended to."},
        {TAP_A_HEAD, "Output of each head before W_o. The only place where the gate \u03BB(x) exists."},
        {TAP_A_CTX, "The heads side by side, the input of W_o, taken as one vector."},
        {TAP_A_OUT, "Output of the attention sublayer, before it is added to the residual."},
        {TAP_F_PRE, "Inside the feed-forward part, before its activation."},
        {TAP_F_ACT, "Inside the feed-forward part, after its activation, four times as wide."},
        {TAP_F_OUT, "Output of the feed-forward part, before it is added to the residual."},
        {TAP_EMBED, "The embedding's output, below the first layer."},
        {TAP_EMBED_WORDS, "The word embeddings, before position and norm. Rows of a prompt stand beside them and move the tokens on."},
    };
    bool rows = function_of(m)->form == FORM_ROWS, words = function_of(m)->of_words;
    for (size_t i = 0; i < COUNT_OF(taps); i++) {
        struct module n = *m;
        if (taps[i].tap == TAP_EMBED_WORDS ? !rows && !words : words) continue;
        if (rows && taps[i].tap != TAP_EMBED_WORDS && taps[i].tap != TAP_EMBED) continue;
        /* one matrix with the heads, for what works head by head */
        bool keys = function_of(m)->form == FORM_KEYS;
        if (keys && taps[i].tap == TAP_A_CTX) continue;
        if (m->write != taps[i].tap) compose_choose_move_to(&n, taps[i].tap);
        if (keys) {
            n = *m; /* normalising would hide that the place is another */
            n.write = taps[i].tap;
        } else {
            if (n.comp == COMP_GATED) n.comp = COMP_ADD;
            module_normalise(&n);
        }
        compose_choose_add(v, tap_words(taps[i].tap), taps[i].says, &n)->current = m->write == taps[i].tap;
    }
}

static void list_insertions(struct compose_view *v, const struct module *m) {
    static const enum tap order[] = {TAP_A_IN,  TAP_A_Q,   TAP_A_HEAD, TAP_A_CTX, TAP_F_IN,
                                     TAP_F_PRE, TAP_F_ACT, TAP_A_OUT,  TAP_F_OUT};
    char name[48];
    struct module n = *m;
    n.read = m->write;
    compose_choose_add(v, "sequential", "Reads what it writes to: h \u2190 h + f(h). It works on the layer's result.",
                       &n)->current = m->read == m->write;
    if (m->write == TAP_F_OUT || m->write == TAP_A_OUT) {
        n.read = m->write == TAP_F_OUT ? TAP_F_NORM : TAP_A_NORM;
        compose_choose_add(v, "sequential, LN first",
                           "Reads LN(out + residual), not yet adapted, and adds to the output: Pfeiffer's adapter.",
                           &n)->current = m->read == n.read;
    }
    for (size_t i = 0; i < COUNT_OF(order); i++) {
        bool same_part = (order[i] <= TAP_A_END) == (m->write <= TAP_A_END);
        if (order[i] == m->write || !same_part || (order[i] > m->write && m->write != TAP_EMBED)) continue;
        if (order[i] == TAP_A_HEAD && m->heads == HEADS_SHARED) continue;
        if (order[i] == TAP_A_CTX && m->heads != HEADS_SHARED) continue;
        n.read = order[i];
        snprintf(name, sizeof name, "parallel from %s", tap_words(order[i]));
        compose_choose_add(v, name, "Reads further up and runs beside the frozen part: h \u2190 h + f(x).", &n)->current =
            m->read == order[i];
    }
}

static void list_compositions(struct compose_view *v, const struct module *m) {
    static const char *const names[] = {"add", "scaled", "learned s", "gated \u03BB", "multiply", NULL, NULL, "learned channel",
                                        "input gate", "input gates"};
    static const char *const says[] = {
        "h \u2190 h + \u0394h.",
        "h \u2190 h + s \u0394h with a fixed s: with Adam the same as a larger learning rate on W_u.",
        "h \u2190 h + s \u0394h, and s is trained.",
        "h \u2190 (1\u2212\u03BB) h + \u03BB \u0394h: \u03BB(x) is the share of attention that falls on the learned "
        "keys, so it exists at attention heads alone.",
        "h \u2190 h \u2299 l: each channel is stretched or shrunk.",
        NULL, NULL,
        "h \u2190 h + s \u2299 \u0394h: a trained s for each channel.",
        "\u0394h, or the keys and values, times g: the mean over the row's own tokens of \u03C3(x\u00B7w + b).",
        "One gate for the keys, one for the values."};
    _Static_assert(COUNT_OF(names) == COMP_COUNT && COUNT_OF(says) == COMP_COUNT, "words for each composition");
    for (int i = 0; i < COMP_COUNT; i++) {
        if (!names[i] || !(function_of(m)->comps >> i & 1 || i <= COMP_MULTIPLY)) continue;
        struct module n = *m;
        n.comp = (enum comp)i;
        if (n.comp == COMP_SCALED && m->comp != COMP_SCALED && m->comp != COMP_LEARNED) n.scale = 2;
        compose_choose_add(v, names[i], says[i], &n)->current = m->comp == n.comp;
    }
}

static void list_sources(struct compose_view *v, const struct module *m) {
    static const char *const says[] = {
        "Each layer has weights of its own, trained as they are.",
        "One set of weights for all layers.",
        "While training a small MLP makes the weights; only what it made is kept.",
        "Each task of the run has weights of its own; with one task as free.",
        "The method's generator makes them for each task, layer and place (+ hyper).",
        "Each task has one prompt; at each layer small maps, one for all tasks, make its keys and values of it.",
        "The same, with maps of each task's own.", "The same, with maps that the method's generator makes for each task (+ hyper).",
        "A second generator makes them, with conditions of its own (+ hyper2).",
        "While training an LSTM and two maps make the rows; only the rows are kept.",
        "One prompt for all tasks times each task's own product of low rank.",
        "The maps are sums of Kronecker products of small matrices, one set of which all maps have: Compacter.",
        "Another run's (start: run(N)), held still and joined with others at the same tap by attention: AdapterFusion (+ fusion)."};
    _Static_assert(COUNT_OF(says) == SOURCE_COUNT, "words for each source");
    for (int i = 0; i < SOURCE_COUNT; i++) {
        struct module n = *m;
        n.source = (enum source)i;
        if (n.source == SOURCE_KRONECKER && m->source != n.source) n.factor = 1;
        if (n.source != m->source) n.init = INIT_DEFAULT; /* the usual one of the new source */
        if (!source_width(n.source) || source_width(n.source) != source_width(m->source)) n.mid = source_width(n.source);
        compose_choose_add(v, source_name(n.source), says[i], &n)->current = m->source == n.source;
    }
}

/* Norms of an adapter's own, and how its sublayer ends. */
static void list_ends(struct compose_view *v, const struct module *m) {
    static const char *const norms[] = {"No norm behind the bottleneck.", "A LayerNorm of its own on \u0394h, before it is scaled.",
                                        "The same, one for all tasks.", "A LayerNorm of its own on s \u0394h.",
                                        "A LayerNorm of its own on the sum, h \u2190 LN(h + s \u0394h)."};
    static const char *const residuals[] = {"\u0394h is added to what it writes.",
                                            "\u0394h is added to what it writes and the residual stream.",
                                            "\u0394h is added to what the module reads."};
    static const char *const ends[] = {"The model's residual and norm follow.",
                                       "Nothing follows: what is written is the sublayer's end."};
    static const char *const shifts[] = {"The text's positions stay as they are.",
                                         "The text's positions begin behind l that stay free, as PEFT has it."};
    static const char *const lengths[] = {"Of W + s W_u W_d; the bias is added behind it.",
                                          "Of W + W_u W_d, and over the bias too, as AdapterHub has it."};
    struct module n = *m;
    if (v->axis == AXIS_NORM)
        for (int i = 0; i < NORM_COUNT; i++) {
            n.norm = (enum norm)i;
            compose_choose_add(v, norm_name(n.norm), norms[i], &n)->current = m->norm == n.norm;
        }
    else if (v->axis == AXIS_RESIDUAL)
        for (int i = 0; i < RESIDUAL_COUNT; i++) {
            n.residual = (enum residual)i;
            compose_choose_add(v, residual_name(n.residual), residuals[i],
                               &n)->current = m->residual == n.residual;
        }
    else if (v->axis == AXIS_ENDING)
        for (int i = 0; i < END_COUNT; i++) {
            n.ending = (enum ending)i;
            compose_choose_add(v, ending_name(n.ending), ends[i], &n)->current = m->ending == n.ending;
        }
    else if (v->axis == AXIS_SHIFT)
        for (int i = 0; i < 2; i++) {
            n.shift = i;
            compose_choose_add(v, i ? "yes" : "no", shifts[i], &n)->current = m->shift == n.shift;
        }
    else if (v->axis == AXIS_LENGTH)
        for (int i = 0; i < LENGTH_COUNT; i++) {
            n.length = (enum length)i;
            compose_choose_add(v, length_name(n.length), lengths[i], &n)->current = m->length == n.length;
        }
    else if (v->axis == AXIS_NORM_BEFORE)
        for (int i = 0; i < 2; i++) {
            n.norm_before = i;
            compose_choose_add(v, i ? "yes" : "no", "A LayerNorm of its own on what the module reads.",
                               &n)->current = m->norm_before == n.norm_before;
        }
}

static void list_details(struct compose_view *v, const struct module *m) {
    static const enum act acts[] = {ACT_RELU, ACT_GELU, ACT_TANH, ACT_SILU};
    static const char *const heads[] = {"One function over the whole width.",
                                        "Each head reads its own part, through the frozen W_q.",
                                        "Each head has a down-projection of its own."};
    static const char *const inits[] = {
        "What the function's paper says.", "W_d Kaiming-uniform, W_u zero: a no-op at step 0.",
        "Normal with deviation 0.02.", "Truncated normal with deviation 0.01: nearly a no-op.",
        "Normal with deviation 1.", "Normal with deviation 0.01: nearly a no-op.",
        "Truncated normal with deviation 0.02.", "Uniform between -0.5 and 0.5.", "The model's rows of frequent words, drawn.",
        "The model's rows of any tokens, drawn.", "The model's first rows.",
        "The classes' names, a row each; then frequent words.", "The tokens of --prompt-text, again and again."};
    _Static_assert(COUNT_OF(inits) == INIT_COUNT, "words for each start");
    static const char *const learns[LEARN_COUNT] = {
        [LEARN_BOTH] = "Over episodes (regime meta) the inner loop adapts it, and the outer one learns where that starts.",
        [LEARN_INNER] = "Over episodes the inner loop adapts it from its own start, which stays as it is.",
        [LEARN_OUTER] = "Over episodes the outer loop learns it, and the inner one holds it still."};
    struct module n = *m;
    switch (v->axis) {
    case AXIS_ACTIVATION:
        for (size_t i = 0; i < COUNT_OF(acts); i++) {
            n.act = acts[i];
            compose_choose_add(v, method_act_name(n.act), "The nonlinearity in the bottleneck.",
                               &n)->current = m->act == n.act;
        }
        return;
    case AXIS_HEADS:
        for (int i = 0; i < HEADS_COUNT; i++) {
            n.heads = (enum head_form)i;
            compose_choose_add(v, heads_name(n.heads), heads[i], &n)->current = m->heads == n.heads;
        }
        return;
    case AXIS_INIT:
        if (m->from_run) {
            char run[INIT_TEXT];
            module_init_text(m, run);
            compose_choose_add(v, run, "The values of that run, a copy of which is kept.", &n)->current = true;
        }
        n.from_run = 0;
        for (int i = INIT_LORA; i < INIT_COUNT; i++) {
            n.init = (enum init)i;
            compose_choose_add(v, init_name(n.init), inits[i], &n)->current = !m->from_run && m->init == n.init;
        }
        return;
    case AXIS_BIASES:
        for (int i = 0; i < 2; i++) {
            n.biases = !i;
            compose_choose_add(v, i ? "no" : "yes", "b_d and b_u beside the matrices.",
                               &n)->current = m->biases == n.biases;
        }
        return;
    case AXIS_LEARN:
        for (int i = 0; i < LEARN_COUNT; i++) {
            n.learn = (enum learn)i;
            compose_choose_add(v, learn_name(n.learn), learns[i], &n)->current = m->learn == n.learn;
        }
        return;
    case AXIS_PLACE:
        for (int i = 0; i < PLACE_COUNT; i++) {
            n.place = (enum prompt_place)i;
            compose_choose_add(v, prompt_place_name(n.place), i ? "Behind the first token." : "Before all tokens.",
                               &n)->current = m->place == n.place;
        }
        return;
    case AXIS_POOL:
        for (int i = 0; i < POOL_COUNT; i++) {
            n.pool = (enum prompt_pool)i;
            compose_choose_add(v, prompt_pool_name(n.pool), i ? "The classifier reads row 0, one of the prompt's, as libraries do."
                                               : "The classifier reads the text's first token.", &n)->current = m->pool == n.pool;
        }
        return;
    case AXIS_ROWS:
        for (int i = 0; i < ROWS_COUNT; i++) {
            n.rows = (enum prompt_rows)i;
            compose_choose_add(v, prompt_rows_name(n.rows), i ? "As many again that nothing reads, as PEFT keeps them." : "Those that act.",
                               &n)->current = m->rows == n.rows;
        }
        return;
    default: return;
    }
}

static void list_stacks(struct compose_view *v, const struct module *m) {
    static const int order[] = {STACK_ALL, STACK_ENCODER, STACK_DECODER};
    static const char *const says[] = {"In the encoder, which reads the source.",
                                       "In the decoder, which writes the target.",
                                       "In encoder and decoder."};
    for (size_t i = 0; i < COUNT_OF(order); i++) {
        struct module n = *m;
        n.stack = order[i];
        compose_choose_add(v, stack_name(n.stack), says[n.stack], &n)->current = m->stack == n.stack;
    }
}

static void list_sites(struct compose_view *v, const struct module *m) {
    static const char *const says[] = {
        "Self-attention: a stack's tokens attend to one another.",
        "Cross-attention: the decoder's tokens attend to the encoder's output.",
        "The feed-forward parts.", "What lies outside the blocks: embeddings, last norms.",
        "Everywhere that there is one."};
    for (int i = 0; i <= SITE_ALL; i++) {
        int site = (i + SITE_ALL) % (SITE_ALL + 1); /* all first */
        struct module n = *m;
        n.site = site;
        module_normalise(&n);
        if (n.site != site) continue;
        compose_choose_add(v, site_name(site), says[site], &n)->current = m->site == site;
    }
}

/* A choice is not allowed when it brings an error that the method did not have, be it at
 * another module. */
static void judge(const struct compose_view *v, struct choice *c) {
    struct method m = v->config.method;
    struct finding found[COMPOSE_FINDINGS];
    c->allowed = true;
    if (!v->arch || c->current) return;
    m.module[v->part] = c->module;
    if (v->axis == AXIS_SOURCE) network_settle(&m);
    struct run_config changed = v->config; /* not owned: its method alone is another */
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
    const struct module *m = &v->config.method.module[v->part];
    switch (v->axis) {
    case AXIS_FUNCTION: list_functions(v, m); break;
    case AXIS_POSITION:
        if (module_in_weight(m)) list_targets(v, m);
        else list_positions(v, m);
        break;
    case AXIS_SITE: list_sites(v, m); break;
    case AXIS_STACK: list_stacks(v, m); break;
    case AXIS_INSERTION: list_insertions(v, m); break;
    case AXIS_COMPOSITION: list_compositions(v, m); break;
    case AXIS_SOURCE: list_sources(v, m); break;
    case AXIS_NORM_BEFORE: case AXIS_NORM: case AXIS_RESIDUAL: case AXIS_ENDING: case AXIS_LENGTH: case AXIS_SHIFT: list_ends(v, m); break;
    default: list_details(v, m); break;
    }
    int current = 0;
    for (int i = 0; i < v->choice_count; i++) {
        judge(v, &v->choices[i]);
        if (v->choices[i].current) current = i;
    }
    v->choice = current;
}
