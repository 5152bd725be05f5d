/* A method at work: hooks for the transformer, the prologue that makes weights, the
 * head, and folding into the base weights.
 *
 * Purity: nothing here holds parameter values.  They are handed in with each call as
 * one flat vector (plan.h), so that another vector can be put in. */
#ifndef CORE_METHOD_ATTACH_H
#define CORE_METHOD_ATTACH_H

#include "core/method/plan.h"

struct attach; /* one for each tape (worker) */

struct attach *attach_new(const struct plan *p, const struct model *m);
void attach_free(struct attach *a);
/* Batches without ranges are of this task from now on; 0 at first. */
void attach_for_task(struct attach *a, int task);

/* Prologue: makes the plan's made tensors from `params` (and, of masked changes, the model's weights) on `t`;
 * `made[i]` gets the value of made tensor i.  Run once a step on a tape of its own; its backward is seeded
 * with the shards' summed gradients of the made values. */
void attach_prologue(const struct plan *p, const struct model *m, struct tape *t, const real *params,
                     real *grads, node *made);

/* Makes again the made values that checkpoints do not hold, from `params`, into `made`. */
void attach_remake(const struct plan *p, const struct model *m, const real *params, real *made);

/* Starts a shard: leaves on `t` over params (trained reals) and made values (made_size
 * reals), gradients into grads (trained reals, then made_size reals).  grads NULL: all
 * frozen (evaluation).  The hooks are valid until the next begin. */
const struct hooks *attach_begin(struct attach *a, struct tape *t, const real *params,
                                 const real *made, real *grads);
/* Zero-fills the gradients of tensors that have no leaf on a shard (a prefix's MLP, a
 * frozen head); after the tape's backward. */
void attach_end(struct attach *a, real *grads);

/* What heads read of a shard's rows, rows × d; once a shard, for all its tasks. */
node attach_pool(struct attach *a, struct forward *f, node encoded);
/* Logits of the rows of one task, rows × its outputs: dropout, classifier.  The attachment and
 * f->batch must outlive the tape's step. */
node attach_head(struct attach *a, struct forward *f, node pooled, struct task_range range, double dropout);

/* Of a head of masked words (words.h): Σ weight·loss of the batch's masked tokens, whose encoder's rows are
 * `rows`; `each` (may be NULL): where their weighted losses are left. */
node attach_words_loss(struct attach *a, struct forward *f, node rows, double *each);
/* The logits of such rows, n × vocabulary. */
node attach_words_logits(struct attach *a, struct forward *f, node rows);

/* Whether the shards to come want gradients of all tensors, or, in an inner loop, of those alone that it
 * adapts: then the others' places are left as they are.  All, at first. */
void attach_inner(struct attach *a, bool inner);
/* Of a generated head (generated.h).  What it reads of each pooled row, rows × width. */
node attach_features(struct attach *a, struct forward *f, node pooled, double dropout);
/* The label vectors of rows that lie class by class, as `classes` says: *w classes × width, *b classes ×
 * 1. */
void attach_labels(struct attach *a, struct forward *f, node pooled, const struct tape_rows *classes,
                   double dropout, node *w, node *b);

/* Until the next begin: of what is made for each row, only what the encoder itself takes is made. */
void attach_vectors_only(struct attach *a);
/* The retriever's vector of each row, rows × its width (the model's without a network); NODE_NONE for a
 * method that has none. */
node attach_retrieve(struct attach *a, struct forward *f, node encoded);
/* Columns of that. */
int attach_retrieved_width(const struct plan *p, const struct arch *a);
/* Of the plan's row_tensor i what was made for a row of this shard, its `count` values, once the encoder has
 * come to where it is made of; until the next begin. */
const real *attach_made_for_row(struct attach *a, int i, int row);

/* Whether the trained method can be folded into base weights (LoRA, bias, scale, full);
 * if not, *why (static text naming the module's form).  Why that is exact: docs/methods.md. */
bool attach_can_merge(const struct plan *p, const char **why);
/* New weights for every model tensor that changes: out has m->tensors places; out[i] (i:
 * tensor index) is allocated (free()) or NULL.  In 32-bit (or double) whatever the file's
 * type.  The model is not touched.  On failure all places are NULL. */
int attach_merge(const struct plan *p, const struct model *m, const real *params, real **out,
                 struct err *e);

#endif
