#include <string.h>

#include "core/base/mem.h"
#include "core/engine/kernel.h"
#include "core/engine/ops.h"
#include "core/engine/record.h"

/* ---- embeddings: rows of some tables, added ---- */

struct embed {
    int tables;
    int32_t *ids[EMBED_TABLES]; /* table rows, one per result row, in the arena */
};

node op_embed_sum(struct tape *t, int n, const struct embed_table *table, int tables) {
    BUG_IF(tables < 1 || tables > EMBED_TABLES);
    struct embed s = { .tables = tables };
    node in[EMBED_TABLES];
    for (int k = 0; k < tables; k++) {
        BUG_IF(tape_cols_of(t, table[k].table) != tape_cols_of(t, table[0].table));
        in[k] = table[k].table;
        s.ids[k] = arena_keep(record_arena(t), (size_t)n * sizeof(int32_t));
        for (int i = 0; i < n; i++) {
            int id = table[k].first + table[k].ids[i];
            if (id < 0 || id >= tape_rows_of(t, in[k]))
                BUG("row %d is out of range: the embedding matrix has %d rows", id, tape_rows_of(t, in[k]));
            s.ids[k][i] = id;
        }
    }
    return record_run(t, OP_embed, n, tape_cols_of(t, in[0]), tables, in, &s, sizeof s);
}

void embed_forward(struct tape *t, struct record *r) {
    const struct embed *s = r->saved;
    int n = tape_rows_of(t, r->out);
    size_t d = (size_t)tape_cols_of(t, r->out);
    real *y = record_result(t, r);
    for (int i = 0; i < n; i++, y += d) {
        kernel_copy(d, tape_value(t, r->in[0]) + (size_t)s->ids[0][i] * d, y);
        for (int k = 1; k < s->tables; k++)
            kernel_add(d, y, tape_value(t, r->in[k]) + (size_t)s->ids[k][i] * d, y);
    }
}

void embed_backward(struct tape *t, const struct record *r) {
    const struct embed *s = r->saved;
    int n = tape_rows_of(t, r->out);
    size_t d = (size_t)tape_cols_of(t, r->out);
    const real *dy = grad_out(t, r);
    for (int k = 0; k < s->tables; k++) {
        real *g = grad_rows(t, r->in[k], n, s->ids[k]);
        for (int i = 0; g && i < n; i++)
            kernel_add_to(d, 1, dy + (size_t)i * d, g + (size_t)s->ids[k][i] * d);
    }
}

/* ---- one row per sequence: the first, or the mean ---- */

static node run_pool(struct tape *t, enum op_id op, node x, const struct tape_rows *rows) {
    BUG_IF(tape_rows_of(t, x) != rows->start[rows->count]);
    return record_run(t, op, rows->count, tape_cols_of(t, x), 1, &x, &rows, sizeof rows);
}

node op_pool_first(struct tape *t, node x, const struct tape_rows *rows) {
    return run_pool(t, OP_pool_first, x, rows);
}

node op_pool_mean(struct tape *t, node x, const struct tape_rows *rows) {
    return run_pool(t, OP_pool_mean, x, rows);
}

node op_pool_max(struct tape *t, node x, const struct tape_rows *rows) {
    return run_pool(t, OP_pool_max, x, rows);
}

static const struct tape_rows *op_gather_pool_rows(const struct record *r) {
    return *(const struct tape_rows *const *)r->saved;
}

/* The gradient of the token matrix, cleared by its first contribution. */
static real *token_slot(struct tape *t, node x) {
    real beta, *dx = grad_slot(t, x, &beta);
    if (dx && beta == 0)
        memset(dx, 0, (size_t)tape_rows_of(t, x) * (size_t)tape_cols_of(t, x) * sizeof *dx);
    return dx;
}

/* An empty sequence has a result of 0. */
void pool_first_forward(struct tape *t, struct record *r) {
    const struct tape_rows *rows = op_gather_pool_rows(r);
    size_t d = (size_t)tape_cols_of(t, r->out);
    const real *x = tape_value(t, r->in[0]);
    real *y = record_result(t, r);
    for (int i = 0; i < rows->count; i++, y += d) {
        if (rows->start[i] < rows->start[i + 1]) kernel_copy(d, x + (size_t)rows->start[i] * d, y);
        else memset(y, 0, d * sizeof *y);
    }
}

void pool_first_backward(struct tape *t, const struct record *r) {
    const struct tape_rows *rows = op_gather_pool_rows(r);
    size_t d = (size_t)tape_cols_of(t, r->out);
    const real *dy = grad_out(t, r);
    real *dx = token_slot(t, r->in[0]);
    for (int i = 0; i < rows->count; i++, dy += d)
        if (rows->start[i] < rows->start[i + 1])
            kernel_add_to(d, 1, dy, dx + (size_t)rows->start[i] * d);
}

void pool_mean_forward(struct tape *t, struct record *r) {
    const struct tape_rows *rows = op_gather_pool_rows(r);
    int d = tape_cols_of(t, r->out);
    const real *x = tape_value(t, r->in[0]);
    real *y = record_result(t, r);
    struct arena *a = record_arena(t);
    struct arena_mark m = arena_mark(a);
    double *sums = arena_scratch(a, (size_t)d * sizeof(double));
    for (int i = 0; i < rows->count; i++, y += d) {
        int n = rows->start[i + 1] - rows->start[i];
        kernel_col_sum(n, d, n ? (real)1 / (real)n : 0, x + (size_t)rows->start[i] * (size_t)d, NULL,
                       0, y, sums);
    }
    arena_scratch_release(a, m);
}

void pool_mean_backward(struct tape *t, const struct record *r) {
    const struct tape_rows *rows = op_gather_pool_rows(r);
    size_t d = (size_t)tape_cols_of(t, r->out);
    const real *dy = grad_out(t, r);
    real *dx = token_slot(t, r->in[0]);
    for (int i = 0; i < rows->count; i++, dy += d) {
        int n = rows->start[i + 1] - rows->start[i];
        for (int j = rows->start[i]; j < rows->start[i + 1]; j++)
            kernel_add_to(d, (real)1 / (real)n, dy, dx + (size_t)j * d);
    }
}

/* Returns the row of a sequence with the largest value of a column. */
static size_t largest_row(const struct tape_rows *rows, int sequence, size_t d, size_t column,
                          const real *x) {
    size_t best = (size_t)rows->start[sequence];
    for (size_t j = best + 1; j < (size_t)rows->start[sequence + 1]; j++)
        if (x[j * d + column] > x[best * d + column]) best = j;
    return best;
}

void pool_max_forward(struct tape *t, struct record *r) {
    const struct tape_rows *rows = op_gather_pool_rows(r);
    size_t d = (size_t)tape_cols_of(t, r->out);
    const real *x = tape_value(t, r->in[0]);
    real *y = record_result(t, r);
    record_reads(t, r, r->in[0], true);
    for (int i = 0; i < rows->count; i++, y += d)
        for (size_t c = 0; c < d; c++)
            y[c] = rows->start[i] < rows->start[i + 1] ? x[largest_row(rows, i, d, c, x) * d + c] : 0;
}

void pool_max_backward(struct tape *t, const struct record *r) {
    const struct tape_rows *rows = op_gather_pool_rows(r);
    size_t d = (size_t)tape_cols_of(t, r->out);
    const real *dy = grad_out(t, r), *x = tape_value(t, r->in[0]);
    real *dx = token_slot(t, r->in[0]);
    for (int i = 0; i < rows->count; i++, dy += d)
        for (size_t c = 0; c < d && rows->start[i] < rows->start[i + 1]; c++)
            dx[largest_row(rows, i, d, c, x) * d + c] += dy[c];
}

/* ---- slices of a matrix, and concatenation ---- */

struct row_part {
    int lo;
};

node op_rows(struct tape *t, node x, int lo, int hi) {
    BUG_IF(lo < 0 || lo > hi || hi > tape_rows_of(t, x));
    struct row_part s = { lo };
    return record_run(t, OP_rows, hi - lo, tape_cols_of(t, x), 1, &x, &s, sizeof s);
}

void rows_forward(struct tape *t, struct record *r) {
    const struct row_part *s = r->saved;
    size_t d = (size_t)tape_cols_of(t, r->out), n = (size_t)tape_rows_of(t, r->out);
    kernel_copy(n * d, tape_value(t, r->in[0]) + (size_t)s->lo * d, record_result(t, r));
}

void rows_backward(struct tape *t, const struct record *r) {
    const struct row_part *s = r->saved;
    size_t d = (size_t)tape_cols_of(t, r->out), n = (size_t)tape_rows_of(t, r->out);
    kernel_add_to(n * d, 1, grad_out(t, r), token_slot(t, r->in[0]) + (size_t)s->lo * d);
}

node op_cols(struct tape *t, node x, int lo, int hi) {
    BUG_IF(lo < 0 || lo > hi || hi > tape_cols_of(t, x));
    struct row_part s = { lo };
    return record_run(t, OP_cols, tape_rows_of(t, x), hi - lo, 1, &x, &s, sizeof s);
}

void cols_forward(struct tape *t, struct record *r) {
    const struct row_part *s = r->saved;
    size_t d = (size_t)tape_cols_of(t, r->in[0]), part = (size_t)tape_cols_of(t, r->out);
    const real *x = tape_value(t, r->in[0]) + s->lo;
    real *y = record_result(t, r);
    for (int i = 0; i < tape_rows_of(t, r->out); i++, x += d, y += part) kernel_copy(part, x, y);
}

void cols_backward(struct tape *t, const struct record *r) {
    const struct row_part *s = r->saved;
    size_t d = (size_t)tape_cols_of(t, r->in[0]), part = (size_t)tape_cols_of(t, r->out);
    const real *dy = grad_out(t, r);
    real *dx = token_slot(t, r->in[0]) + s->lo;
    for (int i = 0; i < tape_rows_of(t, r->out); i++, dx += d, dy += part)
        kernel_add_to(part, 1, dy, dx);
}

node op_concat_rows(struct tape *t, node a, node b) {
    BUG_IF(tape_cols_of(t, a) != tape_cols_of(t, b));
    return record_run(t, OP_concat_rows, tape_rows_of(t, a) + tape_rows_of(t, b), tape_cols_of(t, a),
                      2, (node[]){ a, b }, NULL, 0);
}

void concat_rows_forward(struct tape *t, struct record *r) {
    real *y = record_result(t, r);
    for (int k = 0; k < 2; k++) {
        size_t n = (size_t)tape_rows_of(t, r->in[k]) * (size_t)tape_cols_of(t, r->out);
        kernel_copy(n, tape_value(t, r->in[k]), y);
        y += n;
    }
}

void concat_rows_backward(struct tape *t, const struct record *r) {
    const real *dy = grad_out(t, r);
    for (int k = 0; k < 2; k++) {
        size_t n = (size_t)tape_rows_of(t, r->in[k]) * (size_t)tape_cols_of(t, r->out);
        real beta, *d = grad_slot(t, r->in[k], &beta);
        if (d && beta == 0) kernel_copy(n, dy, d);
        else if (d) kernel_add_to(n, 1, dy, d);
        dy += n;
    }
}
