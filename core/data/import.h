/* The steps of reading a split, private to core/data: records (records.c), examples of a table (table.c), of
 * JSON Lines (jsonl.c), chats (chats.c) or one text per line (lines.c), labels (labels.c), duplicates (repeats.c), targets
 * that cannot be encoded (unwritten.c).
 *
 * Also columns.c (selection of columns), delimiter.c, label_notes.c (remarks on labels), superglue.c. */
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
    struct buf file;       /* the file; texts of tables point into it */
    char **block;          /* further texts, in blocks that never move */
    size_t blocks, block_room, used, size;
    struct digest *exact, *folded; /* of the texts of each example */
};
/* Copy a text, and n messages, with the lifetime of the dataset. */
char *memory_copy(struct dataset_memory *m, const char *s, size_t n);
struct chat_turn *memory_turns(struct dataset_memory *m, const struct chat_turn *turn, size_t n);

/* ---- records of a TSV or CSV file ---- */
enum record_kind { RECORD_END, RECORD_BLANK, RECORD_FIELDS, RECORD_BAD };
struct records {
    const char *path;
    bool quotes;           /* CSV */
    char separator;
    char *at, *end;        /* *end is NUL and may be overwritten */
    size_t line;           /* physical lines passed */
    size_t first;          /* first line of the last record */
    struct field *field;   /* valid until the next call */
    size_t fields, room;
    char why[192];         /* RECORD_BAD: the reason, and its line */
    size_t bad;
};
/* Sets the delimiter: `delimiter` (struct dataset_options), or that of a first line such as "sep=;", which is
 * skipped and reported (notes may be NULL); otherwise r->separator is unchanged.  Columns may be quoted
 * unless it is a tab. */
int records_start(struct records *r, const char *delimiter, struct buf *notes, struct err *e);
/* Reads the next record; returns an error when the rest of the file cannot be parsed (an unclosed quote, an
 * overlong record). */
int records_next(struct records *r, enum record_kind *kind, struct err *e);
void records_release(struct records *r);

/* Returns the format by file name, or -1. */
int format_by_name(const char *path);

/* ---- delimiters ---- */
/* Parses one character, or "tab", "semicolon", "comma", "pipe"; ERR_USAGE. */
int delimiter_parse(const char *text, char *out, struct err *e);
/* Returns "--delimiter ';'"; NULL for an unusual character. */
const char *delimiter_option(char c);
const char *delimiter_name(char c); /* "semicolon" */
/* Returns the option with which the first record would have the column `name` or, if the record is one field,
 * would have more fields; NULL for none. */
const char *delimiter_hint(const struct records *r, const char *name);
/* Returns whether the text from s to end starts with a line such as "sep=;", as written by spreadsheets; then
 * *out is its character and *next the next line. */
bool delimiter_declared(char *s, char *end, char *out, char **next);

/* ---- examples during import ---- */
struct import {
    const struct dataset_options *o;
    struct dataset *d;
    struct field *label;   /* of each example; s NULL when the split has no label column */
    struct field *raw_label; /* its bytes in the file, which differ if they are not UTF-8 */
    size_t room, label_room, raw_room;
    enum data_header header; /* YES or NO once known */
    const char *none;      /* the label that marks unlabeled examples, or NULL */
    size_t unmarked, unmarked_first; /* WSC: examples whose span does not match its word, one per line */
    struct report_lines open_chats; /* chats without their messages after the last answer */
    size_t lists, more_targets; /* JSON Lines: sources that are lists, examples with several targets */
};
/* The texts of an example, each absent (s NULL) if the split does not have it. */
struct fields {
    struct field a, b, c, label, target;
    const struct chat_turn *turn;
    size_t turns;
};
void import_example(struct import *m, size_t line, const struct fields *f);

/* ---- column names ---- */
struct columns {
    const char *a, *b, *c, *label, *target; /* from the options, or constants; NULL: none */
    enum data_shape shape; /* DATA_MESSAGES or DATA_INSTRUCTIONS if the columns are those of chats */
};
bool columns_have(const struct dataset *d, const char *name);
/* Selects among d->column; ERR_USAGE when two pairs of columns are possible. */
int columns_choose(const struct dataset_options *o, struct dataset *d, struct columns *c,
                   struct err *e);
/* Returns the option that selects column k of struct columns (a, b, c, label, target); NULL for none. */
const char *columns_option(const struct dataset_options *o, size_t k);
/* Appends "; did you mean --label Topic?" or "; choose one with --label" for a missing column; nothing
 * without an option (NULL). */
void columns_advise(const struct dataset *d, const char *name, const char *option, struct buf *out);
/* Sets *e if a requested column is not in d->column; returns whether it did. */
bool columns_missing(const struct dataset_options *o, struct dataset *d, struct err *e);
/* Stores the selected names in the split. */
void columns_keep(struct dataset *d, const struct columns *c);

/* ---- values of a JSON object; on failure each reports the line, which is skipped, and returns false ---- */
/* Returns the kind of a JSON value in words. */
const char *json_kind(const json_t *v);
bool json_text(struct import *m, size_t line, const json_t *o, const char *key, struct field *out);
/* Reads a label, which may also be a number or a boolean, taken as text. */
bool json_label(struct import *m, size_t line, const json_t *o, const char *key, struct field *out);
/* Read SuperGLUE's nested examples.  wsc_fields fills *f; multirc_examples imports one example per answer. */
bool wsc_fields(struct import *m, size_t line, const json_t *o, const char *label,
                struct fields *f);
void multirc_examples(struct import *m, size_t line, const json_t *o, const char *label);

/* ---- chats ---- */
/* Selects the columns of chats, which the report states; false if the split has none. */
bool chats_columns(const struct dataset_options *o, struct dataset *d, struct columns *c);
/* Reads the chat of a JSON object, or of the fields of a record (o NULL); on failure reports the line, which
 * is skipped, and returns false. */
bool chats_fields(struct import *m, size_t line, const json_t *o, const struct columns *c,
                  struct fields *f);
/* Returns whether a JSON value is a list of messages. */
bool chats_is_list(const json_t *v);

/* Read the whole file of m->d, TSV and CSV or JSONL: examples, columns and skipped lines.  ERR_USAGE for a
 * missing column; ERR_INPUT, with the line, for a broken file. */
int table_read(struct import *m, struct err *e);
int jsonl_read(struct import *m, struct err *e);
int json_list_read(struct import *m, struct err *e);
int lines_read(struct import *m, struct err *e);
/* Converts label texts to classes or scores; drops or marks unlabeled examples. */
int labels_read(struct import *m, struct err *e);
/* Returns a label without invisible differences: composed (NFC), lower case, without invisible characters and
 * whitespace at the ends, numbers as numbers on request; owned. */
char *label_fold(const char *s, bool as_number);
/* Finds the bytes of s between whitespace and invisible characters at its ends. */
void label_trim(const char *s, size_t *begin, size_t *end);
/* Appends a label with invisible characters and whitespace other than a space as <U+200B>; combining marks as
 * well if it is not in composed form (NFC). */
void label_spell(const char *s, struct buf *out);
/* Warns of classes with nearly equal names, and of several labels in one cell. */
void labels_warn(struct dataset *d);
/* Warns if many classes have a single example. */
void labels_warn_rare(struct dataset *d);
/* Computes the digests of the texts of each example. */
void repeats_digest(struct dataset *d);
/* Counts duplicates among the current examples of the split in its report; needs their digests. */
void repeats_count(struct dataset *d);

/* ---- tokens (dataset.c) ---- */
/* Removes the tokens of a split, and clears the token part of its report. */
void tokens_forget(struct dataset *d);
/* Adds an encoded text of the example on `line` to the report. */
void tokens_count(struct import_report *r, const struct encoded *x, size_t line);
/* Returns ERR_INPUT for example i, of which the model would read no token: it cannot be read in a batch. */
int tokens_missing(const struct dataset *d, size_t i, struct err *e);
/* Returns ERR_INPUT for a token of example i without an embedding. */
int tokens_past_embedding(const struct dataset *d, const struct tokenizer *t, size_t i, int32_t id,
                          int embedding_rows, struct err *e);

/* ---- targets that cannot be encoded (unwritten.c) ---- */
/* Counts a target with unknown tokens, and records its characters without a token. */
void unwritten_count(struct import_report *r, const struct tokenizer *t, const char *s, size_t n);
/* Appends the warning for a split of this many examples. */
void unwritten_text(const struct import_report *r, size_t rows, struct buf *out);

/* Returns "\"a\", \"b\", …": at most `most` names, as written by label_spell, for messages; owned. */
char *names_text(char *const *name, int count, int most);

#endif
