/* The report of an import: every physical line is accounted for.
 *
 * Filled by the readers (examples, lines), by dataset_read (labels, duplicates), again by dataset_keep for
 * the remaining examples, and by dataset_encode (tokens); immutable afterwards. */
#ifndef CORE_DATA_REPORT_H
#define CORE_DATA_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"

enum {
    REPORT_FIRST = 20, /* skipped lines that are listed with the reason, and listed characters */
    REPORT_LINES = 5,  /* listed line numbers of examples of a kind */
};

struct report_skip {
    size_t line; /* physical line, from 1 */
    char *why;   /* owned */
};

/* Examples of a kind, and the first lines. */
struct report_lines {
    size_t examples;
    size_t first[REPORT_LINES];
};

struct import_report {
    /* rows + blank + skipped + header + continued - spread == lines */
    size_t lines;      /* physical lines, a last one without line end included */
    size_t examples;       /* examples read, of which a split may be a part (struct dataset.split_rows) */
    size_t header;     /* header lines, and lines that set the delimiter */
    size_t blank;      /* skipped blank lines */
    size_t continued;  /* further lines of quoted fields (CSV) */
    size_t skipped;    /* skipped lines, each with a reason */
    size_t spread;     /* examples, read or skipped, beyond the first of lines with several */
    int first_count;
    struct report_skip first[REPORT_FIRST];
    bool bom;          /* the file began with a byte order mark, removed */
    size_t empty_a, empty_b; /* examples with an empty text */
    struct report_lines not_utf8; /* examples with invalid UTF-8 (replaced by U+FFFD) */
    struct report_lines nul;      /* examples with a NUL byte */

    /* For the examples of the split, after sampling. */
    size_t unlabeled; /* unlabeled examples */
    /* Repeats: examples whose texts equal those of an earlier one.  Near: equal after lower-casing and
     * merging blanks, without exact ones. */
    size_t same, near;
    size_t same_other_label; /* exact repeats with another label than the first */
    struct report_lines repeat_at /* of both */, other_label_at;
    char *across;            /* name of the other split, NULL for none */
    size_t across_same, across_near;
    struct report_lines across_at; /* of both */

    /* Tokens (dataset_encode). */
    size_t max_len;           /* 0: not encoded yet */
    size_t cut_examples, cut_examples_a, cut_examples_b;
    size_t cut_tokens_a, cut_tokens_b;
    size_t vanished;          /* examples in which one text lost all its tokens */
    size_t tokens;            /* of the texts before truncation, without special ones */
    size_t unknown;           /* unknown ones among them */
    struct report_lines special; /* examples that contain the text of a special token */
    size_t max_target;        /* 0: no target side */
    size_t target_tokens, target_unknown; /* of the targets before truncation, without special ones */
    size_t target_longest;    /* ids of the longest target before truncation, end token included */
    size_t cut_targets, cut_tokens_target; /* examples and tokens */
    char *chat_template;      /* of chats, described; owned; NULL: none */
    struct report_lines unfit; /* chats removed because the template cannot write them */
    char unfit_why[160];      /* the reason of the first */
    struct report_lines spelled; /* examples with the text of a control token, encoded as ordinary text */
    struct report_lines blank_start; /* chats with an answer that starts with whitespace */
    struct report_lines shortened; /* chats without their oldest messages, which would be too long */
    struct report_lines windowed; /* texts longer than max_len, cut into windows */
    size_t windows;           /* of all texts */
    struct buf preview;       /* the first examples as a causal model reads them */
    struct report_lines too_long; /* examples removed because they are longer than max_len */
    size_t unwritten;         /* examples whose target has unknown tokens */
    int unwritten_signs;
    uint32_t unwritten_sign[REPORT_FIRST]; /* their distinct characters without a token */

    struct buf notes;  /* one line each: decisions and warnings ("warning: …"); text_line */
};

/* Reports a skipped line (printf style; text from the file must be made visible first). */
void report_skip(struct import_report *r, size_t line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void report_line(struct report_lines *l, size_t line);
/* Appends " (line 3)", " (lines 3, 5, …)". */
void report_lines_text(const struct report_lines *l, struct buf *out);
void report_release(struct import_report *r);

struct dataset;
/* Appends the complete report of a split, lines ended by '\n', control characters made visible. */
void report_text(const struct dataset *d, struct buf *out);

#endif
