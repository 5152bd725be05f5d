/* What verbs print: aligned tables and JSON, never a control character from data. */
#ifndef APP_VERBS_OUTPUT_H
#define APP_VERBS_OUTPUT_H

#include <stddef.h>

#include "core/base/buf.h"

/* A table of text cells; widths are display columns.  Cells are made visible. */
struct table {
    size_t columns, rows, room;
    const char *const *heading;
    const char *align; /* one letter a column: 'l' or 'r' */
    char **cell;       /* rows × columns, owned */
};
void table_init(struct table *t, size_t columns, const char *const *heading, const char *align);
/* Copies `columns` cells (NULL is an empty one). */
void table_add(struct table *t, const char *const *cells);
/* Writes to standard output and frees the cells. */
void table_print(struct table *t);

/* Prints the buffer and a newline, and releases it. */
void out_line(struct buf *b);
/* Text from data, made visible, to standard output; and n bytes that may hold NULs. */
void out_text(const char *s);
void out_bytes(const char *s, size_t n);

/* A paragraph to standard output, broken at blanks so that no line is wider than `width` columns (but for a single word),
 * every line indented; the text must be fit to be shown. */
void out_wrapped(const char *s, int indent, int width);

/* A report of several lines to standard error, each made visible. */
void out_report(const char *text);
/* The same to standard output. */
void out_lines(const char *text);

#endif
