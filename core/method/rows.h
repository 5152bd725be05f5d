/* Per-example weights of a generator in a forward pass: generated once per pass, when the example's vector is
 * available, and reused at every token during generation.  Private to
 * core/method. */
#ifndef CORE_METHOD_ROWS_H
#define CORE_METHOD_ROWS_H

#include "core/method/hyper.h"
#include "core/model/model.h"

struct rows; /* one for each attachment */

/* Returns NULL if no generator depends on the example. */
struct rows *rows_new(const struct plan *p);
void rows_free(struct rows *r);

/* Starts a new step: discards generated values, except those that a cache of texts continues to use. */
void rows_begin(struct rows *r);
/* Generates the values of a stack from h (one vector per row of f's batch); leaf: leaves of the plan's
 * tensors. */
void rows_make(struct rows *r, struct tape *t, const struct forward *f, const node *leaf, int stack, node h,
               const int *task);

/* Returns the value of the plan's row_tensor i, with the blocks of all rows (and those of other layers)
 * concatenated. */
node rows_value(struct rows *r, struct tape *t, int i);
/* Returns the value of one row of it. */
const real *rows_one(struct rows *r, struct tape *t, int i, int row);
/* Returns which block each token uses; valid until the next call. */
const struct row_groups *rows_groups(struct rows *r, const struct forward *f, const struct tape_rows *rows,
                                     int tokens, int i);

/* The same for keys of an attention at a site: only the blocks of the rows, and which of them each sequence
 * attends to (valid during the step). */
node rows_keys(struct rows *r, struct tape *t, int i);
const int *rows_sequences(struct rows *r, const struct forward *f, const struct site *site);
int rows_count(const struct rows *r);
/* Returns the assignment of a module's keys to rows, for dropout. */
const struct tape_rows *rows_of_keys(struct rows *r, const struct forward *f, int module);

#endif
