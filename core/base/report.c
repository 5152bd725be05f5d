#include "core/base/report.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/text.h"

static bool is_text(const struct report_column *c) { return c->kind == REPORT_TEXT || c->kind == REPORT_RAW; }

static bool has_form(const struct report_column *c, enum report_form form) {
    return !c->forms || c->forms & form;
}

static int64_t whole(const struct report_column *c, const void *at) {
    switch (c->kind) {
    case REPORT_INT: return *(const int *)at;
    case REPORT_SIZE: return (int64_t)*(const size_t *)at;
    default: return *(const int64_t *)at;
    }
}

/* Appends a text; returns false if it has no value. */
static bool add_text(const struct report_column *c, enum report_form form, const char *s, struct buf *b) {
    if (s && form == REPORT_JSON && c->kind != REPORT_RAW) json_add_string(b, s);
    else if (s) buf_puts(b, s);
    return s != NULL;
}

static bool add_double(const struct report_column *c, enum report_form form, double v, struct buf *b) {
    char text[32];
    bool shortest = !c->decimals || form == REPORT_CSV;
    if (isnan(v)) return false;
    text_from_double(v, text);
    if (form == REPORT_JSON) json_add_double(b, v);
    else if (shortest) buf_puts(b, text);
    else buf_printf(b, c->kind == REPORT_SIGNED ? "%+.*f" : "%.*f", c->decimals, v);
    return true;
}

static bool add_whole(const struct report_column *c, enum report_form form, int64_t v, struct buf *b) {
    char text[32];
    if (!v && (c->kind == REPORT_ID || c->kind == REPORT_TIME)) return false;
    if (c->kind == REPORT_TIME) {
        text_time(v, text);
        return add_text(c, form, text, b);
    }
    text_thousands(v, text);
    if (c->kind == REPORT_COUNT && (form == REPORT_TABLE || form == REPORT_MARKDOWN)) buf_puts(b, text);
    else buf_printf(b, c->kind == REPORT_SEED ? "%" PRIu64 : "%" PRId64, v);
    return true;
}

/* Appends the value; returns false if there is none. */
static bool add_value(const struct report_column *c, enum report_form form, const void *row, struct buf *b) {
    const void *at = (const char *)row + c->offset;
    if (is_text(c)) return add_text(c, form, *(const char *const *)at, b);
    if (c->kind == REPORT_DOUBLE || c->kind == REPORT_SIGNED)
        return add_double(c, form, *(const double *)at, b);
    if (c->kind != REPORT_BOOL) return add_whole(c, form, whole(c, at), b);
    const char *const word[] = { "no", "yes", "false", "true" };
    buf_puts(b, word[*(const bool *)at + 2 * (form == REPORT_JSON || form == REPORT_CSV)]);
    return true;
}

/* ---- JSON ---- */

void report_members(const struct report_column *c, const void *row, struct buf *b) {
    for (; c->kind; c++) {
        size_t before = b->size;
        if (!has_form(c, REPORT_JSON)) continue;
        json_add_key(b, c->key);
        if (add_value(c, REPORT_JSON, row, b)) continue;
        if (c->optional) b->data[b->size = before] = '\0';
        else buf_puts(b, "null");
    }
}

void report_object(const struct report_column *c, const char *key, const void *row, struct buf *b) {
    json_open(b, key, '{');
    report_members(c, row, b);
    buf_putc(b, '}');
}

/* ---- tables ---- */

/* Returns the heading (row NULL) or the cell, made visible; caller frees. */
static char *cell_of(const struct report_column *c, enum report_form form, const void *row) {
    struct buf b = BUF_INIT;
    if (!row) buf_puts(&b, c->heading ? c->heading : c->key);
    else if (!add_value(c, form, row, &b)) buf_puts(&b, c->none ? c->none : form == REPORT_TABLE ? "-" : "");
    char *shown = text_visible(buf_text(&b), b.size);
    buf_release(&b);
    return shown;
}

static void add_cell(const char *s, int width, char align, bool last, struct buf *b) {
    int pad = width - text_width(s);
    buf_printf(b, "%*s%s", align == 'r' ? pad : 0, "", s);
    if (last) buf_putc(b, '\n');
    else buf_printf(b, "%*s", align == 'r' ? 2 : pad + 2, "");
}

static void add_table(char *const *cell, size_t rows, size_t columns, const char *align, struct buf *b) {
    int *width = xcalloc(columns, sizeof *width);
    for (size_t i = 0; i < rows * columns; i++) {
        int w = text_width(cell[i]);
        if (w > width[i % columns]) width[i % columns] = w;
    }
    for (size_t i = 0; i < rows * columns; i++)
        add_cell(cell[i], width[i % columns], align[i % columns], i % columns + 1 == columns, b);
    free(width);
}

void report_cells(enum report_form form, char *const *cell, size_t rows, size_t columns, const char *align,
                  struct buf *b) {
    if (form == REPORT_TABLE) add_table(cell, rows, columns, align, b);
    for (size_t i = 0; form != REPORT_TABLE && i < rows * columns; i++) {
        bool last = i % columns + 1 == columns;
        if (form == REPORT_CSV) {
            text_csv(b, cell[i]);
            buf_putc(b, last ? '\n' : ',');
            continue;
        }
        if (i % columns == 0) buf_putc(b, '|');
        text_markdown_cell(b, cell[i]);
        if (last) buf_putc(b, '\n');
        for (size_t k = 0; i + 1 == columns && k <= columns; k++)
            buf_puts(b, k == columns ? "\n" : k ? "---|" : "|---|");
    }
}

void report_rows(const struct report_column *c, enum report_form form, const void *rows, size_t n,
                 size_t size, struct buf *b) {
    size_t columns = 0, cells = 0;
    if (form == REPORT_JSON) {
        json_open(b, NULL, '[');
        for (size_t i = 0; i < n; i++) report_object(c, NULL, (const char *)rows + i * size, b);
        buf_putc(b, ']');
        return;
    }
    for (const struct report_column *x = c; x->kind; x++) columns += has_form(x, form);
    char **cell = xcalloc((n + 1) * columns + 1, sizeof *cell), *align = xcalloc(columns + 1, 1);
    for (size_t i = 0; i <= n; i++)
        for (const struct report_column *x = c; x->kind; x++) {
            if (!has_form(x, form)) continue;
            align[cells % columns] = is_text(x) && !x->right ? 'l' : 'r';
            cell[cells++] = cell_of(x, form, i ? (const char *)rows + (i - 1) * size : NULL);
        }
    report_cells(form, cell, n + 1, columns, align, b);
    for (size_t i = 0; i < cells; i++) free(cell[i]);
    free(cell), free(align);
}
