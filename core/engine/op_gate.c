#include <string.h>

#include "core/base/mem.h"
#include "core/engine/kernel.h"
#include "core/engine/ops.h"
#include "core/engine/record.h"

/* ---- base + g·x, g a factor of each sequence ---- */

enum { GATED_BASE, GATED_X, GATED_G };

node op_add_gated(struct tape *t, node base, node x, node g, const struct tape_rows *rows) {
    int n = tape_rows_of(t, x), d = tape_cols_of(t, x);
    BUG_IF(n != rows->start[rows->count] || tape_rows_of(t, g) != rows->count || tape_cols_of(t, g) != 1);
    BUG_IF(base != NODE_NONE && (tape_rows_of(t, base) != n || tape_cols_of(t, base) != d));
    return record_run(t, OP_add_gated, n, d, 3, (node[]){ base, x, g }, &rows, sizeof rows);
}

static const struct tape_rows *sequences_of(const struct record *r) {
    return *(const struct tape_rows *const *)r->saved;
}

void add_gated_forward(struct tape *t, struct record *r) {
    const struct tape_rows *rows = sequences_of(r);
    node base = r->in[GATED_BASE], x = r->in[GATED_X], g = r->in[GATED_G];
    size_t d = (size_t)tape_cols_of(t, r->out);
    real *y = record_result(t, r);
    record_reads(t, r, x, tape_needs_grad(t, g));
    record_reads(t, r, g, tape_needs_grad(t, x));
    for (int i = 0; i < rows->count; i++) {
        size_t first = (size_t)rows->start[i] * d, n = (size_t)(rows->start[i + 1] - rows->start[i]) * d;
        if (base == NODE_NONE) kernel_scale(n, tape_value(t, g)[i], tape_value(t, x) + first, y + first);
        else
            kernel_add_scaled(n, tape_value(t, base) + first, tape_value(t, g)[i], tape_value(t, x) + first,
                              y + first);
    }
}

void add_gated_backward(struct tape *t, const struct record *r) {
    const struct tape_rows *rows = sequences_of(r);
    node x = r->in[GATED_X], g = r->in[GATED_G];
    size_t d = (size_t)tape_cols_of(t, r->out);
    const real *dy = grad_out(t, r);
    real beta, *dg = grad_slot(t, g, &beta);
    for (int i = 0; dg && i < rows->count; i++) {
        size_t first = (size_t)rows->start[i] * d, n = (size_t)(rows->start[i + 1] - rows->start[i]) * d;
        dg[i] = (real)kernel_dot(n, dy + first, tape_value(t, x) + first) + (beta == 0 ? 0 : dg[i]);
    }
    real *dx = grad_slot(t, x, &beta);
    for (int i = 0; dx && i < rows->count; i++) {
        size_t first = (size_t)rows->start[i] * d, n = (size_t)(rows->start[i + 1] - rows->start[i]) * d;
        if (beta == 0) kernel_scale(n, tape_value(t, g)[i], dy + first, dx + first);
        else kernel_add_to(n, tape_value(t, g)[i], dy + first, dx + first);
    }
    if (r->in[GATED_BASE] != NODE_NONE) grad_pass(t, r, r->in[GATED_BASE]);
}

/* ---- copies of p, each scaled by its own factor ---- */

node op_gated_copies(struct tape *t, node p, node g) {
    BUG_IF(tape_cols_of(t, g) != 1);
    return record_run(t, OP_gated_copies, tape_rows_of(t, g) * tape_rows_of(t, p), tape_cols_of(t, p), 2,
                      (node[]){ p, g }, NULL, 0);
}

void gated_copies_forward(struct tape *t, struct record *r) {
    node p = r->in[0], g = r->in[1];
    size_t n = (size_t)tape_rows_of(t, p) * (size_t)tape_cols_of(t, p);
    real *y = record_result(t, r);
    record_reads(t, r, p, tape_needs_grad(t, g));
    record_reads(t, r, g, tape_needs_grad(t, p));
    for (int i = 0; i < tape_rows_of(t, g); i++, y += n)
        kernel_scale(n, tape_value(t, g)[i], tape_value(t, p), y);
}

void gated_copies_backward(struct tape *t, const struct record *r) {
    node p = r->in[0], g = r->in[1];
    size_t n = (size_t)tape_rows_of(t, p) * (size_t)tape_cols_of(t, p);
    const real *dy = grad_out(t, r);
    real beta, *dg = grad_slot(t, g, &beta);
    for (int i = 0; dg && i < tape_rows_of(t, g); i++)
        dg[i] = (real)kernel_dot(n, dy + (size_t)i * n, tape_value(t, p)) + (beta == 0 ? 0 : dg[i]);
    real *dp = grad_slot(t, p, &beta);
    if (dp && beta == 0) memset(dp, 0, n * sizeof *dp);
    for (int i = 0; dp && i < tape_rows_of(t, g); i++)
        kernel_add_to(n, tape_value(t, g)[i], dy + (size_t)i * n, dp);
}
