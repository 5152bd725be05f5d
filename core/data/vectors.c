#include "core/data/vectors.h"

#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/data/encoding.h"
#include "core/data/import.h"
#include "core/data/sample.h"

/* A file on its way in. */
struct reading {
    struct vectors *v;
    struct records r;
    const char *labels;
    char **column;   /* names; NULL without a header */
    int columns, at; /* at: the label column, or -1 */
    size_t room, row_room;
    char **text;     /* label of each row */
};

static int column_named(const struct reading *g, const char *name) {
    for (int i = 0; g->column && i < g->columns; i++)
        if (!strcmp(g->column[i], name)) return i;
    int64_t number;
    if (name[0] == '#' && text_to_int(name + 1, &number) && number >= 1 && number <= g->columns)
        return (int)number - 1;
    return -1;
}

static bool all_numbers(const struct records *r) {
    double v;
    for (size_t i = 0; i < r->fields; i++)
        if (!text_to_double(r->field[i].s, &v)) return false;
    return true;
}

/* The first record: a header, or the first row (*row).  A name given for the labels that is no
 * number asks for a header as well. */
static int begin(struct reading *g, bool *row, struct err *e) {
    g->columns = g->r.fields > INT_MAX ? INT_MAX : (int)g->r.fields;
    *row = all_numbers(&g->r) && !(g->labels && g->labels[0] != '#');
    if (g->labels && g->labels[0] == '#' && !*row) {
        /* "#3" with a first line like "1,0,a": only the label is no number */
        double v;
        int at = column_named(g, g->labels);
        *row = true;
        for (int i = 0; i < g->columns; i++)
            if (i != at && !text_to_double(g->r.field[i].s, &v)) *row = false;
    }
    if (!*row) {
        g->column = xcalloc((size_t)g->columns, sizeof *g->column);
        for (int i = 0; i < g->columns; i++) g->column[i] = xstrndup(g->r.field[i].s, g->r.field[i].n);
    }
    g->at = g->labels ? column_named(g, g->labels) : -1;
    if (g->labels && g->at < 0)
        return err_set(e, ERR_USAGE, "%s: has no column \"%s\" (--labels); it has %d columns", g->r.path,
                       g->labels, g->columns);
    g->v->d = g->columns - (g->at >= 0);
    if (g->v->d < 1) return err_set(e, ERR_INPUT, "%s: has no column of numbers", g->r.path);
    return 0;
}

static int add_row(struct reading *g, struct err *e) {
    struct vectors *v = g->v;
    size_t n = (size_t)v->n, d = (size_t)v->d, need;
    if (g->r.fields != (size_t)g->columns)
        return err_set(e, ERR_INPUT, "%s: line %zu (row %d): has %zu columns, the first line has %d", g->r.path,
                       g->r.first, v->n + 1, g->r.fields, g->columns);
    if (v->n == INT_MAX - 1 || !mem_mul(n + 1, d, &need))
        return err_set(e, ERR_INPUT, "%s: has too many rows", g->r.path);
    GROW(v->x, g->room, need);
    GROW(g->text, g->row_room, n + 1);
    g->text[n] = NULL;
    real *out = v->x + n * d;
    for (int i = 0; i < g->columns; i++) {
        double number;
        if (i == g->at) continue;
        if (!text_to_double(g->r.field[i].s, &number) || !isfinite((real)number)) {
            char *name = g->column ? xstrdup(g->column[i]) : xprintf("#%d", i + 1);
            err_set(e, ERR_INPUT, "%s: line %zu (row %d), column \"%.80s\": \"%.80s\" is no finite number%s", g->r.path,
                    g->r.first, v->n + 1, name, g->r.field[i].s, g->labels ? "" : "; --labels names the label column");
            free(name);
            return e->code;
        }
        *out++ = (real)number;
    }
    if (g->at >= 0) g->text[n] = xstrndup(g->r.field[g->at].s, g->r.field[g->at].n);
    v->n++;
    return 0;
}

static int read_rows(struct reading *g, struct err *e) {
    enum record_kind kind;
    bool first = true, row = true;
    int rc;
    while (!(rc = records_next(&g->r, &kind, e)) && kind != RECORD_END) {
        if (kind == RECORD_BLANK) continue;
        if (kind == RECORD_BAD) return err_set(e, ERR_INPUT, "%s: line %zu: %s", g->r.path, g->r.first, g->r.why);
        row = true;
        if (first) rc = begin(g, &row, e);
        first = false;
        if (!rc && row) rc = add_row(g, e);
        if (rc) return rc;
    }
    if (!rc && !g->v->n) rc = err_set(e, ERR_INPUT, "%s: holds no row of numbers", g->r.path);
    return rc;
}

static int by_bytes(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

/* Label texts become classes. */
static void number_labels(struct reading *g) {
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
    qsort(sorted, n, sizeof *sorted, by_bytes);
    v->class_name = xcalloc(n, sizeof *v->class_name);
    for (size_t i = 0; i < n; i++)
        if (*sorted[i] && (!v->classes || strcmp(sorted[i], v->class_name[v->classes - 1])))
            v->class_name[v->classes++] = xstrdup(sorted[i]);
    free(sorted);
    for (size_t i = 0; i < n; i++) {
        char **found = v->classes ? bsearch(&g->text[i], v->class_name, (size_t)v->classes, sizeof *v->class_name, by_bytes)
                                  : NULL;
        if (found) v->label[i] = (int32_t)(found - v->class_name);
    }
}

int vectors_read(struct vectors *v, const char *path, const char *labels, struct err *e) {
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
    struct reading g = { .v = v, .labels = labels };
    g.r = (struct records){ .path = path, .quotes = !tabs, .separator = tabs ? '\t' : ',' };
    g.r.at = file.data ? file.data + mark : NULL;
    g.r.end = file.data ? file.data + file.size : NULL;
    rc = read_rows(&g, e);
    if (!rc) number_labels(&g);
    for (int i = 0; i < v->n && g.text; i++) free(g.text[i]);
    for (int i = 0; i < g.columns && g.column; i++) free(g.column[i]);
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
    *v = (struct vectors){ 0 };
}

void vectors_sample(struct vectors *v, int most, uint64_t seed) {
    if (v->n <= most) return;
    int *pick = xmalloc((size_t)v->n * sizeof *pick), kept = sample_evenly(v->label, v->n, v->classes, most, seed, pick);
    size_t d = (size_t)v->d;
    for (int i = 0; i < kept; i++) {
        memmove(v->x + (size_t)i * d, v->x + (size_t)pick[i] * d, d * sizeof *v->x);
        v->label[i] = v->label[pick[i]];
        v->row[i] = v->row[pick[i]];
    }
    v->n = kept;
    free(pick);
}
