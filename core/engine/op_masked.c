/* A matrix with a gated change per value, or with a change at selected positions. */
#include <math.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/engine/kernel.h"
#include "core/engine/ops.h"
#include "core/engine/record.h"

/* The hard-concrete gate of Louizos, Welling and Kingma (2018), which stretches a sigmoid beyond 0 … 1 and
 * clips it. */
static const double stretch_low = -1.5, stretch_high = 1.5, noise_least = 1e-4, noise_most = 0.9999;

enum { GATED_BASE, GATED_W, GATED_GATE, GATED_GROUP };

struct gated_change {
    bool noisy;
    struct rng_key key;
    real *s; /* the sigmoids, stored for backward */
    double group;
};

/* σ(log u − log(1−u) + α), in one exponential; without noise u is ½. */
static double concrete(const struct gated_change *x, uint64_t at, double alpha) {
    double u = 0.5;
    if (x->noisy) u = fmin(fmax(rng_uniform(x->key, at), noise_least), noise_most);
    return u / (u + (1 - u) * exp(-alpha));
}

static double stretched(double s) { return s * (stretch_high - stretch_low) + stretch_low; }

static double op_masked_cut(double s) { return fmin(1, fmax(0, stretched(s))); }

/* dz/dα of the result of concrete(). */
static double op_masked_slope(double s) {
    double z = stretched(s);
    return z > 0 && z < 1 ? (stretch_high - stretch_low) * s * (1 - s) : 0;
}

/* The stretch is symmetric, so that a gate's sigmoid is also its probability of being nonzero. */
double op_gate_expected(double alpha) { return 1 / (1 + exp(-alpha)); }
double op_gate_open(double alpha) { return op_masked_cut(op_gate_expected(alpha)); }

node op_gated_change(struct tape *t, node base, node w, node gate, node group, uint64_t site) {
    int rows = tape_rows_of(t, base), cols = tape_cols_of(t, base);
    BUG_IF(tape_rows_of(t, w) != rows || tape_cols_of(t, w) != cols || tape_rows_of(t, gate) != rows ||
           tape_cols_of(t, gate) != cols);
    struct gated_change s = { .noisy = tape_training(t) };
    if (s.noisy) s.key = record_rng(t, site);
    return record_run(t, OP_gated_change, rows, cols, 4, (node[]){ base, w, gate, group }, &s, sizeof s);
}

void gated_change_forward(struct tape *t, struct record *r) {
    struct gated_change *x = r->saved;
    size_t n = (size_t)tape_rows_of(t, r->out) * (size_t)tape_cols_of(t, r->out);
    const real *base = tape_value(t, r->in[GATED_BASE]), *w = tape_value(t, r->in[GATED_W]),
               *gate = tape_value(t, r->in[GATED_GATE]);
    real *y = record_result(t, r);
    bool back = record_needs(t, r);
    if (back) x->s = arena_keep(record_arena(t), (n + 1) * sizeof *x->s);
    record_reads(t, r, r->in[GATED_W], true);
    x->group = r->in[GATED_GROUP] == NODE_NONE ? 1
                                               : concrete(x, n, (double)*tape_value(t, r->in[GATED_GROUP]));
    double group = r->in[GATED_GROUP] == NODE_NONE ? 1 : op_masked_cut(x->group);
    for (size_t i = 0; i < n; i++) {
        double s = concrete(x, i, (double)gate[i]);
        if (back) x->s[i] = (real)s;
        y[i] = (real)((double)base[i] + op_masked_cut(s) * group * (double)w[i]);
    }
}

void gated_change_backward(struct tape *t, const struct record *r) {
    const struct gated_change *x = r->saved;
    size_t n = (size_t)tape_rows_of(t, r->out) * (size_t)tape_cols_of(t, r->out);
    const real *dy = grad_out(t, r), *w = tape_value(t, r->in[GATED_W]);
    bool grouped = r->in[GATED_GROUP] != NODE_NONE;
    double group = grouped ? op_masked_cut(x->group) : 1, sum = 0;
    real beta_w, beta_gate, beta_group, *dw = grad_slot(t, r->in[GATED_W], &beta_w),
                                        *dgate = grad_slot(t, r->in[GATED_GATE], &beta_gate);
    real *dgroup = grouped ? grad_slot(t, r->in[GATED_GROUP], &beta_group) : NULL;
    for (size_t i = 0; i < n; i++) {
        double s = (double)x->s[i], d = (double)dy[i], z = op_masked_cut(s);
        if (dw) dw[i] = (real)(d * z * group) + (beta_w == 0 ? 0 : dw[i]);
        if (dgate)
            dgate[i] = (real)(d * (double)w[i] * group * op_masked_slope(s)) +
                       (beta_gate == 0 ? 0 : dgate[i]);
        sum += d * (double)w[i] * z;
    }
    if (dgroup) *dgroup = (real)(sum * op_masked_slope(x->group)) + (beta_group == 0 ? 0 : *dgroup);
    grad_pass(t, r, r->in[GATED_BASE]);
}

/* ---- a change at selected positions ---- */

struct scattered {
    const real *place;
    int first, end, row;
};

static size_t scattered_at(const struct scattered *x, int i, int cols) {
    return (size_t)((int)x->place[2 * i] - x->row) * (size_t)cols + (size_t)x->place[2 * i + 1];
}

node op_scattered(struct tape *t, node base, node values, const real *place, int first, int end, int row) {
    struct scattered s = { place, first, end, row };
    BUG_IF(first > end || end > tape_rows_of(t, values) * tape_cols_of(t, values));
    return record_run(t, OP_scattered, tape_rows_of(t, base), tape_cols_of(t, base), 2,
                      (node[]){ base, values }, &s, sizeof s);
}

void scattered_forward(struct tape *t, struct record *r) {
    const struct scattered *x = r->saved;
    int cols = tape_cols_of(t, r->out);
    size_t n = (size_t)tape_rows_of(t, r->out) * (size_t)cols;
    const real *values = tape_value(t, r->in[1]);
    real *y = record_result(t, r);
    kernel_copy(n, tape_value(t, r->in[0]), y);
    for (int i = x->first; i < x->end; i++) y[scattered_at(x, i, cols)] += values[i];
}

void scattered_backward(struct tape *t, const struct record *r) {
    const struct scattered *x = r->saved;
    const real *dy = grad_out(t, r);
    real beta, *dv = grad_slot(t, r->in[1], &beta);
    if (dv && beta == 0)
        memset(dv, 0, (size_t)tape_rows_of(t, r->in[1]) * (size_t)tape_cols_of(t, r->in[1]) * sizeof *dv);
    for (int i = x->first; dv && i < x->end; i++) dv[i] += dy[scattered_at(x, i, tape_cols_of(t, r->out))];
    grad_pass(t, r, r->in[0]);
}
