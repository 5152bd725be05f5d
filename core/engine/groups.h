/* Groups of rows (struct row_groups) as seen by the ops that take them: each run of rows with its block of a
 * stacked operand.  Only op_*.c include this. */
#ifndef CORE_ENGINE_GROUPS_H
#define CORE_ENGINE_GROUPS_H

#include "core/engine/ops.h"
#include "core/engine/record.h"

struct row_run {
    int first, rows, block;
};

/* Returns a copy that lives as long as the tape's step; g NULL: all n rows use the only block.  BUG when the
 * runs do not cover exactly the n rows or a block does not exist. */
struct row_groups groups_keep(struct tape *t, const struct row_groups *g, int n);
struct row_run groups_run(const struct row_groups *g, int i);
/* Returns the rows of one block of a stacked operand. */
int groups_block_rows(const struct tape *t, node stacked, const struct row_groups *g);
/* grad_slot for a stacked operand to which runs contribute in turn: with several runs or blocks it is cleared
 * first, and *beta is 1. */
real *groups_slot(struct tape *t, node stacked, const struct row_groups *g, real *beta);
/* Adds s·(sums over rows of dy ⊙ z) of each run to its block of a vector operand (blocks × cols) that needs a
 * gradient; z NULL: of dy.  dy and z are rows × cols. */
void groups_col_sum(struct tape *t, node stacked, const struct row_groups *g, int cols, real s,
                    const real *dy, const real *z);

#endif
