#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/data/import.h"

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

static bool has_header(const struct dataset_options *o, const struct records *r) {
    for (size_t i = 0; i < r->fields; i++)
        if (!strcmp(r->field[i].s, o->headless[0])) return true;
    return false;
}

static int name_columns(const struct import *m, const struct records *r, bool header,
                        struct err *e) {
    struct dataset *d = m->d;
    const char *const *name = m->o->headless;
    if (r->fields > 10000)
        return err_set(e, ERR_INPUT, "%s: line %zu has %zu columns", d->path, r->first, r->fields);
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
};

static int choose(const struct import *m, struct chosen *c, struct err *e) {
    struct dataset *d = m->d;
    struct columns name;
    if (columns_choose(m->o, d, &name, e)) return ERR_USAGE;
    const char **const want[] = {&name.a, &name.b, &name.c, &name.label, &name.target};
    int *const to[] = {&c->a, &c->b, &c->c, &c->label, &c->target};
    for (size_t i = 0; i < COUNT_OF(want); i++) {
        *to[i] = -1;
        if (!*want[i]) continue;
        if ((*to[i] = column(d, *want[i], e)) < 0) return ERR_USAGE;
        *want[i] = d->column[*to[i]];
        for (size_t k = 0; k < i; k++)
            if (*to[k] == *to[i])
                return err_set(e, ERR_USAGE, "%s: one column is named for two things", d->path);
    }
    columns_keep(d, &name);
    return 0;
}

static void take(struct import *m, const struct records *r, const struct chosen *c) {
    struct import_report *rep = &m->d->report;
    if (r->fields != (size_t)m->d->columns) {
        report_skip(rep, r->first, "%zu fields, not %d", r->fields, m->d->columns);
        return;
    }
    struct fields f = {.a = r->field[c->a]};
    if (c->b >= 0) f.b = r->field[c->b];
    if (c->c >= 0) f.c = r->field[c->c];
    if (c->label >= 0) f.label = r->field[c->label];
    if (c->target >= 0) f.target = r->field[c->target];
    if (f.label.s && !f.label.n) report_skip(rep, r->first, "no label");
    else import_row(m, r->first, &f);
}

int table_read(struct import *m, struct err *e) {
    struct dataset *d = m->d;
    struct buf *file = &d->memory->file;
    size_t skip = d->report.bom ? 3 : 0;
    struct records r = {.path = d->path, .quotes = d->format == DATA_CSV,
                        .separator = d->format == DATA_CSV ? ',' : '\t',
                        .at = file->data + skip, .end = file->data + file->size};
    struct chosen c = {-1, -1, -1, -1, -1};
    bool header = !m->o->no_header;
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
        if (first && m->o->headless) header = has_header(m->o, &r);
        if (first && ((rc = name_columns(m, &r, header, e)) || (rc = choose(m, &c, e)))) break;
        if (first && header) d->report.header = 1;
        else take(m, &r, &c);
    }
    d->report.lines = r.line;
    records_release(&r);
    if (!rc && !d->columns) rc = err_set(e, ERR_INPUT, "%s: the file is empty", d->path);
    return rc;
}
