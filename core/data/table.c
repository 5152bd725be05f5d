#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/data/import.h"

char *names_text(char *const *name, int count, int most) {
    struct buf b = BUF_INIT;
    for (int i = 0; i < count && i < most; i++) {
        char *shown = text_visible(name[i], strlen(name[i]));
        buf_printf(&b, "%s\"%.60s\"", i ? ", " : "", shown);
        free(shown);
    }
    if (count > most) buf_printf(&b, " and %d more", count - most);
    if (!b.data) buf_puts(&b, "none");
    return buf_take(&b);
}

/* "#3" → 2; -1 when s is no position. */
static int position(const char *s, int columns) {
    int64_t n;
    if (*s != '#' || !text_to_int(s + 1, &n) || n < 1 || n > columns) return -1;
    return (int)n - 1;
}

static int missing(const struct dataset *d, const char *name, struct err *e) {
    char *found = names_text(d->column, d->columns, 12);
    err_set(e, ERR_USAGE,
            "%s: no column \"%s\"; the first line gives the columns %s (no header? Put a first "
            "line that names the columns; \"#1\" picks one by position)",
            d->path, name, found);
    free(found);
    return -1;
}

/* The column's index, or -1 with *e. */
static int column(const struct dataset *d, const char *name, struct err *e) {
    int found = -1;
    for (int i = 0; i < d->columns; i++) {
        if (strcmp(d->column[i], name)) continue;
        if (found >= 0) {
            err_set(e, ERR_USAGE,
                    "%s: two columns are named \"%s\"; choose one by position: \"#%d\" or "
                    "\"#%d\"",
                    d->path, name, found + 1, i + 1);
            return -1;
        }
        found = i;
    }
    if (found < 0) found = position(name, d->columns);
    return found >= 0 ? found : missing(d, name, e);
}

static int name_columns(struct dataset *d, const struct records *r, bool header, struct err *e) {
    if (r->fields > 10000)
        return err_set(e, ERR_INPUT, "%s: line %zu has %zu columns", d->path, r->first, r->fields);
    d->columns = (int)r->fields;
    d->column = xcalloc(r->fields, sizeof *d->column);
    for (size_t i = 0; i < r->fields; i++)
        d->column[i] = header ? xstrndup(r->field[i].s, r->field[i].n) : xprintf("#%zu", i + 1);
    return 0;
}

struct chosen {
    int a, b, label; /* columns; -1: none */
};

static int choose(const struct import *m, struct chosen *c, struct err *e) {
    const struct dataset_options *o = m->o;
    const char *a = o->text_a;
    if (!a) {
        a = "text";
        for (int i = 0; i < m->d->columns; i++)
            if (!strcmp(m->d->column[i], "sentence")) a = "sentence";
    }
    c->b = c->label = -1;
    if ((c->a = column(m->d, a, e)) < 0) return ERR_USAGE;
    if (o->text_b && (c->b = column(m->d, o->text_b, e)) < 0) return ERR_USAGE;
    if (o->label && (c->label = column(m->d, o->label, e)) < 0) return ERR_USAGE;
    if (c->a == c->label || c->a == c->b || (c->b >= 0 && c->b == c->label))
        return err_set(e, ERR_USAGE, "%s: one column is named for two things", m->d->path);
    m->d->field[0] = xstrdup(m->d->column[c->a]);
    if (c->b >= 0) m->d->field[1] = xstrdup(m->d->column[c->b]);
    return 0;
}

static void take(struct import *m, const struct records *r, const struct chosen *c) {
    struct import_report *rep = &m->d->report;
    if (r->fields != (size_t)m->d->columns) {
        report_skip(rep, r->first, "%zu fields, not %d", r->fields, m->d->columns);
        return;
    }
    struct field none = {NULL, 0};
    struct field label = c->label >= 0 ? r->field[c->label] : none;
    if (c->label >= 0 && !label.n) report_skip(rep, r->first, "no label");
    else import_row(m, r->first, r->field[c->a], c->b >= 0 ? r->field[c->b] : none, label);
}

int table_read(struct import *m, struct err *e) {
    struct dataset *d = m->d;
    struct buf *file = &d->memory->file;
    size_t skip = d->report.bom ? 3 : 0;
    struct records r = {.path = d->path, .quotes = d->format == DATA_CSV,
                        .separator = d->format == DATA_CSV ? ',' : '\t',
                        .at = file->data + skip, .end = file->data + file->size};
    struct chosen c = {-1, -1, -1};
    enum record_kind kind;
    int rc;
    while (!(rc = records_next(&r, &kind, e)) && kind != RECORD_END) {
        size_t further = r.line - r.first; /* lines of the record beyond its first */
        bool first = !d->columns;
        if (kind == RECORD_BLANK) {
            d->report.blank++;
            continue;
        }
        d->report.continued += further;
        if (kind == RECORD_BAD) {
            report_skip(&d->report, r.first, "%s", r.why);
            continue;
        }
        if (first && ((rc = name_columns(d, &r, !m->o->no_header, e)) || (rc = choose(m, &c, e))))
            break;
        if (first && !m->o->no_header) d->report.header = 1;
        else take(m, &r, &c);
    }
    d->report.lines = r.line;
    records_release(&r);
    if (!rc && !d->columns) rc = err_set(e, ERR_INPUT, "%s: the file is empty", d->path);
    return rc;
}
