#include "app/verbs/program/help_search.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "app/files/settings.h"
#include "app/verbs/args.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "views/keys.h"
#include "views/screen.h"

enum { NAME_COLUMNS = 30 };

/* Terms of earlier versions and the terms of today. */
static const char *const older[][2] = {
    { "rows", "examples" },       { "values", "parameters" },  { "gold", "label" },
    { "history", "database" },    { "texts", "generated" },    { "held", "activations" },
    { "passes", "epochs" },       { "kept", "save" },          { "colour", "color" },
    { "optimiser", "optimizer" }, { "begin", "initialize" },   { "micro-batches", "gradient accumulation" },
};

struct help_query {
    const char *word[2]; /* both folded; the second may be NULL */
    bool json;
    struct buf *out;
    const char *section; /* the last heading written */
    int found;
};

/* Lower case, with blanks for '-' and '_'; caller frees. */
static char *fold(const char *s) {
    char *copy = xstrdup(s);
    for (char *at = copy; *at; at++) *at = *at == '-' || *at == '_' ? ' ' : (char)tolower((unsigned char)*at);
    return copy;
}

static bool search_matches(const struct help_query *s, const char *text) {
    char *folded = fold(text ? text : "");
    bool found = strstr(folded, s->word[0]) || (s->word[1] && strstr(folded, s->word[1]));
    free(folded);
    return found;
}

static bool search_matches_option(const struct help_query *s, const struct option_spec *o) {
    bool found = search_matches(s, o->name) || search_matches(s, o->help);
    for (int i = 0; !found && o->aliases && o->aliases[i]; i++) found = search_matches(s, o->aliases[i]);
    return found;
}

/* Adds a result; `where`: the verbs or screens that have it, or NULL. */
static void search_add(struct help_query *s, const char *section, const char *name, const char *help,
                       const char *where) {
    s->found++;
    if (s->json) {
        json_put(s->out, "{kind:%s,name:%s,help:%s,where:%s}", section, name, help, where);
        return;
    }
    if (!s->section || strcmp(s->section, section))
        buf_printf(s->out, "%s%ss:\n", s->section ? "\n" : "", section);
    s->section = section;
    int gap = NAME_COLUMNS - text_width(name);
    buf_printf(s->out, "  %s%*s %s", name, gap > 0 ? gap : 0, "", help);
    if (where) buf_printf(s->out, " (%s)", where);
    buf_putc(s->out, '\n');
}

static bool search_same(const struct option_spec *a, const struct option_spec *b) {
    return !strcmp(a->name, b->name) && !strcmp(a->help, b->help) && !a->value == !b->value &&
           (!a->value || !strcmp(a->value, b->value));
}

/* Adds an option with all verbs that have it, for the first of them. */
static void search_option(struct help_query *s, size_t verb, const struct option_spec *o) {
    struct buf where = BUF_INIT, name = BUF_INIT;
    const struct verb *v;
    bool first = true;
    for (size_t i = 0; first && (v = verb_at(i)); i++) {
        const struct option_spec *other = v->options ? args_find_option(v, o->name) : NULL;
        if (!other || !other->help || !search_same(o, other)) continue;
        first = i >= verb;
        buf_printf(&where, "%s%s", where.size ? ", " : "", v->name);
    }
    buf_printf(&name, "--%s%s%s", o->name, o->value ? " " : "", o->value ? o->value : "");
    if (first) search_add(s, "option", buf_text(&name), o->help, buf_text(&where));
    buf_release(&where);
    buf_release(&name);
}

static void search_options(struct help_query *s) {
    const struct verb *v;
    for (size_t i = 0; (v = verb_at(i)); i++)
        for (const struct option_spec *o = v->options; o && o->name; o++)
            if (o->help && search_matches_option(s, o)) search_option(s, i, o);
    for (const struct option_spec *o = args_common(); o->name; o++)
        if (search_matches_option(s, o)) search_add(s, "option", o->name, o->help, "all verbs");
}

/* Adds the sentence of a key on a screen, with all screens that share it; the first of them adds it. */
static void search_key(struct help_query *s, const struct key_entry *k, int screen) {
    const char *help = keys_help((enum screen_id)screen, k);
    struct buf where = BUF_INIT;
    char name[16];
    int first = SCREEN_COUNT;
    for (int at = SCREEN_COUNT - 1; at >= 0; at--)
        if (keys_works((enum screen_id)at, k) && !strcmp(keys_help((enum screen_id)at, k), help)) first = at;
    if (first != screen || !(search_matches(s, help) || (k->hint && search_matches(s, k->hint)))) return;
    for (int at = first; at < SCREEN_COUNT && !k->everywhere; at++)
        if (keys_works((enum screen_id)at, k) && !strcmp(keys_help((enum screen_id)at, k), help))
            buf_printf(&where, "%s%s", where.size ? ", " : "", screen_at((enum screen_id)at)->name);
    press_name(k->key, name);
    search_add(s, "key", name, help, k->everywhere ? "all screens" : buf_text(&where));
    buf_release(&where);
}

static void search_keys(struct help_query *s) {
    for (int i = 0; i < keys_count(); i++)
        for (int screen = 0; screen < SCREEN_COUNT; screen++) search_key(s, keys_at(i), screen);
}

int help_search(const char *word, bool json, struct buf *out) {
    char *folded[2] = { fold(word), NULL };
    struct help_query s = { .json = json, .out = out };
    const struct verb *v;
    for (size_t i = 0; i < COUNT_OF(older) && !folded[1]; i++) {
        char *old = fold(older[i][0]);
        if (!strcmp(old, folded[0])) folded[1] = fold(older[i][1]);
        free(old);
    }
    s.word[0] = folded[0], s.word[1] = folded[1];
    for (size_t i = 0; (v = verb_at(i)); i++)
        if (search_matches(&s, v->name) || search_matches(&s, v->help))
            search_add(&s, "verb", v->name, v->help, NULL);
    search_options(&s);
    search_keys(&s);
    for (int k = 0; k < SETTING_COUNT; k++) {
        const char *name = setting_name((enum setting)k), *help = setting_help((enum setting)k);
        if (search_matches(&s, name) || search_matches(&s, help))
            search_add(&s, "setting", name, help, "petri settings");
    }
    free(folded[0]);
    free(folded[1]);
    return s.found;
}
