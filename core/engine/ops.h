/* The ops of the tape.  Each function checks shapes (BUG on a mismatch), computes the result and records its
 * backward. n: tokens, d: channels, H: heads.
 *
 * Every op is one row of the table in optable.h: forward, backward, flop count and test cases. */
#ifndef CORE_ENGINE_OPS_H
#define CORE_ENGINE_OPS_H

#include "core/engine/tape.h"

enum act { ACT_NONE, ACT_RELU, ACT_GELU, ACT_GELU_TANH, ACT_SILU, ACT_TANH, ACT_SIGMOID, ACT_COUNT };

/* Partitions the rows of a token matrix into runs with separate weights: rows start[g] … start[g+1]-1 use
 * block[g] of an operand of `blocks` stacked weights.  Every row belongs to a run.  Copied by the ops. */
struct row_groups {
    int count, blocks;
    const int *start; /* count+1 */
    const int *block; /* count */
};

/* y = x Wᵀ + b.  x n×in, w out×in (the layout of PyTorch files), b 1×out or none. */
node op_linear(struct tape *t, node x, node w, node b);
/* y = base + s·(x Wᵀ + b): base n×out, s a constant times the 1×1 value `scale` when
 * that is given. */
node op_linear_add(struct tape *t, node base, node x, node w, node b, double s, node scale);
/* The same two with groups: w (blocks·out)×in, b blocks×out, scale 1×1 or blocks×1.  g NULL: one block for
 * all rows. */
node op_linear_groups(struct tape *t, node x, node w, node b, enum act act, const struct row_groups *g);
node op_linear_add_groups(struct tape *t, node base, node x, node w, node b, double s, node scale,
                          const struct row_groups *g);
/* op_linear whose result is used as weights: each row of x Wᵀ + b is a matrix with this many columns, and the
 * n matrices are stacked, like the operands of groups. */
node op_linear_generated(struct tape *t, node x, node w, node b, int cols);
/* y = x W: x n×k, w k×m. */
node op_matmul(struct tape *t, node x, node w);
/* Per-head linear: x n×(H·a), w (H·b)×a, block h of w maps columns h·a… of x to columns
 * h·b… of y (n×(H·b)). */
node op_head_linear(struct tape *t, node x, node w, int heads);

node op_add(struct tape *t, node a, node b);                            /* a + b */
node op_add_scaled(struct tape *t, node a, node b, double s, node scale); /* a + s·scale·b */
node op_bias(struct tape *t, node x, node b);                           /* x + b on each row, b 1×d */
/* x ⊙ l on each row, l 1×d; with groups (NULL: none) blocks×d. */
node op_channel_scale_groups(struct tape *t, node x, node l, const struct row_groups *g);
/* b + (x - b) ⊙ g on each row: scales the outputs of a map except for its bias.  b 1×d or none, g 1×d. */
node op_gain(struct tape *t, node x, node b, node g);
/* base + g·x, g (sequences×1) a factor for the rows of each sequence; base NODE_NONE: g·x. */
node op_add_gated(struct tape *t, node base, node x, node g, const struct tape_rows *rows);
/* Stacked copies of p (l×d), the i-th scaled by the i-th value of g (n×1): (n·l)×d. */
node op_gated_copies(struct tape *t, node p, node g);
/* For `count` matrices z of shape n×d: dots n×count, q_i·z_k,i (q n×d), and mixed rows n×d, Σ_k p_ik z_k,i
 * with p the softmax of row i of the scores (n×count). */
enum { MIX_MOST = 32 };
node op_dots(struct tape *t, node q, const node *z, int count);
node op_mix(struct tape *t, node scores, const node *z, int count);
node op_mul(struct tape *t, node a, node b);                            /* a ⊙ b */
node op_scale(struct tape *t, node a, double s);                        /* s·a */

node op_act(struct tape *t, node x, enum act act);
/* act(x Wᵀ + b) with the bias fused: equals op_linear + op_act with one pass less. */
node op_linear_act(struct tape *t, node x, node w, node b, enum act act);

/* LayerNorm over channels of x (+ residual when given): γ 1×d, β 1×d or none. */
node op_layernorm(struct tape *t, node x, node residual, node gamma, node beta, double eps);
/* With groups: γ and β blocks×d. */
node op_layernorm_groups(struct tape *t, node x, node residual, node gamma, node beta, double eps,
                         const struct row_groups *g);
/* RMSNorm (T5): no mean, no β.  With a γ narrower than x, each run of as many columns is normalized by itself
 * (the heads of Qwen 3). */
node op_rmsnorm(struct tape *t, node x, node residual, node gamma, double eps);

/* Rotary position embedding (Su et al. 2021, 3.2.2): in each head of `head` columns, column j < head/2 and
 * column head/2 + j are rotated as a pair.  turn: rows × head, the cosines of a row's head/2 angles, then
 * their sines; alive for the step. */
node op_rotary(struct tape *t, node x, int head, const real *turn);

/* Inverted dropout with probability p at a named site; element (row id, token in its row, channel).  The
 * identity if the tape is not training or p is 0. */
node op_dropout(struct tape *t, node x, const struct tape_rows *rows, double p, uint64_t site);

/* Gathers rows of tables and adds them: y[i] = Σ table[first + ids[i]].  ids are copied.  The gradient of a
 * trained table is scattered. */
struct embed_table {
    node table;
    const int32_t *ids; /* n */
    int first;
};
enum { EMBED_TABLES = 5 };
node op_embed_sum(struct tape *t, int n, const struct embed_table *table, int tables);

/* y = first row of each sequence (count×d), or the mean over its rows. */
node op_pool_first(struct tape *t, node x, const struct tape_rows *rows);
node op_pool_mean(struct tape *t, node x, const struct tape_rows *rows);
/* The largest value of each column over a sequence's rows, the first of equal ones (0 for an empty
 * sequence). */
node op_pool_max(struct tape *t, node x, const struct tape_rows *rows);

/* Rows lo…hi-1 (or columns) of x. */
node op_rows(struct tape *t, node x, int lo, int hi);
node op_cols(struct tape *t, node x, int lo, int hi);
/* rows of a above rows of b. */
node op_concat_rows(struct tape *t, node a, node b);

/* Wᵀ = Σ_i A_i ⊗ L_i R_i, a weight out×in as in op_linear: rule (n·n)×n stacks the n matrices A_i, left in×k
 * the L_i, right (n·k)×(out/n) the R_i; right NODE_NONE: left in×(out/n) contains the products. */
node op_kronecker(struct tape *t, node rule, node left, node right);

/* y = base + z ⊙ w, all of one shape: z a hard-concrete gate (stretched to -1.5 … 1.5 and clipped to 0 … 1)
 * for each value of `gate`, times that of `group` (1×1, or NODE_NONE).  On a training tape each gate has
 * noise, a function of site and element. */
node op_gated_change(struct tape *t, node base, node w, node gate, node group, uint64_t site);
/* Compute such a gate without noise, and its probability of being nonzero. */
double op_gate_open(double alpha);
double op_gate_expected(double alpha);
/* y = base with values[first … end-1] added at the positions (row, column), pairs from place[0] on; rows
 * count from `row`. */
node op_scattered(struct tape *t, node base, node values, const real *place, int first, int end, int row);

/* How an additional set of keys and values joins an attention. */
enum kv_join {
    KV_CONCAT, /* one softmax over both: the gated form (1-λ)h + λΔh, He et al. 2022 eq. 7 */
    KV_ADD,    /* h + s·softmax(q P_kᵀ·c) P_v, with its own softmax */
};
struct kv_set {
    node key, value;   /* (blocks·l)×d_k, never masked */
    int blocks;        /* sequence i attends to block[i], l rows; block NULL: all attend to the only one */
    const int *block;  /* one per sequence, alive for the step */
    enum kv_join join;
    double s;          /* KV_ADD: constant factor */
    node scale;        /* KV_ADD: 1×1 learned factor, or NODE_NONE */
};
struct attention {
    int heads;
    int key_heads;                      /* heads of k and v, a divisor of heads (grouped-query attention: head
                                           h reads key head h / (heads / key_heads)); 0: heads */
    double score_scale;                 /* 1/sqrt(d_h); 1 for T5 */
    const struct tape_rows *query_rows; /* sequences of q */
    const struct tape_rows *key_rows;   /* sequences of k and v; the same count */
    const int *key_length;              /* NULL; or k and v are a cache in which sequence i has
                                           key_length[i] rows from key_rows->start[i] on, in any order and
                                           with gaps; they must not need a gradient then */
    bool causal;                        /* query i attends to key j when j <= i + (keys - queries) */
    int window;                         /* causal: and when i + (keys - queries) - j < window; 0: no limit */
    node relative_bias;                 /* NODE_NONE, or table×H: row bucket[reach + distance] for the
                                           distance of key j from query i, j - (i + keys - queries),
                                           clamped to -reach…reach; not applied to sets */
    const int32_t *bucket;              /* 2·reach + 1, alive for the step */
    int reach;
    double dropout;                     /* applied to the probabilities, including those of KV_CONCAT but
                                           not of KV_ADD */
    uint64_t site;
    int sets;
    const struct kv_set *set;           /* copied */
    /* A read-only hook for visualization (NULL: none): receives the probabilities of every (sequence, head)
     * of the forward pass before dropout, queries×columns, KV_CONCAT's columns first.  Valid during the
     * call. */
    void (*seen)(void *self, int sequence, int head, int queries, int columns, const real *p);
    void *seen_self;
};
/* Multi-head attention over packed sequences: q n×d_q, k and v m×d_k, d_k = d_q·key_heads/heads; the keys and
 * values of sets are d_k wide too.  The result n×d_q is the concatenation of the outputs of the heads (taps
 * a.head and a.ctx). */
node op_attention(struct tape *t, node q, node k, node v, const struct attention *a);

/* Losses are sums, so that shards add up: Σ_i w_i·loss_i as a 1×1 value.  Cross-entropy of logits
 * count×classes with integer labels (natural logarithm). */
node op_cross_entropy(struct tape *t, node logits, const int32_t *labels, const real *weights);
/* Cross-entropy of the logits x Wᵀ + b over a vocabulary, with label smoothing ε: for row i (1-ε)·(-log
 * p[label]) + (ε/V)·Σ_v -log p[v].  x n×d, w V×d, b 1×V or none; a label of -1 or a weight of 0 ignores a
 * row.  The n×V logits are never all in memory: rows are processed in blocks, and where only x needs a
 * gradient it is computed immediately and stored instead.  each (n, or NULL) receives the weighted loss of
 * each row. */
node op_vocabulary_loss(struct tape *t, node x, node w, node b, const int32_t *labels,
                        const real *weights, double smoothing, double *each);
/* Divergence of logits count×classes from target logits: Σ_i w_i·KL(softmax(targets_i) ‖
 * softmax(logits_i)). */
node op_divergence(struct tape *t, node logits, const real *targets, const real *weights);
/* Squared error of predictions count×c: Σ_i w_i·|predictions_i - targets_i|². */
node op_squared_error(struct tape *t, node predictions, const real *targets, const real *weights);

#endif
