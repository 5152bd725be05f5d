#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/data/import.h"

/* A parser's words for a damaged line, in ours. */
static const char *reason(const struct err *e) {
    static const struct {
        const char *part, *why;
    } known[] = {
        {"duplicate", "a key is there twice"},
        {"\\u0000", "holds the character U+0000"},
        {"NUL byte", "holds a NUL byte"},
        {"Unicode", "half a surrogate pair"},
        {"nested deeper", "nested deeper than 64 levels"},
        {"premature end", "cut off"},
        {"near end of file", "cut off"},
        {"near EOF", "cut off"},
    };
    for (size_t i = 0; i < COUNT_OF(known); i++)
        if (strstr(e->text, known[i].part)) return known[i].why;
    return "not valid JSON";
}

static const char *kind_of(const json_t *v) {
    switch (json_typeof(v)) {
    case JSON_OBJECT: return "an object";
    case JSON_ARRAY: return "a list";
    case JSON_NULL: return "null";
    case JSON_TRUE:
    case JSON_FALSE: return "a truth value";
    default: return "a number";
    }
}

/* The text of a key; false when the line was named and left out. */
static bool text_of(struct import *m, size_t line, const json_t *o, const char *key,
                    struct field *out) {
    const json_t *v = json_object_get(o, key);
    char *shown = text_visible(key, strlen(key));
    if (!v) report_skip(&m->d->report, line, "no \"%s\"", shown);
    else if (!json_is_string(v))
        report_skip(&m->d->report, line, "\"%s\" is %s", shown, kind_of(v));
    free(shown);
    if (!v || !json_is_string(v)) return false;
    out->n = json_string_length(v);
    out->s = memory_copy(m->d->memory, json_string_value(v), out->n);
    return true;
}

/* A label may also be a number or a truth value; it is taken as it would be written. */
static bool label_of(struct import *m, size_t line, const json_t *o, const char *key,
                     struct field *out) {
    const json_t *v = json_object_get(o, key);
    char text[48];
    const char *s = text;
    if (json_is_integer(v)) snprintf(text, sizeof text, "%lld", (long long)json_integer_value(v));
    else if (json_is_real(v)) {
        text_from_double(json_real_value(v), text);
        if (!strpbrk(text, ".e")) strncat(text, ".0", 3);
    } else if (json_is_boolean(v)) s = json_is_true(v) ? "true" : "false";
    else if (json_is_string(v)) s = json_string_value(v);
    else s = "";
    if (!v || json_is_null(v) || (json_is_string(v) && !*s)) {
        report_skip(&m->d->report, line, "no label");
        return false;
    }
    if (!*s) {
        report_skip(&m->d->report, line, "the label is %s", kind_of(v));
        return false;
    }
    out->n = strlen(s);
    out->s = memory_copy(m->d->memory, s, out->n);
    return true;
}

static void name_columns(struct dataset *d, json_t *o) {
    const char *key;
    json_t *v;
    d->column = xcalloc(json_object_size(o), sizeof *d->column);
    json_object_foreach(o, key, v) {
        (void)v;
        d->column[d->columns++] = xstrdup(key);
    }
}

static void one_line(struct import *m, const char *text_a, size_t line, const char *s, size_t n) {
    struct dataset *d = m->d;
    struct err e = ERR_INIT;
    json_t *o = json_parse(d->path, s, n, &e);
    struct field a = {NULL, 0}, b = {NULL, 0}, label = {NULL, 0};
    if (!utf8_valid(s, n)) report_skip(&d->report, line, "not UTF-8");
    else if (!o) report_skip(&d->report, line, "%s", reason(&e));
    else if (!json_is_object(o)) report_skip(&d->report, line, "not an object but %s", kind_of(o));
    else {
        if (!d->columns && json_object_size(o)) name_columns(d, o);
        if (text_of(m, line, o, text_a, &a) &&
            (!m->o->text_b || text_of(m, line, o, m->o->text_b, &b)) &&
            (!m->o->label || label_of(m, line, o, m->o->label, &label)))
            import_row(m, line, a, b, label);
    }
    json_decref(o);
}

static bool first_key(const char *s, size_t n, const char *key) {
    const char *end = memchr(s, '\n', n);
    json_t *o = json_parse("", s, end ? (size_t)(end - s) : n, NULL);
    bool has = o && json_object_get(o, key);
    json_decref(o);
    return has;
}

int jsonl_read(struct import *m, struct err *e) {
    struct dataset *d = m->d;
    struct buf *file = &d->memory->file;
    const char *s = buf_text(file) + (d->report.bom ? 3 : 0);
    size_t n = file->size - (d->report.bom ? 3 : 0), line = 0;
    const char *text_a = m->o->text_a;
    if (!text_a) text_a = first_key(s, n, "sentence") ? "sentence" : "text";
    d->field[0] = xstrdup(text_a);
    if (m->o->text_b) d->field[1] = xstrdup(m->o->text_b);
    while (n) {
        /* only LF ends a line: U+2028 and U+0085 may stand inside a string */
        const char *end = memchr(s, '\n', n);
        size_t size = end ? (size_t)(end - s) : n, text = size;
        if (text && s[text - 1] == '\r') text--;
        line++;
        if (text > DATASET_LINE)
            return err_set(e, ERR_INPUT, "%s: line %zu is longer than %d bytes", d->path, line,
                           DATASET_LINE);
        if (strspn(s, " \t\r") >= text) d->report.blank++;
        else one_line(m, text_a, line, s, text);
        s += size + (end != NULL);
        n -= size + (end != NULL);
    }
    d->report.lines = line;
    return 0;
}
