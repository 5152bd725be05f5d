/* Scoring a split: the logits of all its rows, in fixed chunks that any worker may take.
 * What evaluation during training and prediction afterwards share.
 *
 * A row's logits do not depend on who scores its chunk nor on the other chunks.  Dropout is
 * off, no value needs a gradient and nothing is kept between chunks. */
#ifndef CORE_TRAIN_RUN_SCORE_H
#define CORE_TRAIN_RUN_SCORE_H

#include "core/data/dataset.h"
#include "core/data/metrics.h"
#include "core/method/attach.h"
#include "core/train/run/frozen.h"

struct scoring {
    const struct dataset *data;
    int task;             /* of the run, whose weights and head are used; 0 unless set */
    struct frozen *frozen; /* of `data`: its lowest layers do not run; NULL unless set */
    int outputs;          /* classes, 1, or 0 without a head */
    int chunks;
    uint32_t *order;      /* rows, longest first */
    uint32_t *first;      /* chunks+1: chunk c is order[first[c]] … order[first[c+1]-1] */
    double *logits;       /* rows × outputs, in the split's order; owned */
    double *loss;         /* rows: of those with a gold label; owned */
    /* Where vectors are left on the way, NULL: nowhere.  layer[i] (0: embeddings … the last; NULL:
     * not wanted) is rows × width of the model: a row's first token, or with `mean` the mean over
     * its tokens.  Not owned. */
    real *const *layer;
    bool mean;
    real *retrieved;      /* likewise, rows × the width of the method's retriever: its vectors */
};

/* Cuts the split (encoded, borrowed, at least as long-lived) into chunks; `outputs` as above.
 * Nothing is scored yet. */
void scoring_init(struct scoring *s, const struct dataset *d, int outputs);
void scoring_release(struct scoring *s);

/* Scores one chunk on `tape` (reset first; its arena is `arena`).  params and made as attach_begin
 * takes them; attach NULL: the model as it is, for its vectors alone.  False when a logit is not
 * finite; *bad is then the first such row's number in its file. */
bool scoring_chunk(struct scoring *s, int chunk, struct tape *tape, struct arena *arena,
                   struct attach *attach, const struct model *m, const real *params,
                   const real *made, uint64_t *bad);

/* The metrics of all rows, once every chunk was scored; released by metrics_release. */
void scoring_metrics(struct scoring *s, int positive, struct metrics *out);

/* −log softmax(logits)[label] of n logits; NaN when one is not finite.  *right: whether the label is the
 * first of the greatest. */
double token_loss(const real *logits, int n, int32_t label, bool *right);
/* softmax in double of n logits into p; returns log Σ exp. */
double softmax(const double *logits, int n, double *p);
/* The greatest of n values, the first of equals. */
int argmax(const double *v, int n);

#endif
