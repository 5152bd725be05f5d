/* Cases of attention: causal or not, relative bias, dropout, additional key/value sets, cross-attention,
 * empty sequences, long keys; and rotary position embeddings. */
#ifndef TESTS_ENGINE_ATTENTION_CASES_H
#define TESTS_ENGINE_ATTENTION_CASES_H

#include "tests/engine/op_cases.h"

enum { BUCKETS = 4, REACH = 5 };

struct attention_case {
    int q[SEQUENCES + 1], k[SEQUENCES + 1];
    int heads, a;
    bool causal, bias;
    double dropout;
    int concat[2], add; /* rows of the sets, 0 for none */
    int group, window;  /* heads that share keys and values (0: none), and the window */
};

static const struct attention_case attention_cases[] = {
    { { 1, -1 }, { 1, -1 }, 1, 1, false, false, 0, { 0, 0 }, 0, 0, 0 },
    { { 5, 1, 3, -1 }, { 5, 1, 3, -1 }, 2, 3, false, false, 0, { 0, 0 }, 0, 0, 0 },
    { { 16, 17, -1 }, { 16, 17, -1 }, 1, 4, true, false, 0, { 0, 0 }, 0, 0, 0 },
    { { 4, 0, 6, -1 }, { 4, 0, 6, -1 }, 3, 2, false, true, 0, { 3, 0 }, 0, 0, 0 },
    { { 4, 5, -1 }, { 4, 5, -1 }, 2, 2, true, true, 0.4, { 2, 1 }, 3, 0, 0 },
    { { 3, 2, 2, -1 }, { 6, 0, 15, -1 }, 2, 4, false, false, 0, { 0, 0 }, 0, 0, 0 },
    { { 3, 0, 2, -1 }, { 6, 3, 0, -1 }, 2, 4, false, true, 0.3, { 2, 0 }, 5, 0, 0 },
    { { 2, 1, -1 }, { 5, 4, -1 }, 2, 2, true, false, 0, { 0, 0 }, 17, 0, 0 },
    { { 3, -1 }, { 300, -1 }, 2, 2, false, false, 0.2, { 2, 0 }, 3, 0, 0 },
    { { -1 }, { -1 }, 2, 3, false, false, 0, { 2, 0 }, 2, 0, 0 },
    { { 5, 0, 7, -1 }, { 5, 0, 7, -1 }, 4, 3, true, false, 0, { 0, 0 }, 0, 2, 0 },
    { { 4, 6, -1 }, { 4, 6, -1 }, 6, 2, true, true, 0.3, { 2, 1 }, 3, 3, 0 },
    { { 17, 3, -1 }, { 17, 3, -1 }, 2, 4, true, false, 0, { 2, 0 }, 0, 2, 5 },
    { { 2, 1, -1 }, { 9, 4, -1 }, 2, 2, true, false, 0, { 0, 0 }, 0, 0, 3 },
};

/* Each case twice: with sets shared by all sequences, then with sets in blocks. */
static bool attention_make(int i, struct setup *s) {
    int cases = (int)COUNT_OF(attention_cases), blocks = i < cases ? 1 : 3;
    if (i >= 2 * cases) return false;
    const struct attention_case *c = &attention_cases[i % cases];
    int d = c->heads * c->a, at = 4, group = c->group ? c->group : 1, dk = d / group;
    sequences(s, c->q, c->k);
    input(s, 0, s->q_start[s->q.count], d);
    input(s, 1, s->k_start[s->k.count], dk), input(s, 2, s->k_start[s->k.count], dk);
    input(s, 3, c->bias ? BUCKETS : -1, c->heads);
    result(s, s->rows[0], d);
    s->attention = (struct attention){
        .heads = c->heads, .key_heads = c->group ? c->heads / group : 0, .window = c->window,
        .score_scale = 0.7, .query_rows = &s->q, .key_rows = &s->k,
        .causal = c->causal, .bucket = s->bucket, .reach = REACH,
        .dropout = c->dropout, .site = CASE_SITE, .set = s->set,
    };
    for (int j = 0; j < SEQUENCES; j++) s->set_block[j] = 2 - j % 3;
    for (int j = 0; j <= 2 * REACH; j++) s->bucket[j] = j * 3 % BUCKETS;
    int rows[3] = { c->concat[0], c->add, c->concat[1] }; /* an added set is in between */
    for (int k = 0; k < 3; k++) {
        if (!rows[k]) continue;
        s->set[s->attention.sets] = (struct kv_set){ .join = k == 1 ? KV_ADD : KV_CONCAT, .s = 1.5, .blocks = blocks };
        if (blocks > 1) s->set[s->attention.sets].block = s->set_block;
        input(s, at, blocks * rows[k], dk), input(s, at + 1, blocks * rows[k], dk);
        input(s, at + 2, k == 1 && i % 2 ? 1 : -1, 1);
        s->attention.sets++;
        at += 3;
    }
    return true;
}

static node attention_run(struct tape *t, struct setup *s, const node *in) {
    struct attention a = s->attention;
    a.relative_bias = in[3];
    for (int i = 0; i < a.sets; i++) {
        s->set[i].key = in[4 + 3 * i], s->set[i].value = in[5 + 3 * i];
        s->set[i].scale = in[6 + 3 * i];
    }
    return op_attention(t, in[0], in[1], in[2], &a);
}

/* out += f·softmax(score)·value, with the listed rows of `value`. */
static void weigh(int n, int a, double f, const double *score, const double *keep,
                  const double *const *value, double *out) {
    double sum = 0;
    for (int j = 0; j < n; j++) sum += exp(score[j]);
    for (int j = 0; j < n; j++)
        for (int c = 0; c < a; c++) out[c] += f * exp(score[j]) / sum * keep[j] * value[j][c];
}

static double dot(const double *a, const double *b, int n) {
    double sum = 0;
    for (int i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

static int set_block_of(const struct setup *s, int set, int seq) {
    return s->set[set].block ? s->set[set].block[seq] : 0;
}

static void attention_expect_one(const struct setup *s, const double *const *in, int seq, int h,
                                 int i, double *out) {
    const struct attention *x = &s->attention;
    int d = s->out_cols, a = d / x->heads, o = h * a, n = 0;
    int group = x->key_heads ? x->heads / x->key_heads : 1, dk = d / group, ok = h / group * a;
    int nq = s->q_start[seq + 1] - s->q_start[seq], nk = s->k_start[seq + 1] - s->k_start[seq];
    const double *q = in[0] + (s->q_start[seq] + i) * d + o, *value[400];
    double score[400], keep[400];
    for (int k = 0; k < x->sets; k++) {
        const double *const *set = in + 4 + 3 * k;
        if (s->set[k].join != KV_ADD) continue;
        int rows = s->rows[4 + 3 * k] / s->set[k].blocks, from = rows * set_block_of(s, k, seq);
        for (n = 0; n < rows; n++) {
            score[n] = x->score_scale * dot(q, set[0] + (from + n) * dk + ok, a);
            value[n] = set[1] + (from + n) * dk + ok;
            keep[n] = 1;
        }
        weigh(n, a, s->set[k].s * one_value(set[2]), score, keep, value, out);
    }
    n = 0;
    for (int k = 0; k < x->sets; k++) {
        int rows = s->rows[4 + 3 * k] / s->set[k].blocks, from = rows * set_block_of(s, k, seq);
        for (int j = 0; s->set[k].join == KV_CONCAT && j < rows; j++, n++) {
            score[n] = x->score_scale * dot(q, in[4 + 3 * k] + (from + j) * dk + ok, a);
            value[n] = in[5 + 3 * k] + (from + j) * dk + ok;
        }
    }
    for (int j = 0; j < nk; j++) {
        if (x->causal && j > i + nk - nq) continue;
        if (x->window && i + nk - nq - j >= x->window) continue;
        int row = (s->k_start[seq] + j) * dk + ok;
        score[n] = x->score_scale * dot(q, in[1] + row, a);
        int far = j - (i + nk - nq);
        far = far < -REACH ? -REACH : far > REACH ? REACH : far;
        if (in[3]) score[n] += in[3][s->bucket[REACH + far] * x->heads + h];
        value[n++] = in[2] + row;
    }
    for (int j = 0; j < n; j++)
        keep[j] = x->dropout == 0
                      ? 1
                      : drop_factor(s->id[seq], (uint64_t)h << 32 | (uint64_t)i, x->dropout, j);
    weigh(n, a, 1, score, keep, value, out);
}

static void attention_expect(const struct setup *s, const double *const *in, double *out) {
    int d = s->out_cols;
    memset(out, 0, (size_t)(s->out_rows * d) * sizeof *out);
    for (int seq = 0; seq < s->q.count; seq++)
        for (int h = 0; h < s->attention.heads; h++)
            for (int i = 0; i < s->q_start[seq + 1] - s->q_start[seq]; i++)
                attention_expect_one(s, in, seq, h, i,
                                     out + (s->q_start[seq] + i) * d + h * (d / s->attention.heads));
}

/* ---- rotary position embeddings ---- */

/* Angles are a row and a column apart; heads are of even width. */
static double angle_of(int row, int pair) { return 0.3 * row - 1.7 * pair; }
static bool rotary_make(int i, struct setup *s) {
    int n, half, heads;
    if (!sized(i, &n, &half, &heads)) return false;
    s->heads = 1 + heads % 3;
    input(s, 0, n, s->heads * 2 * half);
    result(s, n, s->heads * 2 * half);
    return true;
}
static node rotary_run(struct tape *t, struct setup *s, const node *in) {
    int head = s->out_cols / s->heads;
    real *turn = tape_keep(t, (size_t)(s->out_rows * head) * sizeof *turn);
    for (int i = 0; i < s->out_rows; i++)
        for (int j = 0; j < head; j++) {
            double angle = angle_of(i, j % (head / 2));
            turn[i * head + j] = (real)(j < head / 2 ? cos(angle) : sin(angle));
        }
    return op_rotary(t, in[0], head, turn);
}
static void rotary_expect(const struct setup *s, const double *const *in, double *out) {
    int head = s->out_cols / s->heads, half = head / 2;
    for (int i = 0; i < s->out_rows * s->out_cols; i++) {
        int j = i % head, pair = j % half, row = i / s->out_cols;
        double c = cos(angle_of(row, pair)), sn = sin(angle_of(row, pair));
        out[i] = j < half ? in[0][i] * c - in[0][i + half] * sn : in[0][i] * c + in[0][i - half] * sn;
    }
}

#define CASE(op, make) { OP_##op, #op, make, op##_run, op##_expect }

static const struct op_case op_cases[] = {
    CASE(linear, linear_make),
    { OP_linear, "linear made", linear_made_make, linear_made_run, linear_made_expect },
    CASE(linear_add, linear_add_make),
    CASE(matmul, matmul_make),
    CASE(head_linear, head_linear_make),
    CASE(add, pair_make),
    CASE(add_scaled, add_scaled_make),
    CASE(bias, row_make),
    CASE(channel_scale, channel_scale_make),
    CASE(dots, dots_make),
    CASE(mix, mix_make),
    CASE(gain, gain_make),
    CASE(add_gated, add_gated_make),
    CASE(gated_copies, gated_copies_make),
    CASE(gated_change, gated_change_make),
    CASE(scattered, scattered_make),
    CASE(mul, pair_make),
    CASE(scale, single_make),
    CASE(act, act_make),
    CASE(layernorm, layernorm_make),
    CASE(rmsnorm, rmsnorm_make),
    { OP_rmsnorm, "rmsnorm of heads", rmsnorm_heads_make, rmsnorm_run, rmsnorm_heads_expect },
    CASE(rotary, rotary_make),
    CASE(dropout, dropout_make),
    CASE(embed, embed_make),
    CASE(pool_first, pool_make),
    CASE(pool_mean, pool_make),
    CASE(pool_max, pool_make),
    CASE(rows, rows_make),
    CASE(cols, cols_make),
    CASE(concat_rows, concat_rows_make),
    CASE(kronecker, kronecker_make),
    CASE(attention, attention_make),
    CASE(cross_entropy, loss_make),
    CASE(vocabulary_loss, vocabulary_loss_make),
    CASE(divergence, loss_make),
    CASE(squared_error, error_make),
};

#endif
