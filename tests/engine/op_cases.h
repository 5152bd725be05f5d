/* Cases for every op of the table: shapes, the call of the op, and the expected result, computed by plain
 * loops in double. Included by the two programs that run them, one per build of the engine. */
#ifndef TESTS_ENGINE_OP_CASES_H
#define TESTS_ENGINE_OP_CASES_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/engine/kernel.h"
#include "core/engine/ops.h"
#include "core/engine/optable.h"

enum { INPUTS = 13, SEQUENCES = 5, IDS = 64 };
enum { CASE_SEED = 7, CASE_STEP = 3, CASE_SITE = 99 };

struct setup {
    int inputs, rows[INPUTS], cols[INPUTS]; /* rows -1: the operand is omitted */
    int out_rows, out_cols;
    int heads, lo, hi;
    double s, p;
    enum act act;
    int q_start[SEQUENCES + 1], k_start[SEQUENCES + 1];
    uint64_t id[SEQUENCES];
    struct tape_rows q, k;
    int32_t ids[3][IDS];
    real target[IDS], weight[IDS];
    struct attention attention;
    struct kv_set set[3];
    int32_t bucket[IDS];
    bool grouped; /* rows in the groups below, otherwise all in one */
    int group_start[4], group_block[3];
    struct row_groups groups;
    int set_block[SEQUENCES];
};

struct op_case {
    enum op_id op;
    const char *name;
    /* Fills the setup of variant i; returns false if there is none. */
    bool (*make)(int i, struct setup *s);
    node (*run)(struct tape *t, struct setup *s, const node *in);
    void (*expect)(const struct setup *s, const double *const *in, double *out);
};

static void input(struct setup *s, int i, int rows, int cols) {
    s->rows[i] = rows;
    s->cols[i] = cols;
    if (i >= s->inputs) s->inputs = i + 1;
}

static void result(struct setup *s, int rows, int cols) {
    s->out_rows = rows;
    s->out_cols = cols;
}

static double one_value(const double *p) { return p ? p[0] : 1; }

/* n around multiples of the vector length. */
static const int sizes[][3] = { { 1, 1, 1 },  { 1, 15, 3 },  { 3, 16, 17 }, { 5, 17, 16 },
                                { 0, 4, 2 },  { 15, 33, 1 }, { 17, 8, 15 }, { 2, 1, 31 } };

static bool sized(int i, int *n, int *a, int *b) {
    if (i >= (int)COUNT_OF(sizes)) return false;
    *n = sizes[i][0], *a = sizes[i][1], *b = sizes[i][2];
    return true;
}

static void sequences(struct setup *s, const int *lengths, const int *key_lengths) {
    s->q = (struct tape_rows){ 0, s->q_start, s->id };
    s->k = (struct tape_rows){ 0, s->k_start, s->id };
    s->q_start[0] = s->k_start[0] = 0;
    for (int i = 0; lengths[i] >= 0; i++) {
        s->q_start[i + 1] = s->q_start[i] + lengths[i];
        s->k_start[i + 1] = s->k_start[i] + key_lengths[i];
        s->id[i] = 1000u + 17u * (uint64_t)i;
        s->q.count = s->k.count = i + 1;
    }
}

/* Splits rows into three runs, one of them empty, over `blocks` blocks; with three, the middle block is
 * unused. */
static void grouped(struct setup *s, int rows, int blocks) {
    s->grouped = true;
    s->group_start[1] = rows / 3, s->group_start[2] = rows / 3, s->group_start[3] = rows;
    s->group_block[0] = blocks - 1, s->group_block[1] = blocks / 2, s->group_block[2] = 0;
    s->groups = (struct row_groups){ 3, blocks, s->group_start, s->group_block };
}

static const struct row_groups *groups_of(const struct setup *s) { return s->grouped ? &s->groups : NULL; }

/* Returns the block of a row. */
static int block_of(const struct setup *s, int row) {
    if (!s->grouped) return 0;
    int g = 0;
    while (row >= s->group_start[g + 1]) g++;
    return s->group_block[g];
}

static double act_of(enum act act, double x) {
    switch (act) {
    case ACT_RELU: return x > 0 ? x : 0;
    case ACT_GELU: return x * 0.5 * erfc(-x / sqrt(2));
    case ACT_GELU_TANH: return 0.5 * x * (1 + tanh(sqrt(2 / M_PI) * (x + 0.044715 * pow(x, 3))));
    case ACT_SILU: return x / (1 + exp(-x));
    case ACT_TANH: return tanh(x);
    case ACT_SIGMOID: return 1 / (1 + exp(-x));
    default: return x;
    }
}

/* ---- products ---- */

static bool linear_make(int i, struct setup *s) {
    int n, in, out, shapes = (int)COUNT_OF(sizes);
    if (i >= 4 * shapes || !sized(i % shapes, &n, &in, &out)) return false;
    int blocks = i < 2 * shapes ? 1 : 2 + i % 2;
    s->act = (enum act)(i % ACT_COUNT);
    input(s, 0, n, in), input(s, 1, blocks * out, in);
    input(s, 2, i / shapes % 2 ? -1 : blocks, out);
    result(s, n, out);
    if (blocks > 1) grouped(s, n, blocks);
    return true;
}
static node linear_run(struct tape *t, struct setup *s, const node *in) {
    if (s->grouped) return op_linear_groups(t, in[0], in[1], in[2], s->act, &s->groups);
    return op_linear_act(t, in[0], in[1], in[2], s->act);
}
static void linear_expect(const struct setup *s, const double *const *in, double *out) {
    int k = s->cols[0];
    for (int i = 0; i < s->out_rows; i++)
        for (int j = 0; j < s->out_cols; j++) {
            int row = block_of(s, i) * s->out_cols + j;
            double sum = in[2] ? in[2][row] : 0;
            for (int c = 0; c < k; c++) sum += in[0][i * k + c] * in[1][row * k + c];
            out[i * s->out_cols + j] = act_of(s->act, sum);
        }
}

/* The result is split into rows of a third of the columns. */
static bool linear_made_make(int i, struct setup *s) {
    int n, in, out, shapes = (int)COUNT_OF(sizes);
    if (i >= 2 * shapes || !sized(i % shapes, &n, &in, &out)) return false;
    input(s, 0, n, in), input(s, 1, 3 * out, in), input(s, 2, i < shapes ? -1 : 1, 3 * out);
    result(s, 3 * n, out);
    return true;
}
static node linear_made_run(struct tape *t, struct setup *s, const node *in) {
    return op_linear_generated(t, in[0], in[1], in[2], s->out_cols);
}
static void linear_made_expect(const struct setup *s, const double *const *in, double *out) {
    struct setup plain = *s;
    plain.out_rows = s->rows[0];
    plain.out_cols = s->rows[1];
    linear_expect(&plain, in, out);
}

static bool linear_add_make(int i, struct setup *s) {
    int n, in, out, shapes = (int)COUNT_OF(sizes);
    if (i >= 2 * shapes || !sized(i % shapes, &n, &in, &out)) return false;
    int blocks = i < shapes ? 1 : 2 + i % 2;
    s->s = 0.5 + i;
    input(s, 0, n, out), input(s, 1, n, in), input(s, 2, blocks * out, in);
    input(s, 3, i % 2 ? blocks : -1, out), input(s, 4, i % 3 == 0 ? -1 : i % 3 == 1 ? 1 : blocks, 1);
    result(s, n, out);
    if (blocks > 1) grouped(s, n, blocks);
    return true;
}
static node linear_add_run(struct tape *t, struct setup *s, const node *in) {
    if (s->grouped) return op_linear_add_groups(t, in[0], in[1], in[2], in[3], s->s, in[4], &s->groups);
    return op_linear_add(t, in[0], in[1], in[2], in[3], s->s, in[4]);
}
static void linear_add_expect(const struct setup *s, const double *const *in, double *out) {
    struct setup plain = *s;
    plain.act = ACT_NONE;
    plain.cols[0] = s->cols[1];
    linear_expect(&plain, in + 1, out);
    for (int i = 0; i < s->out_rows * s->out_cols; i++) {
        const double *scale = in[4] && s->rows[4] > 1 ? in[4] + block_of(s, i / s->out_cols) : in[4];
        out[i] = in[0][i] + s->s * one_value(scale) * out[i];
    }
}

static bool matmul_make(int i, struct setup *s) {
    int n, k, m;
    if (!sized(i, &n, &k, &m)) return false;
    input(s, 0, n, k), input(s, 1, k, m);
    result(s, n, m);
    return true;
}
static node matmul_run(struct tape *t, struct setup *s, const node *in) {
    (void)s;
    return op_matmul(t, in[0], in[1]);
}
static void matmul_expect(const struct setup *s, const double *const *in, double *out) {
    int k = s->cols[0], m = s->cols[1];
    for (int i = 0; i < s->out_rows; i++)
        for (int j = 0; j < m; j++) {
            out[i * m + j] = 0;
            for (int c = 0; c < k; c++) out[i * m + j] += in[0][i * k + c] * in[1][c * m + j];
        }
}

static bool head_linear_make(int i, struct setup *s) {
    int n, a, b;
    if (!sized(i, &n, &a, &b)) return false;
    s->heads = 1 + i % 3;
    input(s, 0, n, s->heads * a), input(s, 1, s->heads * b, a);
    result(s, n, s->heads * b);
    return true;
}
static node head_linear_run(struct tape *t, struct setup *s, const node *in) {
    return op_head_linear(t, in[0], in[1], s->heads);
}
static void head_linear_expect(const struct setup *s, const double *const *in, double *out) {
    int a = s->cols[1], b = s->rows[1] / s->heads;
    for (int i = 0; i < s->out_rows; i++)
        for (int j = 0; j < s->out_cols; j++) {
            double sum = 0;
            for (int c = 0; c < a; c++)
                sum += in[0][i * s->cols[0] + j / b * a + c] * in[1][j * a + c];
            out[i * s->out_cols + j] = sum;
        }
}

/* ---- elementwise ---- */

static bool pair_make(int i, struct setup *s) {
    int n, a, b;
    if (!sized(i, &n, &a, &b)) return false;
    s->s = 1.5 - i;
    input(s, 0, n, a), input(s, 1, n, a);
    result(s, n, a);
    return true;
}
static bool row_make(int i, struct setup *s) {
    if (!pair_make(i, s)) return false;
    s->rows[1] = 1;
    return true;
}
static bool single_make(int i, struct setup *s) {
    if (!pair_make(i, s)) return false;
    s->inputs = 1;
    return true;
}

static node add_run(struct tape *t, struct setup *s, const node *in) {
    (void)s;
    return op_add(t, in[0], in[1]);
}
static void add_expect(const struct setup *s, const double *const *in, double *out) {
    for (int i = 0; i < s->out_rows * s->out_cols; i++) out[i] = in[0][i] + in[1][i];
}
static bool add_scaled_make(int i, struct setup *s) {
    if (!pair_make(i, s)) return false;
    input(s, 2, i % 2 ? 1 : -1, 1);
    return true;
}
static node add_scaled_run(struct tape *t, struct setup *s, const node *in) {
    return op_add_scaled(t, in[0], in[1], s->s, in[2]);
}
static void add_scaled_expect(const struct setup *s, const double *const *in, double *out) {
    for (int i = 0; i < s->out_rows * s->out_cols; i++)
        out[i] = in[0][i] + s->s * one_value(in[2]) * in[1][i];
}
static node bias_run(struct tape *t, struct setup *s, const node *in) {
    (void)s;
    return op_bias(t, in[0], in[1]);
}
static void bias_expect(const struct setup *s, const double *const *in, double *out) {
    for (int i = 0; i < s->out_rows * s->out_cols; i++) out[i] = in[0][i] + in[1][i % s->out_cols];
}
static bool channel_scale_make(int i, struct setup *s) {
    int shapes = (int)COUNT_OF(sizes);
    if (i >= 2 * shapes || !row_make(i % shapes, s)) return false;
    if (i < shapes) return true;
    s->rows[1] = 2 + i % 2;
    grouped(s, s->out_rows, s->rows[1]);
    return true;
}
static node channel_scale_run(struct tape *t, struct setup *s, const node *in) {
    return op_channel_scale_groups(t, in[0], in[1], groups_of(s));
}
static void channel_scale_expect(const struct setup *s, const double *const *in, double *out) {
    int d = s->out_cols;
    for (int i = 0; i < s->out_rows * d; i++) out[i] = in[0][i] * in[1][block_of(s, i / d) * d + i % d];
}
static bool gain_make(int i, struct setup *s) {
    if (!row_make(i, s)) return false;
    input(s, 2, 1, s->out_cols);
    if (i % 3 == 1) s->rows[1] = -1;
    return true;
}
static node gain_run(struct tape *t, struct setup *s, const node *in) {
    (void)s;
    return op_gain(t, in[0], in[1], in[2]);
}
static void gain_expect(const struct setup *s, const double *const *in, double *out) {
    for (int i = 0; i < s->out_rows * s->out_cols; i++) {
        double b = in[1] ? in[1][i % s->out_cols] : 0;
        out[i] = b + (in[0][i] - b) * in[2][i % s->out_cols];
    }
}
static node mul_run(struct tape *t, struct setup *s, const node *in) {
    (void)s;
    return op_mul(t, in[0], in[1]);
}
static void mul_expect(const struct setup *s, const double *const *in, double *out) {
    for (int i = 0; i < s->out_rows * s->out_cols; i++) out[i] = in[0][i] * in[1][i];
}
static node scale_run(struct tape *t, struct setup *s, const node *in) {
    return op_scale(t, in[0], s->s);
}
static void scale_expect(const struct setup *s, const double *const *in, double *out) {
    for (int i = 0; i < s->out_rows * s->out_cols; i++) out[i] = s->s * in[0][i];
}
static bool act_make(int i, struct setup *s) {
    int n, a, b, shapes = (int)COUNT_OF(sizes);
    if (i >= shapes * (ACT_COUNT - 1) || !sized(i % shapes, &n, &a, &b)) return false;
    s->act = (enum act)(1 + i / shapes);
    input(s, 0, n, a);
    result(s, n, a);
    return true;
}
static node act_run(struct tape *t, struct setup *s, const node *in) {
    return op_act(t, in[0], s->act);
}
static void act_expect(const struct setup *s, const double *const *in, double *out) {
    for (int i = 0; i < s->out_rows * s->out_cols; i++) out[i] = act_of(s->act, in[0][i]);
}

static const int lengths[][SEQUENCES + 1] = {
    { 1, -1 }, { 3, 1, 16, 5, -1 }, { 2, 0, 15, -1 }, { 17, -1 }, { -1 }, { 7, 33, -1 }
};

static bool tokens_make(int i, struct setup *s) {
    if (i >= (int)COUNT_OF(lengths)) return false;
    sequences(s, lengths[i], lengths[i]);
    int n = s->q_start[s->q.count], d = i % 2 ? 19 : 16;
    input(s, 0, n, d);
    result(s, n, d);
    return true;
}
static bool add_gated_make(int i, struct setup *s) {
    if (!tokens_make(i / 2, s)) return false;
    input(s, 1, s->rows[0], s->cols[0]), input(s, 2, s->q.count, 1);
    if (i % 2) s->rows[0] = -1;
    return true;
}
static node add_gated_run(struct tape *t, struct setup *s, const node *in) {
    return op_add_gated(t, in[0], in[1], in[2], &s->q);
}
static void add_gated_expect(const struct setup *s, const double *const *in, double *out) {
    for (int i = 0; i < s->q.count; i++)
        for (int j = s->q_start[i] * s->out_cols; j < s->q_start[i + 1] * s->out_cols; j++)
            out[j] = (in[0] ? in[0][j] : 0) + in[2][i] * in[1][j];
}
static bool gated_copies_make(int i, struct setup *s) {
    int n, l, d;
    if (!sized(i, &n, &l, &d)) return false;
    input(s, 0, l, d), input(s, 1, n, 1);
    result(s, n * l, d);
    return true;
}
static node gated_copies_run(struct tape *t, struct setup *s, const node *in) {
    (void)s;
    return op_gated_copies(t, in[0], in[1]);
}
static void gated_copies_expect(const struct setup *s, const double *const *in, double *out) {
    int n = s->rows[0] * s->cols[0];
    for (int i = 0; i < s->out_rows * s->out_cols; i++) out[i] = in[1][i / n] * in[0][i % n];
}
/* With and without a gate of the whole tensor; the tape is training, so that the gates have noise. */
static bool gated_change_make(int i, struct setup *s) {
    int n, d, unused;
    if (!sized(i / 2, &n, &d, &unused)) return false;
    for (int k = 0; k < 3; k++) input(s, k, n, d);
    input(s, 3, 1, 1);
    if (i % 2) s->rows[3] = -1;
    result(s, n, d);
    return true;
}
static node gated_change_run(struct tape *t, struct setup *s, const node *in) {
    (void)s;
    return op_gated_change(t, in[0], in[1], in[2], in[3], CASE_SITE);
}
static double noisy_gate(uint64_t at, double alpha) {
    double u = rng_uniform(rng_key(CASE_SEED, RNG_DROPOUT, CASE_STEP, CASE_SITE), at);
    u = u < 1e-4 ? 1e-4 : u > 0.9999 ? 0.9999 : u;
    double s = 1 / (1 + exp(-(log(u) - log(1 - u) + alpha))), z = 3 * s - 1.5;
    return z < 0 ? 0 : z > 1 ? 1 : z;
}
static void gated_change_expect(const struct setup *s, const double *const *in, double *out) {
    int n = s->out_rows * s->out_cols;
    double all = in[3] ? noisy_gate((uint64_t)n, in[3][0]) : 1;
    for (int i = 0; i < n; i++) out[i] = in[0][i] + noisy_gate((uint64_t)i, in[2][i]) * all * in[1][i];
}
/* The values after the first are in the first column. */
static const real *scattered_places(int rows) {
    static real place[2 * IDS];
    for (int i = 0; i < IDS; i++) {
        place[2 * i] = (real)(7 + (rows ? i % rows : 0));
        place[2 * i + 1] = 0;
    }
    return place;
}
static bool scattered_make(int i, struct setup *s) {
    int n, d, unused;
    if (!sized(i, &n, &d, &unused)) return false;
    input(s, 0, n, d), input(s, 1, n + 2, 1);
    result(s, n, d);
    return true;
}
static node scattered_run(struct tape *t, struct setup *s, const node *in) {
    return op_scattered(t, in[0], in[1], scattered_places(s->rows[0]), 1, 1 + s->rows[0], 7);
}
static void scattered_expect(const struct setup *s, const double *const *in, double *out) {
    for (int i = 0; i < s->out_rows * s->out_cols; i++) out[i] = in[0][i];
    for (int i = 1; i < 1 + s->rows[0]; i++) out[i % s->rows[0] * s->out_cols] += in[1][i];
}
/* One to five matrices besides the first operand. */
static bool mixed_sizes(int i, struct setup *s, bool dots) {
    int n, d, unused, count = i % 5 + 1;
    if (!sized(i, &n, &d, &unused)) return false;
    input(s, 0, n, dots ? d : count);
    for (int k = 1; k <= count; k++) input(s, k, n, d);
    result(s, n, dots ? count : d);
    return true;
}
static bool dots_make(int i, struct setup *s) { return mixed_sizes(i, s, true); }
static bool mix_make(int i, struct setup *s) { return mixed_sizes(i, s, false); }
static node dots_run(struct tape *t, struct setup *s, const node *in) { return op_dots(t, in[0], in + 1, s->inputs - 1); }
static node mix_run(struct tape *t, struct setup *s, const node *in) { return op_mix(t, in[0], in + 1, s->inputs - 1); }
static void dots_expect(const struct setup *s, const double *const *in, double *out) {
    int d = s->cols[0], count = s->inputs - 1;
    for (int i = 0; i < s->out_rows; i++)
        for (int k = 0; k < count; k++) {
            out[i * count + k] = 0;
            for (int c = 0; c < d; c++) out[i * count + k] += in[0][i * d + c] * in[k + 1][i * d + c];
        }
}
static void mix_expect(const struct setup *s, const double *const *in, double *out) {
    int d = s->out_cols, count = s->inputs - 1;
    for (int i = 0; i < s->out_rows; i++) {
        double sum = 0;
        for (int k = 0; k < count; k++) sum += exp(in[0][i * count + k]);
        for (int c = 0; c < d; c++) {
            out[i * d + c] = 0;
            for (int k = 0; k < count; k++) out[i * d + c] += exp(in[0][i * count + k]) / sum * in[k + 1][i * d + c];
        }
    }
}
static bool dropout_make(int i, struct setup *s) {
    if (!tokens_make(i, s)) return false;
    s->p = i % 2 ? 0.1 : 0.6;
    return true;
}
static node dropout_run(struct tape *t, struct setup *s, const node *in) {
    return op_dropout(t, in[0], &s->q, s->p, CASE_SITE);
}
/* Returns 0 or 1/(1-p) for element `column` of (row id, position in its row). */
static double drop_factor(uint64_t id, uint64_t place, double p, int column) {
    real one[IDS * 8], out[IDS * 8];
    for (int i = 0; i <= column; i++) one[i] = 1;
    struct rng_key site = rng_key(CASE_SEED, RNG_DROPOUT, CASE_STEP, CASE_SITE);
    kernel_dropout((struct rng_key){ rng_bits(site, id) }, place, p, (size_t)column + 1, one, out);
    return out[column] != 0 ? 1 / (1 - p) : 0;
}
static void dropout_expect(const struct setup *s, const double *const *in, double *out) {
    for (int r = 0; r < s->q.count; r++)
        for (int i = s->q_start[r]; i < s->q_start[r + 1]; i++)
            for (int j = 0; j < s->out_cols; j++)
                out[i * s->out_cols + j] =
                    in[0][i * s->out_cols + j] *
                    drop_factor(s->id[r], (uint64_t)(i - s->q_start[r]), s->p, j);
}

/* ---- norms ---- */

static bool layernorm_make(int i, struct setup *s) {
    int n, d, b, shapes = (int)COUNT_OF(sizes);
    if (i >= 2 * shapes || !sized(i % shapes, &n, &d, &b)) return false;
    int blocks = i < shapes ? 1 : 2 + i % 2;
    d += 1; /* with one channel nothing would remain */
    input(s, 0, n, d), input(s, 1, i % 2 ? n : -1, d), input(s, 2, blocks, d);
    input(s, 3, i % 3 ? blocks : -1, d);
    result(s, n, d);
    if (blocks > 1) grouped(s, n, blocks);
    return true;
}
static bool rmsnorm_make(int i, struct setup *s) {
    if (i >= (int)COUNT_OF(sizes) || !layernorm_make(i, s)) return false;
    s->inputs = 3;
    return true;
}
static node layernorm_run(struct tape *t, struct setup *s, const node *in) {
    return op_layernorm_groups(t, in[0], in[1], in[2], in[3], 1e-3, groups_of(s));
}
static node rmsnorm_run(struct tape *t, struct setup *s, const node *in) {
    (void)s;
    return op_rmsnorm(t, in[0], in[1], in[2], 1e-3);
}
/* Three heads, each normalized by itself with the same γ. */
static bool rmsnorm_heads_make(int i, struct setup *s) {
    int n, a, unused;
    if (!sized(i, &n, &a, &unused)) return false;
    input(s, 0, n, 3 * a), input(s, 1, -1, 1), input(s, 2, 1, a);
    result(s, n, 3 * a);
    return true;
}
static void norm_expect(const struct setup *s, const double *const *in, double *out, bool center) {
    int d = s->out_cols;
    for (int i = 0; i < s->out_rows; i++) {
        double mean = 0, var = 0, z[64];
        for (int j = 0; j < d; j++) {
            z[j] = in[0][i * d + j] + (in[1] ? in[1][i * d + j] : 0);
            mean += z[j] / d;
        }
        if (!center) mean = 0;
        for (int j = 0; j < d; j++) var += (z[j] - mean) * (z[j] - mean) / d;
        for (int j = 0; j < d; j++)
            out[i * d + j] = (z[j] - mean) / sqrt(var + 1e-3) * in[2][block_of(s, i) * d + j] +
                             (s->inputs > 3 && in[3] ? in[3][block_of(s, i) * d + j] : 0);
    }
}
static void layernorm_expect(const struct setup *s, const double *const *in, double *out) {
    norm_expect(s, in, out, true);
}
static void rmsnorm_expect(const struct setup *s, const double *const *in, double *out) {
    norm_expect(s, in, out, false);
}
static void rmsnorm_heads_expect(const struct setup *s, const double *const *in, double *out) {
    struct setup each = *s;
    each.out_rows = 3 * s->out_rows;
    each.out_cols = s->cols[2];
    norm_expect(&each, in, out, false);
}

/* ---- gathering ---- */

static bool embed_make(int i, struct setup *s) {
    int n, d, rows, tables = i % 2 ? 3 : 1;
    if (!sized(i, &n, &d, &rows)) return false;
    for (int k = 0; k < tables; k++) {
        input(s, k, rows + k, d);
        for (int j = 0; j < n; j++) s->ids[k][j] = (j * 7 + k) % (rows + k);
    }
    result(s, n, d);
    return true;
}
static node embed_run(struct tape *t, struct setup *s, const node *in) {
    if (s->inputs == 1) return op_embed_sum(t, s->out_rows, &(struct embed_table){ in[0], s->ids[0], 0 }, 1);
    int32_t before[IDS]; /* ids from position 2 before the first row */
    for (int i = 0; i < s->out_rows; i++) before[i] = s->ids[1][i] - 2;
    const struct embed_table table[] = {
        { in[0], s->ids[0], 0 }, { in[1], before, 2 }, { in[2], s->ids[2], 0 } };
    return op_embed_sum(t, s->out_rows, table, 3);
}
static void embed_expect(const struct setup *s, const double *const *in, double *out) {
    int d = s->out_cols;
    for (int i = 0; i < s->out_rows * d; i++) {
        out[i] = 0;
        for (int k = 0; k < s->inputs; k++) out[i] += in[k][s->ids[k][i / d] * d + i % d];
    }
}

static bool pool_make(int i, struct setup *s) {
    if (!tokens_make(i, s)) return false;
    s->out_rows = s->q.count;
    return true;
}
static node pool_first_run(struct tape *t, struct setup *s, const node *in) {
    return op_pool_first(t, in[0], &s->q);
}
static node pool_mean_run(struct tape *t, struct setup *s, const node *in) {
    return op_pool_mean(t, in[0], &s->q);
}
static node pool_max_run(struct tape *t, struct setup *s, const node *in) {
    return op_pool_max(t, in[0], &s->q);
}
static void pool_max_expect(const struct setup *s, const double *const *in, double *out) {
    for (int r = 0; r < s->q.count; r++)
        for (int j = 0, d = s->out_cols; j < d; j++) {
            double best = s->q_start[r] < s->q_start[r + 1] ? -INFINITY : 0;
            for (int i = s->q_start[r]; i < s->q_start[r + 1]; i++) best = fmax(best, in[0][i * d + j]);
            out[r * d + j] = best;
        }
}
static void pool_expect(const struct setup *s, const double *const *in, double *out, bool mean) {
    int d = s->out_cols;
    for (int r = 0; r < s->q.count; r++)
        for (int j = 0; j < d; j++) {
            int from = s->q_start[r], to = s->q_start[r + 1], n = mean ? to - from : 1;
            out[r * d + j] = 0;
            for (int i = from; i < to && i < from + n; i++)
                out[r * d + j] += in[0][i * d + j] / n;
        }
}
static void pool_first_expect(const struct setup *s, const double *const *in, double *out) {
    pool_expect(s, in, out, false);
}
static void pool_mean_expect(const struct setup *s, const double *const *in, double *out) {
    pool_expect(s, in, out, true);
}

static bool part_make(int i, struct setup *s, bool rows) {
    int n, d, b;
    if (!sized(i, &n, &d, &b)) return false;
    int all = rows ? n : d;
    s->lo = all / 3, s->hi = all - all / 4;
    input(s, 0, n, d);
    result(s, rows ? s->hi - s->lo : n, rows ? d : s->hi - s->lo);
    return true;
}
static bool rows_make(int i, struct setup *s) { return part_make(i, s, true); }
static bool cols_make(int i, struct setup *s) { return part_make(i, s, false); }
static node rows_run(struct tape *t, struct setup *s, const node *in) {
    return op_rows(t, in[0], s->lo, s->hi);
}
static node cols_run(struct tape *t, struct setup *s, const node *in) {
    return op_cols(t, in[0], s->lo, s->hi);
}
static void rows_expect(const struct setup *s, const double *const *in, double *out) {
    for (int i = 0; i < s->out_rows * s->out_cols; i++) out[i] = in[0][s->lo * s->out_cols + i];
}
static void cols_expect(const struct setup *s, const double *const *in, double *out) {
    for (int i = 0; i < s->out_rows; i++)
        for (int j = 0; j < s->out_cols; j++)
            out[i * s->out_cols + j] = in[0][i * s->cols[0] + s->lo + j];
}
static bool concat_rows_make(int i, struct setup *s) {
    int n, d, m;
    if (!sized(i, &n, &d, &m)) return false;
    input(s, 0, n, d), input(s, 1, m, d);
    result(s, n + m, d);
    return true;
}
static node concat_rows_run(struct tape *t, struct setup *s, const node *in) {
    (void)s;
    return op_concat_rows(t, in[0], in[1]);
}
static void concat_rows_expect(const struct setup *s, const double *const *in, double *out) {
    int first = s->rows[0] * s->cols[0];
    for (int i = 0; i < s->out_rows * s->out_cols; i++)
        out[i] = i < first ? in[0][i] : in[1][i - first];
}

/* Every other variant trains the products themselves. */
static bool kronecker_make(int i, struct setup *s) {
    int n = 1 + i % 3, a = 2, b = 3, k = 1 + i / 2;
    if (i > 5) return false;
    input(s, 0, n * n, n), input(s, 1, n * a, i % 2 ? b : k), input(s, 2, i % 2 ? -1 : n * k, b);
    result(s, n * b, n * a);
    return true;
}
static node kronecker_run(struct tape *t, struct setup *s, const node *in) {
    (void)s;
    return op_kronecker(t, in[0], in[1], in[2]);
}
static void kronecker_expect(const struct setup *s, const double *const *in, double *out) {
    int n = s->cols[0], a = s->out_cols / n, b = s->out_rows / n, k = s->cols[1];
    for (int row = 0; row < s->out_rows; row++)
        for (int col = 0; col < s->out_cols; col++) {
            double sum = 0;
            for (int i = 0; i < n; i++) {
                double part = 0;
                const double *left = in[1] + (i * a + col % a) * k;
                for (int m = 0; m < k && in[2]; m++) part += left[m] * in[2][(i * k + m) * b + row % b];
                sum += in[0][(i * n + col / a) * n + row / b] * (in[2] ? part : left[row % b]);
            }
            out[row * s->out_cols + col] = sum;
        }
}

/* ---- losses ---- */

static bool loss_make(int i, struct setup *s) {
    int n, d, b;
    if (!sized(i, &n, &d, &b)) return false;
    input(s, 0, n, d);
    result(s, 1, 1);
    for (int j = 0; j < n; j++) {
        s->ids[0][j] = j * 5 % d;
        s->target[j] = (real)(j - 2) / 4;
        s->weight[j] = (real)(1 + j % 3) / 4;
    }
    return true;
}
static bool vocabulary_loss_make(int i, struct setup *s) {
    int n, d, v;
    if (!sized(i, &n, &d, &v)) return false;
    input(s, 0, n, d), input(s, 1, v, d), input(s, 2, i % 2 ? 1 : -1, v);
    result(s, 1, 1);
    s->s = i % 3 ? 0.1 : 0;
    for (int j = 0; j < n; j++) {
        s->ids[0][j] = j % 4 == 2 ? -1 : j * 5 % v;
        s->weight[j] = (real)(j % 5 == 3 ? 0 : 0.25 + 0.5 * (j % 3));
    }
    return true;
}
static node vocabulary_loss_run(struct tape *t, struct setup *s, const node *in) {
    return op_vocabulary_loss(t, in[0], in[1], in[2], s->ids[0], s->weight, s->s, NULL);
}
static void vocabulary_loss_expect(const struct setup *s, const double *const *in, double *out) {
    int d = s->cols[0], v = s->rows[1];
    out[0] = 0;
    for (int i = 0; i < s->rows[0]; i++) {
        double z[IDS], sum = 0, loss = 0;
        if (s->ids[0][i] < 0) continue;
        for (int j = 0; j < v; j++) {
            z[j] = in[2] ? in[2][j] : 0;
            for (int k = 0; k < d; k++) z[j] += in[0][i * d + k] * in[1][j * d + k];
            sum += exp(z[j]);
        }
        for (int j = 0; j < v; j++)
            loss += (log(sum) - z[j]) * ((j == s->ids[0][i]) * (1 - s->s) + s->s / v);
        out[0] += (double)s->weight[i] * loss;
    }
}

static bool error_make(int i, struct setup *s) {
    if (!loss_make(i, s)) return false;
    s->cols[0] = i % 2 ? s->cols[0] : 1;
    return true;
}
/* Returns the target of row i. */
static real other_at(const struct setup *s, int i) { return (real)(((i * 7) % 11) - 5) / 4 + s->target[0]; }
static const real *others(struct tape *t, const struct setup *s) {
    int n = s->rows[0] * s->cols[0];
    real *x = tape_keep(t, ((size_t)n + 1) * sizeof *x);
    for (int i = 0; i < n; i++) x[i] = other_at(s, i);
    return x;
}
static node divergence_run(struct tape *t, struct setup *s, const node *in) {
    return op_divergence(t, in[0], others(t, s), s->rows[0] % 2 ? s->weight : NULL);
}
static void divergence_expect(const struct setup *s, const double *const *in, double *out) {
    int d = s->cols[0];
    out[0] = 0;
    for (int i = 0; i < s->rows[0]; i++) {
        double own = 0, other = 0, w = s->rows[0] % 2 ? (double)s->weight[i] : 1;
        for (int j = 0; j < d; j++) own += exp(in[0][i * d + j]), other += exp((double)other_at(s, i * d + j));
        for (int j = 0; j < d; j++) {
            double p = exp((double)other_at(s, i * d + j)) / other;
            out[0] += w * p * (log(p) - in[0][i * d + j] + log(own));
        }
    }
}
static node cross_entropy_run(struct tape *t, struct setup *s, const node *in) {
    return op_cross_entropy(t, in[0], s->ids[0], s->rows[0] % 2 ? s->weight : NULL);
}
static void cross_entropy_expect(const struct setup *s, const double *const *in, double *out) {
    int d = s->cols[0];
    out[0] = 0;
    for (int i = 0; i < s->rows[0]; i++) {
        double sum = 0, w = s->rows[0] % 2 ? (double)s->weight[i] : 1;
        for (int j = 0; j < d; j++) sum += exp(in[0][i * d + j]);
        out[0] -= w * (in[0][i * d + s->ids[0][i]] - log(sum));
    }
}
static node squared_error_run(struct tape *t, struct setup *s, const node *in) {
    return op_squared_error(t, in[0], others(t, s), s->rows[0] % 2 ? s->weight : NULL);
}
static void squared_error_expect(const struct setup *s, const double *const *in, double *out) {
    int d = s->cols[0];
    out[0] = 0;
    for (int i = 0; i < s->rows[0] * d; i++)
        out[0] += (s->rows[0] % 2 ? (double)s->weight[i / d] : 1) * pow(in[0][i] - (double)other_at(s, i), 2);
}

#endif
