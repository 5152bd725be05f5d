#include "core/method/network.h"

#include <stdio.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/method/attempt.h"
#include "core/method/budget.h"
#include "core/method/classifier.h"
#include "core/method/fusion.h"
#include "core/method/generated.h"
#include "core/method/hyper.h"
#include "core/method/masked.h"
#include "core/method/retriever.h"

const struct network *network_at(int i) {
    static const struct network *const all[] = { &hyper_network,     &hyper2_network,     &retriever_network,
                                                 &generated_network, &classifier_network, &budget_network,
                                                 &fusion_network,    &pruning_network,    &attempt_network };
    return i < (int)COUNT_OF(all) ? all[i] : NULL;
}

const struct network *network_find(const char *name) {
    const struct network *n;
    for (int i = 0; (n = network_at(i)) && strcmp(n->name, name); i++) {}
    return n;
}

int network_generator(const struct network *n) {
    return n == &hyper_network ? 0 : n == &hyper2_network ? 1 : -1;
}

bool method_has_generator(const struct method *m) { return m->hyper[0].on || m->hyper[1].on; }

/* ---- values ---- */

static const void *network_in(const struct network *n,
                              const struct method *m) { return (const char *)m + n->offset; }

/* ---- one network ---- */

bool network_is_on(const struct network *n, const struct method *m) {
    return *(const bool *)network_in(n, m);
}

void network_take_defaults(const struct network *n, struct method *m) {
    memcpy((char *)m + n->offset, n->defaults, n->size);
}

void network_take(const struct network *n, struct method *m, const struct method *from) {
    memcpy((char *)m + n->offset, network_in(n, from), n->size);
}

bool network_equal(const struct network *n, const struct method *a, const struct method *b) {
    const void *x = network_in(n, a), *y = network_in(n, b);
    if (!network_is_on(n, a) || !network_is_on(n, b)) return network_is_on(n, a) == network_is_on(n, b);
    for (const struct key *k = n->key; k < n->key + n->keys; k++)
        if (!key_same(k, x, y)) return false;
    return true;
}

void network_value(const struct network *n, const struct method *m, const struct key *k, char out[KEY_TEXT]) {
    key_print(k, network_in(n, m), out);
}

void network_drop(const struct network *n, struct method *m) { memset((char *)m + n->offset, 0, n->size); }

static bool needs(const struct module *x, const struct network *n) {
    if (network_generator(n) >= 0) return source_generator(x->source) == network_generator(n);
    if (n == &fusion_network) return x->source == SOURCE_FUSION && !attempt_is_source(x);
    return n == &attempt_network ? attempt_is_source(x) : x->fn == FN_MASKED;
}

void network_settle(struct method *m) {
    static const struct network *const settled[] = { &hyper_network, &hyper2_network, &fusion_network,
                                                     &attempt_network, &pruning_network };
    for (size_t k = 0; k < COUNT_OF(settled); k++) {
        bool needed = false;
        for (int i = 0; i < m->count; i++) needed |= needs(&m->module[i], settled[k]);
        if (needed && !network_is_on(settled[k], m)) network_take_defaults(settled[k], m);
        else if (!needed && network_is_on(settled[k], m)) network_drop(settled[k], m);
    }
}

int network_set(const struct network *n, struct method *m, const char *key, const char *value,
                struct err *e) {
    if ((n == &fusion_network || n == &attempt_network) && !strcmp(key, "runs"))
        return err_set(
            e, ERR_USAGE,
            "%s: runs=%s: the %s of these runs must be read from a database: use petri train, count or "
            "explain, or write the modules out, for example %s(source=fusion,init=run(3))",
            n->name, value, n == &fusion_network ? "adapters" : "prompts",
            n == &fusion_network ? "adapter-pfeiffer" : "prompt");
    for (const struct key *k = n->key; k < n->key + n->keys; k++)
        if (!strcmp(k->name, key))
            return key_set(k, (char *)m + n->offset, value, e) ? err_prefix(e, "%s", n->name) : 0;
    const char *name[16];
    BUG_IF(n->keys > (int)COUNT_OF(name));
    for (int i = 0; i < n->keys; i++) name[i] = n->key[i].name;
    err_set(e, ERR_USAGE, "%s: unknown setting '%s'", n->name, key);
    return key_suggest(key, name, n->keys, e);
}

/* Writes the keys that differ from `base`; `full`: all, except newer keys with default values. */
static void add_text(const struct network *n, const struct method *m, const void *base, bool full,
                     struct buf *out) {
    char value[KEY_TEXT];
    int written = 0;
    buf_printf(out, "%s%s", out->size ? " + " : "", n->name);
    for (const struct key *k = n->key; k < n->key + n->keys; k++) {
        if ((!full || k->text & KEY_NOT_DEFAULT) && key_same(k, network_in(n, m), base)) continue;
        key_print(k, network_in(n, m), value);
        buf_printf(out, "%s%s=%s", written++ ? ", " : "(", k->name, value);
    }
    if (written) buf_putc(out, ')');
}

static void add_json(const struct network *n, const struct method *m, struct buf *out) {
    char value[KEY_TEXT];
    buf_printf(out, ",\"%s\":{", n->name);
    for (const struct key *k = n->key; k < n->key + n->keys; k++) {
        if (k->text & KEY_NOT_DEFAULT && key_same(k, network_in(n, m), n->defaults)) continue;
        key_print(k, network_in(n, m), value);
        buf_printf(out, key_is_number(k) ? "%s\"%s\":%s" : "%s\"%s\":\"%s\"", k > n->key ? "," : "", k->name,
                   value);
    }
    buf_putc(out, '}');
}

static int from_json(const struct network *n, const json_t *o, struct method *m, struct err *e) {
    const char *key;
    json_t *v;
    if (!json_is_object(o)) return err_set(e, ERR_INPUT, "method: \"%s\" must be an object", n->name);
    network_take_defaults(n, m);
    json_object_foreach((json_t *)o, key, v) {
        char number[KEY_TEXT];
        const char *text = json_string_value(v);
        if (json_is_number(v)) {
            text_from_double(json_number_value(v), number);
            text = number;
        }
        if (network_set(n, m, key, text ? text : "", e)) {
            e->code = ERR_INPUT;
            return err_prefix(e, "method");
        }
    }
    return 0;
}

/* ---- all networks of a method ---- */

bool networks_on(const struct method *m) {
    const struct network *n;
    for (int i = 0; (n = network_at(i)); i++)
        if (network_is_on(n, m)) return true;
    return false;
}

bool networks_equal(const struct method *a, const struct method *b) {
    const struct network *n;
    for (int i = 0; (n = network_at(i)); i++)
        if (!network_equal(n, a, b)) return false;
    return true;
}

void networks_text(const struct method *m, bool full, struct buf *out) {
    const struct network *n;
    for (int i = 0; (n = network_at(i)); i++)
        if (network_is_on(n, m)) add_text(n, m, n->defaults, full, out);
}

bool networks_extend(const struct method *m, const struct method *base) {
    const struct network *n;
    for (int i = 0; (n = network_at(i)); i++)
        if (network_is_on(n, base) && !network_is_on(n, m)) return false;
    return true;
}

void networks_changes(const struct method *m, const struct method *base, struct buf *out) {
    const struct network *n;
    for (int i = 0; (n = network_at(i)); i++) {
        bool own = !network_is_on(n, base);
        if (network_is_on(n, m) && !network_equal(n, m, base))
            add_text(n, m, own ? n->defaults : network_in(n, base), false, out);
    }
}

void networks_json(const struct method *m, struct buf *out) {
    const struct network *n;
    for (int i = 0; (n = network_at(i)); i++)
        if (network_is_on(n, m)) add_json(n, m, out);
}

int networks_from_json(const json_t *o, struct method *m, struct err *e) {
    const struct network *n;
    for (int i = 0; (n = network_at(i)); i++) {
        const json_t *own = json_object_get(o, n->name);
        if (own && from_json(n, own, m, e)) return e->code;
    }
    return 0;
}
