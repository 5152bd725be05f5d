/* Column delimiters of tables. */
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/data/import.h"

static const struct {
    char c;
    const char *name, *option;
} delimiter_table[] = {
    { '\t', "tab", "--delimiter tab" },
    { ';', "semicolon", "--delimiter ';'" },
    { ',', "comma", "--delimiter ','" },
    { '|', "pipe", "--delimiter '|'" },
};

int delimiter_parse(const char *text, char *out, struct err *e) {
    for (size_t i = 0; i < COUNT_OF(delimiter_table); i++)
        if (!strcmp(text, delimiter_table[i].name)) {
            *out = delimiter_table[i].c;
            return 0;
        }
    if (!strcmp(text, "\\t")) text = "\t";
    if (strlen(text) == 1 && (unsigned char)*text < 0x80 && !strchr("\"\r\n", *text)) {
        *out = *text;
        return 0;
    }
    char *shown = text_visible(text, strlen(text));
    err_set(e, ERR_USAGE, "--delimiter \"%.40s\": must be tab or one ASCII character other than a quote",
            shown);
    free(shown);
    return e->code;
}

const char *delimiter_option(char c) {
    for (size_t i = 0; i < COUNT_OF(delimiter_table); i++)
        if (delimiter_table[i].c == c) return delimiter_table[i].option;
    return NULL;
}

const char *delimiter_name(char c) {
    for (size_t i = 0; i < COUNT_OF(delimiter_table); i++)
        if (delimiter_table[i].c == c) return delimiter_table[i].name;
    return NULL;
}

/* Returns whether one of the fields separated by c, without blanks and quotes at its ends, is `name`. */
static bool has_part(const struct field *f, char c, const char *name) {
    size_t size = strlen(name);
    const char *s = f->s, *end = f->s + f->n;
    for (;;) {
        const char *stop = memchr(s, c, (size_t)(end - s));
        const char *from = s, *to = stop ? stop : end;
        while (from < to && strchr(" \"", *from)) from++;
        while (to > from && strchr(" \"", to[-1])) to--;
        if ((size_t)(to - from) == size && !memcmp(from, name, size)) return true;
        if (!stop) return false;
        s = stop + 1;
    }
}

const char *delimiter_hint(const struct records *r, const char *name) {
    const char *likely = NULL;
    for (size_t k = 0; k < COUNT_OF(delimiter_table); k++) {
        if (delimiter_table[k].c == r->separator) continue;
        for (size_t i = 0; i < r->fields; i++) {
            const struct field *f = &r->field[i];
            if (!f->n || !memchr(f->s, delimiter_table[k].c, f->n)) continue;
            if (has_part(f, delimiter_table[k].c, name)) return delimiter_table[k].option;
            if (r->fields == 1 && !likely) likely = delimiter_table[k].option;
        }
    }
    return likely;
}

bool delimiter_declared(char *s, char *end, char *out, char **next) {
    bool quote = s < end && *s == '"';
    char *at = s + quote;
    if (end - at < 5 || memcmp(at, "sep=", 4)) return false;
    *out = at[4];
    at += 5;
    if (quote && (at == end || *at++ != '"')) return false;
    if (at < end && *at == '\r') at++;
    if (at < end && *at != '\n') return false;
    *next = at < end ? at + 1 : at;
    return true;
}
