#include "core/method/keys.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/mem.h"
#include "core/base/text.h"

enum { SIZE_LIMIT = 1000000 };

int key_word(const char *what, const char *value, const char *(*name)(int), int count,
             struct err *e) {
    const char *all[64];
    BUG_IF(count > (int)COUNT_OF(all));
    for (int i = 0; i < count; i++) all[i] = name(i);
    return key_word_of(what, value, all, count, e);
}

int key_word_of(const char *what, const char *value, const char *const *words, int count, struct err *e) {
    struct buf list = BUF_INIT;
    for (int i = 0; i < count; i++) {
        if (!strcmp(words[i], value)) {
            buf_release(&list);
            return i;
        }
        buf_printf(&list, "%s%s", i ? ", " : "", words[i]);
    }
    const char *near = text_nearest(value, words, (size_t)count);
    if (near)
        err_set(e, ERR_USAGE, "%s=%s: unknown; did you mean %s? (known: %s)", what, value, near,
                buf_text(&list));
    else
        err_set(e, ERR_USAGE, "%s=%s: unknown (known: %s)", what, value, buf_text(&list));
    buf_release(&list);
    return -1;
}

static int keys_whole(const char *key, const char *value, int least, int *out, struct err *e) {
    int64_t v;
    if (!text_to_int(value, &v) || v < least || v > SIZE_LIMIT)
        return err_set(e, ERR_USAGE, "%s=%s: must be a whole number from %d to %d", key, value,
                       least, SIZE_LIMIT);
    *out = (int)v;
    return 0;
}

static int keys_number(const char *key, const char *value, double *out, struct err *e) {
    if (!text_to_double(value, out))
        return err_set(e, ERR_USAGE, "%s=%s: must be a finite number such as 0.5", key, value);
    return 0;
}

static int yes_no(const char *key, const char *value, bool *out, struct err *e) {
    if (!strcmp(value, "yes")) *out = true;
    else if (!strcmp(value, "no")) *out = false;
    else return err_set(e, ERR_USAGE, "%s=%s: must be yes or no", key, value);
    return 0;
}

/* "word" or "word(inner)": copies both parts.  inner is "" when there is none. */
static int call(const char *key, const char *value, char word[32], char inner[64], struct err *e) {
    const char *open = strchr(value, '(');
    size_t n = open ? (size_t)(open - value) : strlen(value), m = 0;
    if (open) {
        m = strlen(open + 1);
        if (!m || open[m] != ')') return err_set(e, ERR_USAGE, "%s=%s: ')' is missing", key, value);
        m--;
    }
    if (n >= 32 || m >= 64) return err_set(e, ERR_USAGE, "%s=%s: too long", key, value);
    memcpy(word, value, n);
    word[n] = 0;
    if (m) memcpy(inner, open + 1, m);
    inner[m] = 0;
    return 0;
}

static const char *keys_act_at(int i) { return method_act_name((enum act)i); }
static const char *bend_at(int i) { return method_act_name((enum act)(i + ACT_RELU)); }
static const char *keys_comp_at(int i) { return comp_name((enum comp)i); }
static const char *keys_source_at(int i) { return source_name((enum source)i); }
static const char *keys_norm_at(int i) { return norm_name((enum norm)i); }
static const char *residual_at(int i) { return residual_name((enum residual)i); }
static const char *ending_at(int i) { return ending_name((enum ending)i); }
static const char *keys_length_at(int i) { return length_name((enum length)i); }
static const char *keys_heads_at(int i) { return heads_name((enum head_form)i); }
static const char *keys_init_at(int i) { return init_name((enum init)(i + INIT_LORA)); }
static const char *keys_target_at(int i) { return target_name((enum target)(i + TARGET_ALL)); }
static const char *keys_tap_at(int i) { return tap_name((enum tap)(i + 1)); }

static int set_size(struct module *m, const char *v, struct err *e) {
    return keys_whole(module_takes(m, TAKES_L) ? "l" : "r", v, 1, &m->size, e);
}

static int set_act(struct module *m, const char *v, struct err *e) {
    int i = key_word("act", v, keys_act_at, ACT_COUNT, e);
    if (i >= 0) m->act = (enum act)i;
    return i < 0 ? ERR_USAGE : 0;
}

static int set_biases(struct module *m, const char *v, struct err *e) {
    return yes_no("biases", v, &m->biases, e);
}

static int set_norm(struct module *m, const char *v, struct err *e) {
    int i = key_word("norm", v, keys_norm_at, NORM_COUNT, e);
    if (i >= 0) m->norm = (enum norm)i;
    return i < 0 ? ERR_USAGE : 0;
}

static int set_norm_before(struct module *m, const char *v, struct err *e) {
    return yes_no("norm-before", v, &m->norm_before, e);
}

static int set_residual(struct module *m, const char *v, struct err *e) {
    int i = key_word("residual", v, residual_at, RESIDUAL_COUNT, e);
    if (i >= 0) m->residual = (enum residual)i;
    return i < 0 ? ERR_USAGE : 0;
}

static int set_ending(struct module *m, const char *v, struct err *e) {
    int i = key_word("end", v, ending_at, END_COUNT, e);
    if (i >= 0) m->ending = (enum ending)i;
    return i < 0 ? ERR_USAGE : 0;
}

static int set_shift(struct module *m, const char *v, struct err *e) { return yes_no("shift", v, &m->shift, e); }

static int set_length(struct module *m, const char *v, struct err *e) {
    int i = key_word("length", v, keys_length_at, LENGTH_COUNT, e);
    if (i >= 0) m->length = (enum length)i;
    return i < 0 ? ERR_USAGE : 0;
}

static int set_tap(const char *key, enum tap *tap, const char *v, struct err *e) {
    int i = key_word(key, v, keys_tap_at, TAP_COUNT - 1, e);
    if (i >= 0) *tap = (enum tap)(i + 1);
    return i < 0 ? ERR_USAGE : 0;
}

static int set_read(struct module *m, const char *v, struct err *e) {
    return set_tap("read", &m->read, v, e);
}

static int set_write(struct module *m, const char *v, struct err *e) {
    if (module_takes(m, TAKES_TARGET)) m->target = TARGET_TAP;
    return set_tap("write", &m->write, v, e);
}

static int set_comp(struct module *m, const char *v, struct err *e) {
    char word[32], inner[64];
    if (call("comp", v, word, inner, e)) return e->code;
    int i = key_word("comp", word, keys_comp_at, COMP_COUNT, e);
    if (i < 0) return ERR_USAGE;
    double s = 1;
    if (i == COMP_SCALED && !*inner)
        return err_set(e, ERR_USAGE, "comp=scaled: the factor is missing, as in comp=scaled(2)");
    if (*inner && !comp_has_scale((enum comp)i))
        return err_set(e, ERR_USAGE, "comp=%s: only scaled(s), learned(s), learned-channel(s) and input-gate(s) take a number", v);
    if (*inner && keys_number("comp", inner, &s, e)) return e->code;
    m->comp = (enum comp)i;
    m->scale = s;
    return 0;
}

/* s=2, s=learned, s=learned(4): short for comp. */
static int set_s(struct module *m, const char *v, struct err *e) {
    if (text_starts(v, "learned")) return set_comp(m, v, e);
    double s;
    if (keys_number("s", v, &s, e)) return e->code;
    m->comp = COMP_SCALED;
    m->scale = s;
    return 0;
}

/* LoRA's α: s = α/r.  Applied after r (parse.c). */
static int set_alpha(struct module *m, const char *v, struct err *e) {
    double alpha;
    if (keys_number("alpha", v, &alpha, e)) return e->code;
    m->comp = COMP_SCALED;
    m->scale = alpha / m->size;
    return 0;
}

/* rsLoRA's: s = α/√r. */
static int set_rsalpha(struct module *m, const char *v, struct err *e) {
    double alpha;
    if (keys_number("rsalpha", v, &alpha, e)) return e->code;
    m->comp = COMP_SCALED;
    m->scale = alpha / sqrt(m->size);
    return 0;
}

/* Of a projection. */
static int set_seed(struct module *m, const char *v, struct err *e) {
    return keys_whole("seed", v, 0, &m->seed, e);
}

static int set_heads(struct module *m, const char *v, struct err *e) {
    int i = key_word("heads", v, keys_heads_at, HEADS_COUNT, e);
    if (i >= 0) m->heads = (enum head_form)i;
    return i < 0 ? ERR_USAGE : 0;
}

/* "512" or "512,relu". */
static int set_mlp(struct module *m, const char *v, struct err *e) {
    char width[64];
    const char *comma = strchr(v, ',');
    size_t n = comma ? (size_t)(comma - v) : strlen(v);
    if (n >= sizeof width) return err_set(e, ERR_USAGE, "mlp=%s: too long", v);
    memcpy(width, v, n);
    width[n] = 0;
    enum act act = ACT_NONE; /* the usual one */
    if (comma) {
        int i = key_word("mlp", comma + 1 + strspn(comma + 1, " "), bend_at, ACT_COUNT - ACT_RELU,
                         e);
        if (i < 0) return ERR_USAGE;
        act = (enum act)(i + ACT_RELU);
    }
    if (keys_whole("mlp", width, 1, &m->mid, e)) return e->code;
    m->source = SOURCE_MLP;
    m->mid_act = act;
    m->init = INIT_DEFAULT; /* of such a source; init= comes after */
    module_normalise(m);
    return 0;
}

static int set_source(struct module *m, const char *v, struct err *e) {
    char word[32], inner[64];
    if (call("source", v, word, inner, e)) return e->code;
    int i = key_word("source", word, keys_source_at, SOURCE_COUNT, e);
    if (i < 0) return ERR_USAGE;
    if (i == SOURCE_MLP) return set_mlp(m, *inner ? inner : "512", e);
    int mid = source_width((enum source)i);
    if (*inner && !mid) return err_set(e, ERR_USAGE, "source=%s: only mlp, lstm, product, kronecker and prompt-… take a width", v);
    if (*inner && keys_whole("source", inner, 1, &mid, e)) return e->code;
    m->source = (enum source)i;
    m->mid = mid;
    if (i == SOURCE_KRONECKER) m->factor = 1;
    if (mid) m->init = INIT_DEFAULT; /* of such a source; init= comes after */
    module_normalise(m);
    return 0;
}

/* Of Kronecker products: k, 0 for products that are trained themselves. */
static int set_factor(struct module *m, const char *v, struct err *e) { return keys_whole("rank", v, 0, &m->factor, e); }

static const char *const keys_rules[] = {"shared", "own"};
static int set_rule(struct module *m, const char *v, struct err *e) {
    int i = key_word_of("rule", v, keys_rules, COUNT_OF(keys_rules), e);
    if (i >= 0) m->own_rule = i;
    return i < 0 ? ERR_USAGE : 0;
}

/* The inner width of a prompt's maps. */
static int set_b(struct module *m, const char *v, struct err *e) {
    if (!source_is_prompt(m->source))
        return err_set(e, ERR_USAGE, "b=%s: the width of a prompt's maps: say source=prompt-share, prompt-sep or prompt-global", v);
    return keys_whole("b", v, 1, &m->mid, e);
}

static int set_init(struct module *m, const char *v, struct err *e) {
    int i;
    if ((m->from_run = init_text_run(v))) return 0;
    if (!strncmp(v, "run(", 4)) return err_set(e, ERR_USAGE, "init=%s: a run's number stands there, as run(3)", v);
    i = key_word("init", v, keys_init_at, INIT_COUNT - INIT_LORA, e);
    if (i >= 0) m->init = (enum init)(i + INIT_LORA);
    return i < 0 ? ERR_USAGE : 0;
}

static int set_dropout(struct module *m, const char *v, struct err *e) {
    double p;
    if (keys_number("dropout", v, &p, e)) return e->code;
    if (p < 0 || p >= 1)
        return err_set(e, ERR_USAGE, "dropout=%s: must be at least 0 and below 1", v);
    m->dropout = p;
    return 0;
}

static int set_layers(struct module *m, const char *v, struct err *e) {
    char first[16] = "", last[16] = "";
    const char *dash = strchr(v, '-');
    size_t n = dash ? (size_t)(dash - v) : strlen(v);
    if (!strcmp(v, "all")) {
        m->first = 1;
        m->last = 0;
        return 0;
    }
    if (n < sizeof first && (!dash || strlen(dash + 1) < sizeof last)) {
        memcpy(first, v, n);
        strcpy(last, dash ? dash + 1 : first);
    }
    int64_t a, b = 0;
    if (!text_to_int(first, &a) || (*last && !text_to_int(last, &b)) || a < 1 || a > 4096 ||
        (*last && (b < a || b > 4096)))
        return err_set(
            e, ERR_USAGE,
            "layers=%s: must be like 1-6, 4- (to the last), 5 or all; layers count from 1", v);
    m->first = (int)a;
    m->last = (int)b;
    return 0;
}

static int set_stack(struct module *m, const char *v, struct err *e) {
    int i = key_word("stack", v, stack_name, STACK_ALL + 1, e);
    if (i >= 0) m->stack = i;
    return i < 0 ? ERR_USAGE : 0;
}

static int set_site(struct module *m, const char *v, struct err *e) {
    int i = key_word("site", v, site_name, SITE_ALL + 1, e);
    if (i < 0) return ERR_USAGE;
    struct module x = *m;
    x.site = i;
    module_normalise(&x);
    bool placed = m->write != TAP_NONE || m->target != TARGET_NONE;
    if (placed && x.site != i)
        return err_set(e, ERR_USAGE, "site=%s: %s is not there: %s", v,
                       m->write == TAP_NONE ? target_name(m->target) : tap_name(m->write),
                       module_takes_site(m) ? "say self, cross or all" : "leave site out");
    m->site = i;
    return 0;
}

static const char *keys_learn_at(int i) { return learn_name((enum learn)i); }

static int set_learn(struct module *m, const char *v, struct err *e) {
    int i = key_word("learn", v, keys_learn_at, LEARN_COUNT, e);
    if (i >= 0) m->learn = (enum learn)i;
    return i < 0 ? ERR_USAGE : 0;
}

static const char *keys_place_at(int i) { return prompt_place_name((enum prompt_place)i); }
static const char *keys_pool_at(int i) { return prompt_pool_name((enum prompt_pool)i); }
static const char *keys_rows_at(int i) { return prompt_rows_name((enum prompt_rows)i); }

static int set_place(struct module *m, const char *v, struct err *e) {
    int i = key_word("place", v, keys_place_at, PLACE_COUNT, e);
    if (i >= 0) m->place = (enum prompt_place)i;
    return i < 0 ? ERR_USAGE : 0;
}

static int set_pool(struct module *m, const char *v, struct err *e) {
    int i = key_word("pool", v, keys_pool_at, POOL_COUNT, e);
    if (i >= 0) m->pool = (enum prompt_pool)i;
    return i < 0 ? ERR_USAGE : 0;
}

static int keys_set_rows(struct module *m, const char *v, struct err *e) {
    int i = key_word("rows", v, keys_rows_at, ROWS_COUNT, e);
    if (i >= 0) m->rows = (enum prompt_rows)i;
    return i < 0 ? ERR_USAGE : 0;
}

static int set_target(struct module *m, const char *v, struct err *e) {
    int i = key_word("target", v, keys_target_at, TARGET_COUNT - TARGET_ALL, e);
    if (i >= 0) m->target = (enum target)(i + TARGET_ALL);
    return i < 0 ? ERR_USAGE : 0;
}

static const struct key keys_table[] = {
    {"r", TAKES_R, false, set_size},
    {"l", TAKES_L, false, set_size},
    {"s", TAKES_S, false, set_s},
    {"alpha", TAKES_ALPHA, false, set_alpha},
    {"rsalpha", TAKES_ALPHA, false, set_rsalpha},
    {"mlp", TAKES_MLP, false, set_mlp},
    {"rank", TAKES_SOURCE, false, set_factor},
    {"rule", TAKES_SOURCE, false, set_rule},
    {"b", TAKES_MLP, false, set_b},
    {"seed", TAKES_SEED, false, set_seed},
    {"act", TAKES_ACT, false, set_act},
    {"biases", TAKES_BIASES, false, set_biases},
    {"norm", TAKES_NORM, false, set_norm},
    {"norm-before", TAKES_NORM, false, set_norm_before},
    {"residual", TAKES_RESIDUAL, false, set_residual},
    {"end", TAKES_RESIDUAL, false, set_ending},
    {"length", TAKES_LENGTH, false, set_length},
    {"shift", TAKES_SHIFT, false, set_shift},
    {"read", TAKES_READ, true, set_read},
    {"write", TAKES_PLACE, true, set_write},
    {"target", TAKES_TARGET, true, set_target},
    {"comp", TAKES_COMP, true, set_comp},
    {"heads", TAKES_HEADS, true, set_heads},
    {"source", TAKES_SOURCE, true, set_source},
    {"init", TAKES_INIT, true, set_init},
    {"dropout", TAKES_DROPOUT, false, set_dropout},
    {"layers", TAKES_PLACE, false, set_layers},
    {"stack", TAKES_PLACE, false, set_stack},
    {"site", TAKES_PLACE, false, set_site},
    {"learn", TAKES_PLACE, false, set_learn},
    {"place", TAKES_ROWS, false, set_place},
    {"pool", TAKES_ROWS, false, set_pool},
    {"rows", TAKES_ROWS, false, keys_set_rows},
};

const struct key *key_at(int i) { return i < (int)COUNT_OF(keys_table) ? &keys_table[i] : NULL; }

const struct key *key_find(const char *name) {
    for (size_t i = 0; i < COUNT_OF(keys_table); i++)
        if (!strcmp(keys_table[i].name, name)) return &keys_table[i];
    return NULL;
}

bool key_takes(const struct key *k, const struct module *m) {
    if (!module_takes(m, k->bit)) return false;
    if (k->set == set_factor || k->set == set_rule) return m->source == SOURCE_KRONECKER;
    if (k->set == set_site) return module_takes_site(m);
    if (k->set == set_s || k->set == set_alpha || k->set == set_rsalpha)
        return m->comp == COMP_ADD || comp_has_scale(m->comp);
    return true;
}

void key_layers_text(const struct module *m, char out[32]) {
    if (m->first == 1 && !m->last) strcpy(out, "all");
    else if (!m->last) snprintf(out, 32, "%d-", m->first);
    else if (m->first == m->last) snprintf(out, 32, "%d", m->first);
    else snprintf(out, 32, "%d-%d", m->first, m->last);
}
