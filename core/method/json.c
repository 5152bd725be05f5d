/* Reads and writes the JSON form (docs/method.schema.json). */
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

enum { ENCODER_VERSION = 1, FORM_VERSION = 2 };

static void word(struct buf *b, const char *key, const char *value) {
    buf_printf(b, ",\"%s\":", key);
    json_add_string(b, value);
}

static bool has(const struct key *k, const struct module *m) {
    if (k->words == target_names) return module_in_weight(m);
    if (k->json & KEY_OF_CHANGE) return !module_in_weight(m);
    return k->json & KEY_ALWAYS || (k->json & KEY_TAKEN && key_takes(k, m)) ||
           (k->json & KEY_SET && key_number(k, m) != k->neutral);
}

static void add_field(struct buf *b, const struct key *k, const struct module *m) {
    char value[KEY_TEXT];
    if (k->kind == KEY_FLAG) {
        json_member_bool(b, k->member, key_number(k, m));
        return;
    }
    if (k->kind != KEY_WORD || k->words == init_names) key_print(k, m, value);
    else snprintf(value, sizeof value, "%s", k->words[key_number(k, m)]);
    if (k->kind == KEY_WORD) word(b, k->member, value);
    else if (k->kind == KEY_SHARE)
        json_member_double(b, k->member, *(const double *)(const void *)((const char *)m + k->offset));
    else buf_printf(b, ",\"%s\":%s", k->member, value);
}

static void add_module(struct buf *b, const struct module *m, bool decoder) {
    const struct key *k;
    buf_puts(b, "{\"function\":");
    json_add_string(b, fn_name(m->fn));
    bool in_weight = module_in_weight(m),
         scaled = comp_has_scale(m->comp) && (m->comp != COMP_GATE || m->scale != 1);
    for (int i = 0; (k = key_at(i)); i++) {
        if (k->words == comp_names && !in_weight) word(b, "insertion", module_insertion(m));
        if (has(k, m)) add_field(b, k, m);
        if (k->words == comp_names && scaled) json_member_double(b, "scale", m->scale);
    }
    if (source_width(m->source)) json_member_int(b, "mid", m->mid);
    if (m->source == SOURCE_MLP) word(b, "mid_activation", method_act_name(m->mid_act));
    buf_printf(b, ",\"layers\":[%d,", m->first);
    if (m->last) buf_printf(b, "%d]", m->last);
    else buf_puts(b, "null]");
    bool site = module_takes_site(m) && m->site != SITE_ALL;
    /* in version 1, "encoder" means the whole model */
    if (!decoder && m->stack == STACK_ALL) word(b, "stack", stack_name(STACK_ENCODER));
    else word(b, "stack", stack_name(m->stack));
    if (site && (decoder || m->site != SUB_SELF)) word(b, "site", site_name(m->site));
    buf_putc(b, '}');
}

/* Version 1 cannot express a module in the encoder only if there are others in a decoder. */
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
        module_normalize(&x);
        if (i) buf_putc(&b, ',');
        add_module(&b, &x, decoder);
    }
    buf_putc(&b, ']');
    networks_json(m, &b);
    buf_putc(&b, '}');
    return buf_take(&b);
}

/* ---- reading ---- */

static const char *const heads_of_method[] = { "trained", "frozen" };

/* Reads a member that is one of a list of words: *out is its index (unchanged when absent). */
static int member_word(const json_t *o, const char *where, const char *key,
                       const char *const *words, int count, int *out, struct err *e) {
    const char *s;
    e->code = 0;
    if (!json_get_string(o, where, key, &s, e)) return e->code;
    int i = key_word_of(key, s, words, count, e);
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
        return err_set(e, ERR_INPUT, "%s: \"%s\" is %lld: must be between %d and %d", where, key,
                       (long long)v, least, most);
    *out = (int)v;
    return 0;
}

static int known_keys(const json_t *o, const char *where, const char *const *known, size_t n,
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

/* Reads the member of a field; any word of the field is accepted. */
static int read_field(const json_t *o, const char *where, const struct key *k, struct module *m,
                      struct err *e) {
    void *at = (char *)m + k->offset;
    e->code = 0;
    switch (k->kind) {
    case KEY_WORD: return member_word(o, where, k->member, k->words, k->count, at, e);
    case KEY_WHOLE: return member_int(o, where, k->member, k->least, SIZE_LIMIT, at, e);
    case KEY_FLAG: return !json_get_bool(o, where, k->member, at, e) ? e->code : 0;
    case KEY_SHARE: case KEY_NUMBER: case KEY_WEIGHT: case KEY_REAL:
        if (!json_get_double(o, where, k->member, at, e)) return e->code;
        if (!key_refuses(k, *(double *)at)) return 0;
        return err_set(e, ERR_INPUT, "%s: \"%s\" must be %s", where, k->member, key_refuses(k,
                                                                                            *(double *)at));
    case KEY_OTHER: case KEY_LAYERS: break;
    }
    return 0;
}

/* Members without a field in the table. */
static const char *const json_others[] = {
    "function", "insertion", "scale", "mid", "mid_activation", "layers"
};

static int check_members(const json_t *o, const char *where, struct err *e) {
    const char *known[64];
    size_t n = 0;
    const struct key *k;
    for (int i = 0; (k = key_at(i)); i++)
        if (k->member) known[n++] = k->member;
    for (size_t i = 0; i < COUNT_OF(json_others); i++) known[n++] = json_others[i];
    return known_keys(o, where, known, n, e);
}

static int read_module(const json_t *o, const char *where, int version, struct module *m,
                       struct err *e) {
    static const char *const insertions[] = { "parallel", "sequential", "concat" };
    const char *functions[FN_COUNT];
    int fn = -1, insertion = -1, mid_act;
    const struct key *k;
    if (!json_is_object(o)) return err_set(e, ERR_INPUT, "%s: must be an object", where);
    if (check_members(o, where, e)) return e->code;
    for (int i = 0; i < FN_COUNT; i++) functions[i] = fn_name((enum fn)i);
    if (member_word(o, where, "function", functions, FN_COUNT, &fn, e)) return e->code;
    if (fn < 0) return err_set(e, ERR_INPUT, "%s: \"function\" is missing", where);
    *m = module_default((enum fn)fn);
    m->init = INIT_DEFAULT; /* default of function and source, unless specified */
    m->factor = 1;
    mid_act = (int)m->mid_act;
    const char *init = json_string_value(json_object_get(o, "init"));
    m->from_run = init ? init_text_run(init) : 0;
    for (int i = 0; (k = key_at(i)); i++)
        if (k->member && !(m->from_run && k->words == init_names) && read_field(o, where, k, m, e))
            return e->code;
    if (read_field(o, where, &key_mid, m, e) || read_field(o, where, &key_scale, m, e)) return e->code;
    if (member_word(o, where, "mid_activation", method_act_names, ACT_COUNT, &mid_act, e)) return e->code;
    m->mid_act = (enum act)mid_act;
    if (member_word(o, where, "insertion", insertions, COUNT_OF(insertions), &insertion, e)) return e->code;
    if (read_layers(o, where, m, e)) return e->code;
    /* In version 1, "encoder" is not a restriction. */
    if (version == ENCODER_VERSION && m->stack == STACK_ENCODER) m->stack = STACK_ALL;
    if (source_width(m->source) && m->mid == 0)
        return err_set(e, ERR_INPUT, "%s: \"mid\", the inner width of source %s, is missing", where,
                       source_name(m->source));
    module_normalize(m);
    if (insertion >= 0 && strcmp(insertions[insertion], module_insertion(m)))
        return err_set(e, ERR_INPUT,
                       "%s: \"insertion\" is %s, but reading %s and writing %s is %s", where,
                       insertions[insertion], tap_name(m->read), tap_name(m->write), module_insertion(m));
    return 0;
}

static int read_method(const json_t *o, struct method *m, struct err *e) {
    const char *known[16] = { "version", "head", "modules" };
    int version = 0, n = 3;
    for (int i = 0; network_at(i); i++) known[n++] = network_at(i)->name;
    if (!json_is_object(o)) return err_set(e, ERR_INPUT, "method: must be a JSON object");
    if (known_keys(o, "method", known, (size_t)n, e)) return e->code;
    if (member_int(o, "method", "version", 1, 1 << 30, &version, e)) return e->code;
    if (version != ENCODER_VERSION && version != FORM_VERSION)
        return err_set(e, ERR_INPUT,
                       "method: \"version\" is %d: supported versions are %d and %d", version,
                       ENCODER_VERSION, FORM_VERSION);
    if (member_word(o, "method", "head", heads_of_method, 2, &m->head, e)) return e->code;
    if (networks_from_json(o, m, e)) return e->code;
    const json_t *list = json_object_get(o, "modules");
    if (!json_is_array(list)) return err_set(e, ERR_INPUT, "method: \"modules\" must be a list");
    if (json_array_size(list) > METHOD_MODULES)
        return err_set(e, ERR_INPUT, "method: %zu modules: at most %d are supported", json_array_size(list),
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
    struct method m = { .count = 0 };
    struct err unheard = ERR_INIT;
    if (!e) e = &unheard;
    json_t *o = json_parse("method", json, n, e);
    if (!o) return e->code;
    int rc = read_method(o, &m, e);
    json_decref(o);
    if (rc == 0) *out = m;
    return rc;
}
