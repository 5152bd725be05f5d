/* Splits read from bytes, for the tests of core/data. */
#ifndef TESTS_DATA_READING_H
#define TESTS_DATA_READING_H

#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/data/dataset.h"
#include "tests/support/test.h"

/* Reads bytes as a file of the given name; READ takes the columns text and label. */
static inline int read_bytes(struct dataset *d, const char *name, const char *bytes, size_t n,
                      struct dataset_options o, struct err *e) {
    char *folder = test_folder(), *path = test_file(folder, name, bytes, n);
    o.path = path;
    int rc = dataset_read(d, &o, e);
    free(path);
    free(folder);
    return rc;
}
#define READ_AS(d, name, bytes, ...)                                                               \
    read_bytes(d, name, bytes, sizeof(bytes) - 1, (struct dataset_options){__VA_ARGS__}, &e)
#define READ(d, name, bytes, ...)                                                                  \
    READ_AS(d, name, bytes, .text_a = "text", .label = "label", __VA_ARGS__)

static inline void adds_up(const struct dataset *d) {
    const struct import_report *r = &d->report;
    assert_int_equal(r->examples + r->blank + r->skipped + r->header + r->continued, r->lines);
}

static inline void says(const struct dataset *d, const char *part) {
    struct buf b = BUF_INIT;
    report_text(d, &b);
    if (!strstr(buf_text(&b), part)) fail_msg("the report lacks \"%s\":\n%s", part, buf_text(&b));
    buf_release(&b);
}

static inline void lacks(const struct dataset *d, const char *part) {
    struct buf b = BUF_INIT;
    report_text(d, &b);
    if (strstr(buf_text(&b), part)) fail_msg("the report has \"%s\":\n%s", part, buf_text(&b));
    buf_release(&b);
}

static inline void has_text(const struct dataset *d, size_t row, const char *a) {
    assert_true(row < d->examples);
    assert_string_equal(d->example[row].a, a);
    assert_int_equal(d->example[row].a_size, strlen(a));
}

#endif
