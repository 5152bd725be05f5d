/* One split of labeled examples, as used for training or evaluation.
 *
 * A dataset is read from an untrusted file (TSV, CSV or JSON Lines), never guesses silently and accounts for
 * every physical line in its report (core/data/report.h).  It owns all text; rows point into it.  Immutable
 * after reading and encoding, and shared by any number of threads. */
#ifndef CORE_DATA_DATASET_H
#define CORE_DATA_DATASET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/data/kind.h"
#include "core/data/report.h"
#include "core/text/chat.h"
#include "core/text/tokenizer.h"

enum {
    DATASET_CLASSES = 4096,          /* maximum classes of a task */
    DATASET_NAME = 1024,             /* longest class name, bytes */
    DATASET_LINE = 64 << 20,         /* longest record, bytes */
    TRAINED_ANSWER = 1, TRAINED_CONTEXT = 2, /* of struct dataset.trained */
    DATASET_FIELDS = 3,              /* texts of an example */
};
#define DATASET_FILE ((size_t)2 << 30) /* largest file, bytes */

/* Layout of the texts of an example (core/data/superglue.c, core/data/chats.c). */
enum data_shape {
    DATA_FLAT,    /* each under its key */
    DATA_WSC,     /* a text with two spans, which are marked: * the first *, # the other # */
    DATA_MULTIRC, /* a passage with questions with answers: one example per answer */
    DATA_MESSAGES,     /* a chat: a list of messages with roles; the last answer is the target */
    DATA_INSTRUCTIONS, /* instruction, input, output; optionally system and history: a chat */
    DATA_DOCUMENTS,    /* a text without a source: a causal language model continues it */
};
/* Whether a table's first line is a header.  AUTO: unless all requested columns are given by number, which
 * the report states. */
enum data_header { DATA_HEADER_AUTO, DATA_HEADER_YES, DATA_HEADER_NO };
/* Never chosen automatically: DATA_LIST, one JSON list of objects, whose indices serve as lines; DATA_LINES,
 * one text per line (DATA_MASKED). */
enum data_format { DATA_AUTO, DATA_TSV, DATA_CSV, DATA_JSONL, DATA_LIST, DATA_LINES };

struct example {
    const char *a, *b;       /* texts, each followed by a NUL; b is NULL in a single-text split */
    size_t a_size, b_size;   /* bytes */
    size_t third;            /* start of the third text in b, one blank after the second; 0: none */
    int32_t label;           /* class; -1: unlabeled, and always -1 in regression */
    bool labeled;               /* false: the example has no label or score */
    double target;           /* regression: the score; 0 if unlabeled */
    const char *target_text; /* DATA_TEXT: the reference, followed by a NUL; NULL if there is none */
    size_t target_size;      /* bytes */
    const struct chat_turn *turn; /* messages of a chat, of which a and target_text are a view; NULL: none */
    size_t turns;
    uint64_t id;             /* index among the examples read from the file, from 0; unchanged when a part
                                of the examples is sampled */
    size_t line;             /* first physical line, from 1 */
};

struct dataset {
    char *path;
    char sha256[65];         /* of the bytes of the file */
    enum data_format format; /* never DATA_AUTO */
    enum data_kind kind;
    bool pair;
    int columns;
    char **column;           /* column names as in the file ("#1", … without a header) */
    char *field[DATASET_FIELDS]; /* names of the text columns, or NULL */
    char *target_field;      /* and target_text */
    enum data_shape shape;   /* of DATA_TEXT: DATA_FLAT, DATA_MESSAGES or DATA_INSTRUCTIONS */
    int classes;             /* 0 in regression */
    char **class_name;       /* bytes as in the file; display them through text_visible */
    size_t *class_examples;      /* examples of each class */
    size_t examples;
    size_t split_examples;       /* examples of the split before dataset_draw */
    struct example *example;
    struct import_report report;

    /* After dataset_encode: example i has the ids ids[start[i]] … ids[start[i+1]-1]. */
    size_t max_len;          /* 0 before */
    size_t *start;           /* rows+1 */
    int32_t *ids;
    uint8_t *types;
    /* With a target side, example i has target_ids[target_start[i]] … (none without a target). */
    size_t max_target;       /* 0: no target side */
    size_t *target_start;    /* rows+1 */
    int32_t *target_ids;     /* encoded as a single text, end token included */
    /* Of a causal language model (core/data/causal.h): for each id, whether it is a target, which is predicted
     * from the ids before it: as a part of an answer, or of its context.  The targets are also in target_ids.
     * NULL: a source and a target side. */
    uint8_t *trained;
    int32_t target_end;      /* the id that ends an answer by the chat template; -1: the model's end token */

    struct dataset_memory *memory; /* private: memory of the texts */
};

struct dataset_options {
    const char *path;
    enum data_format format;  /* DATA_AUTO: by extension (.tsv .csv .jsonl .json .ndjson) */
    enum data_header header;  /* of a table; without a header the columns are named "#1", "#2", … */
    /* Column delimiter of a table: one character, or a name such as "tab"; with any but a tab, columns may be
     * quoted.  NULL: a tab or a comma, by the format, or that of a first line such as "sep=;". */
    const char *delimiter;
    const char *text_option; /* option that selects the text column, for messages; NULL: --text; "": none */
    /* Columns by name, or by position as "#N" when no column has that name.  text_b NULL: single texts; label
     * NULL: unlabeled. */
    const char *text_a, *text_b, *label;
    /* A third text, appended to the second after a blank (struct example.third). */
    const char *text_c;
    /* The label that marks unlabeled examples.  NULL: -1 if `names` are known and do not contain it, or if
     * the other labels are integers from 0 and kind is not DATA_KIND_CLASSES; with need_gold the latter is
     * refused, as it could be a class, unless 1 is the only other label. */
    const char *unlabeled;
    /* Alternative column names if the split does not have the one above; NULL: none. */
    struct other_columns {
        const char *text_a, *text_b, *label;
    } other;
    enum data_shape shape;
    /* Column names of a table whose first line has no field like the first of them, and so is not a header.
     * Ended by NULL; NULL: the first line is the header. */
    const char *const *headless;
    /* A label that is read as another one; NULL: none. */
    const char *alias, *alias_of;
    /* JSON Lines, without need_gold: an example whose label is absent or null is included. */
    bool missing_labels;
    /* Column of the target text: text_a is then the source, and labels are ignored. */
    const char *target;
    /* The columns are only petri's defaults: a split without them that has chats ("messages", "conversations",
     * "instruction" and "output") or a common pair of names ("source" and "target", "document" and "summary",
     * …) is read as such, which the report states. */
    bool guess_texts;
    /* Known classes (from the training set, the task, or a model's id2label), in the order of their ids;
     * labels are matched by name.  NULL: the labels of the file, integers in numeric order, others in byte
     * order. */
    const char *const *names;
    int name_count;
    /* Origin of `names` for messages ("the training set", "the model's id2label"). */
    const char *names_from;
    /* names come from a model: labels that do not match are resolved by labels_match, which the report
     * states. */
    bool names_or_numbers;
    /* The labels of a known task in its order (order_count of them); NULL: integers in numeric order, others
     * in byte order. */
    const char *const *order;
    int order_count;
    enum data_choice kind;
    /* An unlabeled example is skipped and reported (training set); otherwise it is included. */
    bool need_labels;
};

/* Returns whether the n classes of a head have default names: LABEL_0, LABEL_1, …, as in transformers. */
bool labels_unnamed(const char *const *names, int n);
/* How labels, in the order of their task, correspond to known classes: as they are; with `numbers` as class
 * indices; ignoring case and whitespace at the ends; and with `numbers`, for default names and equally many
 * labels, in order.  The first rule that maps every label wins, with to[i] the class of label[i].
 * LABELS_OTHER: none does.  Used by evaluation, and by training with the head of a checkpoint or a run. */
enum label_match { LABELS_OTHER, LABELS_BY_NAME, LABELS_BY_NUMBER, LABELS_BY_FOLDED, LABELS_BY_ORDER };
enum label_match labels_match(const char *const *names, int n, bool numbers, const char *const *label,
                              size_t labels, int32_t *to);

/* Reads a split.  On failure *d is empty and *e names file, line and reason: ERR_INPUT (a broken file, an
 * invalid label or score), ERR_USAGE (a missing column), ERR_NOT_FOUND.  Released with dataset_release, which
 * accepts an empty one. */
int dataset_read(struct dataset *d, const struct dataset_options *o, struct err *e);
void dataset_release(struct dataset *d);
/* Returns whether an example is a chat. */
bool dataset_has_chats(const struct dataset *d);

/* Encodes every example to at most max_len ids, and its target text to at most max_target (0: no target
 * side), and fills the token part of the report.  `embedding_rows` (0: not checked): an id without embedding
 * row is ERR_INPUT, naming token, id, rows and line.  Encoding again replaces the ids. */
int dataset_encode(struct dataset *d, const struct tokenizer *t, size_t max_len,
                   size_t max_target, int embedding_rows, struct err *e);

/* Reduces the split to a fixed random sample of n examples (seed 0, the same for every run), in file order,
 * which the report states.  n = 0 or n >= rows: all.  split_rows is unchanged.  Not after dataset_encode. */
void dataset_draw(struct dataset *d, size_t n);

/* Counts examples of `d` whose texts are also in `other`, in d's report. */
void dataset_compare(struct dataset *d, const struct dataset *other);

#endif
