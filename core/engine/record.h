/* What ops see of a tape: the record of an op, how a result is made, and where
 * contributions to gradients go.  Only op_*.c and tape.c include this.
 *
 * A forward function reads its operands and fills the result.  It may keep arrays
 * in the arena for its backward, hung on `saved`, when record_needs() says that
 * there will be one.  A backward function reads the result's gradient and
 * contributes to the gradients of those operands that need one.
 *
 * Gradient buffers are counted: grad_pass() hands the result's own buffer on to an
 * operand without a copy; whoever adds to a buffer that others hold copies it first. */
#ifndef CORE_ENGINE_RECORD_H
#define CORE_ENGINE_RECORD_H

#include "core/engine/optable.h"
#include "core/engine/tape.h"

struct record {
    enum op_id op;
    int site;       /* index of the name that tape_site() gave */
    int operands;
    const node *in; /* in the arena; NODE_NONE where an operand is left out */
    node out;
    void *saved;    /* the op's own struct, in the arena */
};

/* Makes a rows × cols value by running the op's forward.  `params` (size bytes) is
 * copied and becomes record.saved. */
node record_run(struct tape *t, enum op_id op, int rows, int cols, int operands, const node *in,
                const void *params, size_t size);

struct arena *record_arena(struct tape *t);
struct rng_key record_rng(const struct tape *t, uint64_t site);

/* During forward: whether the result needs a gradient, so that backward will run. */
bool record_needs(const struct tape *t, const struct record *r);
/* During forward, for each operand whose value backward will read: says so, when `when`
 * holds.  The memory of other values may be used again before backward.  (Shapes are
 * there always.) */
void record_reads(struct tape *t, const struct record *r, node n, bool when);
/* The result's memory, during forward. */
real *record_result(struct tape *t, const struct record *r);

/* During backward: the gradient of the result, to read. */
const real *grad_out(const struct tape *t, const struct record *r);
/* The same, to be changed in place (a copy when others hold it). */
real *grad_own(struct tape *t, const struct record *r);
/* Contributes the result's gradient buffer, as it is now, to operand n.  It must not
 * be written through an earlier grad_own() pointer after that. */
void grad_pass(struct tape *t, const struct record *r, node n);
/* Memory for a contribution to n: *beta is 0 (write) or 1 (add).  NULL when n needs none. */
real *grad_slot(struct tape *t, node n, real *beta);

#endif
