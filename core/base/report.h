/* Reports: rows of structs as JSON, aligned text, CSV and Markdown.  A const array of columns defines what
 * each form shows; a column added to it appears in all of them. */
#ifndef CORE_BASE_REPORT_H
#define CORE_BASE_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"

enum report_kind {
    REPORT_END,    /* end of the array */
    REPORT_INT,    /* int */
    REPORT_LONG,   /* int64_t */
    REPORT_ID,     /* int64_t; 0: none */
    REPORT_COUNT,  /* int64_t; "1,234" in text and Markdown */
    REPORT_SEED,   /* uint64_t */
    REPORT_SIZE,   /* size_t */
    REPORT_DOUBLE, /* NaN: none */
    REPORT_SIGNED, /* the same; in text and Markdown with its sign */
    REPORT_BOOL,
    REPORT_TIME,   /* int64_t, ms since 1970; 0: none */
    REPORT_TEXT,   /* const char *; NULL: none */
    REPORT_RAW,    /* const char *, JSON as it is; NULL: none */
};

enum report_form {
    REPORT_TABLE = 1,
    REPORT_JSON = 2,
    REPORT_CSV = 4,
    REPORT_MARKDOWN = 8,
    REPORT_TO_READ = REPORT_TABLE | REPORT_MARKDOWN,
    REPORT_DATA = REPORT_JSON | REPORT_CSV,
};

struct report_column {
    const char *key; /* member in JSON, heading elsewhere */
    enum report_kind kind;
    size_t offset;       /* in a row */
    int decimals; /* of a number in text and Markdown; 0: the fewest that read back as the same number */
    int forms;           /* forms that include it, or'ed; 0: all */
    const char *heading; /* replaces the key; NULL: the key */
    const char
        *none; /* a cell without a value: null in JSON; NULL: "-" in text, empty in CSV and Markdown */
    bool optional;       /* JSON: omit the member if it has no value */
    bool right;          /* align a text to the right, like numbers */
};

/* Appends the members of a row to an object under construction. */
void report_members(const struct report_column *c, const void *row, struct buf *b);
/* Appends a row as an object: a member, or an element if key is NULL. */
void report_object(const struct report_column *c, const char *key, const void *row, struct buf *b);
/* Appends n rows in a form: an array, or a table with headings.  Cells are made visible. */
void report_rows(const struct report_column *c, enum report_form form, const void *rows, size_t n,
                 size_t size, struct buf *b);

/* Appends cells, row by row with the headings first, as text, CSV or Markdown; `align` has one letter per
 * column of text, 'l' or 'r'.  Cells must already be visible text. */
void report_cells(enum report_form form, char *const *cell, size_t rows, size_t columns, const char *align,
                  struct buf *b);

#endif
