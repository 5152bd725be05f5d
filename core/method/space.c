#include "core/method/space.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/method/functions.h"
#include "core/method/keys.h"
#include "core/method/slots.h"

const char *const comp_names[COMP_COUNT] = { "add",   "scaled",   "learned",
                                                   "gated", "multiply", "in-weight", "concat",
                                                   "learned-channel", "input-gate", "input-gates" };
const char *const source_names[SOURCE_COUNT] = { "free", "shared", "mlp", "task", "hyper",
                                                   "prompt-share", "prompt-sep", "prompt-global", "hyper2",
                                                   "lstm", "product", "kronecker", "fusion" };
const char *const norm_names[NORM_COUNT] = { "none", "own", "shared", "scaled", "sum" };
const char *const residual_names[RESIDUAL_COUNT] = { "written", "stream", "read" };
const char *const ending_names[END_COUNT] = { "model", "bare" };
const char *const length_names[LENGTH_COUNT] = { "map", "output" };
const char *const heads_names[HEADS_COUNT] = { "shared", "factorised", "free" };
const char *const init_names[INIT_COUNT] = { "default", "lora", "bert", "houlsby", "normal",
                                               "hyperformer", "truncated", "uniform", "vocabulary",
                                               "vocabulary-all", "first-ids", "labels", "text" };
const char *const learn_names[LEARN_COUNT] = { "both", "inner", "outer" };
const char *const place_names[PLACE_COUNT] = { "first", "after-bos" };
const char *const pool_names[POOL_COUNT] = { "cls", "row0" };
const char *const rows_names[ROWS_COUNT] = { "acting", "peft" };
const char *const target_names[TARGET_COUNT] = { "none", "tap", "all", "norms", "embeddings", "pooler" };
const char *const stack_names[STACK_ALL + 1] = { "encoder", "decoder", "all" };
const char *const site_names[SITE_ALL + 1] = { "self", "cross", "ffn", "embed", "all" };
const char *const method_act_names[ACT_COUNT] = {
    [ACT_NONE] = "none",           [ACT_RELU] = "relu", [ACT_GELU] = "gelu",
    [ACT_GELU_TANH] = "gelu-tanh", [ACT_SILU] = "silu", [ACT_TANH] = "tanh",
    [ACT_SIGMOID] = "sigmoid",
};

#define NAME(list, i) ((unsigned)(i) < COUNT_OF(list) ? list[i] : "?")
const char *comp_name(enum comp c) { return NAME(comp_names, c); }
const char *source_name(enum source s) { return NAME(source_names, s); }
const char *norm_name(enum norm n) { return NAME(norm_names, n); }
const char *residual_name(enum residual r) { return NAME(residual_names, r); }
const char *ending_name(enum ending e) { return NAME(ending_names, e); }
const char *heads_name(enum head_form h) { return NAME(heads_names, h); }
const char *init_name(enum init i) { return NAME(init_names, i); }
const char *target_name(enum target t) { return NAME(target_names, t); }
const char *stack_name(int stack) { return NAME(stack_names, stack); }
const char *site_name(int site) { return NAME(site_names, site); }
const char *learn_name(enum learn l) { return NAME(learn_names, l); }
const char *method_act_name(enum act a) { return NAME(method_act_names, a); }

bool init_is_of_rows(enum init i) { return i >= INIT_UNIFORM; }

bool comp_has_scale(enum comp c) {
    return c == COMP_SCALED || c == COMP_LEARNED || c == COMP_CHANNEL || c == COMP_GATE;
}
int comp_gates(enum comp c) { return c == COMP_GATE ? 1 : c == COMP_GATES ? 2 : 0; }

bool source_is_prompt(enum source s) {
    return s == SOURCE_PROMPT_SHARE || s == SOURCE_PROMPT_SEP || s == SOURCE_PROMPT_GLOBAL;
}

int source_generator(enum source s) {
    return s == SOURCE_HYPER || s == SOURCE_PROMPT_GLOBAL ? 0 : s == SOURCE_HYPER2 ? 1 : -1;
}

bool source_is_trained(enum source s) { return s == SOURCE_FREE || s == SOURCE_SHARED || s == SOURCE_TASK; }
bool source_is_generated(enum source s) { return source_generator(s) >= 0; }

bool source_is_hyper(enum source s) { return s == SOURCE_HYPER || s == SOURCE_HYPER2; }

int source_width(enum source s) {
    switch (s) {
    case SOURCE_MLP: return 512;
    case SOURCE_LSTM: return 128;
    case SOURCE_PRODUCT: return 1;
    case SOURCE_KRONECKER: return 4; /* n, terms of the sum */
    default: return source_is_prompt(s) ? 48 : 0;
    }
}

enum tap tap_map_input(enum tap output) {
    switch (output) {
    case TAP_A_Q: case TAP_A_K: case TAP_A_V: return TAP_A_IN;
    case TAP_A_OUT: return TAP_A_CTX;
    case TAP_F_PRE: case TAP_F_UP: return TAP_F_IN;
    case TAP_F_OUT: return TAP_F_ACT;
    default: return TAP_NONE;
    }
}

bool module_is_sequential(const struct module *m) {
    if (function_of(m)->form != FORM_CHANGE) return false;
    return m->read == m->write || (m->read == TAP_F_NORM && m->write == TAP_F_OUT) ||
           (m->read == TAP_A_NORM && m->write == TAP_A_OUT);
}

const char *module_insertion(const struct module *m) {
    if (module_in_weight(m)) return "in-weight";
    if (function_of(m)->form == FORM_ROWS) return "concat";
    return module_is_sequential(m) ? "sequential" : "parallel";
}

struct module module_default(enum fn fn) {
    struct module m = function_at(fn)->defaults;
    m.fn = fn;
    m.scale = 1;
    m.first = 1;
    m.stack = STACK_ALL;
    m.site = SITE_ALL;
    module_normalize(&m);
    return m;
}

static enum init default_init(const struct module *m) {
    const struct function *f = function_of(m);
    bool drawn = source_width(m->source) && m->source != SOURCE_PRODUCT;
    /* With N(0, 1) embeddings the MLP of a prefix learns nothing in the first hundreds of steps. */
    if (m->source == SOURCE_MLP && f->form == FORM_KEYS) drawn = false;
    return drawn && f->init_if_generated ? f->init_if_generated : f->defaults.init;
}

bool module_takes_site(const struct module *m) {
    if (tap_is_attention(m->write)) return true;
    return module_in_weight(m) && (m->target == TARGET_ALL || m->target == TARGET_NORMS);
}

bool module_is_at(const struct module *m, int stack, int site) {
    if (m->stack != STACK_ALL && m->stack != stack) return false;
    if (m->site == site || m->write == TAP_NONE) return m->site == site || m->site == SITE_ALL;
    return m->site == SITE_ALL && (site == SUB_SELF || site == SUB_CROSS);
}

/* Returns the site that follows from the tap, or else `site`. */
static int site_of(const struct module *m) {
    if (tap_is_ffn(m->write)) return SUB_FFN;
    if (m->write == TAP_EMBED || m->write == TAP_EMBED_WORDS) return SUB_EMBED;
    if (!module_takes_site(m)) return SITE_ALL;
    bool attention = m->site == SUB_SELF || m->site == SUB_CROSS;
    return tap_is_attention(m->write) && !attention ? SITE_ALL : m->site;
}

/* a.head and a.ctx are one matrix: a.head for functions that work per head. */
static enum tap head_or_context(enum tap tap, bool per_head) {
    if (tap != TAP_A_HEAD && tap != TAP_A_CTX) return tap;
    return per_head ? TAP_A_HEAD : TAP_A_CTX;
}

/* Resets fields without a key of the function to the defaults. */
static void leave_out(struct module *m) {
    const struct module *defaults = &function_of(m)->defaults;
    const struct key *k;
    for (int i = 0; (k = key_at(i)); i++)
        if (!module_takes(m, k->bit & TAKES_SIZE ? TAKES_SIZE : k->bit)) key_copy(k, m, defaults);
    if (!module_takes(m, TAKES_INIT)) m->from_run = 0;
    if (module_takes(m, TAKES_TARGET) && m->target == TARGET_NONE) m->target = TARGET_ALL;
}

/* Returns the read tap if the function determines it. */
static enum tap fixed_read(const struct module *m) {
    switch (function_of(m)->form) {
    case FORM_CHANGE: return function_of(m)->of_words ? TAP_NONE : m->write; /* the token ids */
    case FORM_KEYS: return TAP_A_Q;
    case FORM_IN_WEIGHT: case FORM_ROWS: break;
    }
    return TAP_NONE;
}

/* Rows are added to one stack at one place; after the first token, the first row remains that token. */
static void normalize_rows(struct module *m) {
    if (m->stack == STACK_ALL) m->stack = STACK_ENCODER;
    if (m->source == SOURCE_SHARED) m->source = SOURCE_FREE;
    if (m->place == PLACE_AFTER_BOS) m->pool = POOL_CLS;
}

void module_normalize(struct module *m) {
    leave_out(m);
    if (function_of(m)->form == FORM_ROWS) normalize_rows(m);
    if (m->norm == NORM_SHARED && m->source != SOURCE_TASK && !source_is_hyper(m->source)) m->norm = NORM_OWN;
    if (m->source != SOURCE_KRONECKER) m->factor = m->own_rule = 0;
    else m->init = default_init(m); /* of biases and norms only: the factors have no init */
    if (!source_width(m->source)) m->mid = 0;
    else if (!m->mid) m->mid = source_width(m->source);
    if (m->from_run || m->init == INIT_DEFAULT) m->init = default_init(m);
    if (m->dropout == 0) m->dropout = 0; /* no negative zero */
    if (!comp_has_scale(m->comp)) m->scale = 1;
    if (m->scale == 0) m->scale = 0;
    if (m->source != SOURCE_MLP) m->mid_act = ACT_NONE;
    else if (m->mid_act == ACT_NONE) m->mid_act = function_of(m)->form == FORM_ROWS ? ACT_RELU : ACT_TANH;
    bool per_head = m->heads != HEADS_SHARED;
    m->read = head_or_context(m->read, per_head);
    m->write = head_or_context(m->write, per_head);
    if (module_in_weight(m) && m->target != TARGET_TAP) m->write = TAP_NONE;
    if (!module_takes(m, TAKES_READ)) m->read = fixed_read(m);
    if (m->norm == NORM_SCALED && m->comp == COMP_ADD) m->norm = NORM_OWN;
    if (m->residual == RESIDUAL_READ && m->read == m->write) m->residual = RESIDUAL_WRITTEN;
    if (m->first < 1) m->first = 1;
    if (m->last < 0) m->last = 0;
    m->site = site_of(m);
}

void module_init_text(const struct module *m, char out[INIT_TEXT]) {
    if (m->from_run) snprintf(out, INIT_TEXT, "run(%d)", m->from_run);
    else snprintf(out, INIT_TEXT, "%s", init_name(m->init));
}

int init_text_run(const char *text) {
    int run = 0, end = 0;
    if (sscanf(text, "run(%9d)%n", &run, &end) != 1 || !end || text[end] || run < 1) return 0;
    return run;
}

int method_runs(const struct method *m, int run[METHOD_MODULES]) {
    int n = 0;
    for (int i = 0; i < m->count; i++) {
        int own = m->module[i].from_run, at = 0;
        while (at < n && run[at] < own) at++;
        if (!own || (at < n && run[at] == own)) continue;
        memmove(&run[at + 1], &run[at], (size_t)(n - at) * sizeof *run);
        run[at] = own;
        n++;
    }
    return n;
}

const struct module *method_find(const struct method *m, enum fn fn) {
    for (int i = 0; i < m->count; i++)
        if (m->module[i].fn == fn) return &m->module[i];
    return NULL;
}

bool module_equal(const struct module *a, const struct module *b) {
    const struct key *k;
    for (int i = 0; (k = key_at(i)); i++)
        if (!key_same(k, a, b)) return false;
    return a->fn == b->fn && a->scale == b->scale && a->mid == b->mid && a->mid_act == b->mid_act;
}

/* Returns the position in the forward pass. Changes merged into a linear map precede those of its output. */
static int space_place(const struct module *m) {
    bool folded = function_of(m)->linear && m->read == tap_map_input(m->write);
    int tap = m->write == TAP_A_HEAD ? TAP_A_CTX : (int)m->write;
    int where = m->write == TAP_NONE ? (int)m->target - TARGET_COUNT : tap;
    return where * 2 + !folded;
}

/* Returns whether both modules affect a common tap of some model, so that their order matters. */
static bool meet(const struct module *a, const struct module *b) {
    bool stacks = a->stack == STACK_ALL || b->stack == STACK_ALL || a->stack == b->stack;
    bool sites = a->site == SITE_ALL || b->site == SITE_ALL || a->site == b->site;
    return space_place(a) == space_place(b) && stacks && sites;
}

/* Returns the order in the text of two modules that do not meet. */
static bool before(const struct module *a, const struct module *b) {
    if (space_place(a) != space_place(b)) return space_place(a) < space_place(b);
    int stack_a = (a->stack + 1) % 3, stack_b = (b->stack + 1) % 3; /* all stacks before a single one */
    if (stack_a != stack_b) return stack_a < stack_b;
    return (a->site + 1) % 5 < (b->site + 1) % 5;
}

/* Repeatedly selects the first module among those that meet no remaining earlier module. */
void method_order(const struct method *m, int order[METHOD_MODULES]) {
    struct module x[METHOD_MODULES];
    int left[METHOD_MODULES];
    for (int i = 0; i < m->count; i++) {
        x[i] = m->module[i];
        module_normalize(&x[i]);
        left[i] = i;
    }
    for (int n = 0, count = m->count; n < m->count; n++) {
        int best = 0; /* meets none before it */
        for (int i = 1; i < count; i++) {
            bool free = true;
            for (int j = 0; j < i; j++) free &= !meet(&x[left[j]], &x[left[i]]);
            if (free && before(&x[left[i]], &x[left[best]])) best = i;
        }
        order[n] = left[best];
        count--;
        memmove(&left[best], &left[best + 1], (size_t)(count - best) * sizeof *left);
    }
}

void method_normalize(struct method *m) {
    struct module from[METHOD_MODULES];
    int order[METHOD_MODULES];
    method_order(m, order);
    memcpy(from, m->module, (size_t)m->count * sizeof *from);
    for (int n = 0; n < m->count; n++) {
        m->module[n] = from[order[n]];
        module_normalize(&m->module[n]);
    }
}
