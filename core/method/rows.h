/* Values that a generator makes for each row of a batch, at work: made once in a pass, when the row's vector
 * is there, and found again at every token where texts are written token by token.  Private to
 * core/method. */
#ifndef CORE_METHOD_ROWS_H
#define CORE_METHOD_ROWS_H

#include "core/method/hyper.h"
#include "core/model/model.h"

struct rows; /* one for each attachment */

/* NULL where no row enters. */
struct rows *rows_new(const struct plan *p);
void rows_free(struct rows *r);

/* A new step: what was made is forgotten, but what a cache of texts goes on with. */
void rows_begin(struct rows *r);
/* Makes a stack's values of h (one vector a row of f's batch); leaf: of the plan's tensors. */
void rows_make(struct rows *r, struct tape *t, const struct forward *f, const node *leaf, int stack, node h,
               const int *task);

/* The value of the plan's row_tensor i, all rows' blocks (and those of other layers) one above another … */
node rows_value(struct rows *r, struct tape *t, int i);
/* … one row's of it … */
const real *rows_one(struct rows *r, struct tape *t, int i, int row);
/* … and which of them each token takes; valid until the next call. */
const struct row_groups *rows_groups(struct rows *r, const struct forward *f, const struct tape_rows *rows,
                                     int tokens, int i);

/* The same for keys of an attention at a site: the blocks of the rows alone, and which of them each of its
 * sequences sees (alive for the step). */
node rows_keys(struct rows *r, struct tape *t, int i);
const int *rows_sequences(struct rows *r, const struct forward *f, const struct site *site);
int rows_count(const struct rows *r);
/* How a module's keys fall into rows, for dropout. */
const struct tape_rows *rows_of_keys(struct rows *r, const struct forward *f, int module);

#endif
