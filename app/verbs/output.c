#include "app/verbs/output.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/text.h"

void table_init(struct table *t, size_t columns, const char *const *heading, const char *align) {
    *t = (struct table){ .columns = columns, .heading = heading, .align = align };
}

void table_add(struct table *t, const char *const *cells) {
    GROW(t->cell, t->room, (t->rows + 1) * t->columns);
    for (size_t i = 0; i < t->columns; i++) {
        const char *s = cells[i] ? cells[i] : "";
        t->cell[t->rows * t->columns + i] = text_visible(s, strlen(s));
    }
    t->rows++;
}

static void print_cell(const char *s, int width, char align, int last) {
    int pad = width - text_width(s);
    if (align == 'r') printf("%*s", pad, "");
    fputs(s, stdout);
    if (align != 'r' && !last) printf("%*s", pad, "");
    fputs(last ? "\n" : "  ", stdout);
}

void table_print(struct table *t) {
    int *width = xcalloc(t->columns, sizeof *width);
    for (size_t c = 0; c < t->columns; c++) width[c] = text_width(t->heading[c]);
    for (size_t i = 0; i < t->rows * t->columns; i++) {
        int w = text_width(t->cell[i]);
        if (w > width[i % t->columns]) width[i % t->columns] = w;
    }
    for (size_t row = 0; row <= t->rows; row++) {
        for (size_t c = 0; c < t->columns; c++) {
            const char *s = row ? t->cell[(row - 1) * t->columns + c] : t->heading[c];
            print_cell(s, width[c], t->align[c], c + 1 == t->columns);
        }
    }
    free(width);
    for (size_t i = 0; i < t->rows * t->columns; i++) free(t->cell[i]);
    free(t->cell);
    t->cell = NULL;
    t->rows = t->room = 0;
}

void out_line(struct buf *b) {
    fwrite(buf_text(b), 1, b->size, stdout);
    putchar('\n');
    fflush(stdout);
    buf_release(b);
}

void out_text(const char *s) { out_bytes(s, strlen(s)); }

void out_bytes(const char *s, size_t n) {
    char *shown = text_visible(s, n);
    fputs(shown, stdout);
    free(shown);
}

static void lines(FILE *to, const char *text) {
    for (const char *end; *text; text = *end ? end + 1 : end) {
        end = strchrnul(text, '\n');
        char *shown = text_visible(text, (size_t)(end - text));
        fprintf(to, "%s\n", shown);
        free(shown);
    }
}

void out_report(const char *text) { lines(stderr, text); }
void out_lines(const char *text) { lines(stdout, text); }

void out_wrapped(const char *s, int indent, int width) {
    char *copy = xstrdup(s), *rest = copy, *word;
    int at = 0;
    while ((word = strsep(&rest, " "))) {
        int w = text_width(word);
        if (at && at + 1 + w > width) {
            putchar('\n');
            at = 0;
        }
        if (!at) printf("%*s%s", indent, "", word);
        else printf(" %s", word);
        at += (at ? 1 : indent) + w;
    }
    putchar('\n');
    free(copy);
}
