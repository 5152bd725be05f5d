/* Scores over a whole split, never averaged over batches.
 *
 * A score that does not exist (one class only, constant predictions, no gold labels) is
 * `defined = false` with the reason; it is never NaN, 0 or 1 in its stead.  Pure functions;
 * struct metrics owns its confusion matrix. */
#ifndef CORE_DATA_METRICS_H
#define CORE_DATA_METRICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/data/kind.h"

enum metric_id {
    METRIC_LOSS,     /* mean of the rows' losses */
    METRIC_ACCURACY,
    METRIC_F1,       /* of the positive class */
    METRIC_F1_MACRO, /* mean of the F1 of those classes that occur in gold or predictions */
    METRIC_MATTHEWS, /* any number of classes (Gorodkin 2004) */
    METRIC_PEARSON,
    METRIC_SPEARMAN, /* ties get the mean of their ranks */
    METRIC_ROUGE1,   /* of texts: mean of the rows' F1, 0 … 1 (core/data/rouge.h) */
    METRIC_ROUGE2,
    METRIC_ROUGEL,
    METRIC_BLEU,     /* of texts: of the whole split at once, 0 … 100 (core/data/bleu.h) */
    METRIC_EXACT,    /* of texts: share of rows written as the target is, but for blanks at the
                      * ends */
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
/* The id of a name (also "mcc", "acc", "macro_f1", "rouge_l", …), or -1. */
int metric_find(const char *name);
/* Is it a metric of rows that are labelled so?  The loss always is. */
bool metric_fits(enum metric_id id, enum data_kind gold);
/* +1: greater is better; -1: smaller is better. */
int metric_direction(enum metric_id id);
/* Whether values of that name, an average of tasks among them, are told in points (×100): shares and
 * correlations. */
bool metric_in_points(const char *name);
/* Is `a` strictly better than `b`?  An undefined value or one that is not finite is never
 * better; any defined one is better than an undefined one. */
bool metric_better(enum metric_id id, struct metric_value a, struct metric_value b);

enum { METRICS_RENAMED = 6 };

struct metrics {
    size_t rows;              /* rows with predictions */
    size_t gold;              /* those with a gold label */
    struct metric_value value[METRIC_COUNT];
    struct metric_value majority; /* accuracy of always giving the commonest gold class;
                                   * undefined in regression */
    int32_t majority_class;   /* -1 when there is none */
    /* Answers in text that are no class or no number (core/data/text_form.h), among all rows.  In
     * a row with a gold class one is wrong: it counts in accuracy, recall and F1, as another
     * class in Matthews; with two classes it counts in precision and F1 as the other one. */
    size_t invalid;
    bool constant;            /* all predictions are equal (and there are at least two rows) */
    bool as_majority;         /* accuracy is the majority baseline's */
    struct metric_value renamed; /* accuracy under the best exchange of class names, up to
                                  * METRICS_RENAMED classes */
    int classes;              /* 0 in regression and of texts */
    int positive;             /* class that METRIC_F1 is of, or -1 */
    size_t *confusion;        /* classes × classes: [gold * classes + predicted], owned; without
                               * invalid answers */
    size_t *unanswered;       /* of each gold class: rows with an invalid answer, owned */
    struct metric_value *f1, *precision, *recall; /* each class, owned */
};

/* gold[i] in 0 … classes-1, or -1 (none: the row counts in no score); pred[i] in
 * 0 … classes-1, or -1: an invalid answer.  loss: each row's loss, or NULL.  positive: a class, or -1 (F1 is
 * then undefined).  */
void metrics_of_classes(struct metrics *m, const int32_t *gold, const int32_t *pred,
                        const double *loss, size_t n, int classes, int positive);
/* has[i] false (has NULL: all true): the row has no gold score. */
void metrics_of_scores(struct metrics *m, const double *gold, const bool *has, const double *pred,
                       const double *loss, size_t n);
/* A text of n bytes; s NULL: none. */
struct metric_text {
    const char *s;
    size_t n;
};
/* gold: texts to be written (NULL: the row counts in no score); text: what was written. */
void metrics_of_texts(struct metrics *m, const struct metric_text *gold,
                      const struct metric_text *text, const double *loss, size_t n);
/* Of masked words: `masks` tokens of n rows, of which `right` were the likeliest, and their losses' sum. */
void metrics_of_masked(struct metrics *m, size_t n, size_t masks, size_t right, double loss);
/* Whether these have it, of rows that are labelled so: F1 is of a positive class. */
bool metrics_have(const struct metrics *m, enum metric_id id, enum data_kind gold);
void metrics_release(struct metrics *m);
/* Would exchanging class names raise the accuracy by a fifth of the rows or more?  Then the
 * labels of model and data are probably in another order. */
bool metrics_look_renamed(const struct metrics *m);

#endif
