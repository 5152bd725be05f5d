/* The steps of reading a split, private to core/data: records (records.c), rows of a table
 * (table.c), of JSON Lines (jsonl.c) or a text a line (lines.c), labels (labels.c), repeats (repeats.c),
 * targets without tokens (unwritten.c).
 *
 * Also columns.c (which are read), delimiter.c, label_notes.c (what the report says of labels),
 * superglue.c. */
#ifndef CORE_DATA_IMPORT_H
#define CORE_DATA_IMPORT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/data/dataset.h"

struct field {
    char *s; /* NULL: absent; else n bytes and a NUL */
    size_t n;
};

/* 128 bits of a text; equal texts have equal ones. */
struct digest {
    uint64_t a, b;
};

struct dataset_memory {
    struct buf file;       /* the file; texts of tables lie in it */
    char **block;          /* further texts, in blocks that never move */
    size_t blocks, block_room, used, size;
    struct digest *exact, *folded; /* of each row's texts */
};
/* Copies a text for as long as the dataset lives. */
char *memory_copy(struct dataset_memory *m, const char *s, size_t n);

/* ---- records of a TSV or CSV file ---- */
enum record_kind { RECORD_END, RECORD_BLANK, RECORD_FIELDS, RECORD_BAD };
struct records {
    const char *path;
    bool quotes;           /* CSV */
    char separator;
    char *at, *end;        /* *end is NUL and may be overwritten */
    size_t line;           /* physical lines passed */
    size_t first;          /* line on which the last record begins */
    struct field *field;   /* valid until the next call */
    size_t fields, room;
    char why[192];         /* RECORD_BAD: reason, and the line it is about */
    size_t bad;
};
/* Decides what stands between the columns: `delimiter` (struct dataset_options), or what a first
 * line as "sep=;" says, which is passed over and noted (notes may be NULL); else r->separator is
 * kept.  Columns may be quoted unless it is a tab. */
int records_start(struct records *r, const char *delimiter, struct buf *notes, struct err *e);
/* The next record, or an error when the rest of the file cannot be trusted (a quote that
 * is never closed, an overlong record). */
int records_next(struct records *r, enum record_kind *kind, struct err *e);
void records_release(struct records *r);

/* The format that a file's name tells, or -1. */
int format_by_name(const char *path);

/* ---- what stands between the columns ---- */
/* One character, or "tab", "semicolon", "comma", "pipe"; ERR_USAGE. */
int delimiter_parse(const char *text, char *out, struct err *e);
/* "--delimiter ';'"; NULL for a character that is not often one. */
const char *delimiter_option(char c);
const char *delimiter_name(char c); /* "semicolon" */
/* The option with which the first record would have the column `name`, or, where the record
 * is one field, with which it would have more; NULL. */
const char *delimiter_hint(const struct records *r, const char *name);
/* Whether the text from s to end begins with a line as "sep=;", as spreadsheets write it; then
 * its character is in *out and *next is behind the line. */
bool delimiter_declared(char *s, char *end, char *out, char **next);

/* ---- rows on their way into the dataset ---- */
struct import {
    const struct dataset_options *o;
    struct dataset *d;
    struct field *label;   /* of each row; s NULL when the split has no label column */
    struct field *raw_label; /* its bytes in the file, which differ where they are not UTF-8 */
    size_t room, label_room, raw_room;
    enum data_header header; /* once it is known: YES or NO */
    const char *none;      /* the label that stands for no gold label, or NULL */
    size_t unmarked, unmarked_first; /* WSC: rows with a span that is not at its word, a line */
    size_t lists, more_targets; /* JSON Lines: sources that are lists, rows of several targets */
};
/* The texts of a row, each absent (s NULL) where the split has none. */
struct fields {
    struct field a, b, c, label, target;
};
void import_row(struct import *m, size_t line, const struct fields *f);

/* ---- names of the columns that are read ---- */
struct columns {
    const char *a, *b, *c, *label, *target; /* the options', or constants; NULL: none */
};
/* Chooses among d->column; ERR_USAGE when two pairs of columns could be meant. */
int columns_choose(const struct dataset_options *o, struct dataset *d, struct columns *c,
                   struct err *e);
/* The option that chooses column k of struct columns (a, b, c, label, target); NULL: none does. */
const char *columns_option(const struct dataset_options *o, size_t k);
/* Appends "; did you mean --label Topic?" or "; choose one with --label" for a column that is missing;
 * nothing where no option (NULL) chooses it. */
void columns_advise(const struct dataset *d, const char *name, const char *option, struct buf *out);
/* Sets *e where a column that is asked for is none of d->column; returns whether one is. */
bool columns_missing(const struct dataset_options *o, struct dataset *d, struct err *e);
/* Keeps the chosen names in the split. */
void columns_keep(struct dataset *d, const struct columns *c);

/* ---- values of a JSON object; each names the line and returns false when it is left out ---- */
/* A JSON value's kind in words. */
const char *json_kind(const json_t *v);
bool json_text(struct import *m, size_t line, const json_t *o, const char *key, struct field *out);
/* A label may also be a number or a truth value; it is taken as it would be written. */
bool json_label(struct import *m, size_t line, const json_t *o, const char *key, struct field *out);
/* SuperGLUE's nested rows.  wsc_fields fills *f; multirc_rows imports a row an answer. */
bool wsc_fields(struct import *m, size_t line, const json_t *o, const char *label,
                struct fields *f);
void multirc_rows(struct import *m, size_t line, const json_t *o, const char *label);

/* Read the whole file of m->d, TSV and CSV or JSONL: rows, columns and what was left out.
 * ERR_USAGE when a column asked for is not there; ERR_INPUT, with the line, for a broken file. */
int table_read(struct import *m, struct err *e);
int jsonl_read(struct import *m, struct err *e);
int json_list_read(struct import *m, struct err *e);
int lines_read(struct import *m, struct err *e);
/* Turns the label texts into classes or scores; drops or marks rows without one. */
int labels_read(struct import *m, struct err *e);
/* Returns a label without what people do not see: composed (NFC), lower case, without invisible characters
 * and whitespace at the ends, numbers as numbers where asked; owned. */
char *label_fold(const char *s, bool as_number);
/* Finds the bytes of s between whitespace and invisible characters at its ends. */
void label_trim(const char *s, size_t *begin, size_t *end);
/* Appends a label with invisible characters and whitespace other than a space as <U+200B>; where it is not in
 * composed form (NFC), also its combining marks. */
void label_spell(const char *s, struct buf *out);
/* Warns of classes that people would take for one, and of several labels put together. */
void labels_warn(struct dataset *d);
/* Warns where many classes have a single row. */
void labels_warn_rare(struct dataset *d);
/* Computes the digests of each row's texts. */
void repeats_digest(struct dataset *d);
/* Counts repeats among the rows that the split has now, into its report; needs their digests. */
void repeats_count(struct dataset *d);

/* ---- targets that cannot be written (unwritten.c) ---- */
/* Counts a target with unknown tokens, and notes its characters without one. */
void unwritten_count(struct import_report *r, const struct tokenizer *t, const char *s, size_t n);
/* Appends the warning of a split of so many rows. */
void unwritten_text(const struct import_report *r, size_t rows, struct buf *out);

/* "\"a\", \"b\", …": names as label_spell writes them, at most `most` of them, for messages; owned. */
char *names_text(char *const *name, int count, int most);

#endif
