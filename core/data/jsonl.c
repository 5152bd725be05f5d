#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/data/import.h"

/* Messages for parser errors of a damaged line. */
static const char *reason(const struct err *e) {
    static const struct {
        const char *part, *why;
    } known[] = {
        { "duplicate", "duplicate key" },
        { "\\u0000", "contains the character U+0000" },
        { "NUL byte", "contains a NUL byte" },
        { "Unicode", "an unpaired surrogate" },
        { "nested deeper", "nested deeper than 64 levels" },
        { "premature end", "truncated" },
        { "near end of file", "truncated" },
        { "near EOF", "truncated" },
    };
    for (size_t i = 0; i < COUNT_OF(known); i++)
        if (strstr(e->text, known[i].part)) return known[i].why;
    return "not valid JSON";
}

const char *json_kind(const json_t *v) {
    switch (v ? json_typeof(v) : JSON_NULL) {
    case JSON_OBJECT: return "an object";
    case JSON_ARRAY: return json_array_size(v) ? "an array" : "an empty array";
    case JSON_NULL: return "null";
    case JSON_STRING: return "a string";
    case JSON_TRUE:
    case JSON_FALSE: return "a boolean";
    default: return "a number";
    }
}

bool json_text(struct import *m, size_t line, const json_t *o, const char *key,
               struct field *out) {
    const json_t *v = json_object_get(o, key);
    char *shown = text_visible(key, strlen(key));
    if (!v) report_skip(&m->d->report, line, "\"%s\" is missing", shown);
    else if (!json_is_string(v))
        report_skip(&m->d->report, line, "\"%s\" must be a string, not %s", shown, json_kind(v));
    free(shown);
    if (!v || !json_is_string(v)) return false;
    out->n = json_string_length(v);
    out->s = memory_copy(m->d->memory, json_string_value(v), out->n);
    return true;
}

bool json_label(struct import *m, size_t line, const json_t *o, const char *key,
                struct field *out) {
    const json_t *v = json_object_get(o, key);
    if (m->o->missing_labels && !m->o->need_labels && (!v || json_is_null(v))) return true;
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
        report_skip(&m->d->report, line, "unlabeled");
        return false;
    }
    if (!*s) {
        report_skip(&m->d->report, line, "the label must be a string, a number or a boolean, not %s",
                    json_kind(v));
        return false;
    }
    out->n = strlen(s);
    out->s = memory_copy(m->d->memory, s, out->n);
    return true;
}

/* A source may be a list of texts, which are joined with blanks; of a list of targets the first is used.
 * Both are counted and reported at the end. */
static bool jsonl_joined(struct import *m, size_t line, const json_t *o, const char *key, bool target,
                         struct field *out) {
    const json_t *v = json_object_get(o, key);
    struct buf b = BUF_INIT;
    if (!json_is_array(v) || !json_array_size(v)) return json_text(m, line, o, key, out);
    size_t n = json_array_size(v), used = target ? 1 : n;
    for (size_t i = 0; i < n; i++) {
        const json_t *part = json_array_get(v, i);
        if (!json_is_string(part)) {
            report_skip(&m->d->report, line, "item %zu of \"%s\" must be a string, not %s", i + 1, key,
                        json_kind(part));
            buf_release(&b);
            return false;
        }
        if (i >= used) continue;
        if (i) buf_putc(&b, ' ');
        buf_add(&b, json_string_value(part), json_string_length(part));
    }
    if (target) m->more_targets += n > 1;
    else m->lists++;
    *out = (struct field){ memory_copy(m->d->memory, buf_text(&b), b.size), b.size };
    buf_release(&b);
    return true;
}

static bool texts_of(struct import *m, size_t line, const json_t *o, const struct columns *c,
                     struct fields *f) {
    const json_t *target = json_object_get(o, c->target);
    if (chats_is_list(json_object_get(o, c->a))) return chats_fields(m, line, o, c, f);
    if (!jsonl_joined(m, line, o, c->a, false, &f->a)) return false;
    if (!m->o->need_labels && (!target || json_is_null(target))) return true;
    return jsonl_joined(m, line, o, c->target, true, &f->target);
}

static bool fields_of(struct import *m, size_t line, const json_t *o, const struct columns *c,
                      struct fields *f) {
    if (c->shape && c->shape != DATA_DOCUMENTS) return chats_fields(m, line, o, c, f);
    if (c->target) return texts_of(m, line, o, c, f);
    return json_text(m, line, o, c->a, &f->a) && (!c->b || json_text(m, line, o, c->b, &f->b)) &&
           (!c->c || json_text(m, line, o, c->c, &f->c)) &&
           (!c->label || json_label(m, line, o, c->label, &f->label));
}

static void one_object(struct import *m, const struct columns *c, size_t line, const json_t *o) {
    struct dataset *d = m->d;
    struct fields f = { 0 };
    if (!json_is_object(o)) report_skip(&d->report, line, "expected an object, found %s", json_kind(o));
    else if (m->o->shape == DATA_MULTIRC) multirc_examples(m, line, o, c->label);
    else if (m->o->shape == DATA_WSC) {
        if (wsc_fields(m, line, o, c->label, &f)) import_example(m, line, &f);
    } else if (fields_of(m, line, o, c, &f)) import_example(m, line, &f);
}

static void one_line(struct import *m, const struct columns *c, size_t line, const char *s,
                     size_t n) {
    struct dataset *d = m->d;
    struct err e = ERR_INIT;
    json_t *o = json_parse(d->path, s, n, &e);
    if (!utf8_valid(s, n)) report_skip(&d->report, line, "not UTF-8");
    else if (!o) report_skip(&d->report, line, "%s", reason(&e));
    else one_object(m, c, line, o);
    json_decref(o);
}

static void add_columns(struct dataset *d, json_t *o) {
    const char *key;
    json_t *v;
    size_t room = (size_t)d->columns;
    json_object_foreach(o, key, v) {
        int i = 0;
        (void)v;
        while (i < d->columns && strcmp(d->column[i], key)) i++;
        if (i < d->columns) continue;
        GROW(d->column, room, (size_t)i + 1);
        d->column[d->columns++] = xstrdup(key);
    }
}

/* The keys of the first objects are the column names. */
enum { NAMING_OBJECTS = 16, NAMING_KEYS = 256 };

static void jsonl_name_columns(struct dataset *d, const char *s, size_t n) {
    for (int i = 0; i < NAMING_OBJECTS && n && d->columns < NAMING_KEYS; i++) {
        const char *end = memchr(s, '\n', n);
        size_t size = end ? (size_t)(end - s) : n;
        json_t *o = json_parse("", s, size, NULL);
        add_columns(d, o);
        json_decref(o);
        s += size + (end != NULL);
        n -= size + (end != NULL);
    }
}

static void say_lists(const struct import *m) {
    struct buf *notes = &m->d->report.notes;
    if (m->lists)
        text_line(notes, m->lists == 1 ? "%zu source text is an array of strings, joined with spaces"
                                       : "%zu source texts are arrays of strings, joined with spaces",
                  m->lists);
    if (m->more_targets)
        text_line(notes, m->more_targets == 1
                             ? "warning: %zu example has several target texts; the first is used"
                             : "warning: %zu examples have several target texts; the first of each is used",
                  m->more_targets);
    if (m->open_chats.examples) {
        struct buf lines = BUF_INIT;
        report_lines_text(&m->open_chats, &lines);
        text_line(notes, "messages after the last answer are dropped in %zu chat%s%s", m->open_chats.examples,
                  m->open_chats.examples == 1 ? "" : "s", buf_text(&lines));
        buf_release(&lines);
    }
    if (m->unmarked)
        text_line(notes,
                  "warning: in %zu example%s a span does not match the text at its word index and is not "
                  "marked; the first is in line %zu",
                  m->unmarked, m->unmarked == 1 ? "" : "s", m->unmarked_first);
}

int jsonl_read(struct import *m, struct err *e) {
    struct dataset *d = m->d;
    struct buf *file = &d->memory->file;
    const char *s = buf_text(file) + (d->report.bom ? 3 : 0);
    size_t n = file->size - (d->report.bom ? 3 : 0), line = 0;
    struct columns c;
    jsonl_name_columns(d, s, n);
    if (columns_choose(m->o, d, &c, e)) return ERR_USAGE;
    columns_keep(d, &c);
    while (n) {
        /* only LF ends a line: U+2028 and U+0085 may occur in a string */
        const char *end = memchr(s, '\n', n);
        size_t size = end ? (size_t)(end - s) : n, text = size;
        if (text && s[text - 1] == '\r') text--;
        line++;
        if (text > DATASET_LINE)
            return err_set(e, ERR_INPUT, "%s: line %zu is longer than %d bytes", d->path, line,
                           DATASET_LINE);
        if (strspn(s, " \t\r") >= text) d->report.blank++;
        else one_line(m, &c, line, s, text);
        s += size + (end != NULL);
        n -= size + (end != NULL);
    }
    d->report.lines = line;
    say_lists(m);
    return 0;
}

int json_list_read(struct import *m, struct err *e) {
    struct dataset *d = m->d;
    const struct buf *file = &d->memory->file;
    size_t bom = d->report.bom ? 3 : 0, i;
    json_t *all = json_parse(d->path, buf_text(file) + bom, file->size - bom, e);
    size_t n = json_array_size(all);
    struct columns c;
    if (!all) return e->code;
    int rc = json_is_array(all)
                 ? 0
                 : err_set(e, ERR_INPUT, "%s: expected an array of objects, found %s", d->path,
                           json_kind(all));
    for (i = 0; i < NAMING_OBJECTS && i < n && d->columns < NAMING_KEYS; i++)
        add_columns(d, json_array_get(all, i));
    if (!rc && n && columns_choose(m->o, d, &c, e)) rc = ERR_USAGE;
    if (!rc && n) columns_keep(d, &c);
    for (i = 0; !rc && i < n; i++) one_object(m, &c, i + 1, json_array_get(all, i));
    d->report.lines = n;
    json_decref(all);
    if (!rc) say_lists(m);
    return rc;
}
