#include "app/input.h"

#include <stdlib.h>
#include <string.h>

#include "app/output.h"
#include "core/base/file.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/data/task.h"

/* Rows made from texts in memory: --text, or a file with one text a line. */
static void rows_of_texts(struct dataset *d, char *const *a, char *const *b, size_t n) {
    *d = (struct dataset){ .path = xstrdup("the text given"), .pair = b != NULL, .rows = n };
    d->row = xcalloc(n, sizeof *d->row);
    for (size_t i = 0; i < n; i++)
        d->row[i] = (struct dataset_row){ .a = a[i], .a_size = strlen(a[i]), .b = b ? b[i] : NULL,
                                          .b_size = b ? strlen(b[i]) : 0, .label = -1, .id = i,
                                          .line = i + 1 };
}

static int rows_of_lines(struct dataset *d, const char *path, struct buf *text, char ***line,
                         struct err *e) {
    int rc = file_read(path, DATASET_FILE, text, e);
    if (rc) return rc;
    size_t n = 0, room = 0;
    *line = NULL;
    char *at = text->data, *end = text->size ? text->data + text->size : NULL;
    if (text->size >= 3 && !memcmp(at, "\xEF\xBB\xBF", 3)) at += 3;
    while (at && at < end) {
        char *stop = memchr(at, '\n', (size_t)(end - at));
        if (!stop) stop = end;
        *stop = '\0';
        if (stop > at && stop[-1] == '\r') stop[-1] = '\0';
        GROW(*line, room, n + 1);
        (*line)[n++] = at;
        at = stop + 1;
    }
    rows_of_texts(d, *line, NULL, n);
    return 0;
}

void input_release(struct input *in) {
    dataset_release(&in->data);
    buf_release(&in->whole);
    free(in->line);
    *in = (struct input){ 0 };
}

/* A JSON Lines file of a known task is known by its keys where no column is named. */
static int rows_of_table(struct dataset *d, const char *file, const char *column, const char *second,
                         struct err *e) {
    int rc = column || second ? 0 : task_rows_by_keys(d, file, e);
    if (rc) return rc < 0 ? rc : 0;
    return dataset_read(d, &(struct dataset_options){ .path = file, .text_a = column, .text_b = second }, e);
}

/* Rows that get no answer are named, on the error channel. */
static void tell_skipped(const struct dataset *d) {
    const struct import_report *r = &d->report;
    if (!r->skipped) return;
    struct buf b = BUF_INIT;
    buf_printf(&b, "%s: %zu row%s left out:\n", d->path, r->skipped, r->skipped == 1 ? "" : "s");
    for (int i = 0; i < r->first_count; i++)
        buf_printf(&b, "  line %zu: %s\n", r->first[i].line, r->first[i].why);
    if (r->skipped > (size_t)r->first_count)
        buf_printf(&b, "  and %zu more\n", r->skipped - (size_t)r->first_count);
    out_report(buf_text(&b));
    buf_release(&b);
}

int input_open(struct input *in, const struct args *a, const char *column, struct err *e) {
    const char *text = args_get(a, "text"), *second = args_get(a, "text-b"), *file = args_get(a, "file");
    int rc = 0;
    *in = (struct input){ 0 };
    if (!text == !file)
        return err_set(e, ERR_USAGE, "petri %s needs --text or --file", a->verb->name);
    if (args_get(a, "column")) column = args_get(a, "column");
    if (text) {
        char *one = (char *)text, *other = (char *)second;
        rows_of_texts(&in->data, &one, second ? &other : NULL, 1);
    } else if (args_get(a, "column") || text_ends(file, ".tsv") || text_ends(file, ".csv") ||
               text_ends(file, ".jsonl")) {
        rc = rows_of_table(&in->data, file, column, second, e);
    } else {
        rc = rows_of_lines(&in->data, file, &in->whole, &in->line, e);
    }
    if (rc) input_release(in);
    else tell_skipped(&in->data);
    return rc;
}
