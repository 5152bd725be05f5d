/* Metrics of a whole split, never averaged over batches.
 *
 * An undefined metric (labels of one class, equal predictions, unlabeled examples) has `defined = false` and
 * the reason; it is never replaced by NaN, 0 or 1.  Pure functions; struct metrics owns its confusion
 * matrix. */
#ifndef CORE_DATA_METRICS_H
#define CORE_DATA_METRICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/data/kind.h"

enum metric_id {
    METRIC_LOSS,     /* mean loss per example */
    METRIC_ACCURACY,
    METRIC_F1,       /* of the positive class */
    METRIC_F1_MACRO, /* mean F1 of the classes that occur in labels or predictions */
    METRIC_MATTHEWS, /* any number of classes (Gorodkin 2004) */
    METRIC_PEARSON,
    METRIC_SPEARMAN, /* ties get their mean rank */
    METRIC_ROUGE1,   /* of texts: mean F1 per example, 0 … 1 (core/data/rouge.h) */
    METRIC_ROUGE2,
    METRIC_ROUGEL,
    METRIC_BLEU,     /* of texts: over the whole split, 0 … 100 (core/data/bleu.h) */
    METRIC_EXACT,    /* of texts: share of generated texts equal to the reference, ignoring whitespace at
                        the ends */
    METRIC_COUNT
};

struct metric_value {
    double value;    /* 0 when undefined */
    bool defined;
    const char *why; /* static text, NULL when defined */
};

/* "loss", "accuracy", "f1", "f1_macro", "matthews", "pearson", "spearman", "rouge1", "rouge2",
 * "rougeL", "bleu", "exact". */
const char *metric_name(enum metric_id id);
extern const char metric_names[]; /* of all metrics, for messages */
/* Returns the id of a name (also "mcc", "acc", "macro_f1", "rouge_l", …), or -1. */
int metric_find(const char *name);
/* Returns whether the metric applies to this kind of labels.  The loss always does. */
bool metric_fits(enum metric_id id, enum data_kind labels);
/* +1: greater is better; -1: smaller is better. */
int metric_direction(enum metric_id id);
/* Returns whether values of that name, including averages over tasks, are reported in percentage points
 * (×100): shares and correlations. */
bool metric_in_points(const char *name);
/* Returns whether `a` is strictly better than `b`.  An undefined, NaN or infinite value is never better; any
 * defined one is better than an undefined one. */
bool metric_better(enum metric_id id, struct metric_value a, struct metric_value b);

enum { METRICS_RENAMED = 6 };

struct metrics {
    size_t examples;          /* examples with predictions */
    size_t labeled;           /* labeled examples */
    struct metric_value value[METRIC_COUNT];
    struct metric_value majority; /* accuracy of always predicting the most frequent class; undefined in
                                     regression */
    int32_t majority_class;   /* -1 for none */
    /* Generated answers that are not a class or number (core/data/text_form.h), over all examples.  For a
     * labeled example such an answer is wrong: it counts in accuracy, recall and F1, as another class in
     * Matthews; with two classes it counts in precision and F1 as the other class. */
    size_t invalid;
    bool constant;            /* all predictions are equal (and there are at least two examples) */
    bool as_majority;         /* the accuracy equals the majority baseline */
    struct metric_value renamed; /* accuracy under the best permutation of class names, up to
                                    METRICS_RENAMED classes */
    bool losses_only;         /* texts were not generated: only the loss is available */
    int classes;              /* 0 in regression and for texts */
    int positive;             /* class of METRIC_F1, or -1 */
    size_t *confusion;        /* classes × classes: [label * classes + predicted], owned; without invalid
                                 answers */
    size_t *unanswered;       /* of each class: examples with an invalid answer, owned */
    struct metric_value *f1, *precision, *recall; /* each class, owned */
};

/* Computes the metrics of classes.  label[i] in 0 … classes-1, or -1 (unlabeled: ignored); pred[i] in 0 …
 * classes-1, or -1: an invalid answer.  loss: of each example, or NULL.  positive: a class, or -1 (F1 is then
 * undefined). */
void metrics_of_classes(struct metrics *m, const int32_t *label, const int32_t *pred,
                        const double *loss, size_t n, int classes, int positive);
/* Computes the metrics of scores.  has[i] false (has NULL: all true): the example is unlabeled. */
void metrics_of_scores(struct metrics *m, const double *target, const bool *has, const double *pred,
                       const double *loss, size_t n);
/* A text of n bytes; s NULL: none. */
struct metric_text {
    const char *s;
    size_t n;
};
/* Computes the metrics of texts.  reference: s NULL: the example is ignored; text: generated
 * texts. */
void metrics_of_texts(struct metrics *m, const struct metric_text *reference,
                      const struct metric_text *text, const double *loss, size_t n);
/* Computes the metrics of masked words: `masks` tokens in n examples, `right` correct predictions, and the
 * sum of losses. */
void metrics_of_masked(struct metrics *m, size_t n, size_t masks, size_t right, double loss);
/* Initializes the metrics of n examples whose texts were not generated: all are undefined. */
void metrics_of_losses(struct metrics *m, size_t n);
/* Returns whether a metric is available for this kind of labels: F1 needs a positive class. */
bool metrics_have(const struct metrics *m, enum metric_id id, enum data_kind labels);
void metrics_release(struct metrics *m);
/* Returns whether permuting the class names would raise the accuracy by at least a fifth of the examples,
 * which suggests a different label order in model and data. */
bool metrics_look_renamed(const struct metrics *m);

#endif
