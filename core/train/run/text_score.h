/* Scoring of a split of texts: losses of targets with teacher forcing, and generated texts. Both are divided
 * into fixed units that any worker may process; results depend neither on the worker nor on other units.
 * Shared by training and prediction. */
#ifndef CORE_TRAIN_RUN_TEXT_SCORE_H
#define CORE_TRAIN_RUN_TEXT_SCORE_H

#include "core/data/metrics.h"
#include "core/data/task.h"
#include "core/method/attach.h"
#include "core/model/generate.h"
#include "core/train/run/frozen.h"

struct text_scoring {
    const struct dataset *data;
    int task;             /* task of the run, for its weights (attach_for_task); default 0 */
    struct frozen
        *frozen; /* shared frozen layers of `data` for the losses; default NULL */
    const struct model *model;
    int chunks;           /* for the losses; 0: only texts are generated */
    uint32_t *order;      /* examples with a target, longest first */
    uint32_t *first;      /* chunks+1: chunk c is order[first[c]] … order[first[c+1]-1] */
    double *loss;         /* per example: Σ −log p of the target's tokens */
    uint32_t *correct;    /* per example: number of target tokens with the highest probability */
    /* Generated texts; their groups precede the chunks, since they take longer. */
    struct generate_options how;
    struct generate_sources sources;
    size_t *prompt_start;         /* of a causal model: rows+1; NULL otherwise */
    int32_t *prompt;
    struct generation generation; /* groups 0: no texts are generated */
    struct generated *ids;        /* rows */
    char **text;          /* per example: generated text, NUL-terminated; NULL before */
    size_t *text_size;
};

/* Sets up scoring. Losses need a tokenized target side. how NULL: no generated texts. A text_scoring must not
 * be moved until it is released. */
void text_scoring_init(struct text_scoring *s, const struct model *m, const struct dataset *d,
                       bool losses, const struct generate_options *how);
void text_scoring_release(struct text_scoring *s);
int text_scoring_units(const struct text_scoring *s);
/* Returns the number of examples completed by a unit: those whose texts it generates, or scores where none
 * are generated. */
int64_t text_scoring_examples(const struct text_scoring *s, int unit);
/* Processes a unit. Returns false for NaN or infinite logits; *bad is then the number of the row in its file,
 * or of the first of the rows generated together. */
bool text_scoring_unit(struct text_scoring *s, int unit, struct tape *tape, struct arena *arena,
                       struct attach *attach, const real *params, const real *generated, uint64_t *bad);

/* Computes all metrics, after every unit was processed; release with metrics_release. `task` defines how
 * generated texts are parsed; without them only the loss is defined. The loss is the mean over target tokens; *token_accuracy: share of target
 * tokens with the highest probability under teacher forcing. */
void text_scoring_metrics(const struct text_scoring *s, const struct task *task, struct metrics *out,
                          struct metric_value *token_accuracy);

/* Returns whether evaluations by this metric generate texts: those of a causal model only where the metric
 * compares texts. */
bool text_generates(const struct model *m, enum metric_id metric);
/* Returns the exponential of the loss. */
struct metric_value text_perplexity(const struct metrics *m);

/* Writes the generation options of evaluations: max_new is the length of the longest class name of a labeled
 * task, else max_target. Fails where the generation config of the model is invalid, or the model does not
 * support the options (beams with a small vocabulary, no start token). */
int text_options(const struct model *m, const struct task *t, int beams, int max_target,
                 struct generate_options *out, struct err *e);

#endif
