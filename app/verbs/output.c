#include "app/verbs/output.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/text.h"

void out_rows(const struct report_column *c, enum report_form form, const void *rows, size_t n, size_t size) {
    struct buf b = BUF_INIT;
    report_rows(c, form, rows, n, size, &b);
    if (form == REPORT_JSON) buf_putc(&b, '\n');
    fputs(buf_text(&b), stdout);
    buf_release(&b);
}

bool verb_rows(const struct args *a, const struct report_column *c, const void *rows, size_t n, size_t size) {
    enum report_form form = a->json       ? REPORT_JSON
                            : a->csv      ? REPORT_CSV
                            : a->markdown ? REPORT_MARKDOWN
                                          : REPORT_TABLE;
    out_rows(c, form, rows, n, size);
    return form == REPORT_TABLE;
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
