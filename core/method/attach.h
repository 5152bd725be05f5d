/* A method attached to a model: hooks for the transformer, the prologue that generates weights, the
 * head, and merging into the base weights.
 *
 * Nothing here stores parameters: each call takes them as one flat vector (plan.h), so that callers can
 * substitute another vector. */
#ifndef CORE_METHOD_ATTACH_H
#define CORE_METHOD_ATTACH_H

#include "core/method/plan.h"

struct attach; /* one for each tape (worker) */

struct attach *attach_new(const struct plan *p, const struct model *m);
void attach_free(struct attach *a);
/* Sets the task of batches without task ranges; 0 at first. */
void attach_for_task(struct attach *a, int task);

/* Prologue: computes the plan's generated tensors from `params` (and, for masked changes, the model's
 * weights) on `t`; `generated[i]` is set to the value of generated tensor i. Runs once per training step on a
 * separate tape; its backward pass is seeded with the gradients of the generated values, summed over
 * shards. */
void attach_prologue(const struct plan *p, const struct model *m, struct tape *t, const real *params,
                     real *grads, node *generated);

/* Recomputes from `params` the generated values that checkpoints do not store, into `generated`. */
void attach_regenerate(const struct plan *p, const struct model *m, const real *params, real *generated);

/* Starts a shard: leaves on `t` over params (trained reals) and generated values (generated_size reals),
 * gradients into grads (trained reals, then generated_size reals).  grads NULL: all frozen (evaluation).  The
 * hooks are valid until the next begin. */
const struct hooks *attach_begin(struct attach *a, struct tape *t, const real *params,
                                 const real *generated, real *grads);
/* From the next begin on: backward writes only those rows of the gradient of a trained word table that a
 * shard uses (tape_trained_rows). */
void attach_table_rows(struct attach *a);
/* Returns the word table that the plan trains, or NULL. */
const struct plan_tensor *attach_table(const struct plan *p, const struct model *m);
/* Sets to zero the gradients of tensors without a leaf on a shard (the MLP of a prefix, a frozen head);
 * called after the tape's backward pass. */
void attach_end(struct attach *a, real *grads);

/* Returns the input of the heads for the rows of a shard, rows × d; called once per shard for all tasks. */
node attach_pool(struct attach *a, struct forward *f, node encoded);
/* Returns the logits of the rows of one task, rows × number of outputs: dropout, classifier. The attachment
 * and f->batch must outlive the tape's step. */
node attach_head(struct attach *a, struct forward *f, node pooled, struct task_range range, double dropout);

/* For a masked-word head (words.h): returns Σ weight·loss over the masked tokens of the batch, whose
 * encoder outputs are `rows`; stores their weighted losses in `each` (may be NULL). */
node attach_words_loss(struct attach *a, struct forward *f, node rows, double *each);
/* Returns the logits of such rows, n × vocabulary. */
node attach_words_logits(struct attach *a, struct forward *f, node rows);

/* Selects whether later shards compute gradients of all tensors (the default) or, in an inner loop, only of
 * those that it adapts: the places of the others are left unchanged. */
void attach_inner(struct attach *a, bool inner);
/* Returns the features that a generated head (generated.h) computes from each pooled row, rows × width. */
node attach_features(struct attach *a, struct forward *f, node pooled, double dropout);
/* Computes the label vectors from rows ordered by class as in `classes`: *w classes × width, *b classes ×
 * 1. */
void attach_labels(struct attach *a, struct forward *f, node pooled, const struct tape_rows *classes,
                   double dropout, node *w, node *b);

/* Until the next begin, generates per-example weights only for the encoder. */
void attach_vectors_only(struct attach *a);
/* Returns the retriever's vector of each row, rows × its width (the model's without a network), or
 * NODE_NONE if the method has no retriever. */
node attach_retrieve(struct attach *a, struct forward *f, node encoded);
/* Returns the number of columns of these vectors. */
int attach_retrieved_width(const struct plan *p, const struct arch *a);
/* Returns the values generated for a row of this shard for the plan's example_tensor i (`count` values),
 * available once the encoder has reached the layer of the condition; valid until the next begin. */
const real *attach_generated_for_example(struct attach *a, int i, int row);

/* Returns whether the trained method can be merged into base weights (LoRA, bias, scale, full); if not,
 * sets *why to static text that names the module's function. Why merging is exact: docs/methods.md. */
bool attach_can_merge(const struct plan *p, const char **why);
/* Computes new weights for every model tensor that changes: out has m->tensors entries; out[i] (i: tensor
 * index) is allocated (free()) or NULL. Values are 32-bit (or double), whatever the type in the file. The
 * model is not modified. On failure all entries are NULL. */
int attach_merge(const struct plan *p, const struct model *m, const real *params, real **out,
                 struct err *e);

#endif
