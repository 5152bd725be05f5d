#include "core/method/network.h"

#include <math.h>
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
#include "core/method/keys.h"
#include "core/method/masked.h"
#include "core/method/retriever.h"

enum { SIZE_MOST = 65536 };

const struct network *network_at(int i) {
    static const struct network *const all[] = {&hyper_network, &hyper2_network, &retriever_network, &generated_network,
                                              &classifier_network, &budget_network, &fusion_network,
                                              &pruning_network, &attempt_network};
    return i < (int)COUNT_OF(all) ? all[i] : NULL;
}

const struct network *network_find(const char *name) {
    const struct network *n;
    for (int i = 0; (n = network_at(i)) && strcmp(n->name, name); i++) {}
    return n;
}

int network_generator(const struct network *n) { return n == &hyper_network ? 0 : n == &hyper2_network ? 1 : -1; }

bool method_has_generator(const struct method *m) { return m->hyper[0].on || m->hyper[1].on; }

/* ---- values ---- */

static const void *network_in(const struct network *n,
                              const struct method *m) { return (const char *)m + n->offset; }

/* A word is kept as an enum, which is as wide as an int. */
static const int *network_whole(const struct network_key *k, const void *at) {
    return (const int *)(const void *)((const char *)at + k->offset);
}
static const double *network_number(const struct network_key *k, const void *at) {
    return (const double *)(const void *)((const char *)at + k->offset);
}
static const bool *flag(const struct network_key *k, const void *at) {
    return (const bool *)((const char *)at + k->offset);
}

/* As network_set takes it. */
static void network_value_of(const struct network_key *k, const void *at, char out[32]) {
    switch (k->kind) {
    case NETWORK_SIZE: snprintf(out, 32, "%d", *network_whole(k, at)); return;
    case NETWORK_NUMBER: case NETWORK_WEIGHT: text_from_double(*network_number(k, at), out); return;
    case NETWORK_FLAG: snprintf(out, 32, "%s", *flag(k, at) ? "yes" : "no"); return;
    case NETWORK_WORD: snprintf(out, 32, "%s", k->words[*network_whole(k, at)]); return;
    }
}

static int set(const struct network *n, const struct network_key *k, void *at, const char *value, struct err *e) {
    void *to = (char *)at + k->offset;
    int64_t v;
    double x;
    int i;
    switch (k->kind) {
    case NETWORK_SIZE:
        if (!text_to_int(value, &v) || v < k->least || v > SIZE_MOST)
            return err_set(e, ERR_USAGE, "%s: %s=%s: must be a whole number from %d to %d", n->name, k->name, value,
                           k->least, SIZE_MOST);
        *(int *)to = (int)v;
        return 0;
    case NETWORK_NUMBER: case NETWORK_WEIGHT:
        if (!text_to_double(value, &x) || !(k->kind == NETWORK_WEIGHT ? x >= 0 : x > 0) || !isfinite(x))
            return err_set(e, ERR_USAGE, "%s: %s=%s: must be a number %s 0", n->name, k->name, value,
                           k->kind == NETWORK_WEIGHT ? "from" : "above");
        *(double *)to = x;
        return 0;
    case NETWORK_FLAG:
        if (strcmp(value, "yes") && strcmp(value, "no"))
            return err_set(e, ERR_USAGE, "%s: %s=%s: must be yes or no", n->name, k->name, value);
        *(bool *)to = !strcmp(value, "yes");
        return 0;
    case NETWORK_WORD:
        i = key_word_of(k->name, value, k->words, k->count, e);
        if (i < 0) return err_prefix(e, "%s", n->name);
        *(int *)to = i;
        return 0;
    }
    return 0;
}

static int network_unknown(const struct network *n, const char *key, struct err *e) {
    struct buf list = BUF_INIT;
    const char *name[16];
    BUG_IF(n->keys > (int)COUNT_OF(name));
    for (int i = 0; i < n->keys; i++) {
        name[i] = n->key[i].name;
        buf_printf(&list, "%s%s", i ? ", " : "", name[i]);
    }
    const char *near = text_nearest(key, name, (size_t)n->keys);
    err_set(e, ERR_USAGE, "%s has no '%s'%s%s%s (it takes %s)", n->name, key, near ? "; did you mean " : "",
            near ? near : "", near ? "?" : "", buf_text(&list));
    buf_release(&list);
    return e->code;
}

/* ---- one ---- */

bool network_is_on(const struct network *n, const struct method *m) {
    return *(const bool *)network_in(n, m);
}

void network_take_usual(const struct network *n, struct method *m) { memcpy((char *)m + n->offset, n->usual, n->size); }

void network_take(const struct network *n, struct method *m, const struct method *from) {
    memcpy((char *)m + n->offset, network_in(n, from), n->size);
}

bool network_equal(const struct network *n, const struct method *a, const struct method *b) {
    const void *x = network_in(n, a), *y = network_in(n, b);
    if (!network_is_on(n, a) || !network_is_on(n, b)) return network_is_on(n, a) == network_is_on(n, b);
    for (const struct network_key *k = n->key; k < n->key + n->keys; k++)
        if (k->kind == NETWORK_NUMBER || k->kind == NETWORK_WEIGHT ? *network_number(k, x) != *network_number(k, y)
            : k->kind == NETWORK_FLAG ? *flag(k, x) != *flag(k, y)
                                      : *network_whole(k, x) != *network_whole(k, y))
            return false;
    return true;
}

void network_value(const struct network *n, const struct method *m, const struct network_key *k, char out[32]) {
    network_value_of(k, network_in(n, m), out);
}

void network_drop(const struct network *n, struct method *m) { memset((char *)m + n->offset, 0, n->size); }

void network_settle(struct method *m) {
    static const struct network *const generators[GENERATORS] = {&hyper_network, &hyper2_network};
    for (int g = 0; g < GENERATORS; g++) {
        bool made = false;
        for (int i = 0; i < m->count; i++) made |= source_generator(m->module[i].source) == g;
        if (made && !m->hyper[g].on) network_take_usual(generators[g], m);
        else if (!made && m->hyper[g].on) network_drop(generators[g], m);
    }
    bool fused = false;
    for (int i = 0; i < m->count; i++) fused |= m->module[i].source == SOURCE_FUSION && !attempt_is_source(&m->module[i]);
    if (fused && !m->fusion.on) network_take_usual(&fusion_network, m);
    else if (!fused && m->fusion.on) network_drop(&fusion_network, m);
    bool joined = false;
    for (int i = 0; i < m->count; i++) joined |= attempt_is_source(&m->module[i]);
    if (joined && !m->attempt.on) network_take_usual(&attempt_network, m);
    else if (!joined && m->attempt.on) network_drop(&attempt_network, m);
    bool masked = false;
    for (int i = 0; i < m->count; i++) masked |= m->module[i].fn == FN_MASKED;
    if (masked && !m->pruning.on) network_take_usual(&pruning_network, m);
    else if (!masked && m->pruning.on) network_drop(&pruning_network, m);
}

int network_set(const struct network *n, struct method *m, const char *key, const char *value, struct err *e) {
    if ((n == &fusion_network || n == &attempt_network) && !strcmp(key, "runs"))
        return err_set(e, ERR_USAGE,
                       "%s: runs=%s stands for the %s of these runs, which only a history knows (train, count and explain have "
                                     "one): write them out, as %s(source=fusion,init=run(3))", n->name, value,
                       n == &fusion_network ? "adapters" : "prompts", n == &fusion_network ? "adapter-pfeiffer" : "prompt");
    for (const struct network_key *k = n->key; k < n->key + n->keys; k++)
        if (!strcmp(k->name, key)) return set(n, k, (char *)m + n->offset, value, e);
    return network_unknown(n, key, e);
}

/* The keys that are not as in `base`; `full`: all of them, but those that came later and are usual. */
static void network_add_text(const struct network *n, const struct method *m, const void *base, bool full,
                             struct buf *out) {
    char value[32], standard[32];
    int written = 0;
    buf_printf(out, "%s%s", out->size ? " + " : "", n->name);
    for (const struct network_key *k = n->key; k < n->key + n->keys; k++) {
        network_value_of(k, network_in(n, m), value);
        network_value_of(k, base, standard);
        if ((!full || k->later) && !strcmp(value, standard)) continue;
        buf_printf(out, "%s%s=%s", written++ ? ", " : "(", k->name, value);
    }
    if (written) buf_putc(out, ')');
}

static void add_json(const struct network *n, const struct method *m, struct buf *out) {
    char value[32], standard[32];
    buf_printf(out, ",\"%s\":{", n->name);
    for (const struct network_key *k = n->key; k < n->key + n->keys; k++) {
        bool bare = k->kind == NETWORK_SIZE || k->kind == NETWORK_NUMBER || k->kind == NETWORK_WEIGHT;
        network_value_of(k, network_in(n, m), value);
        network_value_of(k, n->usual, standard);
        if (k->later && !strcmp(value, standard)) continue;
        buf_printf(out, bare ? "%s\"%s\":%s" : "%s\"%s\":\"%s\"", k > n->key ? "," : "", k->name, value);
    }
    buf_putc(out, '}');
}

static int from_json(const struct network *n, const json_t *o, struct method *m, struct err *e) {
    const char *key;
    json_t *v;
    if (!json_is_object(o)) return err_set(e, ERR_INPUT, "method: \"%s\" must be an object", n->name);
    network_take_usual(n, m);
    json_object_foreach((json_t *)o, key, v) {
        char number[32];
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

/* ---- all of a method ---- */

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
        if (network_is_on(n, m)) network_add_text(n, m, n->usual, full, out);
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
            network_add_text(n, m, own ? n->usual : network_in(n, base), false, out);
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
