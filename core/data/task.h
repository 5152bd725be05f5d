/* A task: a train split, one or two dev splits, perhaps a test split, what they are scored by, and the
 * classes.
 *
 * task_open knows GLUE's own folders, folders with train.tsv and dev.tsv that have a header,
 * names below assets/tasks, and single files with named columns.  Owned by the caller; only
 * read after opening and encoding, so any thread may use it. */
#ifndef CORE_DATA_TASK_H
#define CORE_DATA_TASK_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/data/dataset.h"
#include "core/data/metrics.h"

enum { TASK_DEVS = 2 };
enum { TASK_LARGE = 10000, TASK_HELD = 1000 }; /* of split_validation */

struct layout;

/* Zeroed, then the members that matter set. */
struct task_source {
    const char *where;        /* a folder, or a name below assets/tasks; or NULL and… */
    const char *train, *dev;  /* …files (train may be NULL to evaluate, dev to train alone) */
    const char *assets;       /* the only assets folder; NULL: those of core/base/assets.h */
    /* Columns for files and for folders that are not GLUE's; NULL: "sentence" (or "text"),
     * none, "label". */
    const char *text, *text_b, *label;
    /* Columns of source and target texts, in place of those: the task is DATA_TEXT.  Both or
     * neither; with no column named at all, a usual pair of names is found by itself (struct
     * dataset_options.guess_texts). */
    const char *source, *target;
    enum data_header header;  /* these as in struct dataset_options */
    const char *delimiter, *no_gold;
    enum data_format format;
    enum data_choice kind;
    bool official_dev;        /* dev_official.tsv in place of dev.tsv */
    bool no_dev;              /* a folder's dev rows are left unread */
    bool no_train;            /* do not read the train split (evaluation of a saved run) */
    double split;             /* this share of the train rows is the dev split; 0: none.  Refused where there
                               * are dev rows */
    /* The dev rows are shared out to dev and test: halved where fewer than TASK_LARGE rows train; else they
     * are the test split, and TASK_HELD train rows are the dev split; of MNLI's two dev is the mismatched
     * one, test the other.  In a folder they are dev_official's where it has one. */
    bool split_validation;
    uint64_t split_seed;      /* by which these are drawn */
    double limit; /* below 1 this share of the train rows, else so many of them are drawn; 0: all.  After
                   * what is held out */
    uint64_t limit_seed;
    size_t dev_rows;          /* a fixed draw of so many dev rows; 0: all */
    /* The classes of a head that exists already (a model's id2label, a run's), in the order
     * of its outputs; labels are matched by name.  NULL: the task's own. */
    const char *const *names;
    int name_count;
    const char *names_from;   /* "the model's id2label", for messages */
    const char *positive;     /* name of the positive class; NULL: the task's, or with two
                               * classes the second */
    const char *metric;       /* NULL: the task's own */
};

struct task {
    char *name;               /* "SST-2", "reviews", or the train file's base name */
    const struct layout *layout; /* its known layout, or NULL (core/data/layouts.h) */
    enum data_kind kind;      /* what is learned: the splits' kind */
    enum data_kind gold;      /* what the rows are labelled with: kind, but in a labelled task
                               * that task_as_text (core/data/text_form.h) made texts of */
    bool pair;
    int classes;              /* 0 in regression */
    char **class_name;        /* order of the head's outputs; show through text_visible */
    int positive;             /* -1: none */
    enum metric_id metric;    /* what "best" means */
    bool has_train;
    struct dataset train;
    int devs;
    struct dataset dev[TASK_DEVS];
    char *dev_name[TASK_DEVS]; /* "dev", "dev_matched", "dev_mismatched", "dev_official" */
    bool has_test;            /* rows that decide nothing and are scored once */
    struct dataset test;
    struct buf report;        /* lines about the task as a whole */
};

/* On failure *t is empty and *e says which file, row and why. */
int task_open(struct task *t, const struct task_source *s, struct err *e);
void task_release(struct task *t);
/* Encodes every split (dataset_encode). */
int task_encode(struct task *t, const struct tokenizer *k, size_t max_len, size_t max_target,
                int embedding_rows, struct err *e);

/* Reads the rows of a JSON Lines file whose first row has the keys of a known task (BoolQ, WiC,
 * WSC, MultiRC), with or without labels.  1; 0 with *d empty when the file has no such keys;
 * negative with *e as dataset_read. */
int task_rows_by_keys(struct dataset *d, const char *path, struct err *e);

/* Names that task_open understands without a path: the folders below tasks of the assets (as in struct
 * task_source) that have a train split, sorted.  *names and its strings are the caller's. */
size_t task_names(const char *assets, char ***names);

/* The splits that there are, train first and test last, with what the report calls them; returns how many. */
enum { TASK_SPLITS = TASK_DEVS + 2 };
int task_splits(const struct task *t, struct dataset *split[TASK_SPLITS], const char *name[TASK_SPLITS]);

/* The name under which results on dev split i are kept: "dev" for the only one, whatever its
 * file is called; of several each has its own (dev_name). */
const char *task_split(const struct task *t, int i);

/* "classes", "scores", "target texts". */
const char *task_kind_name(enum data_kind kind);

/* Adds the whole report: the task's lines, then each split's. */
void task_report(const struct task *t, struct buf *out);

#endif
