#include "core/method/space.h"

#include <math.h>
#include <string.h>

#include "core/base/mem.h"

static const char *const fn_names[FN_COUNT] = {"bottleneck", "linear", "softmax",
                                               "scale",      "bias",   "full"};
static const char *const comp_names[COMP_COUNT] = {"add",   "scaled",   "learned",
                                                   "gated", "multiply", "in-weight"};
static const char *const source_names[SOURCE_COUNT] = {"free", "shared", "mlp", "task"};
static const char *const norm_names[NORM_COUNT] = {"none", "own", "shared"};
static const char *const heads_names[HEADS_COUNT] = {"shared", "factorised", "free"};
static const char *const init_names[INIT_COUNT] = {"default", "lora", "bert", "houlsby", "normal"};
static const char *const target_names[TARGET_COUNT] = {"none", "tap", "all", "norms", "embeddings"};
static const char *const stack_names[] = {"encoder", "decoder", "all"};
static const char *const site_names[] = {"self", "cross", "ffn", "embed", "all"};
static const char *const act_names[ACT_COUNT] = {
    [ACT_NONE] = "none",           [ACT_RELU] = "relu", [ACT_GELU] = "gelu",
    [ACT_GELU_TANH] = "gelu-tanh", [ACT_SILU] = "silu", [ACT_TANH] = "tanh",
    [ACT_SIGMOID] = "sigmoid",
};

#define NAME(list, i) ((unsigned)(i) < COUNT_OF(list) ? list[i] : "?")
const char *fn_name(enum fn f) { return NAME(fn_names, f); }
const char *comp_name(enum comp c) { return NAME(comp_names, c); }
const char *source_name(enum source s) { return NAME(source_names, s); }
const char *norm_name(enum norm n) { return NAME(norm_names, n); }
const char *heads_name(enum head_form h) { return NAME(heads_names, h); }
const char *init_name(enum init i) { return NAME(init_names, i); }
const char *target_name(enum target t) { return NAME(target_names, t); }
const char *stack_name(int stack) { return NAME(stack_names, stack); }
const char *site_name(int site) { return NAME(site_names, site); }
const char *method_act_name(enum act a) { return NAME(act_names, a); }

enum tap tap_map_input(enum tap output) {
    switch (output) {
    case TAP_A_Q: case TAP_A_K: case TAP_A_V: return TAP_A_IN;
    case TAP_A_OUT: return TAP_A_CTX;
    case TAP_F_PRE: return TAP_F_IN;
    case TAP_F_OUT: return TAP_F_ACT;
    default: return TAP_NONE;
    }
}

bool module_is_sequential(const struct module *m) {
    if (m->fn == FN_BIAS || m->fn == FN_FULL || m->fn == FN_SOFTMAX) return false;
    return m->read == m->write || (m->read == TAP_F_NORM && m->write == TAP_F_OUT);
}

struct module module_default(enum fn fn) {
    struct module m = {.fn = fn, .scale = 1, .first = 1, .stack = STACK_ALL, .site = SITE_ALL};
    switch (fn) {
    case FN_BOTTLENECK:
        m.act = ACT_RELU;
        m.size = 16;
        m.biases = true;
        m.read = TAP_F_IN;
        m.write = TAP_F_OUT;
        break;
    case FN_LINEAR:
        m.size = 8;
        m.read = TAP_A_IN;
        m.write = TAP_A_Q;
        break;
    case FN_SOFTMAX:
        m.size = 16;
        m.write = TAP_A_HEAD;
        m.comp = COMP_GATED;
        break;
    case FN_SCALE:
        m.write = TAP_A_K;
        m.comp = COMP_MULTIPLY;
        break;
    case FN_BIAS: case FN_FULL:
        m.target = TARGET_ALL;
        m.comp = COMP_IN_WEIGHT;
        break;
    case FN_COUNT: BUG("no such function");
    }
    module_normalise(&m);
    return m;
}

/* The embedding behind a prefix's MLP must tell the prefix's places apart from the start:
 * at 0.02 all of them would come out as one. */
static enum init usual_init(const struct module *m) {
    switch (m->fn) {
    case FN_LINEAR: return INIT_LORA;
    case FN_BOTTLENECK: return INIT_BERT;
    case FN_SOFTMAX: return m->source == SOURCE_MLP ? INIT_NORMAL : INIT_BERT;
    default: return INIT_DEFAULT;
    }
}

static bool is_attention(enum tap t) { return t >= TAP_A_RES && t <= TAP_A_END; }

bool module_takes_site(const struct module *m) {
    if (is_attention(m->write)) return true;
    return (m->fn == FN_BIAS || m->fn == FN_FULL) &&
           (m->target == TARGET_ALL || m->target == TARGET_NORMS);
}

bool module_is_at(const struct module *m, int stack, int site) {
    if (m->stack != STACK_ALL && m->stack != stack) return false;
    if (m->site == site || m->write == TAP_NONE) return m->site == site || m->site == SITE_ALL;
    return m->site == SITE_ALL && (site == SUB_SELF || site == SUB_CROSS);
}

/* What the tap leaves open of `site`. */
static int site_of(const struct module *m) {
    if (m->write >= TAP_F_RES && m->write <= TAP_F_END) return SUB_FFN;
    if (m->write == TAP_EMBED) return SUB_EMBED;
    if (!module_takes_site(m)) return SITE_ALL;
    bool attention = m->site == SUB_SELF || m->site == SUB_CROSS;
    return is_attention(m->write) && !attention ? SITE_ALL : m->site;
}

/* a.head and a.ctx are one matrix: the first name for what works head by head. */
static enum tap head_or_context(enum tap tap, bool per_head) {
    if (tap != TAP_A_HEAD && tap != TAP_A_CTX) return tap;
    return per_head ? TAP_A_HEAD : TAP_A_CTX;
}

void module_normalise(struct module *m) {
    bool sized = m->fn == FN_BOTTLENECK || m->fn == FN_LINEAR || m->fn == FN_SOFTMAX;
    bool in_weight = m->fn == FN_BIAS || m->fn == FN_FULL;
    if (m->fn != FN_BOTTLENECK) {
        m->act = ACT_NONE;
        m->biases = false;
        m->norm = NORM_NONE;
    }
    if (m->norm == NORM_SHARED && m->source != SOURCE_TASK) m->norm = NORM_OWN;
    if (!sized) {
        m->size = 0;
        m->dropout = 0;
        m->init = INIT_DEFAULT;
    } else if (m->init == INIT_DEFAULT) {
        m->init = usual_init(m);
    }
    if (in_weight) {
        m->comp = COMP_IN_WEIGHT;
        m->heads = HEADS_SHARED;
        m->source = SOURCE_FREE;
    }
    if (m->dropout == 0) m->dropout = 0; /* no negative zero */
    if (m->comp != COMP_SCALED && m->comp != COMP_LEARNED) m->scale = 1;
    if (m->scale == 0) m->scale = 0;
    if (m->source != SOURCE_MLP) {
        m->mid = 0;
        m->mid_act = ACT_NONE;
    } else if (m->mid_act == ACT_NONE) {
        m->mid_act = ACT_TANH;
    }
    if (m->fn == FN_SOFTMAX) m->heads = HEADS_FACTORISED;
    bool per_head = m->heads != HEADS_SHARED;
    m->read = head_or_context(m->read, per_head);
    m->write = head_or_context(m->write, per_head);
    if (!in_weight) m->target = TARGET_NONE;
    else if (m->target == TARGET_NONE) m->target = TARGET_ALL;
    if (in_weight) {
        m->read = TAP_NONE;
        if (m->target != TARGET_TAP) m->write = TAP_NONE;
    }
    if (m->fn == FN_SCALE) m->read = m->write;
    if (m->fn == FN_SOFTMAX) m->read = TAP_A_Q;
    if (m->first < 1) m->first = 1;
    if (m->last < 0) m->last = 0;
    m->site = site_of(m);
}

bool module_equal(const struct module *a, const struct module *b) {
    return a->fn == b->fn && a->act == b->act && a->read == b->read && a->write == b->write &&
           a->target == b->target && a->comp == b->comp && a->scale == b->scale &&
           a->heads == b->heads && a->source == b->source && a->size == b->size &&
           a->mid == b->mid && a->mid_act == b->mid_act && a->biases == b->biases && a->norm == b->norm &&
           a->init == b->init && a->dropout == b->dropout && a->first == b->first &&
           a->last == b->last && a->stack == b->stack && a->site == b->site;
}

/* Place in the forward pass.  What is folded into a linear map comes before what works
 * on its output. */
static int place(const struct module *m) {
    bool folded = m->fn == FN_LINEAR && m->read == tap_map_input(m->write);
    int tap = m->write == TAP_A_HEAD ? TAP_A_CTX : (int)m->write;
    int where = m->write == TAP_NONE ? (int)m->target - TARGET_COUNT : tap;
    return where * 2 + !folded;
}

/* Whether some tap of some model sees both modules, so that their order matters. */
static bool meet(const struct module *a, const struct module *b) {
    bool stacks = a->stack == STACK_ALL || b->stack == STACK_ALL || a->stack == b->stack;
    bool sites = a->site == SITE_ALL || b->site == SITE_ALL || a->site == b->site;
    return place(a) == place(b) && stacks && sites;
}

/* Of two modules that do not meet, which is written first. */
static bool before(const struct module *a, const struct module *b) {
    if (place(a) != place(b)) return place(a) < place(b);
    int stack_a = (a->stack + 1) % 3, stack_b = (b->stack + 1) % 3; /* all before the single */
    if (stack_a != stack_b) return stack_a < stack_b;
    return (a->site + 1) % 5 < (b->site + 1) % 5;
}

/* Each turn takes the first in order among those that meet nothing before them. */
void method_normalise(struct method *m) {
    struct method left = *m;
    for (int i = 0; i < left.count; i++) module_normalise(&left.module[i]);
    for (int n = 0; n < m->count; n++) {
        int best = 0; /* meets none before it */
        for (int i = 1; i < left.count; i++) {
            bool free = true;
            for (int j = 0; j < i; j++) free &= !meet(&left.module[j], &left.module[i]);
            if (free && before(&left.module[i], &left.module[best])) best = i;
        }
        m->module[n] = left.module[best];
        left.count--;
        memmove(&left.module[best], &left.module[best + 1],
                (size_t)(left.count - best) * sizeof *left.module);
    }
}
