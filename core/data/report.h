/* What an import found: every physical line is accounted for, nothing is dropped unsaid.
 *
 * Filled by the readers (rows, lines), by dataset_read (labels, repeats), again by dataset_keep for the rows
 * that it keeps, and by dataset_encode (tokens); then only read. */
#ifndef CORE_DATA_REPORT_H
#define CORE_DATA_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"

enum { REPORT_FIRST = 20 }; /* how many rows of a kind are named */

struct report_skip {
    size_t line; /* physical line, from 1 */
    char *why;   /* owned */
};

/* Rows of a kind, and the lines of the first of them. */
struct report_lines {
    size_t rows;
    size_t first[REPORT_FIRST];
};

struct import_report {
    /* rows + blank + skipped + header + continued - spread == lines */
    size_t lines;      /* physical lines, a last one without line end included */
    size_t rows;       /* rows read, from which a split may be a part (struct dataset.split_rows) */
    size_t header;     /* lines that name the columns, or what stands between them */
    size_t blank;      /* blank lines passed over */
    size_t continued;  /* further lines of quoted fields (CSV) */
    size_t skipped;    /* lines left out, each for a reason */
    size_t spread;     /* rows, read or skipped, beyond the first of lines that hold several */
    int first_count;
    struct report_skip first[REPORT_FIRST];
    bool bom;          /* the file began with a byte order mark, removed */
    size_t empty_a, empty_b; /* rows kept whose text is empty */
    struct report_lines not_utf8; /* rows with bytes that are not UTF-8 (each read as U+FFFD) */
    struct report_lines nul;      /* rows with a NUL byte */

    /* Of the split's rows, after draws. */
    size_t unlabelled; /* rows without a gold label */
    /* Repeats: rows whose texts an earlier row has.  Near: equal after lower-casing and
     * making blanks one space, exact ones not counted again. */
    size_t same, near;
    size_t same_other_label; /* exact repeats with another label than the first */
    struct report_lines repeat_at /* of both */, other_label_at;
    char *across;            /* name of the split compared with, NULL when none was */
    size_t across_same, across_near;
    struct report_lines across_at; /* of both */

    /* Tokens (dataset_encode). */
    size_t max_len;           /* 0: not encoded yet */
    size_t cut_rows, cut_rows_a, cut_rows_b;
    size_t cut_tokens_a, cut_tokens_b;
    size_t vanished;          /* rows in which one text lost all its tokens */
    size_t tokens;            /* of the texts before cutting, without special ones */
    size_t unknown;           /* unknown ones among them */
    struct report_lines special; /* rows that spell a special token */
    size_t max_target;        /* 0: no target side */
    size_t target_tokens, target_unknown; /* of the targets before cutting, without special ones */
    size_t target_longest;    /* ids of the longest target before cutting, end token included */
    size_t cut_targets, cut_tokens_target; /* rows and tokens */
    size_t unwritten;         /* rows whose target has unknown tokens */
    int unwritten_signs;
    uint32_t unwritten_sign[REPORT_FIRST]; /* characters of those without a token, each once */

    struct buf notes;  /* one line each: decisions and warnings ("warning: …"); text_line */
};

/* Names a skipped line (printf style; text from the file must be made visible before). */
void report_skip(struct import_report *r, size_t line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void report_line(struct report_lines *l, size_t line);
/* Adds " (line 3)", " (lines 3, 5, …)". */
void report_lines_text(const struct report_lines *l, struct buf *out);
void report_release(struct import_report *r);

struct dataset;
/* The whole report of a split for people, lines ended by '\n', control characters made
 * visible. */
void report_text(const struct dataset *d, struct buf *out);

#endif
