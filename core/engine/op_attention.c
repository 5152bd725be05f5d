#include <string.h>

#include "core/base/mem.h"
#include "core/engine/blas.h"
#include "core/engine/kernel.h"
#include "core/engine/ops.h"
#include "core/engine/record.h"

/* Attention runs one (sequence, head) at a time: the scores of one head are a small matrix that stays in the
 * cache.  A row of scores has the columns of the KV_CONCAT sets first, then those of the sequence's keys.
 * KV_ADD sets follow, each with its own softmax. */

enum { IN_Q, IN_K, IN_V, IN_BIAS, IN_SETS, IN_PER_SET = 3 };
enum { SET_KEY, SET_VALUE, SET_SCALE };

/* Probabilities are stored for backward up to this many keys and recomputed beyond it, where their memory
 * would exceed that of everything else. */
enum { KEEP_KEYS = 288 };

struct attend {
    struct attention a; /* a.set in the arena */
    int prefix;         /* columns of all KV_CONCAT sets */
    int added;          /* columns of all KV_ADD sets */
    size_t longest;     /* values of the largest (sequence, head) */
    int furthest_key, line; /* longest key side; a line has the distances 1 - furthest_key … longest query
                               side - 1 */
    real *bias;         /* one line per head: the relative bias of each distance; or NULL */
    real *kept;         /* probabilities of all (sequence, head), or NULL */
};

/* One (sequence, head): its position in the operands. */
struct attention_place {
    int sequence, head, nq, nk, width; /* width: prefix + nk */
    uint64_t id;
    size_t q, k; /* offsets of the first element in q and the result, and in k and v */
    int d, dk;   /* columns of q and the result, and of k and v */
    bool opens;  /* the first head that reads its keys and values: its gradients are written, not added */
};

static int max_int(int a, int b) { return a > b ? a : b; }

static struct attention_place op_attention_place_of(const struct attend *s, int d, int sequence, int head) {
    const struct tape_rows *qr = s->a.query_rows, *kr = s->a.key_rows;
    int nk = s->a.key_length ? s->a.key_length[sequence]
                             : kr->start[sequence + 1] - kr->start[sequence];
    int a = d / s->a.heads, dk = a * s->a.key_heads, group = s->a.heads / s->a.key_heads;
    return (struct attention_place){
        .sequence = sequence,
        .head = head,
        .nq = qr->start[sequence + 1] - qr->start[sequence],
        .nk = nk,
        .width = s->prefix + nk,
        .id = qr->id ? qr->id[sequence] : 0,
        .q = (size_t)qr->start[sequence] * (size_t)d + (size_t)(head * a),
        .k = (size_t)kr->start[sequence] * (size_t)dk + (size_t)(head / group * a),
        .d = d,
        .dk = dk,
        .opens = head % group == 0,
    };
}

static node set_operand(const struct record *r, int set, int which) {
    return r->in[IN_SETS + IN_PER_SET * set + which];
}

/* Rows of a set that each sequence attends to. */
static int set_rows(const struct tape *t, const struct attend *s, int set) {
    return tape_rows_of(t, s->a.set[set].key) / s->a.set[set].blocks;
}

/* Start of the sequence's block in a set's keys and values, at the head's columns. */
static size_t set_first(const struct tape *t, const struct attend *s, const struct attention_place *at,
                        int set) {
    const struct kv_set *x = &s->a.set[set];
    size_t block = x->block ? (size_t)x->block[at->sequence] : 0;
    int group = s->a.heads / s->a.key_heads, a = at->d / s->a.heads;
    return block * (size_t)set_rows(t, s, set) * (size_t)at->dk + (size_t)(at->head / group * a);
}

/* Each sequence of keys lies within the rows of k. */
static void check_keys(const struct tape *t, node k, const struct attention *a) {
    const int *start = a->key_rows->start, *length = a->key_length;
    int rows = tape_rows_of(t, k), count = a->key_rows->count;
    BUG_IF(!length && rows != start[count]);
    for (int i = 0; length && i < count; i++)
        BUG_IF(start[i] < 0 || length[i] < 0 || length[i] > rows - start[i]);
}

/* A set without blocks has one for all sequences. */
static int op_attention_blocks_of(const struct kv_set *x) { return x->block ? x->blocks : 1; }

static void check_blocks(const struct tape *t, const struct kv_set *x, int sequences) {
    BUG_IF(op_attention_blocks_of(x) < 1 || tape_rows_of(t, x->key) % op_attention_blocks_of(x));
    for (int i = 0; x->block && i < sequences; i++) BUG_IF(x->block[i] < 0 || x->block[i] >= x->blocks);
}

static void op_attention_check(const struct tape *t, node q, node k, node v, const struct attention *a) {
    BUG_IF(a->heads <= 0 || tape_cols_of(t, q) % a->heads);
    BUG_IF(a->key_heads < 0 || (a->key_heads && a->heads % a->key_heads) || (a->window && !a->causal));
    int d = tape_cols_of(t, q) / a->heads * (a->key_heads ? a->key_heads : a->heads);
    BUG_IF(tape_cols_of(t, k) != d || tape_cols_of(t, v) != d);
    BUG_IF(a->query_rows->count != a->key_rows->count);
    BUG_IF(tape_rows_of(t, q) != a->query_rows->start[a->query_rows->count]);
    check_keys(t, k, a);
    BUG_IF(a->key_length && (tape_needs_grad(t, k) || tape_needs_grad(t, v)));
    BUG_IF(tape_rows_of(t, v) != tape_rows_of(t, k));
    BUG_IF(a->relative_bias != NODE_NONE && tape_cols_of(t, a->relative_bias) != a->heads);
    BUG_IF(a->dropout < 0 || a->dropout >= 1);
    for (int i = 0; i < a->sets; i++) {
        BUG_IF(tape_cols_of(t, a->set[i].key) != d || tape_cols_of(t, a->set[i].value) != d);
        BUG_IF(tape_rows_of(t, a->set[i].key) != tape_rows_of(t, a->set[i].value));
        check_blocks(t, &a->set[i], a->query_rows->count);
    }
}

node op_attention(struct tape *t, node q, node k, node v, const struct attention *a) {
    op_attention_check(t, q, k, v, a);
    struct arena *arena = record_arena(t);
    int operands = IN_SETS + IN_PER_SET * a->sets;
    node *in = arena_keep(arena, (size_t)operands * sizeof *in);
    in[IN_Q] = q, in[IN_K] = k, in[IN_V] = v, in[IN_BIAS] = a->relative_bias;
    struct attend s = { .a = *a };
    struct kv_set *set = arena_keep(arena, (size_t)a->sets * sizeof *set);
    for (int i = 0; i < a->sets; i++) {
        set[i] = a->set[i];
        set[i].blocks = op_attention_blocks_of(&a->set[i]);
        node *to = in + IN_SETS + IN_PER_SET * i;
        to[SET_KEY] = set[i].key, to[SET_VALUE] = set[i].value;
        to[SET_SCALE] = set[i].join == KV_ADD ? set[i].scale : NODE_NONE;
        *(set[i].join == KV_CONCAT ? &s.prefix : &s.added) +=
            tape_rows_of(t, set[i].key) / set[i].blocks;
    }
    s.a.set = set;
    if (!s.a.key_heads) s.a.key_heads = s.a.heads;
    if (!tape_training(t)) s.a.dropout = 0;
    return record_run(t, OP_attention, tape_rows_of(t, q), tape_cols_of(t, q), operands, in, &s,
                      sizeof s);
}

/* ---- probabilities of one (sequence, head) ---- */

static int bucket_of(const struct attend *s, int distance) {
    int reach = s->a.reach;
    return s->a.bucket[reach + (distance < -reach ? -reach : distance > reach ? reach : distance)];
}

/* Arranges the table's biases by distance, so that a row of scores adds a slice of a line. */
static void lay_out_bias(struct tape *t, const struct record *r) {
    struct attend *s = r->saved;
    int heads = s->a.heads, queries = 0;
    if (r->in[IN_BIAS] == NODE_NONE) return;
    for (int i = 0; i < s->a.query_rows->count; i++) {
        struct attention_place at = op_attention_place_of(s, tape_cols_of(t, r->out), i, 0);
        queries = max_int(queries, at.nq);
        s->furthest_key = max_int(s->furthest_key, at.nk);
    }
    s->line = max_int(0, s->furthest_key + queries - 1);
    s->bias = arena_keep(record_arena(t), (size_t)s->line * (size_t)heads * sizeof(real));
    const real *table = tape_value(t, r->in[IN_BIAS]);
    for (int j = 0; j < s->line; j++) {
        const real *row = table + (size_t)bucket_of(s, j + 1 - s->furthest_key) * (size_t)heads;
        for (int h = 0; h < heads; h++) s->bias[(size_t)h * (size_t)s->line + (size_t)j] = row[h];
    }
}

/* Position of the first key's distance from query i in a head's line. */
static int first_distance(const struct attend *s, const struct attention_place *at, int i) {
    return s->furthest_key - 1 - (i + at->nk - at->nq);
}

static void add_relative_bias(const struct attend *s, const struct attention_place *at, real *scores) {
    const real *line = s->bias + (size_t)at->head * (size_t)s->line;
    for (int i = 0; i < at->nq; i++) {
        real *row = scores + (size_t)i * (size_t)at->width + s->prefix;
        kernel_add((size_t)at->nk, row, line + first_distance(s, at, i), row);
    }
}

/* Gives keys outside the window of a query scores that vanish in the softmax. */
static void hide_far(const struct attend *s, const struct attention_place *at, real *scores) {
    for (int i = 0; s->a.window && i < at->nq; i++) {
        real *row = scores + (size_t)i * (size_t)at->width + s->prefix;
        for (int j = 0; j <= i + at->nk - at->nq - s->a.window; j++) row[j] = (real)-1e30;
    }
}

/* nq×width: the joint softmax over KV_CONCAT sets and keys. */
static void joint(const struct tape *t, const struct record *r, const struct attention_place *at, real *p) {
    const struct attend *s = r->saved;
    int d = tape_cols_of(t, r->out), a = d / s->a.heads, column = 0;
    real c = (real)s->a.score_scale;
    const real *q = tape_value(t, r->in[IN_Q]) + at->q;
    for (int i = 0; i < s->a.sets; i++) {
        if (s->a.set[i].join != KV_CONCAT) continue;
        node key = set_operand(r, i, SET_KEY);
        int rows = set_rows(t, s, i);
        blas_gemm(false, true, at->nq, rows, a, c, q, d, tape_value(t, key) + set_first(t, s, at, i), at->dk,
                  0, p + column, at->width);
        column += rows;
    }
    blas_gemm(false, true, at->nq, at->nk, a, c, q, d, tape_value(t, r->in[IN_K]) + at->k, at->dk,
              0, p + column, at->width);
    if (s->bias) add_relative_bias(s, at, p);
    hide_far(s, at, p);
    if (s->a.causal)
        kernel_softmax(at->nq, at->width, s->prefix + at->nk - at->nq + 1, 1, p);
    else
        kernel_softmax(at->nq, at->width, at->width, 0, p);
}

/* nq×rows: the softmax of one KV_ADD set. */
static void apart(const struct tape *t, const struct record *r, const struct attention_place *at, int set,
                  real *p) {
    const struct attend *s = r->saved;
    int d = tape_cols_of(t, r->out), a = d / s->a.heads;
    node key = set_operand(r, set, SET_KEY);
    int rows = set_rows(t, s, set);
    blas_gemm(false, true, at->nq, rows, a, (real)s->a.score_scale,
              tape_value(t, r->in[IN_Q]) + at->q, d, tape_value(t, key) + set_first(t, s, at, set),
              at->dk, 0, p, rows);
    kernel_softmax(at->nq, rows, rows, 0, p);
}

/* y = x with dropped probabilities set to 0; element (row id, head, query, column). */
static void op_attention_drop(const struct tape *t, const struct attend *s,
                              const struct attention_place *at, const real *x, real *y) {
    struct rng_key key = { rng_bits(record_rng(t, s->a.site), at->id) };
    for (int i = 0; i < at->nq; i++) {
        size_t o = (size_t)i * (size_t)at->width;
        kernel_dropout(key, (uint64_t)at->head << 32 | (uint64_t)i, s->a.dropout, (size_t)at->width,
                       x + o, y + o);
    }
}

static real op_attention_add_factor(const struct tape *t, const struct record *r, int set) {
    const struct attend *s = r->saved;
    node scale = set_operand(r, set, SET_SCALE);
    double f = s->a.set[set].s;
    return (real)(scale == NODE_NONE ? f : f * (double)tape_value(t, scale)[0]);
}

/* ---- forward ---- */

/* out = P·V over the columns of all sets and keys, written to the head's columns. */
static void weigh_joint(const struct tape *t, const struct record *r, const struct attention_place *at,
                        const real *p, real *out) {
    const struct attend *s = r->saved;
    int d = tape_cols_of(t, r->out), a = d / s->a.heads, column = 0;
    blas_gemm(false, false, at->nq, a, at->nk, 1, p + s->prefix, at->width,
              tape_value(t, r->in[IN_V]) + at->k, at->dk, 0, out, d);
    for (int i = 0; i < s->a.sets; i++) {
        if (s->a.set[i].join != KV_CONCAT) continue;
        node value = set_operand(r, i, SET_VALUE);
        int rows = set_rows(t, s, i);
        blas_gemm(false, false, at->nq, a, rows, 1, p + column, at->width,
                  tape_value(t, value) + set_first(t, s, at, i), at->dk, 1, out, d);
        column += rows;
    }
}

static void forward_one(struct tape *t, const struct record *r, const struct attention_place *at, real *p,
                        real *dropped) {
    const struct attend *s = r->saved;
    int d = tape_cols_of(t, r->out), a = d / s->a.heads;
    real *out = record_result(t, (struct record *)r) + at->q;
    joint(t, r, at, p);
    if (s->a.seen) s->a.seen(s->a.seen_self, at->sequence, at->head, at->nq, at->width, p);
    if (s->a.dropout > 0) op_attention_drop(t, s, at, p, dropped);
    weigh_joint(t, r, at, s->a.dropout > 0 ? dropped : p, out);
    p += (size_t)at->nq * (size_t)at->width;
    for (int i = 0; i < s->a.sets; i++) {
        if (s->a.set[i].join != KV_ADD) continue;
        node value = set_operand(r, i, SET_VALUE);
        int rows = set_rows(t, s, i);
        apart(t, r, at, i, p);
        blas_gemm(false, false, at->nq, a, rows, op_attention_add_factor(t, r, i), p, rows,
                  tape_value(t, value) + set_first(t, s, at, i), at->dk, 1, out, d);
        p += (size_t)at->nq * (size_t)rows;
    }
}

/* Number of probabilities of one (sequence, head), KV_ADD sets after the joint ones. */
static size_t head_size(const struct attend *s, const struct attention_place *at) {
    return (size_t)at->nq * (size_t)(at->width + s->added);
}

void attention_forward(struct tape *t, struct record *r) {
    struct attend *s = r->saved;
    struct arena *arena = record_arena(t);
    for (int i = 0; i < r->operands; i++) record_reads(t, r, r->in[i], true);
    int d = tape_cols_of(t, r->out), keys = 0;
    size_t all = 0, most = 0;
    lay_out_bias(t, r);
    for (int i = 0; i < s->a.query_rows->count; i++) {
        struct attention_place at = op_attention_place_of(s, d, i, 0);
        size_t size = head_size(s, &at);
        keys = max_int(keys, at.nk);
        all += size * (size_t)s->a.heads;
        if (size > most) most = size;
    }
    s->longest = most;
    if (record_needs(t, r) && keys <= KEEP_KEYS) s->kept = arena_keep(arena, all * sizeof(real));
    struct arena_mark m = arena_mark(arena);
    real *scratch = s->kept ? NULL : arena_scratch(arena, most * sizeof(real));
    real *dropped = s->a.dropout > 0 ? arena_scratch(arena, most * sizeof(real)) : NULL;
    real *kept = s->kept;
    for (int i = 0; i < s->a.query_rows->count; i++)
        for (int h = 0; h < s->a.heads; h++) {
            struct attention_place at = op_attention_place_of(s, d, i, h);
            forward_one(t, r, &at, kept ? kept : scratch, dropped);
            if (kept) kept += head_size(s, &at);
        }
    arena_scratch_release(arena, m);
}

/* ---- backward ---- */

/* Destinations of the op's gradients; NULL where none is needed. */
struct slots {
    real *q, *k, *v;
    real beta_q, beta_k, beta_v;
    real **set_key, **set_value; /* one per set, cleared, always added to */
    double *bias;                /* sums of each head's line */
    double *scale;               /* one per set */
};

static real *cleared_slot(struct tape *t, node n) {
    real beta, *g = grad_slot(t, n, &beta);
    if (g && beta == 0)
        memset(g, 0, (size_t)tape_rows_of(t, n) * (size_t)tape_cols_of(t, n) * sizeof *g);
    return g;
}

static struct slots take_slots(struct tape *t, const struct record *r) {
    const struct attend *s = r->saved;
    struct arena *arena = record_arena(t);
    struct slots g = { 0 };
    g.q = grad_slot(t, r->in[IN_Q], &g.beta_q);
    g.k = grad_slot(t, r->in[IN_K], &g.beta_k);
    g.v = grad_slot(t, r->in[IN_V], &g.beta_v);
    g.set_key = arena_scratch(arena, (size_t)s->a.sets * sizeof *g.set_key);
    g.set_value = arena_scratch(arena, (size_t)s->a.sets * sizeof *g.set_value);
    g.scale = arena_scratch(arena, (size_t)s->a.sets * sizeof *g.scale);
    for (int i = 0; i < s->a.sets; i++) {
        g.set_key[i] = cleared_slot(t, set_operand(r, i, SET_KEY));
        g.set_value[i] = cleared_slot(t, set_operand(r, i, SET_VALUE));
        g.scale[i] = 0;
    }
    if (tape_needs_grad(t, r->in[IN_BIAS])) {
        size_t size = (size_t)s->line * (size_t)s->a.heads;
        g.bias = arena_scratch(arena, size * sizeof *g.bias);
        for (size_t i = 0; i < size; i++) g.bias[i] = 0;
    }
    return g;
}

/* Moves the sums accumulated in double to their gradients. */
static void store_sums(struct tape *t, const struct record *r, const struct slots *g) {
    const struct attend *s = r->saved;
    real beta;
    for (int i = 0; i < s->a.sets; i++) {
        real *to = grad_slot(t, set_operand(r, i, SET_SCALE), &beta);
        if (to) to[0] = (real)g->scale[i] + (beta == 0 ? 0 : to[0]);
    }
    if (!g->bias) return;
    size_t heads = (size_t)s->a.heads, size = (size_t)tape_rows_of(t, r->in[IN_BIAS]) * heads;
    double *sum = arena_scratch(record_arena(t), size * sizeof *sum);
    for (size_t i = 0; i < size; i++) sum[i] = 0;
    for (int j = 0; j < s->line; j++)
        for (size_t h = 0; h < heads; h++)
            sum[(size_t)bucket_of(s, j + 1 - s->furthest_key) * heads + h] +=
                g->bias[h * (size_t)s->line + (size_t)j];
    real *to = grad_slot(t, r->in[IN_BIAS], &beta);
    for (size_t i = 0; i < size; i++) to[i] = (real)sum[i] + (beta == 0 ? 0 : to[i]);
}

static void bias_sums(const struct attend *s, const struct attention_place *at, const real *ds,
                      double *sums) {
    double *line = sums + (size_t)at->head * (size_t)s->line;
    for (int i = 0; i < at->nq; i++) {
        const real *row = ds + (size_t)i * (size_t)at->width + s->prefix;
        double *to = line + first_distance(s, at, i);
        for (int j = 0; j < at->nk; j++) to[j] += (double)row[j];
    }
}

/* dV = Pᵀ dO and dP = dO Vᵀ for one block of columns of P (at p and dp, row length ld). */
static void value_back(const struct attention_place *at, int rows, int a, int ld, real f, const real *p,
                       const real *dout, const real *v, real *dv, real beta, real *dp) {
    if (dv) blas_gemm(true, false, rows, a, at->nq, f, p, ld, dout, at->d, beta, dv, at->dk);
    blas_gemm(false, true, at->nq, rows, a, 1, dout, at->d, v, at->dk, 0, dp, ld);
}

/* dQ (+)= c dS K and dK (+)= c dSᵀ Q for one block of columns of dS. */
static void score_back(const struct attention_place *at, int rows, int a, int ld, real c, const real *ds,
                       const real *q, const real *k, real *dq, real beta_q, real *dk, real beta_k) {
    if (dq) blas_gemm(false, false, at->nq, a, rows, c, ds, ld, k, at->dk, beta_q, dq, at->d);
    if (dk) blas_gemm(true, false, rows, a, at->nq, c, ds, ld, q, at->d, beta_k, dk, at->dk);
}

static void joint_back(struct tape *t, const struct record *r, const struct attention_place *at,
                       const struct slots *g, const real *p, real *dropped, real *dp) {
    const struct attend *s = r->saved;
    int d = tape_cols_of(t, r->out), a = d / s->a.heads, ld = at->width, column = 0;
    const real *dout = grad_out(t, r) + at->q, *used = p;
    if (s->a.dropout > 0) {
        op_attention_drop(t, s, at, p, dropped);
        used = dropped;
    }
    for (int i = 0; i < s->a.sets; i++) {
        if (s->a.set[i].join != KV_CONCAT) continue;
        node value = set_operand(r, i, SET_VALUE);
        int rows = set_rows(t, s, i);
        size_t first = set_first(t, s, at, i);
        value_back(at, rows, a, ld, 1, used + column, dout, tape_value(t, value) + first,
                   g->set_value[i] ? g->set_value[i] + first : NULL, 1, dp + column);
        column += rows;
    }
    value_back(at, at->nk, a, ld, 1, used + column, dout, tape_value(t, r->in[IN_V]) + at->k,
               g->v ? g->v + at->k : NULL, at->opens ? g->beta_v : 1, dp + column);
    if (s->a.dropout > 0) op_attention_drop(t, s, at, dp, dp);
    kernel_softmax_back(at->nq, ld, p, dp, dp);
    if (g->bias) bias_sums(s, at, dp, g->bias);
    const real *q = tape_value(t, r->in[IN_Q]) + at->q;
    real *dq = g->q ? g->q + at->q : NULL, c = (real)s->a.score_scale;
    score_back(at, at->nk, a, ld, c, dp + column, q, tape_value(t, r->in[IN_K]) + at->k, dq,
               g->beta_q, g->k ? g->k + at->k : NULL, at->opens ? g->beta_k : 1);
    column = 0;
    for (int i = 0; i < s->a.sets; i++) {
        if (s->a.set[i].join != KV_CONCAT) continue;
        node key = set_operand(r, i, SET_KEY);
        int rows = set_rows(t, s, i);
        size_t first = set_first(t, s, at, i);
        score_back(at, rows, a, ld, c, dp + column, q, tape_value(t, key) + first, dq, 1,
                   g->set_key[i] ? g->set_key[i] + first : NULL, 1);
        column += rows;
    }
}

static void apart_back(struct tape *t, const struct record *r, const struct attention_place *at, int set,
                       const struct slots *g, const real *p, real *dp) {
    const struct attend *s = r->saved;
    int d = tape_cols_of(t, r->out), a = d / s->a.heads, rows = set_rows(t, s, set);
    size_t offset = set_first(t, s, at, set);
    node key = set_operand(r, set, SET_KEY), value = set_operand(r, set, SET_VALUE);
    real f = op_attention_add_factor(t, r, set);
    value_back(at, rows, a, rows, f, p, grad_out(t, r) + at->q, tape_value(t, value) + offset,
               g->set_value[set] ? g->set_value[set] + offset : NULL, 1, dp);
    g->scale[set] += s->a.set[set].s * kernel_dot((size_t)at->nq * (size_t)rows, p, dp);
    kernel_softmax_back(at->nq, rows, p, dp, dp);
    score_back(at, rows, a, rows, f * (real)s->a.score_scale, dp,
               tape_value(t, r->in[IN_Q]) + at->q, tape_value(t, key) + offset,
               g->q ? g->q + at->q : NULL, 1, g->set_key[set] ? g->set_key[set] + offset : NULL, 1);
}

void attention_backward(struct tape *t, const struct record *r) {
    const struct attend *s = r->saved;
    struct arena *arena = record_arena(t);
    struct arena_mark m = arena_mark(arena);
    struct slots g = take_slots(t, r);
    size_t bytes = s->longest * sizeof(real);
    int d = tape_cols_of(t, r->out);
    real *again = s->kept ? NULL : arena_scratch(arena, bytes), *dp = arena_scratch(arena, bytes);
    real *dropped = s->a.dropout > 0 ? arena_scratch(arena, bytes) : NULL;
    const real *kept = s->kept;
    for (int i = 0; i < s->a.query_rows->count; i++)
        for (int h = 0; h < s->a.heads; h++) {
            struct attention_place at = op_attention_place_of(s, d, i, h);
            size_t joint_size = (size_t)at.nq * (size_t)at.width;
            if (!kept) joint(t, r, &at, again);
            const real *p = kept ? kept : again;
            joint_back(t, r, &at, &g, p, dropped, dp);
            p += joint_size;
            for (int j = 0; j < s->a.sets; j++) {
                if (s->a.set[j].join != KV_ADD) continue;
                if (!kept) apart(t, r, &at, j, again + (p - again));
                apart_back(t, r, &at, j, &g, p, dp);
                p += (size_t)at.nq * (size_t)set_rows(t, s, j);
            }
            if (kept) kept = p;
        }
    store_sums(t, r, &g);
    arena_scratch_release(arena, m);
}
