/* A task: a training set, one or two validation sets, an optional test set, metrics, and classes.
 *
 * task_open knows GLUE folders, folders with train.tsv and dev.tsv that have a header, names in assets/tasks,
 * and single files with named columns.  Owned by the caller; immutable after opening and encoding, so any
 * thread may use it. */
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

/* Zero it, then set the relevant members. */
struct task_source {
    const char *where;        /* a folder, or a name in assets/tasks; or NULL and… */
    const char *train, *dev;  /* …files (train may be NULL to evaluate, dev to train only) */
    const char *assets;       /* the only assets folder; NULL: those of core/base/assets.h */
    /* Columns for files and for folders that are not GLUE's; NULL: "sentence" (or "text"),
     * none, "label". */
    const char *text, *text_b, *label;
    /* Columns of source and target texts, instead of those: the task is DATA_TEXT.  Both or neither; if no
     * column is named, a common pair of names is detected (struct dataset_options.guess_texts). */
    const char *source, *target;
    enum data_header header;  /* these as in struct dataset_options */
    const char *delimiter, *unlabeled;
    enum data_format format;
    enum data_choice kind;
    bool official_dev;        /* dev_official.tsv instead of dev.tsv */
    bool no_dev;              /* the folder's validation set is ignored */
    bool no_train;            /* do not read the training set (evaluation of a saved run) */
    double split;             /* share of the training examples that becomes the validation set; 0: none.
                                 Refused if there is one */
    /* The validation set is divided into validation and test: halved if there are fewer than TASK_LARGE
     * training examples; otherwise it becomes the test set, and TASK_HELD training examples the validation
     * set; of MNLI's two, the mismatched one is the validation set, the other the test set.  In a folder with
     * dev_official that one is used. */
    bool split_validation;
    uint64_t split_seed;      /* seed of these */
    double limit; /* below 1 this share of the training examples, otherwise this many; 0: all.  After
                     holding out */
    uint64_t limit_seed;
    size_t dev_rows;          /* a fixed random sample of the validation set; 0: all */
    /* The classes of an existing head (a model's id2label, a run's), in the order of its outputs; labels are
     * matched by name.  NULL: the task's own. */
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
    enum data_kind kind;      /* the kind of target: that of the splits */
    enum data_kind label_kind;      /* the kind of labels: equal to kind, except in a labeled task that
                                 task_as_text (core/data/text_form.h) converted to texts */
    bool pair;
    int classes;              /* 0 in regression */
    char **class_name;        /* in the order of the outputs of the head; display through text_visible */
    int positive;             /* -1: none */
    enum metric_id metric;    /* primary metric */
    bool has_train;
    struct dataset train;
    int devs;
    struct dataset dev[TASK_DEVS];
    char *dev_name[TASK_DEVS]; /* "dev", "dev_matched", "dev_mismatched", "dev_official" */
    bool has_test;            /* evaluated once and not used for decisions */
    struct dataset test;
    struct buf report;        /* remarks on the task as a whole */
};

/* Replaces the primary metric, also in the report. */
void task_take_metric(struct task *t, enum metric_id metric);
/* Opens a task.  On failure *t is empty and *e names file, line and reason. */
int task_open(struct task *t, const struct task_source *s, struct err *e);
void task_release(struct task *t);
/* Returns whether a folder has a validation set that task_open uses. */
bool task_folder_has_dev(const char *folder);
/* Encodes every split (dataset_encode). */
int task_encode(struct task *t, const struct tokenizer *k, size_t max_len, size_t max_target,
                int embedding_rows, struct err *e);

/* Reads the examples of a JSON Lines file whose first one has the keys of a known task (BoolQ, WiC, WSC,
 * MultiRC), labeled or not.  Returns 1; 0 with *d empty for other files; negative with *e like
 * dataset_read. */
int task_examples_by_keys(struct dataset *d, const char *path, struct err *e);

/* Lists the names that task_open accepts without a path: the folders in tasks of the assets (as in struct
 * task_source) that have a training set, sorted.  *names and its strings are owned by the caller. */
size_t task_names(const char *assets, char ***names);

/* Lists the splits, training first and test last, with their names in reports; returns their number. */
enum { TASK_SPLITS = TASK_DEVS + 2 };
int task_splits(const struct task *t, struct dataset *split[TASK_SPLITS], const char *name[TASK_SPLITS]);

/* Returns the bytes of the examples of all splits: texts and, once encoded, tokens. */
size_t task_bytes(const struct task *t);

/* Returns the name under which results on validation set i are stored: "dev" for a single one, whatever its
 * file is called; of several, each has its own (dev_name). */
const char *task_split(const struct task *t, int i);

/* Returns "classes", "scores", "target texts". */
const char *task_kind_name(enum data_kind kind);

/* Appends the complete report: the task's lines, then those of each split. */
void task_report(const struct task *t, struct buf *out);

#endif
