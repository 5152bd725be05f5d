#include "app/verbs/input.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/verbs/output.h"
#include "app/verbs/verbs.h"
#include "core/base/file.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/data/encoding.h"
#include "core/data/task.h"

static void input_add_row(struct dataset *d, size_t *room, const char *a, size_t size) {
    GROW(d->example, *room, d->examples + 1);
    d->example[d->examples] =
        (struct example){ .a = a, .a_size = size, .label = -1, .id = d->examples, .line = d->examples + 1 };
    d->examples++;
    if (!utf8_valid(a, size)) report_line(&d->report.not_utf8, d->examples);
    if (memchr(a, '\0', size)) report_line(&d->report.nul, d->examples);
}

/* --text and --text-b. */
static void row_of_text(struct dataset *d, const char *a, const char *b) {
    size_t room = 0;
    *d = (struct dataset){ .path = xstrdup("--text"), .pair = b != NULL };
    input_add_row(d, &room, a, strlen(a));
    d->example[0].b = b;
    d->example[0].b_size = b ? strlen(b) : 0;
}

/* Reads a file with one text per line; "-" is standard input. */
static int rows_of_lines(struct dataset *d, const char *path, struct buf *text, struct err *e) {
    bool input = !strcmp(path, "-");
    const char *name = input ? "standard input" : path;
    int rc = input ? file_read_fd(STDIN_FILENO, name, DATASET_FILE, text, e)
                   : file_read(path, DATASET_FILE, text, e);
    if (!rc) rc = encoding_check(name, buf_text(text), text->size, e);
    if (rc) return rc;
    size_t room = 0;
    *d = (struct dataset){ .path = xstrdup(name) };
    char *at = text->data, *end = text->size ? text->data + text->size : NULL;
    if (text->size >= 3 && !memcmp(at, "\xEF\xBB\xBF", 3)) at += 3;
    while (at && at < end) {
        char *stop = memchr(at, '\n', (size_t)(end - at));
        if (!stop) stop = end;
        char *last = stop > at && stop[-1] == '\r' ? stop - 1 : stop;
        *last = '\0'; /* at the end of the file there is a NUL already */
        input_add_row(d, &room, at, (size_t)(last - at));
        at = stop + 1;
    }
    return 0;
}

void input_release(struct input *in) {
    dataset_release(&in->data);
    buf_release(&in->whole);
    *in = (struct input){ 0 };
}

/* Reads a table.  Without a column, a JSON Lines file of a known task is recognized by its keys. */
static int rows_of_table(struct dataset *d, const char *file, const struct table_reader *how,
                         const char *second, struct err *e) {
    int rc = how->column || second ? 0 : task_examples_by_keys(d, file, e);
    if (rc) return rc < 0 ? rc : 0;
    const struct dataset_options o = { .path = file,
                                       .text_a = how->column,
                                       .text_b = second,
                                       .header = how->header,
                                       .delimiter = how->delimiter,
                                       .text_option = "--column" };
    rc = dataset_read(d, &o, e);
    if (!rc && d->report.notes.size) out_report(buf_text(&d->report.notes));
    return rc;
}

/* Overrides *how with the options that describe a table; returns whether any is given. */
static bool read_reader(const struct args *a, struct table_reader *how) {
    enum data_header header = verb_header(a);
    const char *column = a->column, *delimiter = a->delimiter;
    if (column) how->column = column;
    if (delimiter) how->delimiter = delimiter;
    if (header != DATA_HEADER_AUTO) how->header = header;
    return column || delimiter || header != DATA_HEADER_AUTO;
}

static void tell_lines(const struct dataset *d, const struct report_lines *l, const char *what) {
    if (!l->examples) return;
    struct buf lines = BUF_INIT;
    char *path = text_visible(d->path, strlen(d->path));
    report_lines_text(l, &lines);
    fprintf(stderr, "petri: %s: %zu of %zu examples %s%s\n", path, l->examples, d->examples, what,
            buf_text(&lines));
    buf_release(&lines);
    free(path);
}

/* Reports dropped lines, and texts with invalid bytes, on standard error. */
static void input_tell_rows(const struct dataset *d) {
    const struct import_report *r = &d->report;
    tell_lines(d, &r->not_utf8, "contain invalid UTF-8 (replaced by U+FFFD)");
    tell_lines(d, &r->nul, "contain a NUL byte");
    if (!r->skipped) return;
    struct buf b = BUF_INIT;
    buf_printf(&b, "%s: %zu line%s dropped:\n", d->path, r->skipped, r->skipped == 1 ? "" : "s");
    for (int i = 0; i < r->first_count; i++)
        buf_printf(&b, "  line %zu: %s\n", r->first[i].line, r->first[i].why);
    if (r->skipped > (size_t)r->first_count)
        buf_printf(&b, "  and %zu more\n", r->skipped - (size_t)r->first_count);
    out_report(buf_text(&b));
    buf_release(&b);
}

void input_tell_cut(const struct dataset *d) {
    const struct import_report *r = &d->report;
    if (!r->cut_examples) return;
    size_t lost = r->cut_tokens_a + r->cut_tokens_b;
    fprintf(stderr, "petri: %zu of %zu examples truncated to %zu tokens (%zu token%s dropped)\n",
            r->cut_examples, d->examples, d->max_len, lost, lost == 1 ? "" : "s");
    if (r->vanished)
        fprintf(stderr, "petri: in %zu of them, one text of the pair was truncated entirely\n",
                r->vanished);
}

int input_open(struct input *in, const struct args *a, struct table_reader defaults, struct err *e) {
    const char *text = a->text, *second = a->text_b, *file = a->file;
    int rc = 0;
    *in = (struct input){ 0 };
    bool given = read_reader(a, &defaults);
    if (text) {
        row_of_text(&in->data, text, second);
    } else if (!strcmp(file, "-") && (given || second)) {
        rc = err_set(e, ERR_USAGE,
            "--file -: standard input must have one text per line; read tables from a file");
    } else if (given || text_ends(file, ".tsv") || text_ends(file, ".csv") ||
               text_ends(file, ".jsonl")) {
        rc = rows_of_table(&in->data, file, &defaults, second, e);
    } else {
        rc = rows_of_lines(&in->data, file, &in->whole, e);
    }
    if (rc) input_release(in);
    else input_tell_rows(&in->data);
    return rc;
}
