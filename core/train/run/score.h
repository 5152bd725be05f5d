/* Scoring of a split: the logits of all examples, in fixed chunks that any worker may process. Shared by
 * evaluation during training and prediction. The logits of an example depend neither on the worker nor on
 * other chunks. Runs without dropout and gradients, and without state between chunks. */
#ifndef CORE_TRAIN_RUN_SCORE_H
#define CORE_TRAIN_RUN_SCORE_H

#include "core/data/dataset.h"
#include "core/data/metrics.h"
#include "core/method/attach.h"
#include "core/train/run/frozen.h"

struct scoring {
    const struct dataset *data;
    int task;             /* task of the run, for its weights and head; default 0 */
    struct frozen *frozen; /* shared frozen layers of `data`; default NULL */
    int outputs;          /* classes, 1, or 0 without a head */
    int chunks;
    uint32_t *order;      /* examples, longest first */
    uint32_t *first;      /* chunks+1: chunk c is order[first[c]] … order[first[c+1]-1] */
    double *logits;       /* rows × outputs, in the split's order; owned */
    double *loss;         /* per example with a label; owned */
    /* Outputs for embeddings, or NULL. layer[i] (0: embeddings … last layer; NULL: skip) is rows × width of
     * the model: the first token, or with `mean` the mean over tokens. Not owned. */
    real *const *layer;
    bool mean;
    enum precision precision; /* of a model without a method */
    real *retrieved;      /* likewise, rows × width of the method's retriever: its vectors */
};

/* Divides a tokenized split (borrowed) into chunks; `outputs` as above. Nothing is scored yet. */
void scoring_init(struct scoring *s, const struct dataset *d, int outputs);
void scoring_release(struct scoring *s);

/* Scores one chunk on `tape` (reset first; its arena is `arena`). params and made as in attach_begin; attach
 * NULL: the model without a method, for its vectors only. Returns false for NaN or infinite logits; *bad is
 * then the number of the first such row in its file. */
bool scoring_chunk(struct scoring *s, int chunk, struct tape *tape, struct arena *arena,
                   struct attach *attach, const struct model *m, const real *params,
                   const real *generated, uint64_t *bad);

/* Computes the metrics of all examples, after every chunk was scored; release with metrics_release. */
void scoring_metrics(struct scoring *s, int positive, struct metrics *out);

/* Returns −log softmax(logits)[label] of n logits; NaN where one is NaN or infinite. *right: whether the
 * label is the argmax. */
double token_loss(const real *logits, int n, int32_t label, bool *right);
/* Writes the softmax of n logits to p, in double; returns log Σ exp. */
double softmax(const double *logits, int n, double *p);
/* Returns the index of the maximum of n values, the first of equal ones. */
int argmax(const double *v, int n);

#endif
