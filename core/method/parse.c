/* Parses the text form: item { '+' item }; an item is a function or a preset with its keys in parentheses
 * (grammar in docs/methods.md). */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/method/backbone.h"
#include "core/method/keys.h"
#include "core/method/network.h"
#include "core/method/space.h"

enum { ARGS = 32, TEXT_LIMIT = 65536 };

struct arg {
    char key[32], value[128]; /* value "": a bare word */
};

struct method_item {
    char name[48];
    int count;
    struct arg arg[ARGS];
};

/* ---- splitting the text into items and arguments ---- */

static const char *skip(const char *s) {
    while (*s == ' ' || *s == '\t' || *s == '\n' || *s == '\r') s++;
    return s;
}

/* Copies [from, to) without surrounding blanks; returns false if it does not fit. */
static bool copy_part(char *out, size_t room, const char *from, const char *to) {
    from = skip(from);
    while (to > from && isspace((unsigned char)to[-1])) to--;
    if (to < from) to = from;
    if ((size_t)(to - from) >= room) return false;
    memcpy(out, from, (size_t)(to - from));
    out[to - from] = 0;
    return true;
}

/* Returns the end of the argument at s: the next ',' ';' or ')' outside inner parentheses. */
static const char *argument_end(const char *s) {
    int depth = 0;
    for (; *s; s++) {
        if (*s == '(') depth++;
        if (*s == ')' && depth-- == 0) break;
        if ((*s == ',' || *s == ';') && depth == 0) break;
    }
    return s;
}

static int add_argument(struct method_item *item, const char *from, const char *to, struct err *e) {
    char text[192];
    if (!copy_part(text, sizeof text, from, to))
        return err_set(e, ERR_USAGE, "%s: setting longer than %zu characters", item->name,
                       sizeof text - 1);
    char *equals = strchr(text, '=');
    struct arg *last = item->count ? &item->arg[item->count - 1] : NULL;
    if (!*text) return err_set(e, ERR_USAGE, "%s: empty setting; remove a comma", item->name);
    if (!equals && last && !strcmp(last->key, "at")) { /* at=q,v */
        size_t n = strlen(last->value);
        if (n + strlen(text) + 2 > sizeof last->value)
            return err_set(e, ERR_USAGE, "%s: at= is too long", item->name);
        last->value[n] = '+';
        strcpy(last->value + n + 1, text);
        return 0;
    }
    if (item->count == ARGS)
        return err_set(e, ERR_USAGE, "%s: too many settings: at most %d", item->name, ARGS);
    struct arg *a = &item->arg[item->count];
    *a = (struct arg){ .key = "" };
    bool fits = equals ? copy_part(a->key, sizeof a->key, text, equals) &&
                             copy_part(a->value, sizeof a->value, equals + 1, text + strlen(text))
                       : copy_part(a->key, sizeof a->key, text, text + strlen(text));
    if (!fits) return err_set(e, ERR_USAGE, "%s: '%s' is too long", item->name, text);
    if (!strcmp(a->key, "m")) strcpy(a->key, "r"); /* name of an adapter's width in Meta-Adapters */
    if (equals && (!*a->key || !*a->value))
        return err_set(e, ERR_USAGE, "%s: '%s': must be key=value", item->name, text);
    for (int i = 0; i < item->count; i++)
        if (!strcmp(item->arg[i].key, a->key))
            return err_set(e, ERR_USAGE, "%s: %s is repeated", item->name, a->key);
    item->count++;
    return 0;
}

/* Reads one item at *s and moves *s past it. */
static int read_item(const char **s, struct method_item *item, struct err *e) {
    *item = (struct method_item){ .count = 0 };
    const char *p = skip(*s), *start = p;
    while (islower((unsigned char)*p) || isdigit((unsigned char)*p) || *p == '-') p++;
    if (p > start && p[0] == '+' && p[1] == '+') p += 2; /* hyperformer++ */
    if (p == start) {
        if (!*p) return err_set(e, ERR_USAGE, "missing method: expected a method such as lora(r=8)");
        return err_set(e, ERR_USAGE, "expected the name of a method at '%.20s'", p);
    }
    if (!copy_part(item->name, sizeof item->name, start, p))
        return err_set(e, ERR_USAGE, "'%.60s': the name of the method is too long", start);
    p = skip(p);
    if (*p == '(') {
        p = skip(p + 1);
        while (*p != ')') {
            const char *end = argument_end(p);
            if (!*end) return err_set(e, ERR_USAGE, "%s: missing ')' at the end", item->name);
            if (add_argument(item, p, end, e)) return e->code;
            p = skip(*end == ')' ? end : end + 1);
        }
        p = skip(p + 1);
    }
    *s = p;
    return 0;
}

/* ---- keys ---- */

/* "linear: unknown setting 'l'; did you mean …? (known: r, s, …)" for a key that none of the modules takes;
 * `more`: additional words allowed here. */
static int no_such_key(const char *name, const char *key, const struct module *m, int count,
                       const char *const *more, struct err *e) {
    const char *known[48];
    int n = 0;
    for (int i = 0; key_at(i); i++)
        for (int j = 0; j < count; j++)
            if (key_takes(key_at(i), &m[j])) {
                known[n++] = key_at(i)->name;
                break;
            }
    for (; *more; more++) known[n++] = *more;
    err_set(e, ERR_USAGE, "%s: unknown setting '%s'", name, key);
    return key_suggest(key, known, n, e);
}

static const struct arg *argument(const struct method_item *item, const char *key) {
    for (int i = 0; i < item->count; i++)
        if (!strcmp(item->arg[i].key, key)) return &item->arg[i];
    return NULL;
}

/* Keys are applied in phases: places before the modules of a backbone are added, those that determine a
 * source before init, alpha after r, a site after the tap. */
enum { TURN_PLACE, TURN_BACKBONE, TURN_SOURCE, TURN_REST, TURN_LAST, TURNS };
static int parse_turn(const char *key) {
    if (!strcmp(key, "source") || !strcmp(key, "mlp")) return TURN_SOURCE;
    return strcmp(key, "alpha") && strcmp(key, "rsalpha") && strcmp(key, "site") ? TURN_REST : TURN_LAST;
}

static int one_scale(const struct method_item *item, struct err *e) {
    if (argument(item, "alpha") && (argument(item, "s") || argument(item, "comp")))
        return err_set(e, ERR_USAGE,
                       "V21: %s: alpha sets the scale s = alpha/r: use only one of alpha, s and comp",
                       item->name);
    if (argument(item, "rsalpha") &&
        (argument(item, "alpha") || argument(item, "s") || argument(item, "comp")))
        return err_set(e, ERR_USAGE,
                       "V21: %s: rsalpha sets the scale s = rsalpha/√r: use only one of rsalpha, alpha, s "
                       "and comp",
                       item->name);
    return 0;
}

/* ---- a function ---- */

static enum tap default_read(const struct module *m) {
    if (m->heads == HEADS_FACTORIZED) return TAP_A_Q;
    if (function_of(m)->linear && tap_map_input(m->write) != TAP_NONE) return tap_map_input(m->write);
    if (m->write == TAP_EMBED) return TAP_EMBED;
    return m->write >= TAP_F_RES && m->write <= TAP_F_END ? TAP_F_IN : TAP_A_IN;
}

/* Returns the default written tap. */
static enum tap default_write(const struct module *m) {
    const struct function *f = function_of(m);
    if (f->write_help) return TAP_NONE;
    return m->heads != HEADS_SHARED ? TAP_A_HEAD : f->defaults.write;
}

static int parse_module(const struct method_item *item, enum fn fn, struct module *out, struct err *e) {
    static const char *const no_more[] = { NULL };
    const struct function *f = function_at(fn);
    struct module m = module_default(fn);
    if (one_scale(item, e)) return e->code;
    m.read = TAP_NONE;
    if (f->form != FORM_KEYS && f->form != FORM_ROWS) m.write = TAP_NONE;
    for (int now = TURN_SOURCE; now < TURNS; now++) {
        if (now == TURN_LAST && m.write == TAP_NONE) m.write = default_write(&m);
        for (int i = 0; i < item->count; i++) {
            const struct arg *a = &item->arg[i];
            const struct key *k = key_find(a->key);
            bool site = k && !strcmp(k->name, "site");
            if (!k || (!site && !key_takes(k, &m)))
                return no_such_key(item->name, a->key, &m, 1, no_more, e);
            if (parse_turn(a->key) != now) continue;
            if (!*a->value)
                return err_set(e, ERR_USAGE, "%s: missing value of %s, for example %s=…", item->name, a->key,
                               a->key);
            if (key_set(k, &m, a->value, e)) return err_prefix(e, "%s", item->name);
        }
    }
    if (m.write == TAP_NONE && f->write_help)
        return err_set(e, ERR_USAGE, "%s: missing write=: %s, for example write=%s", f->name, f->write_help,
                       tap_name(f->defaults.write));
    if (m.target == TARGET_TAP && m.write == TAP_NONE)
        return err_set(e, ERR_USAGE, "%s: missing write=, the output of the layer to train, for example "
                                     "write=a.q", item->name);
    if (m.read == TAP_NONE) m.read = default_read(&m);
    module_normalize(&m);
    *out = m;
    return 0;
}

/* ---- a preset ---- */

static bool takes_at(const struct method *m) {
    for (int i = 0; i < m->count; i++)
        if (!function_of(&m->module[i])->places || m->module[i].fn != m->module[0].fn) return false;
    return m->count > 0;
}

/* at=: a linear map by the name of its matrix, a scaled tap by the last part of its name. */
static int parse_place_at(const struct function *f, const char *word, struct err *e) {
    const char *words[32];
    int n = 0;
    for (const struct function_place *at = f->places; at->word; at++) {
        BUG_IF(n + 1 == (int)COUNT_OF(words));
        words[n++] = at->word;
    }
    if (f->places == function_maps) words[n++] = "all-linear"; /* read by retarget */
    return key_word_of("at", word, words, n, e);
}

/* Creates copies of the first module at the places of "q+v". */
static int retarget(struct method *m, const char *value, struct err *e) {
    const struct module first = m->module[0];
    const struct function *f = function_of(&first);
    bool all = f->places == function_maps && !strcmp(value, "all-linear");
    m->count = 0;
    for (const char *p = all ? "q+k+v+o+gate+up+down" : value;;) {
        const char *plus = strchr(p, '+');
        char word[128];
        if (!copy_part(word, sizeof word, p, plus ? plus : p + strlen(p))) BUG("at= was truncated");
        int i = parse_place_at(f, word, e);
        if (i < 0) return ERR_USAGE;
        if (!f->places[i].word) return err_set(e, ERR_USAGE, "at=%s: use %s alone", value, word);
        struct module x = first;
        x.write = f->places[i].tap;
        x.read = function_place_read(f, x.write);
        module_normalize(&x);
        for (int j = 0; j < m->count; j++)
            if (m->module[j].write == x.write)
                return err_set(e, ERR_USAGE, "at=%s: %s is repeated", value, word);
        m->module[m->count++] = x;
        if (!plus) return 0;
        p = plus + 1;
    }
}

/* backbone=frozen|norms|full; norms=yes|no is shorthand for two of them. */
static int set_backbone(struct method *m, const struct arg *a, struct err *e) {
    int b;
    bool norms = !strcmp(a->key, "norms");
    if (norms) {
        if (strcmp(a->value, "yes") && strcmp(a->value, "no"))
            return err_set(e, ERR_USAGE, "norms=%s: must be yes or no", a->value);
        b = strcmp(a->value, "yes") ? BACKBONE_FROZEN : BACKBONE_NORMS;
    } else {
        b = key_word_of("backbone", a->value, backbone_words, BACKBONE_COUNT, e);
        if (b < 0) return e->code;
    }
    if (backbone_set(m, (enum backbone)b, !norms)) return 0;
    return err_set(e, ERR_USAGE,
                   "%s=%s: applies only to methods with modules other than full: omit it", a->key,
                   a->value);
}

/* Returns whether `site` of a preset applies to this module: to its modules at attentions, if it has any. */
static bool takes_at_attention(const struct module *m) {
    return module_takes_site(m) && m->write != TAP_NONE;
}

static int apply_key(const struct method_item *item, const struct arg *a, const struct key *k,
                     struct method *m, struct err *e) {
    int takers = 0;
    const struct module *first = NULL;
    bool site = !strcmp(k->name, "site"), taps = false;
    for (int i = 0; i < m->count; i++) taps |= site && takes_at_attention(&m->module[i]);
    for (int i = 0; i < m->count; i++) {
        struct module *x = &m->module[i];
        if (!key_takes(k, x) || (taps && !takes_at_attention(x))) continue;
        bool place = !strcmp(k->name, "read") || !strcmp(k->name, "write") ||
                     !strcmp(k->name, "target");
        if (k->one_point && first && (place || x->fn != first->fn))
            return err_set(e, ERR_USAGE,
                           "%s: %s is ambiguous because the modules of the method differ: write the "
                           "modules out, joined by +",
                           item->name, k->name);
        first = x;
        takers++;
        if (key_set(k, x, a->value, e)) return err_prefix(e, "%s", item->name);
        module_normalize(x);
    }
    BUG_IF(!takers);
    return 0;
}

/* Divides alpha by the root of r by default, for presets that define it so. */
static void take_root_alpha(struct method_item *item, const struct preset *p) {
    struct arg own = { "rsalpha", "" };
    bool said = argument(item, own.key);
    if (!p->root_alpha) return;
    for (int i = 0; i < item->count && !said; i++)
        if (!strcmp(item->arg[i].key, "alpha")) {
            strcpy(item->arg[i].key, own.key);
            said = true;
        }
    snprintf(own.value, sizeof own.value, "%d", p->root_alpha);
    if (!said && item->count < ARGS) item->arg[item->count++] = own;
}

static int parse_preset(const struct method_item *given, const struct preset *p, struct method *out,
                        struct err *e) {
    static const char *const with_backbone_only[] = { "backbone", "norms", NULL },
                             *const with_at[] = { "at", "backbone", "norms", NULL },
                             *const with_peft[] = { "at", "peft", "backbone", "norms", NULL };
    bool ia3 = !strcmp(p->name, "ia3");
    struct method m = p->method;
    struct method_item call = *given;
    const struct method_item *item = &call;
    take_root_alpha(&call, p);
    const char *const *more = ia3 ? with_peft : takes_at(&m) ? with_at : with_backbone_only;
    if (one_scale(item, e)) return e->code;
    for (int now = TURN_PLACE; now < TURNS; now++)
        for (int i = 0; i < item->count; i++) {
            const struct arg *a = &item->arg[i];
            bool peft = ia3 && !strcmp(a->key, "peft"),
                 backbone = !strcmp(a->key, "norms") || !strcmp(a->key, "backbone");
            bool at = !strcmp(a->key, "at") && more != with_backbone_only;
            int when = at || peft ? TURN_PLACE : backbone ? TURN_BACKBONE : parse_turn(a->key);
            if (when != now) continue;
            if (!peft && !*a->value && (at || backbone || key_find(a->key)))
                return err_set(e, ERR_USAGE, "%s: missing value of %s, for example %s=…", item->name, a->key,
                               a->key);
            int rc = 0;
            if (peft) rc = retarget(&m, "k+v+ctx+act", e);
            else if (at) rc = retarget(&m, a->value, e);
            else if (backbone) rc = set_backbone(&m, a, e);
            if (rc) return err_prefix(e, "%s", item->name);
            if (when <= TURN_BACKBONE) continue;
            const struct key *k = key_find(a->key);
            bool taken = false;
            for (int j = 0; k && j < m.count; j++) taken |= key_takes(k, &m.module[j]);
            if (!taken) return no_such_key(item->name, a->key, m.module, m.count, more, e);
            if (apply_key(item, a, k, &m, e)) return e->code;
        }
    *out = m;
    return 0;
}

/* ---- the complete text ---- */

static int parse_unknown(const char *name, struct err *e) {
    const char *known[FN_COUNT + 64];
    int n = 0;
    for (int i = 0; i < preset_count() && n < 64; i++) known[n++] = preset_at(i)->name;
    for (int i = 0; i < FN_COUNT; i++)
        if (!preset_find(fn_name((enum fn)i))) known[n++] = fn_name((enum fn)i);
    const char *near = text_nearest(name, known, (size_t)n);
    return near
               ? err_set(e, ERR_USAGE, "unknown method '%s'; did you mean %s?", name, near)
               : err_set(e, ERR_USAGE,
                         "unknown method '%s'; list the presets with `petri methods`; "
                         "docs/methods.md describes the functions", name);
}

static int parse_head(const struct method_item *item, struct method *out, struct err *e) {
    if (item->count > 1 || (item->count && *item->arg[0].value) ||
        (item->count && strcmp(item->arg[0].key, "frozen")))
        return err_set(e, ERR_USAGE, "head accepts only frozen, as head(frozen)");
    if (item->count) out->head = METHOD_HEAD_FROZEN;
    return 0;
}

/* `said`: one bit per network specified by a separate item. A network of a preset is modified. */
static int parse_network(const struct method_item *item, const struct network *n, unsigned *said,
                         struct method *out, struct err *e) {
    int at = 0;
    while (network_at(at) != n) at++;
    if (*said >> at & 1) return err_set(e, ERR_USAGE, "a method can have only one %s", n->noun);
    *said |= 1u << at;
    if (!network_is_on(n, out)) network_take_defaults(n, out);
    for (int i = 0; i < item->count; i++)
        if (network_set(n, out, item->arg[i].key, item->arg[i].value, e)) return e->code;
    return 0;
}

static int parse_item(const struct method_item *item, unsigned *said, struct method *out, struct err *e) {
    struct method part = { .count = 1 };
    if (!strcmp(item->name, "head")) return parse_head(item, out, e);
    const struct network *n = network_find(item->name);
    if (n) return parse_network(item, n, said, out, e);
    int fn = 0;
    while (fn < FN_COUNT && strcmp(item->name, fn_name((enum fn)fn))) fn++;
    const struct preset *p = fn < FN_COUNT ? NULL : preset_find(item->name);
    if (fn == FN_COUNT && !p) return parse_unknown(item->name, e);
    int rc = p ? parse_preset(item, p, &part, e) : parse_module(item, (enum fn)fn, part.module, e);
    if (rc) return rc;
    for (int i = 0; (n = network_at(i)); i++) {
        if (!network_is_on(n, &part)) continue;
        if (network_is_on(n, out))
            return err_set(e, ERR_USAGE, "%s: a method can have only one %s", item->name, n->noun);
        network_take(n, out, &part);
    }
    if (out->count + part.count > METHOD_MODULES)
        return err_set(e, ERR_USAGE, "too many modules: at most %d in a method", METHOD_MODULES);
    memcpy(out->module + out->count, part.module, (size_t)part.count * sizeof *part.module);
    out->count += part.count;
    return 0;
}

int method_parse(const char *text, struct method *out, struct err *e) {
    struct method m = { .head = METHOD_HEAD_TRAINED };
    struct err unheard = ERR_INIT;
    unsigned said = 0;
    if (!e) e = &unheard;
    if (*skip(text) == '{') return method_from_json(text, strlen(text), out, e);
    if (strlen(text) > TEXT_LIMIT)
        return err_set(e, ERR_USAGE, "the method is too long: at most %d characters are supported",
                       TEXT_LIMIT);
    for (const char *s = text;;) {
        struct method_item item;
        if (read_item(&s, &item, e) || parse_item(&item, &said, &m, e)) return e->code;
        if (!*s) break;
        if (*s != '+')
            return err_set(e, ERR_USAGE, "expected '+' or the end at '%.20s'", s);
        s++;
    }
    *out = m;
    return 0;
}
