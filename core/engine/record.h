/* The view of a tape that ops have: the record of an op, allocation of results, and contributions to
 * gradients.  Only op_*.c and tape.c include this.
 *
 * A forward function reads its operands and fills the result.  When record_needs() announces a backward it
 * may store arrays in the arena for it, in `saved`.  It may run again with the same `saved` (tape_recompute).
 * A backward function reads the gradient of the result and
 * contributes to the gradients of those operands that need one.
 *
 * Gradient buffers are reference-counted: grad_pass() passes the result's buffer on to an operand without a
 * copy; adding to a shared buffer copies it first. */
#ifndef CORE_ENGINE_RECORD_H
#define CORE_ENGINE_RECORD_H

#include "core/engine/optable.h"
#include "core/engine/tape.h"

struct record {
    enum op_id op;
    int site;       /* index of the name set by tape_site() */
    int operands;
    const node *in; /* in the arena; NODE_NONE for an omitted operand */
    node out;
    void *saved;    /* the op's own struct, in the arena */
    bool stores;    /* forward stores arrays for backward */
    bool again;     /* of a segment: forward runs again before the segment's backward */
};

/* Creates a rows × cols value by running the op's forward.  `params` (size bytes) is copied and becomes
 * record.saved. */
node record_run(struct tape *t, enum op_id op, int rows, int cols, int operands, const node *in,
                const void *params, size_t size);

struct arena *record_arena(struct tape *t);
struct rng_key record_rng(const struct tape *t, uint64_t site);

/* Called in forward: returns whether the result needs a gradient, so that backward will run. */
bool record_needs(const struct tape *t, const struct record *r);
/* Called in forward for each operand whose value backward reads, if `when` holds.  The memory of other values
 * may be reused before backward.  (Shapes are always available.) */
void record_reads(struct tape *t, const struct record *r, node n, bool when);
/* Return the values of an operand of a product, or its packed form, and end the use of it. */
struct lent record_take(const struct tape *t, node n);
void record_give(const struct tape *t, node n);
/* Returns the memory of the result, in forward. */
real *record_result(struct tape *t, const struct record *r);

/* Returns the gradient of the result for reading, in backward. */
const real *grad_out(const struct tape *t, const struct record *r);
/* Returns it for modification in place (a copy if it is shared). */
real *grad_own(struct tape *t, const struct record *r);
/* Contributes the result's gradient buffer in its current state to operand n.  It must not be written through
 * an earlier grad_own() pointer afterwards. */
void grad_pass(struct tape *t, const struct record *r, node n);
/* Returns memory for a contribution to n: *beta is 0 (write) or 1 (add).  NULL when n needs none. */
real *grad_slot(struct tape *t, node n, real *beta);
/* Returns the memory of n's gradient for adding to some of its rows, which hold their sums so far. */
real *grad_rows(struct tape *t, node n, int count, const int32_t *row);

#endif
