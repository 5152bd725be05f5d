#include "app/verbs/values.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/data/metrics.h"
#include "core/method/space.h"

void values_release(struct values *v) { buf_release(&v->words); }

static void values_add(struct buf *b, const char *word, size_t n) {
    buf_printf(b, "%s%.*s", b->size ? " " : "", (int)n, word);
}

/* Placeholders are in capitals. */
static const struct {
    const char *part;
    unsigned kind;
} values_parts[] = {
    { "FILE", VALUE_FILE },          { "DIR", VALUE_FILE },      { "FOLDER", VALUE_FILE },
    { "PATH", VALUE_FILE },          { "INTO", VALUE_FILE },     { "FROM", VALUE_FILE },
    { ".json", VALUE_FILE },         { ".md", VALUE_FILE },      { "RUN", VALUE_RUN },
    { "ID", VALUE_SWEEP },           { "METHOD", VALUE_METHOD }, { "FILTER", VALUE_FILTER },
    { "AXIS", VALUE_COLUMN },        { "TAG", VALUE_TAG },       { "VERB", VALUE_VERB },
    { "LESSON", VALUE_LESSON },      { "A,B,C", VALUE_TASK },    { "EXPERIMENT", VALUE_EXPERIMENT },
    { "NAME=VALUE", VALUE_SETTING },
};

static unsigned values_kind(const char *token) {
    for (size_t i = 0; i < COUNT_OF(values_parts); i++)
        if (strstr(token, values_parts[i].part)) return values_parts[i].kind;
    return 0;
}

/* Kinds of values by the name of the option. */
static const struct {
    const char *name, *value; /* value NULL: whatever its placeholder */
    unsigned kind;
} values_names[] = {
    { "method", "TEXT", VALUE_METHOD },
    { "model", NULL, VALUE_MODEL },
    { "task", NULL, VALUE_TASK },
    { "tasks", "A,B,C|FILE", VALUE_TASK },
    { "tasks", "WHAT", VALUE_TASK | VALUE_FILE },
    { "unseen", NULL, VALUE_TASK },
    { "metric", NULL, VALUE_METRIC },
    { "key", NULL, VALUE_METRIC },
    { "sort", "COLUMN", VALUE_COLUMN | VALUE_METRIC },
    { "forget", "NAME", VALUE_OWN_METHOD },
};

/* Numbers, texts, columns of a file, new names. */
static bool values_free(const char *token) {
    static const char *const words[] = { "NAME",    "TEXT", "COLUMN", "LABEL", "LIST", "TOKEN", "ARGS",
                                         "MINUTES", "CHAR", "WHAT",   "L",     "D",    "P",     "W",
                                         "X",       "N",    "A",      "MODEL", "TASK" };
    size_t n = strspn(token, "ABCDEFGHIJKLMNOPQRSTUVWXYZ");
    for (size_t i = 0; i < COUNT_OF(words); i++)
        if (strlen(words[i]) == n && !strncmp(words[i], token, n)) return true;
    return isdigit((unsigned char)*token);
}

/* "best,last", "multi(…)", "smlmt:FILE", "runs=N": adds each part up to its opening character. */
static bool values_word(const char *token, struct buf *words) {
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789-";
    size_t n = islower((unsigned char)*token) ? strspn(token, letters) : 0;
    if (!n || (token[n] && !strchr(",(:=", token[n]))) return false;
    n += token[n] && token[n] != ',';
    values_add(words, token, n);
    const char *comma = strchr(token, ',');
    if (comma) values_word(comma + 1, words);
    return true;
}

static void values_token(struct values *out, const char *token) {
    if (values_word(token, &out->words)) out->kinds |= strchr(token, ':') ? values_kind(token) : 0;
    else if (values_kind(token)) out->kinds |= values_kind(token);
    else if (values_free(token)) out->kinds |= VALUE_FREE;
}

void values_of_option(const struct option_spec *o, struct values *out) {
    *out = (struct values){ 0 };
    if (!o->value) return;
    char *copy = xstrdup(o->value), *rest = copy, *token;
    while ((token = strsep(&rest, "|"))) values_token(out, token);
    free(copy);
    for (size_t i = 0; i < COUNT_OF(values_names); i++)
        if (!strcmp(o->name, values_names[i].name) &&
            (!values_names[i].value || !strcmp(o->value, values_names[i].value)))
            out->kinds |= values_names[i].kind;
    if (!strcmp(o->value, "WxH")) buf_puts(&out->words, "80x24 120x40 200x60");
    out->list = strchr(o->value, ',') && !(out->kinds & VALUE_METHOD);
}

/* Finds the positional arguments of "RUN --to csv|json [PATH]": RUN and PATH. */
void values_of_verb(const struct verb *v, struct values *out) {
    *out = (struct values){ 0 };
    char *copy = xstrdup(v->synopsis), *rest = copy, *word;
    bool value = false; /* of an option, not of the verb */
    while ((word = strsep(&rest, " "))) {
        bool ends = text_ends(word, "]"), skip = value;
        while (*word == '[') word++;
        word[strcspn(word, "]")] = '\0';
        value = text_starts(word, "--") && !ends;
        if (*word == '|') skip = value = false;
        if (skip || text_starts(word, "--")) continue;
        out->list = out->list || strchr(word, ',');
        char *inside = word, *token;
        while ((token = strsep(&inside, "|")))
            if (*token) values_token(out, token);
    }
    free(copy);
}

void values_known(const struct values *v, struct buf *out) {
    const struct verb *verb;
    char *copy = xstrdup(buf_text(&v->words)), *rest = copy, *word;
    while ((word = strsep(&rest, " ")))
        if (*word && !strpbrk(word, "(:=")) values_add(out, word, strlen(word));
    free(copy);
    for (int i = 0; i < preset_count() && v->kinds & VALUE_METHOD; i++)
        values_add(out, preset_at(i)->name, strlen(preset_at(i)->name));
    for (size_t i = 0; v->kinds & VALUE_VERB && (verb = verb_at(i)); i++)
        values_add(out, verb->name, strlen(verb->name));
    for (int i = 0; i < METRIC_COUNT && v->kinds & VALUE_METRIC; i++) {
        const char *name = metric_name((enum metric_id)i);
        values_add(out, name, strlen(name));
    }
}
