/* Per-example weights of a generator in a forward pass: generated once per pass, when the example's vector is
 * available, and reused at every token during generation.  Private to
 * core/method. */
#ifndef CORE_METHOD_EXAMPLE_WEIGHTS_H
#define CORE_METHOD_EXAMPLE_WEIGHTS_H

#include "core/method/hyper.h"
#include "core/model/model.h"

struct example_weights; /* one for each attachment */

/* Returns NULL if no generator depends on the example. */
struct example_weights *example_weights_new(const struct plan *p);
void example_weights_free(struct example_weights *r);

/* Starts a new step: discards generated values, except those that a cache of texts continues to use. */
void example_weights_begin(struct example_weights *r);
/* Generates the values of a stack from h (one vector per row of f's batch); leaf: leaves of the plan's
 * tensors. */
void example_weights_generate(struct example_weights *r, struct tape *t, const struct forward *f,
                              const node *leaf, int stack, node h, const int *task);

/* Returns the value of the plan's example_tensor i, with the blocks of all rows (and those of other layers)
 * concatenated. */
node example_weights_value(struct example_weights *r, struct tape *t, int i);
/* Returns the value of one row of it. */
const real *example_weights_one(struct example_weights *r, struct tape *t, int i, int row);
/* Returns which block each token uses; valid until the next call. */
const struct row_groups *example_weights_groups(struct example_weights *r, const struct forward *f,
                                                const struct tape_rows *rows, int tokens, int i);

/* The same for keys of an attention at a site: only the blocks of the rows, and which of them each sequence
 * attends to (valid during the step). */
node example_weights_keys(struct example_weights *r, struct tape *t, int i);
const int *example_weights_sequences(struct example_weights *r, const struct forward *f,
                                     const struct site *site);
int example_weights_count(const struct example_weights *r);
/* Returns the assignment of a module's keys to rows, for dropout. */
const struct tape_rows *example_weights_of_keys(struct example_weights *r, const struct forward *f,
                                                int module);

#endif
