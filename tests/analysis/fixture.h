/* The digits and what the reference libraries say about them (tests/reference/make_tsne.py). */
#ifndef TESTS_ANALYSIS_FIXTURE_H
#define TESTS_ANALYSIS_FIXTURE_H

#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/mem.h"
#include "core/engine/real.h"
#include "tests/support/test.h"

enum { DIGITS = 1797, PIXELS = 64 };

/* x: DIGITS×PIXELS; label: DIGITS.  Each may be NULL. */
static inline void read_digits(real *x, int32_t *label) {
    struct buf b = BUF_INIT;
    struct err e = ERR_INIT;
    char *path = test_path("tests/reference/digits.bin");
    test_ok(file_read(path, 1 << 20, &b, &e), &e);
    assert_int_equal(b.size, DIGITS * PIXELS + DIGITS);
    for (int i = 0; x && i < DIGITS * PIXELS; i++) x[i] = (real)(unsigned char)b.data[i];
    for (int i = 0; label && i < DIGITS; i++) label[i] = (unsigned char)b.data[DIGITS * PIXELS + i];
    buf_release(&b);
    free(path);
}

/* `count` numbers of the line NAME of analysis.txt. */
static inline void read_numbers(const char *name, int count, double *out) {
    struct buf b = BUF_INIT;
    struct err e = ERR_INIT;
    char *path = test_path("tests/reference/analysis.txt"), *head = xprintf("\n%s ", name);
    test_ok(file_read(path, 1 << 20, &b, &e), &e);
    char *at = strstr(b.data, head);
    if (!at) fail_msg("analysis.txt has no %s", name);
    at += strlen(head);
    for (int i = 0; i < count; i++) out[i] = strtod(at, &at);
    assert_int_equal(*at, '\n');
    buf_release(&b);
    free(path);
    free(head);
}

static inline double read_number(const char *name) {
    double v;
    read_numbers(name, 1, &v);
    return v;
}

#endif
