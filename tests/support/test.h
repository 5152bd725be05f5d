/* What every test program includes: cmocka, the default main and small helpers. */
#ifndef TESTS_SUPPORT_TEST_H
#define TESTS_SUPPORT_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "core/base/err.h"

/* Fails the test with the error's text when rc is not 0. */
void test_ok(int rc, const struct err *e);
/* rc is `code` and the message holds `part`. */
void test_refused(int rc, int code, const struct err *e, const char *part);

/* A fresh folder under TMPDIR, removed when the program ends; caller frees the path. */
char *test_folder(void);
/* Writes a file into a folder; caller frees the path. */
char *test_file(const char *folder, const char *name, const void *bytes, size_t n);
/* The same of a text; and a whole small file as a text, which the caller frees. */
void test_put(const char *folder, const char *name, const char *text);
char *test_text(const char *folder, const char *name);
/* `text` with the first `from` as `to`; caller frees.  Fails the test where it is not in it. */
char *test_with(const char *text, const char *from, const char *to);

/* The project's root (PETRI_ROOT, or the working folder). */
const char *test_root(void);
/* root/path; caller frees. */
char *test_path(const char *path);

/* Tests that wait for another process wait that many times as long: a sanitizer makes programs slow. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { TEST_PATIENCE = 5 };
#else
enum { TEST_PATIENCE = 1 };
#endif

/* Whether `make test-slow` runs: tests then take every case where else they take a part. */
bool test_slow(void);

/* Runs this program again, with an argument, where oneDNN may not use the processor's bfloat16 instructions, so that
 * rounded operands are tested on every processor; returns its status, or 0 where the first run was this one. */
int test_rounded(void);

/* ---- what not every machine and clone has ----
 * All of these only within a test, not in what sets a group up. */

/* Leaves the test as skipped for this reason; tests/run shows it beside the test's name. */
void test_skip(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));
/* Skips the test where root/path, a file or folder, is absent.  Says so: tests/run lists the programs that lack something, and
 * what, in BUILD/lacking, so that no other is run twice where more files lie. */
void test_needs(const char *path);
/* The folder of shared development data; where it is absent the test is skipped. */
const char *test_shared_data(void);

#endif
