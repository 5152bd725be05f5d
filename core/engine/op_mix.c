/* A weighted mean of several matrices of one shape, with separate weights for each row. */
#include <string.h>

#include "core/base/mem.h"
#include "core/engine/kernel.h"
#include "core/engine/ops.h"
#include "core/engine/record.h"

struct mix {
    real *p; /* of op_mix: the softmax, stored for backward */
};

/* Operands: q or the scores, then the matrices. */
static node run_mix(struct tape *t, enum op_id op, node first, const node *z, int count, int cols) {
    node in[MIX_MOST + 1] = { first };
    const struct mix s = { NULL };
    BUG_IF(count < 1 || count > MIX_MOST);
    for (int k = 0; k < count; k++) {
        BUG_IF(tape_rows_of(t, z[k]) != tape_rows_of(t, first) ||
               tape_cols_of(t, z[k]) != tape_cols_of(t, z[0]));
        in[k + 1] = z[k];
    }
    return record_run(t, op, tape_rows_of(t, first), cols, count + 1, in, &s, sizeof s);
}

/* ---- each row of q times the same row of each matrix ---- */

node op_dots(struct tape *t, node q, const node *z, int count) {
    BUG_IF(tape_cols_of(t, q) != tape_cols_of(t, z[0]));
    return run_mix(t, OP_dots, q, z, count, count);
}

void dots_forward(struct tape *t, struct record *r) {
    int count = r->operands - 1, n = tape_rows_of(t, r->out);
    size_t d = (size_t)tape_cols_of(t, r->in[0]);
    real *y = record_result(t, r);
    for (int k = 0; k < count; k++) {
        const real *q = tape_value(t, r->in[0]), *z = tape_value(t, r->in[k + 1]);
        record_reads(t, r, r->in[k + 1], tape_needs_grad(t, r->in[0]));
        record_reads(t, r, r->in[0], tape_needs_grad(t, r->in[k + 1]));
        for (int i = 0; i < n; i++)
            y[i * count + k] = (real)kernel_dot(d, q + (size_t)i * d, z + (size_t)i * d);
    }
}

void dots_backward(struct tape *t, const struct record *r) {
    int count = r->operands - 1, n = tape_rows_of(t, r->out);
    size_t d = (size_t)tape_cols_of(t, r->in[0]);
    const real *dy = grad_out(t, r);
    real beta, *dq = grad_slot(t, r->in[0], &beta);
    if (dq && beta == 0) memset(dq, 0, (size_t)n * d * sizeof *dq);
    for (int k = 0; dq && k < count; k++) {
        const real *z = tape_value(t, r->in[k + 1]);
        for (int i = 0; i < n; i++)
            kernel_add_to(d, dy[i * count + k], z + (size_t)i * d, dq + (size_t)i * d);
    }
    for (int k = 0; k < count; k++) {
        real *dz = grad_slot(t, r->in[k + 1], &beta);
        if (dz && beta == 0) memset(dz, 0, (size_t)n * d * sizeof *dz);
        for (int i = 0; dz && i < n; i++)
            kernel_add_to(d, dy[i * count + k], tape_value(t, r->in[0]) + (size_t)i * d, dz + (size_t)i * d);
    }
}

/* ---- rows of the matrices, weighted by the softmax of the row's scores ---- */

node op_mix(struct tape *t, node scores, const node *z, int count) {
    BUG_IF(tape_cols_of(t, scores) != count);
    return run_mix(t, OP_mix, scores, z, count, tape_cols_of(t, z[0]));
}

void mix_forward(struct tape *t, struct record *r) {
    struct mix *s = r->saved;
    int count = r->operands - 1, n = tape_rows_of(t, r->out);
    size_t d = (size_t)tape_cols_of(t, r->out), all = (size_t)n * (size_t)count;
    struct arena *a = record_arena(t);
    struct arena_mark m = arena_mark(a);
    bool back = record_needs(t, r);
    real *p = back ? arena_keep(a, all * sizeof *p) : arena_scratch(a, all * sizeof *p),
         *y = record_result(t, r);
    kernel_copy(all, tape_value(t, r->in[0]), p);
    kernel_softmax(n, count, count, 0, p);
    memset(y, 0, (size_t)n * d * sizeof *y);
    for (int k = 0; k < count; k++) {
        const real *z = tape_value(t, r->in[k + 1]);
        record_reads(t, r, r->in[k + 1], tape_needs_grad(t, r->in[0]));
        for (int i = 0; i < n; i++) kernel_add_to(d, p[i * count + k], z + (size_t)i * d, y + (size_t)i * d);
    }
    if (back) s->p = p;
    else arena_scratch_release(a, m);
}

/* Writes the gradient of the scores, or adds to it. */
static void mix_scores_back(struct tape *t, const struct record *r, const real *p, const real *dy) {
    int count = r->operands - 1, n = tape_rows_of(t, r->out);
    size_t d = (size_t)tape_cols_of(t, r->out), all = (size_t)n * (size_t)count;
    real beta, *ds = grad_slot(t, r->in[0], &beta);
    if (!ds) return;
    struct arena *a = record_arena(t);
    struct arena_mark m = arena_mark(a);
    real *dp = arena_scratch(a, all * sizeof *dp);
    for (int k = 0; k < count; k++) {
        const real *z = tape_value(t, r->in[k + 1]);
        for (int i = 0; i < n; i++)
            dp[i * count + k] = (real)kernel_dot(d, dy + (size_t)i * d, z + (size_t)i * d);
    }
    kernel_softmax_back(n, count, p, dp, dp);
    if (beta == 0) kernel_copy(all, dp, ds);
    else kernel_add_to(all, 1, dp, ds);
    arena_scratch_release(a, m);
}

void mix_backward(struct tape *t, const struct record *r) {
    const struct mix *s = r->saved;
    int count = r->operands - 1, n = tape_rows_of(t, r->out);
    size_t d = (size_t)tape_cols_of(t, r->out);
    const real *dy = grad_out(t, r);
    real beta;
    mix_scores_back(t, r, s->p, dy);
    for (int k = 0; k < count; k++) {
        real *dz = grad_slot(t, r->in[k + 1], &beta);
        if (dz && beta == 0) memset(dz, 0, (size_t)n * d * sizeof *dz);
        for (int i = 0; dz && i < n; i++)
            kernel_add_to(d, s->p[i * count + k], dy + (size_t)i * d, dz + (size_t)i * d);
    }
}
