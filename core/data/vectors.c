#include "core/data/vectors.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/file.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/data/encoding.h"
#include "core/data/import.h"
#include "core/data/sample.h"

enum column_use { USE_COORDINATE, USE_NOTHING, USE_LABEL };

/* A column of the file. */
struct column {
    char *name;     /* NULL without a header */
    enum column_use use;
    bool may_count; /* named like an index, with ascending values so far */
    double last;
};

/* State of reading a file. */
struct vectors_reading {
    struct vectors *v;
    struct records r;
    const struct vectors_options *o;
    struct column *column;
    int columns, at; /* at: the label column, or -1 */
    bool header;
    size_t room, example_room;
    char **text;     /* label of each row */
};

/* ---- the first line ---- */

static int column_named(const struct vectors_reading *g, const char *name) {
    for (int i = 0; g->header && i < g->columns; i++)
        if (!strcmp(g->column[i].name, name)) return i;
    int64_t number;
    if (name[0] == '#' && text_to_int(name + 1, &number) && number >= 1 && number <= g->columns)
        return (int)number - 1;
    return -1;
}

/* Returns whether the line after the first contains a fraction, which an index does not. */
static bool fraction_follows(const struct records *r) {
    for (const char *s = r->at; s < r->end && *s != '\n'; s++)
        if (strchr(".eE", *s) && *s) return true;
    return false;
}

/* Numbers that count up by one from 0 or 1, except column `but`: names given by a program. */
static bool counts_up(const struct vectors_reading *g, int but) {
    double v, before = -1;
    int n = 0;
    for (int i = 0; i < g->columns; i++) {
        if (i == but) continue;
        if (!text_to_double(g->r.field[i].s, &v) || (n ? v != before + 1 : v != 0 && v != 1)) return false;
        before = v;
        n++;
    }
    return n > 2 || (n == 2 && fraction_follows(&g->r));
}

/* Except the label column, if it is given by position. */
static bool all_numbers(const struct vectors_reading *g, int but) {
    double v;
    for (int i = 0; i < g->columns; i++)
        if (i != but && !text_to_double(g->r.field[i].s, &v)) return false;
    return true;
}

/* Returns whether the first record is a header.  A label column given by name requires a header as well. */
static bool is_header(struct vectors_reading *g) {
    const char *labels = g->o->labels;
    bool named = labels && labels[0] != '#';
    int but = labels && !named ? column_named(g, labels) : -1;
    if (g->o->header != DATA_HEADER_AUTO) return g->o->header == DATA_HEADER_YES;
    if (named || !all_numbers(g, but)) return true;
    if (!counts_up(g, but)) return false;
    buf_part(&g->v->notes,
             "the first line has consecutive numbers and is read as column names (--no-header reads it as an "
             "example)");
    return true;
}

static int no_column(const struct vectors_reading *g, const char *name, const char *option, struct err *e) {
    return err_set(e, ERR_USAGE, "%s: column \"%s\" (%s) not found; the file has %d column%s", g->r.path,
                   name, option, g->columns, g->columns == 1 ? "" : "s");
}

/* "#3-#9": its ends, counted from 0. */
static bool vectors_range_of(const struct vectors_reading *g, const char *part, int *from, int *to) {
    const char *dash = strchr(part, '-');
    if (part[0] != '#' || !dash || dash[1] != '#') return false;
    char *first = xstrndup(part, (size_t)(dash - part));
    *from = column_named(g, first);
    *to = column_named(g, dash + 1);
    free(first);
    return *from >= 0 && *to >= *from;
}

/* Assigns a role to the columns of a list; `option` is used in messages. */
static int use_listed(struct vectors_reading *g, const char *list, enum column_use use, const char *option,
                      struct err *e) {
    char *copy = xstrdup(list), *rest = copy, *part;
    int rc = 0;
    while (!rc && (part = text_item(&rest))) {
        int from = column_named(g, part), to = from;
        if (from < 0 && !vectors_range_of(g, part, &from, &to)) rc = no_column(g, part, option, e);
        for (int i = from; !rc && i <= to; i++) {
            if (i == g->at)
                rc = err_set(e, ERR_USAGE, "%s: column \"%s\" is the label column and cannot be used with "
                                           "%s", g->r.path, part,
                             option);
            else g->column[i].use = use;
        }
    }
    free(copy);
    return rc;
}

static bool named_as_index(const char *name) {
    static const char *const names[] = { "id", "index", "Unnamed: 0" };
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (!strcasecmp(name, names[i])) return true;
    return false;
}

/* Determines the role of each column as far as its name allows. */
static int vectors_choose(struct vectors_reading *g, struct err *e) {
    const struct vectors_options *o = g->o;
    if (g->at >= 0) g->column[g->at].use = USE_LABEL;
    if (o->columns) {
        for (int i = 0; i < g->columns; i++)
            if (i != g->at) g->column[i].use = USE_NOTHING;
        return use_listed(g, o->columns, USE_COORDINATE, "--columns", e);
    }
    for (int i = 0; g->header && i < g->columns; i++) {
        struct column *c = &g->column[i];
        if (c->use != USE_COORDINATE) continue;
        c->may_count = named_as_index(c->name);
        if (*c->name) continue;
        c->use = USE_NOTHING;
        buf_part(&g->v->notes, "column %d has no name and is ignored (--columns includes it)", i + 1);
    }
    return o->skip ? use_listed(g, o->skip, USE_NOTHING, "--skip", e) : 0;
}

/* Reads the first record: a header, or the first example (*row). */
static int vectors_begin(struct vectors_reading *g, bool *row, struct err *e) {
    g->columns = g->r.fields > INT_MAX ? INT_MAX : (int)g->r.fields;
    g->column = xcalloc((size_t)g->columns, sizeof *g->column);
    g->header = is_header(g);
    *row = !g->header;
    for (int i = 0; g->header && i < g->columns; i++)
        g->column[i].name = xstrndup(g->r.field[i].s, g->r.field[i].n);
    g->at = g->o->labels ? column_named(g, g->o->labels) : -1;
    if (g->o->labels && g->at < 0) return no_column(g, g->o->labels, "--labels", e);
    int rc = vectors_choose(g, e);
    for (int i = 0; i < g->columns; i++) g->v->d += g->column[i].use == USE_COORDINATE;
    if (!rc && g->v->d < 1) rc = err_set(e, ERR_INPUT, "%s: no numeric columns", g->r.path);
    return rc;
}

/* ---- rows ---- */

static int no_number(const struct vectors_reading *g, int i, struct err *e) {
    char *name = g->header ? xstrdup(g->column[i].name) : xprintf("#%d", i + 1);
    err_set(e, ERR_INPUT,
            "%s: line %zu (row %d), column \"%.80s\": \"%.80s\" is not a finite number; %s--skip ignores "
            "columns",
            g->r.path, g->r.first, g->v->n + 1, name, g->r.field[i].s,
            g->o->labels ? "" : "--labels sets the label column, ");
    free(name);
    return e->code;
}

static int vectors_add_row(struct vectors_reading *g, struct err *e) {
    struct vectors *v = g->v;
    size_t n = (size_t)v->n, d = (size_t)v->d, need;
    if (g->r.fields != (size_t)g->columns)
        return err_set(e, ERR_INPUT, "%s: line %zu (row %d): %zu column%s, but the first line has %d",
                       g->r.path, g->r.first, v->n + 1, g->r.fields, g->r.fields == 1 ? "" : "s", g->columns);
    if (v->n == INT_MAX - 1 || !mem_mul(n + 1, d, &need))
        return err_set(e, ERR_INPUT, "%s: too many rows", g->r.path);
    GROW(v->x, g->room, need);
    GROW(g->text, g->example_room, n + 1);
    g->text[n] = NULL;
    real *out = v->x + n * d;
    for (int i = 0; i < g->columns; i++) {
        struct column *c = &g->column[i];
        double number;
        if (c->use != USE_COORDINATE) continue;
        if (!text_to_double(g->r.field[i].s, &number) || !isfinite((real)number)) return no_number(g, i, e);
        if (number != floor(number) || (n && number <= c->last)) c->may_count = false;
        c->last = number;
        *out++ = (real)number;
    }
    if (g->at >= 0) g->text[n] = xstrndup(g->r.field[g->at].s, g->r.field[g->at].n);
    v->n++;
    return 0;
}

/* Removes columns identified as an index. */
static void drop_index(struct vectors_reading *g) {
    struct vectors *v = g->v;
    int left = v->d;
    size_t kept = 0;
    if (v->n < 2) return;
    for (int i = 0; i < g->columns; i++) {
        struct column *c = &g->column[i];
        if (c->use != USE_COORDINATE) continue;
        if (!c->may_count || left < 2) {
            c->may_count = false;
            continue;
        }
        left--;
        char *shown = text_visible(c->name, strlen(c->name));
        buf_part(&v->notes, "column \"%.60s\" is a row index and is ignored (--columns includes it)", shown);
        free(shown);
    }
    if (left == v->d) return;
    for (int row = 0; row < v->n; row++) {
        const real *from = v->x + (size_t)row * (size_t)v->d;
        for (int i = 0; i < g->columns; i++) {
            if (g->column[i].use != USE_COORDINATE) continue;
            if (!g->column[i].may_count) v->x[kept++] = *from;
            from++;
        }
    }
    v->d = left;
}

static int vectors_read_rows(struct vectors_reading *g, struct err *e) {
    enum record_kind kind;
    bool first = true, row = true;
    int rc;
    while (!(rc = records_next(&g->r, &kind, e)) && kind != RECORD_END) {
        if (kind == RECORD_BLANK) continue;
        if (kind == RECORD_BAD)
            return err_set(e, ERR_INPUT, "%s: line %zu: %s", g->r.path, g->r.bad, g->r.why);
        row = true;
        if (first) rc = vectors_begin(g, &row, e);
        first = false;
        if (!rc && row) rc = vectors_add_row(g, e);
        if (rc) return rc;
    }
    if (!rc && !g->v->n) rc = err_set(e, ERR_INPUT, "%s: no numeric rows", g->r.path);
    if (!rc) drop_index(g);
    return rc;
}

static int vectors_by_bytes(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* ---- labels ---- */

/* Converts label texts to classes. */
static void number_labels(struct vectors_reading *g) {
    struct vectors *v = g->v;
    size_t n = (size_t)v->n;
    v->label = xmalloc(n * sizeof *v->label);
    v->row = xmalloc(n * sizeof *v->row);
    for (size_t i = 0; i < n; i++) {
        v->label[i] = -1;
        v->row[i] = (int)i + 1;
    }
    if (g->at < 0) return;
    char **sorted = xmalloc(n * sizeof *sorted);
    memcpy(sorted, g->text, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, vectors_by_bytes);
    v->class_name = xcalloc(n, sizeof *v->class_name);
    for (size_t i = 0; i < n; i++)
        if (*sorted[i] && (!v->classes || strcmp(sorted[i], v->class_name[v->classes - 1])))
            v->class_name[v->classes++] = xstrdup(sorted[i]);
    free(sorted);
    for (size_t i = 0; i < n; i++) {
        char **found = v->classes ? bsearch(&g->text[i], v->class_name, (size_t)v->classes,
                                            sizeof *v->class_name, vectors_by_bytes)
                                  : NULL;
        if (found) v->label[i] = (int32_t)(found - v->class_name);
    }
}

int vectors_read(struct vectors *v, const char *path, const struct vectors_options *o, struct err *e) {
    struct buf file = BUF_INIT;
    *v = (struct vectors){ 0 };
    int rc = file_read(path, DATASET_FILE, &file, e);
    if (rc) return rc;
    buf_puts(&file, "");
    rc = encoding_check(path, buf_text(&file), file.size, e);
    if (rc) {
        buf_release(&file);
        return rc;
    }
    bool tabs = text_ends(path, ".tsv");
    size_t mark = file.size >= 3 && !memcmp(file.data, "\xEF\xBB\xBF", 3) ? 3 : 0;
    struct vectors_reading g = { .v = v, .o = o, .at = -1 };
    g.r = (struct records){ .path = path, .separator = tabs ? '\t' : ',' };
    g.r.at = file.data ? file.data + mark : NULL;
    g.r.end = file.data ? file.data + file.size : NULL;
    rc = records_start(&g.r, o->delimiter, NULL, e);
    if (!rc) rc = vectors_read_rows(&g, e);
    if (!rc) number_labels(&g);
    for (int i = 0; i < v->n && g.text; i++) free(g.text[i]);
    for (int i = 0; i < g.columns && g.column; i++) free(g.column[i].name);
    free(g.text);
    free(g.column);
    records_release(&g.r);
    buf_release(&file);
    if (rc) vectors_release(v);
    return rc;
}

void vectors_release(struct vectors *v) {
    for (int i = 0; i < v->classes; i++) free(v->class_name[i]);
    free(v->class_name);
    free(v->x);
    free(v->label);
    free(v->row);
    buf_release(&v->notes);
    *v = (struct vectors){ 0 };
}

void vectors_sample(struct vectors *v, int most, uint64_t seed) {
    if (v->n <= most) return;
    int *pick = xmalloc((size_t)v->n * sizeof *pick),
        kept = sample_evenly(v->label, v->n, v->classes, most, seed, pick);
    size_t d = (size_t)v->d;
    for (int i = 0; i < kept; i++) {
        memmove(v->x + (size_t)i * d, v->x + (size_t)pick[i] * d, d * sizeof *v->x);
        v->label[i] = v->label[pick[i]];
        v->row[i] = v->row[pick[i]];
    }
    v->n = kept;
    free(pick);
}
