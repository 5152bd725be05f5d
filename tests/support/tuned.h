/* A model tuned whole on a fixture's rows, without the training code: every tensor a
 * trained leaf, the head beside them, and the loss of the model's own task. */
#ifndef TESTS_SUPPORT_TUNED_H
#define TESTS_SUPPORT_TUNED_H

#include "core/model/model.h"
#include "tests/support/fixture.h"

/* A tensor of the classifier; of one that is frozen grad is NULL. */
struct head_part {
    const char *name; /* as in the folder's files */
    int rows, cols;
    real *value, *grad;
};

/* Dense map (RoBERTa's) and output map, weight before bias each; none with a decoder. */
struct head {
    struct head_part part[4];
    int parts, classes;
};

/* The folder's own head.  Values belong to the model. */
void head_open(struct head *h, const struct model *m);
/* Drops the gradients: a frozen head. */
void head_freeze(struct head *h);
void head_close(struct head *h);

struct full {
    const struct model *model;
    real **grad; /* of each tensor */
    node *leaf;  /* of this pass */
    struct hooks hooks;
};
void full_open(struct full *x, const struct model *m);
void full_close(struct full *x);
size_t tensor_size(const struct tensor_info *t);

/* LoRA written by hand at the taps a.q and a.v: x Wᵀ + b + 2·(x Aᵀ) Bᵀ. */
struct lora {
    const struct model *model;
    int *rank; /* of each tensor; 0: none there */
    real **a, **b, **da, **db;
    struct hooks hooks;
};
void lora_open(struct lora *l, const struct model *m);
/* Factors of a tensor, zero: a rank × in, b out × rank, and their gradients. */
void lora_put(struct lora *l, int tensor, int rank);
void lora_close(struct lora *l);

/* The rows' loss: cross-entropy of the head's logits, or the decoder's with smoothing; the
 * logits through *logits, the decoder's output through *decoded (NODE_NONE without). */
struct passed {
    node logits, loss, encoded, decoded;
};
struct passed pass(struct forward *f, const struct head *h, double smoothing);

#endif
