#include "core/engine/groups.h"

#include <string.h>

#include "core/base/mem.h"
#include "core/engine/kernel.h"

struct row_groups groups_keep(struct tape *t, const struct row_groups *g, int n) {
    struct row_groups kept = { .count = g ? g->count : 1, .blocks = g ? g->blocks : 1 };
    BUG_IF(kept.blocks < 1 || kept.count < 0);
    int *start = arena_keep(record_arena(t), ((size_t)kept.count + 1) * sizeof *start);
    int *block = arena_keep(record_arena(t), ((size_t)kept.count + 1) * sizeof *block);
    start[0] = 0;
    start[kept.count] = n;
    BUG_IF(g && (g->start[0] != 0 || g->start[g->count] != n));
    for (int i = 0; i < kept.count; i++) {
        if (g) start[i] = g->start[i];
        block[i] = g ? g->block[i] : 0;
        BUG_IF(block[i] < 0 || block[i] >= kept.blocks || (i && start[i] < start[i - 1]));
    }
    kept.start = start;
    kept.block = block;
    return kept;
}

struct row_run groups_run(const struct row_groups *g, int i) {
    return (struct row_run){ g->start[i], g->start[i + 1] - g->start[i], g->block[i] };
}

int groups_block_rows(const struct tape *t, node stacked, const struct row_groups *g) {
    BUG_IF(tape_rows_of(t, stacked) % g->blocks);
    return tape_rows_of(t, stacked) / g->blocks;
}

real *groups_slot(struct tape *t, node stacked, const struct row_groups *g, real *beta) {
    real *d = grad_slot(t, stacked, beta);
    if (!d || (g->blocks == 1 && g->count == 1)) return d;
    size_t size = (size_t)tape_rows_of(t, stacked) * (size_t)tape_cols_of(t, stacked);
    if (*beta == 0) memset(d, 0, size * sizeof *d);
    *beta = 1;
    return d;
}

void groups_col_sum(struct tape *t, node stacked, const struct row_groups *g, int cols, real s,
                    const real *dy, const real *z) {
    real beta, *to = groups_slot(t, stacked, g, &beta);
    if (!to) return;
    struct arena *a = record_arena(t);
    struct arena_mark m = arena_mark(a);
    void *scratch = arena_scratch(a, (size_t)cols * sizeof(double));
    for (int i = 0; i < g->count; i++) {
        struct row_run at = groups_run(g, i);
        size_t first = (size_t)at.first * (size_t)cols;
        kernel_col_sum(at.rows, cols, s, dy + first, z ? z + first : NULL, beta,
                       to + (size_t)at.block * (size_t)cols, scratch);
    }
    arena_scratch_release(a, m);
}
