/* Rows in groups (struct row_groups) as the ops that take them see them: each run of rows with the
 * block of a stacked operand that it takes.  Only op_*.c include this. */
#ifndef CORE_ENGINE_GROUPS_H
#define CORE_ENGINE_GROUPS_H

#include "core/engine/ops.h"
#include "core/engine/record.h"

struct row_run {
    int first, rows, block;
};

/* A copy that lives as long as the tape's step; g NULL: all n rows take the one block.  BUG when the
 * runs are not exactly the n rows or a block is not there. */
struct row_groups groups_keep(struct tape *t, const struct row_groups *g, int n);
struct row_run groups_run(const struct row_groups *g, int i);
/* Rows of one block of a stacked operand. */
int groups_block_rows(const struct tape *t, node stacked, const struct row_groups *g);
/* grad_slot for a stacked operand to which runs contribute one after another: where there are several
 * runs or blocks it is cleared first, and *beta is 1. */
real *groups_slot(struct tape *t, node stacked, const struct row_groups *g, real *beta);
/* Adds s·(sums over rows of dy ⊙ z) of each run to its block of a vector operand (blocks × cols) when
 * that needs a gradient; z NULL: of dy.  dy and z are rows × cols. */
void groups_col_sum(struct tape *t, node stacked, const struct row_groups *g, int cols, real s,
                    const real *dy, const real *z);

#endif
