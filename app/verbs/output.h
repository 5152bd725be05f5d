/* What verbs print: aligned tables and JSON, never a control character from data. */
#ifndef APP_VERBS_OUTPUT_H
#define APP_VERBS_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>

#include "app/verbs/args.h"
#include "core/base/buf.h"
#include "core/base/report.h"

/* Prints n rows of `size` bytes each in a form, JSON with a newline (core/base/report.h). */
void out_rows(const struct report_column *c, enum report_form form, const void *rows, size_t n, size_t size);

/* The same as --json, --csv or --markdown says, else as text: true then, and what is said of the table may
 * follow. */
bool verb_rows(const struct args *a, const struct report_column *c, const void *rows, size_t n, size_t size);

/* Prints the buffer and a newline, and releases it. */
void out_line(struct buf *b);
/* Text from data, made visible, to standard output; and n bytes that may hold NULs. */
void out_text(const char *s);
void out_bytes(const char *s, size_t n);

/* A paragraph to standard output, broken at blanks so that no line is wider than `width` columns (but for a
 * single word), every line indented; the text must be fit to be shown. */
void out_wrapped(const char *s, int indent, int width);

/* A report of several lines to standard error, each made visible. */
void out_report(const char *text);
/* The same to standard output. */
void out_lines(const char *text);

#endif
