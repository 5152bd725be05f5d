/* Cross-entropy over a vocabulary, fused with the product that computes the logits.
 *
 * Rows are processed in blocks whose logits are about the size of the caches.  With ds = softmax - target of
 * a block, dx = ds W and dW = dsᵀ x: dx is computed while the logits are available; for dW they are
 * recomputed in backward, so that a frozen vocabulary costs two products. */
#include <math.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/engine/kernel.h"
#include "core/engine/ops.h"
#include "core/engine/product.h"
#include "core/engine/record.h"

enum { IN_X, IN_W, IN_B };
/* Logits of a block, and its minimum number of rows: each block reads all of W.  A packed W is multiplied by
 * so many rows at a time in any block. */
enum { PART_SIZE = 1 << 23, PART_ROWS = 64, PACKED_ROWS = 128 };

struct vocabulary {
    double smoothing;
    int32_t *label;
    real *weight; /* NULL: all ones */
    real *dx;     /* n×d, the gradient of the loss with respect to x where needed */
    double *each; /* n: receives each row's weighted loss, or NULL */
};

node op_vocabulary_loss(struct tape *t, node x, node w, node b, const int32_t *labels,
                        const real *weights, double smoothing, double *each) {
    int n = tape_rows_of(t, x), v = tape_rows_of(t, w);
    BUG_IF(tape_cols_of(t, x) != tape_cols_of(t, w) || v < 1);
    BUG_IF(b != NODE_NONE && (tape_rows_of(t, b) != 1 || tape_cols_of(t, b) != v));
    BUG_IF(!(smoothing >= 0 && smoothing < 1));
    for (int i = 0; i < n; i++)
        if (labels[i] < -1 || labels[i] >= v)
            BUG("label %d is out of range: the vocabulary has %d tokens", (int)labels[i], v);
    struct arena *a = record_arena(t);
    struct vocabulary s = { .smoothing = smoothing, .each = each };
    s.label = arena_keep(a, (size_t)n * sizeof *s.label);
    if (n) memcpy(s.label, labels, (size_t)n * sizeof *s.label);
    if (weights) {
        s.weight = arena_keep(a, (size_t)n * sizeof *s.weight);
        if (n) memcpy(s.weight, weights, (size_t)n * sizeof *s.weight);
    }
    return record_run(t, OP_vocabulary_loss, 1, 1, 3, (node[]){ x, w, b }, &s, sizeof s);
}

/* ---- one block ---- */

static int part_rows(int n, int v, bool packed) {
    int rows = PART_SIZE / v;
    if (rows < PART_ROWS) rows = PART_ROWS;
    if (packed) return n < 1 ? 1 : rows < PACKED_ROWS ? rows : n < PACKED_ROWS ? n : PACKED_ROWS;
    int parts = n > rows ? (n + rows - 1) / rows : 1;
    return n ? (n + parts - 1) / parts : 1; /* blocks of equal size, except the last */
}

/* z = x Wᵀ + b of `rows` rows. */
static void make_logits(struct tape *t, const struct record *r, const real *x, int rows,
                        real *z) {
    node w = r->in[IN_W], b = r->in[IN_B];
    int v = tape_rows_of(t, w), d = tape_cols_of(t, w);
    const real *bias = b == NODE_NONE ? NULL : tape_value(t, b);
    product_forward(t, (struct product_weight){ w, 0, v }, rows, 1, x, d, bias, 0, z, v);
}

/* Returns the weight of row i; 0 for an ignored one. */
static double weight_of(const struct vocabulary *s, int i) {
    if (s->label[i] < 0) return 0;
    return s->weight ? (double)s->weight[i] : 1;
}

/* Replaces a row's logits by their gradient with `back`; returns its weighted loss. */
static double op_vocabulary_row_loss(const struct vocabulary *s, int i, int v, real *z, bool back) {
    double w = weight_of(s, i), each = s->smoothing / v;
    size_t size = (size_t)v;
    if (w == 0) {
        if (back) memset(z, 0, size * sizeof *z);
        return 0;
    }
    real top = kernel_largest(size, z);
    double right = (double)z[s->label[i]] - (double)top;
    double above, sum = kernel_exp_sum(size, top, z, &above);
    if (back) {
        kernel_scale_shift(size, (real)(w / sum), (real)(-w * each), z);
        z[s->label[i]] -= (real)(w * (1 - s->smoothing));
    }
    return w * (log(sum) - (1 - s->smoothing) * right - each * above);
}

/* Destinations of a block's gradient of the logits. */
struct logit_use {
    real *dx, *dw, *db; /* NULL if not needed; dx of all rows, for the loss itself */
    real s, beta_w, beta_b;
};

static void use_part(struct tape *t, const struct record *r, int from, int rows, const real *ds,
                     struct logit_use *u) {
    int v = tape_rows_of(t, r->in[IN_W]), d = tape_cols_of(t, r->in[IN_W]);
    const struct product_weight w = { r->in[IN_W], 0, v };
    size_t o = (size_t)from * (size_t)d;
    struct arena *a = record_arena(t);
    struct arena_mark m = arena_mark(a);
    if (u->dx) product_to_input(t, w, rows, 1, ds, v, false, u->dx + o, d);
    if (u->dw)
        product_to_weight(t, w, rows, u->s, ds, v, tape_value(t, r->in[IN_X]) + o, d, u->beta_w != 0, u->dw);
    if (u->db)
        kernel_col_sum(rows, v, u->s, ds, NULL, u->beta_b, u->db,
                       arena_scratch(a, (size_t)v * sizeof(double)));
    u->beta_w = u->beta_b = 1; /* every block of dx has its own rows */
    arena_scratch_release(a, m);
}

/* Processes all blocks: the loss, and with `u` the gradients. */
static double run_parts(struct tape *t, const struct record *r, struct logit_use *u) {
    const struct vocabulary *s = r->saved;
    int n = tape_rows_of(t, r->in[IN_X]), d = tape_cols_of(t, r->in[IN_X]);
    int v = tape_rows_of(t, r->in[IN_W]), part = part_rows(n, v, tape_packed(t, r->in[IN_W]) != NULL);
    const real *x = tape_value(t, r->in[IN_X]);
    struct arena *a = record_arena(t);
    struct arena_mark m = arena_mark(a);
    real *z = arena_scratch(a, (size_t)part * (size_t)v * sizeof *z);
    double loss = 0;
    /* Without rows, one empty block still clears the outputs. */
    for (int from = 0; from == 0 || from < n; from += part) {
        int rows = n - from < part ? n - from : part;
        make_logits(t, r, x + (size_t)from * (size_t)d, rows, z);
        for (int i = 0; i < rows; i++) {
            double one = op_vocabulary_row_loss(s, from + i, v, z + (size_t)i * (size_t)v, u != NULL);
            if (s->each) s->each[from + i] = one;
            loss += one;
        }
        if (u) use_part(t, r, from, rows, z, u);
    }
    arena_scratch_release(a, m);
    return loss;
}

/* ---- the op ---- */

void vocabulary_loss_forward(struct tape *t, struct record *r) {
    struct vocabulary *s = r->saved;
    node x = r->in[IN_X], w = r->in[IN_W], b = r->in[IN_B];
    bool again = tape_needs_grad(t, w) || tape_needs_grad(t, b);
    for (int i = 0; i <= IN_B; i++) record_reads(t, r, r->in[i], again);
    if (tape_needs_grad(t, x))
        s->dx = arena_keep(record_arena(t), (size_t)tape_rows_of(t, x) * (size_t)tape_cols_of(t, x) *
                                                sizeof *s->dx);
    struct logit_use u = { .dx = s->dx };
    record_result(t, r)[0] = (real)run_parts(t, r, s->dx ? &u : NULL);
}

void vocabulary_loss_backward(struct tape *t, const struct record *r) {
    const struct vocabulary *s = r->saved;
    node x = r->in[IN_X];
    real beta, *dx = grad_slot(t, x, &beta), by = grad_out(t, r)[0];
    size_t size = (size_t)tape_rows_of(t, x) * (size_t)tape_cols_of(t, x);
    if (dx && beta == 0) kernel_scale(size, by, s->dx, dx);
    else if (dx) kernel_add_to(size, by, s->dx, dx);
    struct logit_use u = { .s = by };
    u.dw = grad_slot(t, r->in[IN_W], &u.beta_w);
    u.db = grad_slot(t, r->in[IN_B], &u.beta_b);
    if (u.dw || u.db) run_parts(t, r, &u);
}
