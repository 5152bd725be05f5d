/* One split of labelled text: its rows as petri will train on or score them.
 *
 * A dataset is read from a file of strangers (TSV, CSV or JSON Lines), never guesses
 * silently and says in its report (core/data/report.h) what became of every physical line.
 * It owns all text; rows point into it.  After reading and encoding it is only read, from
 * any number of threads. */
#ifndef CORE_DATA_DATASET_H
#define CORE_DATA_DATASET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/data/kind.h"
#include "core/data/report.h"
#include "core/text/tokenizer.h"

enum {
    DATASET_CLASSES = 4096,          /* most classes of a task */
    DATASET_NAME = 1024,             /* longest class name, bytes */
    DATASET_LINE = 64 << 20,         /* longest record, bytes */
    DATASET_FIELDS = 3,              /* texts of a row */
};
#define DATASET_FILE ((size_t)2 << 30) /* largest file, bytes */

/* How the texts of a row lie in JSON Lines (core/data/superglue.c). */
enum data_shape {
    DATA_FLAT,    /* each under its key */
    DATA_WSC,     /* a text and two spans in it, which are marked: * the first *, # the other # */
    DATA_MULTIRC, /* a passage with questions with answers: a row an answer */
};
/* Whether a table's first line names the columns.  AUTO: not where every column that is asked
 * for is so by its number, and the report says it. */
enum data_header { DATA_HEADER_AUTO, DATA_HEADER_YES, DATA_HEADER_NO };
/* Never by themselves: DATA_LIST, one JSON list of objects, whose numbers in it stand for lines; DATA_LINES,
 * a text a line (DATA_MASKED). */
enum data_format { DATA_AUTO, DATA_TSV, DATA_CSV, DATA_JSONL, DATA_LIST, DATA_LINES };

struct dataset_row {
    const char *a, *b;       /* texts, each followed by a NUL; b is NULL in a single-text split */
    size_t a_size, b_size;   /* bytes */
    size_t third;            /* where a third text begins in b, one blank after the second; 0: there
                              * is none */
    int32_t label;           /* class; -1: no gold label, and always -1 in regression */
    bool gold;               /* false: the row has no gold label or score */
    double target;           /* regression: the score; 0 when there is none */
    const char *target_text; /* DATA_TEXT: what is to be written, followed by a NUL; NULL when
                              * there is none */
    size_t target_size;      /* bytes */
    uint64_t id;             /* the row's number among the rows read from its file, from 0; it
                              * stays the same when only a part of the rows is drawn */
    size_t line;             /* physical line on which it begins, from 1 */
};

struct dataset {
    char *path;
    char sha256[65];         /* of the file's bytes */
    enum data_format format; /* never DATA_AUTO */
    enum data_kind kind;
    bool pair;
    int columns;
    char **column;           /* column names as in the file ("#1", … without a header) */
    char *field[DATASET_FIELDS]; /* names of the columns that the texts were read from,
                              * or NULL */
    char *target_field;      /* and target_text */
    int classes;             /* 0 in regression */
    char **class_name;       /* bytes as in the file; show them through text_visible */
    size_t *class_rows;      /* rows of each class */
    size_t rows;
    size_t split_rows;       /* rows of the split before dataset_draw */
    struct dataset_row *row;
    struct import_report report;

    /* After dataset_encode: row i's ids are ids[start[i]] … ids[start[i+1]-1]. */
    size_t max_len;          /* 0 before */
    size_t *start;           /* rows+1 */
    int32_t *ids;
    uint8_t *types;
    /* With a target side, of row i: target_ids[target_start[i]] … (none without a target). */
    size_t max_target;       /* 0: no target side */
    size_t *target_start;    /* rows+1 */
    int32_t *target_ids;     /* as the tokenizer encodes a single text, end token included */

    struct dataset_memory *memory; /* private: what the texts live in */
};

struct dataset_options {
    const char *path;
    enum data_format format;  /* DATA_AUTO: by extension (.tsv .csv .jsonl .json .ndjson) */
    enum data_header header;  /* of a table; without one the columns are named "#1", "#2", … */
    /* What stands between the columns of a table: one character, or a name as "tab"; with any
     * but a tab, columns may be quoted.  NULL: a tab or a comma, by the format, or what a first
     * line as "sep=;" says. */
    const char *delimiter;
    const char *text_option; /* option that chooses the texts' column, for messages; NULL: --text; "": no
                                option does */
    /* Columns by name, or by position as "#N" when no column has that name.  text_b NULL: a
     * single text; label NULL: no row has a gold label. */
    const char *text_a, *text_b, *label;
    /* A third text, which follows the second after a blank (struct dataset_row.third). */
    const char *text_c;
    /* The label that stands for no gold label.  NULL: -1 does where `names` are known and lack
     * it, or where the other labels are whole numbers from 0 and kind is not DATA_KIND_CLASSES;
     * with need_gold the latter is refused, as it could be a class, unless 1 is the only other. */
    const char *no_gold;
    /* Names to look for where the split has no column of the one above; NULL: none. */
    struct other_columns {
        const char *text_a, *text_b, *label;
    } other;
    enum data_shape shape;
    /* Names of the columns of a table whose first line holds no field like the first of them,
     * and so is no header.  Ended by NULL; NULL: the first line is the header. */
    const char *const *headless;
    /* A label that is read as if it were another; NULL: none. */
    const char *alias, *alias_of;
    /* JSON Lines, without need_gold: a row whose label is absent or null is kept. */
    bool gold_missing;
    /* Column of the target text: text_a is then the source, and no label is read. */
    const char *target;
    /* The columns are only petri's own defaults: a split without such columns that has a usual
     * pair of names ("source" and "target", "document" and "summary", …) is read as source and
     * target texts, and the report says so. */
    bool guess_texts;
    /* Classes known beforehand (from the train split, the task, or a model's id2label), in
     * the order of their ids; labels are matched by name.  NULL: the file's own labels,
     * whole numbers in numeric order, else in byte order. */
    const char *const *names;
    int name_count;
    /* Where `names` come from, for messages ("the train split", "the model's id2label"). */
    const char *names_from;
    /* names come from a model: labels that have no such names are matched as labels_match does, and the
     * report says so. */
    bool names_or_numbers;
    /* The labels of a known task in its order (order_count of them); NULL: whole numbers in numeric order,
     * else byte order. */
    const char *const *order;
    int order_count;
    enum data_choice kind;
    /* A row without gold label is skipped and named (a train split); otherwise it is kept. */
    bool need_gold;
};

/* Whether nobody named the n classes of a head: they are LABEL_0, LABEL_1, …, as transformers calls them
 * then. */
bool labels_unnamed(const char *const *names, int n);
/* How labels, in their task's order, are names of known classes: as they are; with `numbers` as the numbers
 * of the classes; but for case and blanks at the ends; and with `numbers`, where nobody named the classes and
 * there are as many labels, in their order.  The first way that finds a class for each of them, to[i] the
 * class of label[i].  LABELS_OTHER: none does. Evaluation, training on a folder's head and training on a
 * run's head all ask this. */
enum label_match { LABELS_OTHER, LABELS_BY_NAME, LABELS_BY_NUMBER, LABELS_BY_FOLDED, LABELS_BY_ORDER };
enum label_match labels_match(const char *const *names, int n, bool numbers, const char *const *label,
                              size_t labels, int32_t *to);

/* Reads a split.  On failure *d is empty and *e names file, row and reason: ERR_INPUT (a
 * broken file, a wrong label or score), ERR_USAGE (a column that is not there),
 * ERR_NOT_FOUND.  dataset_release frees; it may be called on an empty one. */
int dataset_read(struct dataset *d, const struct dataset_options *o, struct err *e);
void dataset_release(struct dataset *d);

/* Turns every row into ids of at most max_len, and its target text into at most max_target
 * (0: no target side), and fills the token part of the report.
 * `embedding_rows` (0: not checked): a row with an id that the embedding has no row for is
 * ERR_INPUT, naming token, id, rows and line.  Encoding again replaces the ids. */
int dataset_encode(struct dataset *d, const struct tokenizer *t, size_t max_len,
                   size_t max_target, int embedding_rows, struct err *e);

/* Keeps a fixed draw of n rows (seed 0, the same for every run), in file order; says so in
 * the report.  n = 0 or n >= rows keeps all.  split_rows is unchanged.  Not after dataset_encode. */
void dataset_draw(struct dataset *d, size_t n);

/* Counts rows of `d` whose texts are also in `other`, into d's report. */
void dataset_compare(struct dataset *d, const struct dataset *other);

#endif
