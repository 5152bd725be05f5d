#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/engine/ops.h"
#include "core/engine/record.h"

/* W = (Σ_i A_i ⊗ S_i)ᵀ with S_i = L_i R_i, or S_i given directly: the W of x Wᵀ, out × in.  Sizes are those
 * of adapter maps, so plain loops suffice. */

enum { KRON_RULE, KRON_LEFT, KRON_RIGHT };

struct kron_saved {
    real *part; /* the stacked S_i, in × out/n; only with factors */
};

/* n terms, A_i n × n, S_i a × b, L_i a × k. */
struct kron_sizes {
    int n, a, b, k;
};

static struct kron_sizes kron_sizes(const struct tape *t, const struct record *r) {
    int n = tape_cols_of(t, r->in[KRON_RULE]);
    return (struct kron_sizes){ n, tape_cols_of(t, r->out) / n, tape_rows_of(t, r->out) / n,
                                tape_cols_of(t, r->in[KRON_LEFT]) };
}

node op_kronecker(struct tape *t, node rule, node left, node right) {
    int n = tape_cols_of(t, rule), in = tape_rows_of(t, left), k = tape_cols_of(t, left);
    bool factors = right != NODE_NONE;
    struct kron_saved s = { NULL };
    BUG_IF(tape_rows_of(t, rule) != n * n || in % n || (factors && tape_rows_of(t, right) != n * k));
    return record_run(t, OP_kronecker, n * (factors ? tape_cols_of(t, right) : k), in, 3,
                      (node[]){ rule, left, right }, &s, sizeof s);
}

/* y (rows × cols) = or += x (rows × k) z (k × cols), with x or z transposed as requested. */
static void kron_product(int rows, int cols, int k, const real *x, bool x_turned, const real *z,
                         bool z_turned, bool add, real *y) {
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < cols; j++) {
            real sum = add ? y[i * cols + j] : 0;
            for (int m = 0; m < k; m++)
                sum += x[x_turned ? m * rows + i : i * k + m] * z[z_turned ? j * k + m : m * cols + j];
            y[i * cols + j] = sum;
        }
}

void kronecker_forward(struct tape *t, struct record *r) {
    struct kron_saved *s = r->saved;
    struct kron_sizes z = kron_sizes(t, r);
    const real *rule = tape_value(t, r->in[KRON_RULE]), *left = tape_value(t, r->in[KRON_LEFT]), *part = left;
    real *y = record_result(t, r);
    if (r->in[KRON_RIGHT] != NODE_NONE) {
        const real *right = tape_value(t, r->in[KRON_RIGHT]);
        s->part = arena_keep(record_arena(t), (size_t)(z.n * z.a * z.b) * sizeof(real));
        for (int i = 0; i < z.n; i++)
            kron_product(z.a, z.b, z.k, left + i * z.a * z.k, false, right + i * z.k * z.b, false, false,
                         s->part + i * z.a * z.b);
        part = s->part;
    }
    for (int i = 0; i < 3; i++) record_reads(t, r, r->in[i], r->in[i] != NODE_NONE && record_needs(t, r));
    memset(y, 0, (size_t)(z.n * z.n * z.a * z.b) * sizeof *y);
    for (int i = 0; i < z.n; i++)
        for (int p = 0; p < z.n; p++)
            for (int q = 0; q < z.n; q++) {
                real f = rule[(i * z.n + p) * z.n + q];
                for (int b = 0; b < z.b; b++)
                    for (int a = 0; a < z.a; a++)
                        y[(q * z.b + b) * (z.n * z.a) + p * z.a + a] += f * part[(i * z.a + a) * z.b + b];
            }
}

/* For all A_i: each entry is the sum over its block of dW ⊙ S_iᵀ. */
static void kron_rule_back(const struct kron_sizes *z, const real *dy, const real *part, bool add, real *d) {
    for (int i = 0; i < z->n; i++)
        for (int p = 0; p < z->n; p++)
            for (int q = 0; q < z->n; q++) {
                real sum = 0, *to = &d[(i * z->n + p) * z->n + q];
                for (int b = 0; b < z->b; b++)
                    for (int a = 0; a < z->a; a++)
                        sum += dy[(q * z->b + b) * (z->n * z->a) + p * z->a + a] *
                               part[(i * z->a + a) * z->b + b];
                *to = sum + (add ? *to : 0);
            }
}

/* Of S_i. */
static void kron_part_back(const struct kron_sizes *z, int i, const real *dy, const real *rule, bool add,
                           real *d) {
    if (!add) memset(d, 0, (size_t)(z->a * z->b) * sizeof *d);
    for (int p = 0; p < z->n; p++)
        for (int q = 0; q < z->n; q++) {
            real f = rule[(i * z->n + p) * z->n + q];
            for (int b = 0; b < z->b; b++)
                for (int a = 0; a < z->a; a++)
                    d[a * z->b + b] += f * dy[(q * z->b + b) * (z->n * z->a) + p * z->a + a];
        }
}

void kronecker_backward(struct tape *t, const struct record *r) {
    const struct kron_saved *s = r->saved;
    struct kron_sizes z = kron_sizes(t, r);
    node rule = r->in[KRON_RULE], left = r->in[KRON_LEFT], right = r->in[KRON_RIGHT];
    const real *dy = grad_out(t, r), *part = right == NODE_NONE ? tape_value(t, left) : s->part;
    real at[3] = { 0 };
    real *d_rule = grad_slot(t, rule, &at[0]), *d_left = grad_slot(t, left, &at[1]);
    real *d_right = right == NODE_NONE ? NULL : grad_slot(t, right, &at[2]);
    size_t size = (size_t)z.a * (size_t)z.b;
    if (d_rule) kron_rule_back(&z, dy, part, at[0] != 0, d_rule);
    if (!d_left && !d_right) return;
    real *own = right == NODE_NONE ? NULL : xcalloc(size, sizeof *own);
    for (int i = 0; i < z.n; i++) {
        if (!own) {
            kron_part_back(&z, i, dy, tape_value(t, rule), at[1] != 0, d_left + (size_t)i * size);
            continue;
        }
        kron_part_back(&z, i, dy, tape_value(t, rule), false, own);
        const real *l = tape_value(t, left) + i * z.a * z.k, *g = tape_value(t, right) + i * z.k * z.b;
        if (d_left) kron_product(z.a, z.k, z.b, own, false, g, true, at[1] != 0, d_left + i * z.a * z.k);
        if (d_right) kron_product(z.k, z.b, z.a, l, true, own, false, at[2] != 0, d_right + i * z.k * z.b);
    }
    free(own);
}
