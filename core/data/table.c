#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/data/import.h"

/* "#3" → 2; -1 when s is not a position. */
static int position(const char *s, int columns) {
    int64_t n;
    if (*s != '#' || !text_to_int(s + 1, &n) || n < 1 || n > columns) return -1;
    return (int)n - 1;
}

static bool is_position(const char *name) { return position(name, INT_MAX) >= 0; }

static int missing(const struct import *m, const struct records *r, size_t k, const char *name,
                   struct err *e) {
    const struct dataset *d = m->d;
    struct buf advice = BUF_INIT;
    const char *option = delimiter_hint(r, name);
    char *found = names_text(d->column, d->columns, 12);
    if (option)
        err_set(e, ERR_USAGE,
                "%s: column \"%s\" not found; line %zu has the columns %s; the delimiter may be different: "
                "try %s",
                d->path, name, r->first, found, option);
    else if (is_position(name))
        err_set(e, ERR_USAGE, "%s: column \"%s\" not found; line %zu has %d column%s", d->path, name,
                r->first, d->columns, d->columns == 1 ? "" : "s");
    else if (m->header == DATA_HEADER_NO)
        err_set(e, ERR_USAGE, "%s: column \"%s\" not found; without a header the columns are %s", d->path,
                name, found);
    else {
        columns_advise(d, name, columns_option(m->o, k), &advice);
        err_set(
            e, ERR_USAGE,
            "%s: column \"%s\" not found; the columns of the header (line %zu) are %s%s (without a "
            "header, choose every column by number, such as \"#1\")",
            d->path, name, r->first, found, buf_text(&advice));
    }
    buf_release(&advice);
    free(found);
    return -1;
}

/* Returns the index of column k of struct columns, or -1 with *e. */
static int table_column(const struct import *m, const struct records *r, size_t k, const char *name,
                        struct err *e) {
    const struct dataset *d = m->d;
    int found = -1;
    for (int i = 0; i < d->columns; i++) {
        if (strcmp(d->column[i], name)) continue;
        if (found >= 0) {
            err_set(e, ERR_USAGE,
                    "%s: two columns are named \"%s\"; choose one by position: \"#%d\" or \"#%d\" (add "
                    "--header if all columns are chosen by position)",
                    d->path, name, found + 1, i + 1);
            return -1;
        }
        found = i;
    }
    if (found < 0) found = position(name, d->columns);
    return found >= 0 ? found : missing(m, r, k, name, e);
}

static bool has_field(const struct records *r, const char *s) {
    for (size_t i = 0; i < r->fields; i++)
        if (!strcmp(r->field[i].s, s)) return true;
    return false;
}

/* Returns whether all requested columns are given by number, and none is a name in r. */
static bool all_by_position(const struct dataset_options *o, const struct records *r) {
    const char *const name[] = { o->text_a, o->text_b, o->text_c, o->label, o->target };
    bool any = false;
    for (size_t i = 0; i < COUNT_OF(name); i++) {
        if (!name[i]) continue;
        if (!is_position(name[i]) || has_field(r, name[i])) return false;
        any = true;
    }
    return any && o->text_a;
}

/* Returns whether the first record, r, is a header. */
static bool has_header(struct import *m, const struct records *r) {
    const struct dataset_options *o = m->o;
    m->header = o->header;
    if (o->header == DATA_HEADER_AUTO && o->headless) {
        m->header = has_field(r, o->headless[0]) ? DATA_HEADER_YES : DATA_HEADER_NO;
    } else if (o->header == DATA_HEADER_AUTO) {
        m->header = all_by_position(o, r) ? DATA_HEADER_NO : DATA_HEADER_YES;
        if (m->header == DATA_HEADER_NO)
            text_line(&m->d->report.notes,
                      "no header, because all columns are chosen by position: line %zu is read as an "
                      "example (--header reads it as column names)",
                      r->first);
    }
    return m->header != DATA_HEADER_NO;
}

static int table_name_columns(const struct import *m, const struct records *r, bool header, struct err *e) {
    struct dataset *d = m->d;
    const char *const *name = m->o->headless;
    if (r->fields > 10000)
        return err_set(e, ERR_INPUT,
                       "%s: line %zu: too many columns: %zu; the maximum is 10,000; check the delimiter",
                       d->path, r->first, r->fields);
    d->columns = (int)r->fields;
    d->column = xcalloc(r->fields, sizeof *d->column);
    for (size_t i = 0; i < r->fields; i++) {
        if (header) d->column[i] = xstrndup(r->field[i].s, r->field[i].n);
        else if (name && *name) d->column[i] = xstrdup(*name++);
        else d->column[i] = xprintf("#%zu", i + 1);
    }
    return 0;
}

struct chosen {
    int a, b, c, label, target; /* columns; -1: none */
    enum data_shape shape;
};

static int table_choose(const struct import *m, const struct records *r, struct chosen *c, struct err *e) {
    struct dataset *d = m->d;
    struct columns name;
    if (columns_choose(m->o, d, &name, e)) return ERR_USAGE;
    const char **const want[] = { &name.a, &name.b, &name.c, &name.label, &name.target };
    int *const to[] = { &c->a, &c->b, &c->c, &c->label, &c->target };
    for (size_t i = 0; i < COUNT_OF(want); i++) {
        *to[i] = -1;
        if (!*want[i]) continue;
        if ((*to[i] = table_column(m, r, i, *want[i], e)) < 0) return ERR_USAGE;
        *want[i] = d->column[*to[i]];
        for (size_t k = 0; k < i; k++)
            if (*to[k] == *to[i] && name.shape != DATA_DOCUMENTS)
                return err_set(e, ERR_USAGE, "%s: column \"%s\" is selected twice", d->path,
                               d->column[*to[i]]);
    }
    columns_keep(d, &name);
    c->shape = name.shape;
    return 0;
}

static void take_record(struct import *m, const struct records *r, const struct chosen *c) {
    struct import_report *rep = &m->d->report;
    if (r->fields != (size_t)m->d->columns) {
        char more[80] = "";
        if (r->line > r->first)
            snprintf(more, sizeof more, " (with a quoted field that extends to line %zu)", r->line);
        report_skip(rep, r->first, "%zu field%s, expected %d%s", r->fields,
                    r->fields == 1 ? "" : "s", m->d->columns, more);
        return;
    }
    struct fields f = { .a = r->field[c->a] };
    if (c->b >= 0) f.b = r->field[c->b];
    if (c->c >= 0) f.c = r->field[c->c];
    if (c->label >= 0) f.label = r->field[c->label];
    if (c->target >= 0) f.target = r->field[c->target];
    if (f.label.s && !f.label.n) report_skip(rep, r->first, "unlabeled");
    else if (c->shape == DATA_FLAT || c->shape == DATA_DOCUMENTS ||
             chats_fields(m, r->first, NULL, &(struct columns){ .shape = c->shape }, &f))
        import_example(m, r->first, &f);
}

/* Returns whether r repeats the header, as in concatenated files.  A single column could contain its own
 * name. */
static bool repeats_header(const struct import *m, const struct records *r) {
    const struct dataset *d = m->d;
    bool same = m->header == DATA_HEADER_YES && d->columns > 1 && r->fields == (size_t)d->columns;
    for (int i = 0; same && i < d->columns; i++) same = !strcmp(d->column[i], r->field[i].s);
    return same;
}

int table_read(struct import *m, struct err *e) {
    struct dataset *d = m->d;
    struct buf *file = &d->memory->file;
    size_t skip = d->report.bom ? 3 : 0;
    struct records r = { .path = d->path, .separator = d->format == DATA_CSV ? ',' : '\t',
                        .at = file->data + skip, .end = file->data + file->size };
    struct chosen c = { -1, -1, -1, -1, -1, DATA_FLAT };
    enum record_kind kind;
    int rc = records_start(&r, m->o->delimiter, &d->report.notes, e);
    d->report.header = r.line;
    while (!rc && !(rc = records_next(&r, &kind, e)) && kind != RECORD_END) {
        bool first = !d->columns;
        if (kind == RECORD_BLANK) {
            d->report.blank++;
            continue;
        }
        d->report.continued += r.line - r.first; /* lines of the record beyond its first */
        if (kind == RECORD_BAD) {
            report_skip(&d->report, r.bad, "%s", r.why);
            continue;
        }
        bool header = first && has_header(m, &r);
        if (first && ((rc = table_name_columns(m, &r, header, e)) || (rc = table_choose(m, &r, &c, e))))
            break;
        if (header) d->report.header++;
        else if (repeats_header(m, &r)) report_skip(&d->report, r.first, "repeated header");
        else take_record(m, &r, &c);
    }
    d->report.lines = r.line;
    records_release(&r);
    if (!rc && !d->columns && !d->report.skipped)
        rc = err_set(e, ERR_INPUT, "%s: empty file", d->path);
    return rc;
}
