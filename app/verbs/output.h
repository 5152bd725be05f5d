/* Output of verbs: aligned tables and JSON, without control characters from data. */
#ifndef APP_VERBS_OUTPUT_H
#define APP_VERBS_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>

#include "app/verbs/args.h"
#include "core/base/buf.h"
#include "core/base/report.h"

/* Prints n rows of `size` bytes each in a form, JSON with a newline (core/base/report.h). */
void out_rows(const struct report_column *c, enum report_form form, const void *rows, size_t n, size_t size);

/* Prints the rows in the form of --json, --csv or --markdown, else as text.  Returns true for text, after
 * which a caption may follow. */
bool verb_rows(const struct args *a, const struct report_column *c, const void *rows, size_t n, size_t size);

/* Prints the buffer and a newline, and releases it. */
void out_line(struct buf *b);
/* Prints text from data to standard output, with control characters made visible; or n bytes, which may
 * contain NULs. */
void out_text(const char *s);
void out_bytes(const char *s, size_t n);

/* Prints a paragraph to standard output, wrapped at blanks to `width` columns (except for a wider single
 * word), with every line indented; the text must not contain control characters. */
void out_wrapped(const char *s, int indent, int width);

/* Prints a report of several lines to standard error, with control characters made visible. */
void out_report(const char *text);
/* Prints the same to standard output. */
void out_lines(const char *text);

#endif
