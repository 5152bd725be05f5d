/* The JSON form (docs/method.schema.json), both ways. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/method/keys.h"
#include "core/method/network.h"
#include "core/method/space.h"

enum { ENCODER_VERSION = 1, FORM_VERSION = 2, SIZE_LIMIT = 1000000, LAYER_LIMIT = 4096 };

static void word(struct buf *b, const char *key, const char *value) {
    buf_printf(b, ",\"%s\":", key);
    json_add_string(b, value);
}

/* Version 1 knew the encoder alone: there "encoder" is all that a model has. */
static void json_add_place(struct buf *b, const struct module *m, bool decoder) {
    bool site = module_takes_site(m) && m->site != SITE_ALL;
    if (!decoder && m->stack == STACK_ALL) word(b, "stack", stack_name(STACK_ENCODER));
    else word(b, "stack", stack_name(m->stack));
    if (site && (decoder || m->site != SUB_SELF)) word(b, "site", site_name(m->site));
}

static void json_add_module(struct buf *b, const struct module *m, bool decoder) {
    bool in_weight = module_in_weight(m);
    buf_puts(b, "{\"function\":");
    json_add_string(b, fn_name(m->fn));
    if (module_is_sized(m)) buf_printf(b, ",\"size\":%d", m->size);
    if (module_takes(m, TAKES_ACT)) word(b, "activation", method_act_name(m->act));
    if (module_takes(m, TAKES_BIASES)) buf_printf(b, ",\"biases\":%s", m->biases ? "true" : "false");
    if (m->norm_before) buf_puts(b, ",\"norm_before\":true");
    if (m->norm != NORM_NONE) word(b, "norm", norm_name(m->norm));
    if (m->residual != RESIDUAL_WRITTEN) word(b, "residual", residual_name(m->residual));
    if (m->ending != END_MODEL) word(b, "end", ending_name(m->ending));
    if (m->shift) buf_puts(b, ",\"shift\":true");
    if (m->length != LENGTH_MAP) word(b, "length", length_name(m->length));
    if (in_weight) word(b, "target", target_name(m->target));
    if (m->read != TAP_NONE) word(b, "read", tap_name(m->read));
    if (m->write != TAP_NONE) word(b, "write", tap_name(m->write));
    if (!in_weight) word(b, "insertion", module_insertion(m));
    word(b, "composition", comp_name(m->comp));
    if (comp_has_scale(m->comp) && (m->comp != COMP_GATE || m->scale != 1)) {
        buf_puts(b, ",\"scale\":");
        json_add_double(b, m->scale);
    }
    if (!in_weight) {
        word(b, "heads", heads_name(m->heads));
        word(b, "source", source_name(m->source));
    }
    if (source_width(m->source)) buf_printf(b, ",\"mid\":%d", m->mid);
    if (module_takes(m, TAKES_ROWS)) {
        word(b, "place", prompt_place_name(m->place));
        word(b, "pool", prompt_pool_name(m->pool));
        word(b, "rows", prompt_rows_name(m->rows));
    }
    if (m->source == SOURCE_KRONECKER)
        buf_printf(b, ",\"rank\":%d,\"rule\":\"%s\"", m->factor, m->own_rule ? "own" : "shared");
    if (m->source == SOURCE_MLP) word(b, "mid_activation", method_act_name(m->mid_act));
    char init[INIT_TEXT];
    module_init_text(m, init);
    if (module_takes(m, TAKES_INIT)) word(b, "init", init);
    if (module_takes(m, TAKES_DROPOUT)) {
        buf_puts(b, ",\"dropout\":");
        json_add_double(b, m->dropout);
    }
    if (module_takes(m, TAKES_SEED)) buf_printf(b, ",\"seed\":%d", m->seed);
    buf_printf(b, ",\"layers\":[%d,", m->first);
    if (m->last) buf_printf(b, "%d]", m->last);
    else buf_puts(b, "null]");
    json_add_place(b, m, decoder);
    if (m->learn != LEARN_BOTH) word(b, "learn", learn_name(m->learn));
    buf_putc(b, '}');
}

/* Version 1 has no word for a place in the encoder alone, beside one in a decoder. */
static bool names_both(const struct method *m) {
    for (int i = 0; i < m->count; i++)
        if (m->module[i].stack == STACK_DECODER) return true;
    return false;
}

char *method_json(const struct method *m, bool decoder) {
    struct buf b = BUF_INIT;
    decoder = decoder || names_both(m);
    buf_printf(&b, "{\"version\":%d,\"head\":\"%s\",\"modules\":[",
               decoder ? FORM_VERSION : ENCODER_VERSION,
               m->head == METHOD_HEAD_FROZEN ? "frozen" : "trained");
    for (int i = 0; i < m->count; i++) {
        struct module x = m->module[i];
        module_normalise(&x);
        if (i) buf_putc(&b, ',');
        json_add_module(&b, &x, decoder);
    }
    buf_putc(&b, ']');
    networks_json(m, &b);
    buf_putc(&b, '}');
    return buf_take(&b);
}

/* ---- reading ---- */

static const char *fn_at(int i) { return fn_name((enum fn)i); }
static const char *json_act_at(int i) { return method_act_name((enum act)i); }
static const char *json_target_at(int i) { return target_name((enum target)i); }
static const char *json_tap_at(int i) { return tap_name((enum tap)i); }
static const char *json_comp_at(int i) { return comp_name((enum comp)i); }
static const char *json_heads_at(int i) { return heads_name((enum head_form)i); }
static const char *json_source_at(int i) { return source_name((enum source)i); }
static const char *json_norm_at(int i) { return norm_name((enum norm)i); }
static const char *json_residual_at(int i) { return residual_name((enum residual)i); }
static const char *json_ending_at(int i) { return ending_name((enum ending)i); }
static const char *json_length_at(int i) { return length_name((enum length)i); }
static const char *json_init_at(int i) { return init_name((enum init)i); }
static const char *json_learn_at(int i) { return learn_name((enum learn)i); }
static const char *place_at(int i) { return prompt_place_name((enum prompt_place)i); }
static const char *pool_at(int i) { return prompt_pool_name((enum prompt_pool)i); }
static const char *json_rows_at(int i) { return prompt_rows_name((enum prompt_rows)i); }
static const char *insertion_at(int i) { return i == 2 ? "concat" : i ? "sequential" : "parallel"; }
static const char *rule_at(int i) { return i ? "own" : "shared"; }
static const char *head_at(int i) { return i ? "frozen" : "trained"; }

/* A member that is one of a list of words: *out is its index (untouched when absent). */
static int member_word(const json_t *o, const char *where, const char *key,
                       const char *(*name)(int), int count, int *out, struct err *e) {
    const char *s;
    e->code = 0;
    if (!json_get_string(o, where, key, &s, e)) return e->code;
    int i = key_word(key, s, name, count, e);
    if (i < 0) {
        e->code = ERR_INPUT;
        return err_prefix(e, "%s", where);
    }
    *out = i;
    return 0;
}

static int member_int(const json_t *o, const char *where, const char *key, int least, int most,
                      int *out, struct err *e) {
    json_int_t v;
    e->code = 0;
    if (!json_get_int(o, where, key, &v, e)) return e->code;
    if (v < least || v > most)
        return err_set(e, ERR_INPUT, "%s: \"%s\" is %lld: must be from %d to %d", where, key,
                       (long long)v, least, most);
    *out = (int)v;
    return 0;
}

static int json_known_keys(const json_t *o, const char *where, const char *const *known, size_t n,
                           struct err *e) {
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)o, key, value) {
        (void)value;
        size_t i = 0;
        while (i < n && strcmp(known[i], key)) i++;
        if (i < n) continue;
        const char *near = text_nearest(key, known, n);
        return err_set(e, ERR_INPUT, "%s: unknown key \"%s\"%s%s%s", where, key,
                       near ? "; did you mean \"" : "", near ? near : "", near ? "\"?" : "");
    }
    return 0;
}

static int read_layers(const json_t *o, const char *where, struct module *m, struct err *e) {
    const json_t *v = json_object_get(o, "layers");
    if (!v) return 0;
    const json_t *first = json_array_get(v, 0), *last = json_array_get(v, 1);
    bool good = json_is_array(v) && json_array_size(v) == 2 && json_is_integer(first) &&
                (json_is_integer(last) || json_is_null(last));
    json_int_t a = good ? json_integer_value(first) : 0;
    json_int_t b = good && json_is_integer(last) ? json_integer_value(last) : LAYER_LIMIT;
    if (!good || a < 1 || b < a || b > LAYER_LIMIT)
        return err_set(
            e, ERR_INPUT,
            "%s: \"layers\" must be [first, last], counted from 1, with null for the last", where);
    m->first = (int)a;
    m->last = json_is_null(last) ? 0 : (int)b;
    return 0;
}

static int read_numbers(const json_t *o, const char *where, struct module *m, struct err *e) {
    e->code = 0;
    if (!json_get_double(o, where, "scale", &m->scale, e) && e->code) return e->code;
    if (!json_get_double(o, where, "dropout", &m->dropout, e) && e->code) return e->code;
    if (!json_get_bool(o, where, "biases", &m->biases, e) && e->code) return e->code;
    if (!json_get_bool(o, where, "shift", &m->shift, e) && e->code) return e->code;
    if (!json_get_bool(o, where, "norm_before", &m->norm_before, e) && e->code) return e->code;
    if (!(m->dropout >= 0 && m->dropout < 1))
        return err_set(e, ERR_INPUT, "%s: \"dropout\" must be at least 0 and below 1", where);
    return 0;
}

#define WORD(key, list, n, field)                                                                  \
    do {                                                                                           \
        int at_ = (int)m->field;                                                                   \
        if (member_word(o, where, key, list, n, &at_, e)) return e->code;                          \
        m->field = at_;                                                                            \
    } while (0)

/* The words of version 1 name the stacks that it knew: its "encoder" is no narrowing. */
static int read_place(const json_t *o, const char *where, int version, struct module *m,
                      struct err *e) {
    WORD("stack", stack_name, STACK_ALL + 1, stack);
    WORD("site", site_name, SITE_ALL + 1, site);
    if (version == ENCODER_VERSION && m->stack == STACK_ENCODER) m->stack = STACK_ALL;
    return 0;
}

static int read_module(const json_t *o, const char *where, int version, struct module *m,
                       struct err *e) {
    static const char *const known[] = {
        "function", "size",  "activation", "biases", "target",         "read",
        "write",    "scale", "insertion",  "heads",  "composition",    "source",
        "mid",      "init",  "dropout",    "layers", "mid_activation", "stack", "site",
        "norm",     "learn", "norm_before", "residual", "end", "length", "shift", "place", "pool", "rows", "seed",
        "rank", "rule"};
    if (!json_is_object(o)) return err_set(e, ERR_INPUT, "%s: must be an object", where);
    if (json_known_keys(o, where, known, COUNT_OF(known), e)) return e->code;
    int fn = -1, insertion = -1;
    if (member_word(o, where, "function", fn_at, FN_COUNT, &fn, e)) return e->code;
    if (fn < 0) return err_set(e, ERR_INPUT, "%s: \"function\" is missing", where);
    *m = module_default((enum fn)fn);
    m->init = INIT_DEFAULT; /* the usual one of function and source, unless it is said */
    if (member_int(o, where, "size", 1, SIZE_LIMIT, &m->size, e)) return e->code;
    if (member_int(o, where, "seed", 0, SIZE_LIMIT, &m->seed, e)) return e->code;
    if (member_int(o, where, "mid", 1, SIZE_LIMIT, &m->mid, e)) return e->code;
    WORD("activation", json_act_at, ACT_COUNT, act);
    WORD("target", json_target_at, TARGET_COUNT, target);
    WORD("read", json_tap_at, TAP_COUNT, read);
    WORD("write", json_tap_at, TAP_COUNT, write);
    WORD("composition", json_comp_at, COMP_COUNT, comp);
    WORD("heads", json_heads_at, HEADS_COUNT, heads);
    WORD("source", json_source_at, SOURCE_COUNT, source);
    WORD("mid_activation", json_act_at, ACT_COUNT, mid_act);
    WORD("norm", json_norm_at, NORM_COUNT, norm);
    WORD("residual", json_residual_at, RESIDUAL_COUNT, residual);
    WORD("end", json_ending_at, END_COUNT, ending);
    WORD("length", json_length_at, LENGTH_COUNT, length);
    const char *init = json_string_value(json_object_get(o, "init"));
    m->from_run = init ? init_text_run(init) : 0;
    if (!m->from_run) WORD("init", json_init_at, INIT_COUNT, init);
    WORD("learn", json_learn_at, LEARN_COUNT, learn);
    int own_rule = 0;
    m->factor = 1;
    if (member_int(o, where, "rank", 0, SIZE_LIMIT, &m->factor, e)) return e->code;
    if (member_word(o, where, "rule", rule_at, 2, &own_rule, e)) return e->code;
    m->own_rule = own_rule;
    WORD("place", place_at, PLACE_COUNT, place);
    WORD("pool", pool_at, POOL_COUNT, pool);
    WORD("rows", json_rows_at, ROWS_COUNT, rows);
    if (member_word(o, where, "insertion", insertion_at, 3, &insertion, e)) return e->code;
    if (read_numbers(o, where, m, e) || read_layers(o, where, m, e)) return e->code;
    if (read_place(o, where, version, m, e)) return e->code;
    if (source_width(m->source) && m->mid == 0)
        return err_set(e, ERR_INPUT, "%s: \"mid\", the inner width of source %s, is missing", where,
                       source_name(m->source));
    module_normalise(m);
    if (insertion >= 0 && strcmp(insertion_at(insertion), module_insertion(m)))
        return err_set(e, ERR_INPUT,
                       "%s: \"insertion\" is %s, but reading %s and writing %s is %s", where,
                       insertion_at(insertion), tap_name(m->read), tap_name(m->write), module_insertion(m));
    return 0;
}

static int read_method(const json_t *o, struct method *m, struct err *e) {
    static const char *const known[] = {"version", "head", "modules", "retriever", "hyper", "hyper2", "generated-head",
                                        "classifier", "budget", "fusion", "pruning", "attempt"};
    int version = 0;
    if (!json_is_object(o)) return err_set(e, ERR_INPUT, "method: must be a JSON object");
    if (json_known_keys(o, "method", known, COUNT_OF(known), e)) return e->code;
    if (member_int(o, "method", "version", 1, 1 << 30, &version, e)) return e->code;
    if (version != ENCODER_VERSION && version != FORM_VERSION)
        return err_set(e, ERR_INPUT,
                       "method: \"version\" is %d: this program reads versions %d and %d", version,
                       ENCODER_VERSION, FORM_VERSION);
    if (member_word(o, "method", "head", head_at, 2, &m->head, e)) return e->code;
    if (networks_from_json(o, m, e)) return e->code;
    const json_t *list = json_object_get(o, "modules");
    if (!json_is_array(list)) return err_set(e, ERR_INPUT, "method: \"modules\" must be a list");
    if (json_array_size(list) > METHOD_MODULES)
        return err_set(e, ERR_INPUT, "method: has %zu modules: at most %d", json_array_size(list),
                       METHOD_MODULES);
    for (size_t i = 0; i < json_array_size(list); i++) {
        char where[48];
        snprintf(where, sizeof where, "method, module %zu", i + 1);
        if (read_module(json_array_get(list, i), where, version, &m->module[i], e)) return e->code;
        m->count++;
    }
    return 0;
}

int method_from_json(const char *json, size_t n, struct method *out, struct err *e) {
    struct method m = {.count = 0};
    struct err unheard = ERR_INIT;
    if (!e) e = &unheard;
    json_t *o = json_parse("method", json, n, e);
    if (!o) return e->code;
    int rc = read_method(o, &m, e);
    json_decref(o);
    if (rc == 0) *out = m;
    return rc;
}
