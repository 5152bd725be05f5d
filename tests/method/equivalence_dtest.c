/* What equals what: forms that are the same function, in 64 bits, on random values. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "tests/support/rig.h"
#include "tests/support/test.h"

static struct rig rig;

static int open_rig(void **state) {
    (void)state;
    rig_open(&rig);
    return 0;
}

static int close_rig(void **state) {
    (void)state;
    rig_close(&rig);
    return 0;
}

/* A plan with its values. */
struct point {
    struct plan *p;
    real *x;
};

static struct point point(const char *text, double sigma) {
    struct point a = {.p = rig_plan(&rig, text)};
    a.x = rig_params(&rig, a.p, 21, sigma);
    return a;
}

static void drop(struct point a) {
    free(a.x);
    plan_free(a.p);
}

static real *at(struct point a, int layer, const char *rest) {
    char name[96];
    snprintf(name, sizeof name, "enc.%d.%s", layer, rest);
    return a.x + rig_tensor(a.p, name)->offset;
}

static real *base_at(struct point a, int layer, const char *rest) {
    char name[96];
    snprintf(name, sizeof name, "encoder.layer.%d.%s", layer, rest);
    return a.x + rig_tensor(a.p, name)->offset;
}

/* Both heads become the first's. */
static double apart(struct point a, struct point b) {
    size_t n = a.p->head;
    memcpy(b.x + rig_tensor(b.p, "head.weight")->offset,
           a.x + rig_tensor(a.p, "head.weight")->offset, n * sizeof(real));
    real *p = rig_logits(&rig, a.p, a.x), *q = rig_logits(&rig, b.p, b.x);
    double d = rig_apart(&rig, p, q);
    free(p);
    free(q);
    return d;
}

static void same(const char *what, struct point a, struct point b) {
    double d = apart(a, b);
    if (!(d < 1e-11)) fail_msg("%s: logits differ by %g", what, d);
}

static void differ(const char *what, struct point a, struct point b) {
    double d = apart(a, b);
    if (!(d > 1e-4)) fail_msg("%s: logits differ by %g only", what, d);
}

/* out (n×m) = a (n×k) b (k×m). */
static void product(const real *a, const real *b, int n, int k, int m, real *out) {
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++) {
            real sum = 0;
            for (int l = 0; l < k; l++) sum += a[i * k + l] * b[l * m + j];
            out[i * m + j] = sum;
        }
}

static int width(void) { return rig.m->arch.width; }
static int layers(void) { return rig.m->arch.encoder_layers; }

/* ---- E1, E20: the gate, on the attention itself ---- */

enum { D = 12, HEADS = 3, DH = 4, PREFIX = 5, TOKENS = 9 };

struct gate {
    real q[TOKENS * D], k[TOKENS * D], v[TOKENS * D], pk[PREFIX * D], pv[PREFIX * D];
    real *plain, *joined; /* attention without and with the prefix, TOKENS×D */
};

static const int starts[] = {0, 1, 5, 9};
static const uint64_t ids[] = {0, 1, 2};

static void attend(struct gate *g, bool causal, bool zero) {
    struct rng_key key = rng_key(3, RNG_TEST, causal, 0);
    for (int i = 0; i < TOKENS * D; i++) {
        g->q[i] = rng_normal(key, (uint64_t)i);
        g->k[i] = rng_normal(key, (uint64_t)i + 1000);
        g->v[i] = rng_normal(key, (uint64_t)i + 2000);
    }
    for (int i = 0; i < PREFIX * D; i++) {
        g->pk[i] = zero ? 0 : rng_normal(key, (uint64_t)i + 3000);
        g->pv[i] = zero ? 0 : rng_normal(key, (uint64_t)i + 4000);
    }
    struct tape *t = rig.tape;
    tape_reset(t, false, 0, 0);
    const struct tape_rows rows = {3, starts, ids};
    node q = tape_frozen(t, TOKENS, D, g->q), k = tape_frozen(t, TOKENS, D, g->k);
    node v = tape_frozen(t, TOKENS, D, g->v);
    const struct kv_set set = {.key = tape_frozen(t, PREFIX, D, g->pk),
                               .value = tape_frozen(t, PREFIX, D, g->pv),
                               .join = KV_CONCAT,
                               .s = 1};
    struct attention how = {.heads = HEADS,
                            .score_scale = 0.5,
                            .query_rows = &rows,
                            .key_rows = &rows,
                            .causal = causal};
    node plain = op_attention(t, q, k, v, &how);
    how.sets = 1;
    how.set = &set;
    node joined = op_attention(t, q, k, v, &how);
    g->plain = xcalloc(TOKENS * D, sizeof(real));
    g->joined = xcalloc(TOKENS * D, sizeof(real));
    memcpy(g->plain, tape_value(t, plain), TOKENS * D * sizeof(real));
    memcpy(g->joined, tape_value(t, joined), TOKENS * D * sizeof(real));
}

static double score(const real *q, const real *k) {
    double s = 0;
    for (int c = 0; c < DH; c++) s += q[c] * k[c];
    return exp(0.5 * s);
}

/* The share λ of the softmax mass on the prefix; softmax(A_p) P_v in delta. */
static double gate(const struct gate *g, int i, int head, int first, int last, double delta[DH]) {
    const real *q = g->q + i * D + head * DH;
    double on_prefix = 0, on_keys = 0;
    memset(delta, 0, DH * sizeof *delta);
    for (int j = 0; j < PREFIX; j++) {
        double w = score(q, g->pk + j * D + head * DH);
        on_prefix += w;
        for (int c = 0; c < DH; c++) delta[c] += w * g->pv[j * D + head * DH + c];
    }
    for (int j = first; j < last; j++) on_keys += score(q, g->k + j * D + head * DH);
    for (int c = 0; c < DH; c++) delta[c] /= on_prefix;
    return on_prefix / (on_prefix + on_keys);
}

static void a_joined_softmax_is_the_gate(void **state) {
    (void)state;
    for (int form = 0; form < 4; form++) {
        struct gate g;
        bool causal = form & 1, zero = form & 2;
        attend(&g, causal, zero);
        for (int s = 0; s < 3; s++)
            for (int i = starts[s]; i < starts[s + 1]; i++)
                for (int h = 0; h < HEADS; h++) {
                    double delta[DH],
                        lambda = gate(&g, i, h, starts[s], causal ? i + 1 : starts[s + 1], delta);
                    assert_true(lambda > 0 && lambda < 1);
                    for (int c = 0; c < DH; c++) {
                        int at_c = i * D + h * DH + c;
                        double want = (1 - lambda) * g.plain[at_c] + lambda * delta[c];
                        assert_true(fabs(want - g.joined[at_c]) < 1e-13);
                        /* E20: of a zero prefix the gate is left. */
                        if (zero) assert_true(fabs(g.joined[at_c]) < fabs(g.plain[at_c]));
                    }
                }
        free(g.plain);
        free(g.joined);
    }
    struct point a = point("head", 0), b = point("prefix(l=3)", 0);
    memset(b.x, 0, b.p->trained_method * sizeof *b.x);
    differ("E20: a zero prefix and none", a, b);
    drop(a);
    drop(b);
}

/* ---- E2, E3, E5, E8 ---- */

static void behind_or_before_the_output_map(void **state) {
    (void)state;
    int d = width(), r = 3;
    struct point a = point("parallel-adapter-attn(r=3)", 0.3);
    struct point b = point("parallel-adapter-attn(r=3,write=a.out)", 0.1);
    for (int i = 0; i < layers(); i++) {
        int o = arch_find(rig.m->tensor, rig.m->tensors, ROLE_O_W, STACK_ENCODER, SUB_SELF, i);
        memcpy(at(b, i, "self/bottleneck.out.W_d"), at(a, i, "self/bottleneck.ctx.W_d"),
               (size_t)(r * d) * sizeof(real));
        memcpy(at(b, i, "self/bottleneck.out.b_d"), at(a, i, "self/bottleneck.ctx.b_d"),
               (size_t)r * sizeof(real));
        product(rig.m->weight[o], at(a, i, "self/bottleneck.ctx.W_u"), d, d, r,
                at(b, i, "self/bottleneck.out.W_u"));
        product(rig.m->weight[o], at(a, i, "self/bottleneck.ctx.b_u"), d, d, 1,
                at(b, i, "self/bottleneck.out.b_u"));
    }
    same("E2", a, b);
    drop(a);
    drop(b);
}

static void times(real *x, int n, double s) {
    for (int i = 0; i < n; i++) x[i] *= s;
}

static void a_scale_goes_into_the_matrices(void **state) {
    (void)state;
    static const char *const acts[] = {"gelu", "relu", "relu"};
    int d = width(), r = 3;
    for (int form = 0; form < 3; form++) {
        char text[96];
        snprintf(text, sizeof text, "parallel-adapter-ffn(r=3,act=%s,s=2.5)", acts[form]);
        struct point a = point(text, 0.3);
        snprintf(text, sizeof text, "parallel-adapter-ffn(r=3,act=%s)", acts[form]);
        struct point b = point(text, 0.3);
        memcpy(b.x, a.x, a.p->trained * sizeof *a.x);
        if (form == 2) differ("E3: without the factor", a, b);
        for (int i = 0; i < layers(); i++) {
            if (form < 2) {
                times(at(b, i, "ffn/bottleneck.out.W_u"), d * r, 2.5);
            } else { /* relu lets a positive factor through */
                times(at(b, i, "ffn/bottleneck.out.W_d"), d * r, 2.5);
                times(at(b, i, "ffn/bottleneck.out.b_d"), r, 2.5);
            }
            times(at(b, i, "ffn/bottleneck.out.b_u"), d, 2.5);
        }
        same("E3", a, b);
        drop(a);
        drop(b);
    }
}

/* W ← W + W_u (W_d W), b likewise. */
static void sequential_linear_is_a_change_of_weights(void **state) {
    (void)state;
    static const char *const texts[][4] = {
        {"linear(r=3; read=a.out, write=a.out)", "full(write=a.out)", "self/linear.out.",
         "attention.output.dense."},
        {"linear(r=3; read=f.out, write=f.out)", "full(write=f.out)", "ffn/linear.out.",
         "output.dense."}};
    int d = width(), r = 3;
    for (int k = 0; k < 2; k++) {
        struct point a = point(texts[k][0], 0.3), b = point(texts[k][1], 0);
        for (int i = 0; i < layers(); i++)
            for (int bias = 0; bias < 2; bias++) {
                char down[64], up[64], base[64];
                snprintf(down, sizeof down, "%sW_d", texts[k][2]);
                snprintf(up, sizeof up, "%sW_u", texts[k][2]);
                snprintf(base, sizeof base, "%s%s", texts[k][3], bias ? "bias" : "weight");
                int in = bias ? 1 : k ? rig.m->arch.inner : d;
                real *w = base_at(b, i, base);
                real *low = xcalloc((size_t)(r * in), sizeof *low),
                     *high = xcalloc((size_t)(d * in), sizeof *high);
                product(at(a, i, down), w, r, d, in, low);
                product(at(a, i, up), low, d, r, in, high);
                for (int c = 0; c < d * in; c++) w[c] += high[c];
                free(low);
                free(high);
            }
        same("E5", a, b);
        drop(a);
        drop(b);
    }
}

static void heads_that_share_a_down_map_are_one_adapter(void **state) {
    (void)state;
    int d = width(), r = 3, h = rig.m->arch.heads;
    struct point a = point("parallel-adapter-attn(r=3)", 0.3);
    struct point b = point("bottleneck(r=3; read=a.in, write=a.head, heads=free)", 0.1);
    for (int i = 0; i < layers(); i++) {
        for (int k = 0; k < h; k++) {
            memcpy(at(b, i, "self/bottleneck.head.W_d") + k * r * d,
                   at(a, i, "self/bottleneck.ctx.W_d"), (size_t)(r * d) * sizeof(real));
            memcpy(at(b, i, "self/bottleneck.head.b_d") + k * r,
                   at(a, i, "self/bottleneck.ctx.b_d"), (size_t)r * sizeof(real));
        }
        memcpy(at(b, i, "self/bottleneck.head.W_u"), at(a, i, "self/bottleneck.ctx.W_u"),
               (size_t)(r * d) * sizeof(real));
        memcpy(at(b, i, "self/bottleneck.head.b_u"), at(a, i, "self/bottleneck.ctx.b_u"),
               (size_t)d * sizeof(real));
    }
    same("E8", a, b);
    at(b, 0, "self/bottleneck.head.W_d")[0] += 1;
    differ("E8: a head of its own", a, b);
    drop(a);
    drop(b);
}

/* W_q, divided by the root of the head's width, and the factor are one down-map. */
static void a_factorised_head_is_a_free_one_through_the_query_map(void **state) {
    (void)state;
    int d = width(), r = 3, h = rig.m->arch.heads, dh = rig.m->arch.head_width;
    struct point a = point("multi-head-parallel-adapter(r=3)", 0.5);
    struct point b = point("bottleneck(r=3; read=a.in, write=a.head, heads=free)", 0.1);
    for (int i = 0; i < layers(); i++) {
        int w = arch_find(rig.m->tensor, rig.m->tensors, ROLE_Q_W, STACK_ENCODER, SUB_SELF, i);
        int c = arch_find(rig.m->tensor, rig.m->tensors, ROLE_Q_B, STACK_ENCODER, SUB_SELF, i);
        real *down = at(b, i, "self/bottleneck.head.W_d"),
             *down_b = at(b, i, "self/bottleneck.head.b_d");
        const real *factor = at(a, i, "self/bottleneck.head.W_d");
        for (int k = 0; k < h; k++) {
            product(factor + k * r * dh, rig.m->weight[w] + k * dh * d, r, dh, d, down + k * r * d);
            product(factor + k * r * dh, rig.m->weight[c] + k * dh, r, dh, 1, down_b + k * r);
        }
        times(down, h * r * d, 1 / sqrt(dh));
        times(down_b, h * r, 1 / sqrt(dh));
        memcpy(at(b, i, "self/bottleneck.head.W_u"), at(a, i, "self/bottleneck.head.W_u"),
               (size_t)(d * r) * sizeof(real));
        memset(at(b, i, "self/bottleneck.head.b_u"), 0, (size_t)d * sizeof(real));
    }
    same("factorised", a, b);
    drop(a);
    drop(b);
}

/* ---- E6, E7 ---- */

/* One matrix of r1+r2 rows from two. */
static void stack_rows(real *out, const real *a, int na, const real *b, int nb) {
    memcpy(out, a, (size_t)na * sizeof *a);
    memcpy(out + na, b, (size_t)nb * sizeof *b);
}

static void two_loras_are_one(void **state) {
    (void)state;
    int d = width();
    struct point a = point("linear(r=2; write=a.q, s=3) + linear(r=1; write=a.q, s=3)", 0.3);
    struct point b = point("linear(r=3; write=a.q, s=3)", 0.1);
    for (int i = 0; i < layers(); i++) {
        stack_rows(at(b, i, "self/linear.q.W_d"), at(a, i, "self/linear.q.W_d"), 2 * d,
                   at(a, i, "self/linear.q.2.W_d"), d);
        for (int c = 0; c < d; c++)
            stack_rows(at(b, i, "self/linear.q.W_u") + 3 * c, at(a, i, "self/linear.q.W_u") + 2 * c,
                       2, at(a, i, "self/linear.q.2.W_u") + c, 1);
    }
    same("E6", a, b);
    drop(a);
    drop(b);
}

static void two_prefixes_are_one(void **state) {
    (void)state;
    int d = width();
    struct point a = point("prefix(l=2) + prefix(l=3)", 0.5), b = point("prefix(l=5)", 0.1);
    struct point c = point("prefix(l=2,comp=add) + prefix(l=3,comp=add)", 0.5);
    for (int i = 0; i < layers(); i++) {
        stack_rows(at(b, i, "self/softmax.head.P_k"), at(a, i, "self/softmax.head.P_k"), 2 * d,
                   at(a, i, "self/softmax.head.2.P_k"), 3 * d);
        stack_rows(at(b, i, "self/softmax.head.P_v"), at(a, i, "self/softmax.head.P_v"), 2 * d,
                   at(a, i, "self/softmax.head.2.P_v"), 3 * d);
    }
    same("E7", a, b);
    differ("E7: ungated, each with a softmax of its own", b, c);
    drop(a);
    drop(b);
    drop(c);
}

/* ---- E9, E10, E11 ---- */

static void scaling_keys_is_scaling_queries(void **state) {
    (void)state;
    struct point a = point("scale(write=a.k)", 0.5), b = point("scale(write=a.q)", 0.1);
    memcpy(b.x, a.x, a.p->trained * sizeof *a.x);
    same("E9", a, b);
    drop(a);
    drop(b);
}

static void scales_are_rows_and_columns_of_weights(void **state) {
    (void)state;
    int d = width(), f = rig.m->arch.inner;
    struct point a = point("ia3", 0.5),
                 b = point("full(write=a.k) + full(write=a.v) + full(write=f.out)", 0);
    static const char *const maps[][2] = {{"self/scale.k.l", "attention.self.key."},
                                          {"self/scale.v.l", "attention.self.value."}};
    char name[64];
    for (int i = 0; i < layers(); i++) {
        for (int k = 0; k < 2; k++)
            for (int row = 0; row < d; row++) {
                real l = at(a, i, maps[k][0])[row];
                snprintf(name, sizeof name, "%sweight", maps[k][1]);
                times(base_at(b, i, name) + row * d, d, l);
                snprintf(name, sizeof name, "%sbias", maps[k][1]);
                times(base_at(b, i, name) + row, 1, l);
            }
        for (int row = 0; row < d; row++)
            for (int c = 0; c < f; c++)
                base_at(b, i, "output.dense.weight")[row * f + c] *= at(a, i, "ffn/scale.act.l")[c];
    }
    same("E10", a, b);
    drop(a);
    drop(b);
}

static void biases_of_keys_and_values(void **state) {
    (void)state;
    int d = width();
    for (int prefix = 0; prefix < 2; prefix++) {
        const char *text = prefix ? "bitfit + prefix(l=3)" : "bitfit";
        struct point a = point(text, 0.3), k = point(text, 0.3), v = point(text, 0.3),
                     vo = point(text, 0.3);
        for (int i = 0; i < layers(); i++) {
            int o = arch_find(rig.m->tensor, rig.m->tensors, ROLE_O_W, STACK_ENCODER, SUB_SELF, i);
            real *add = xcalloc((size_t)d, sizeof *add), *out = xcalloc((size_t)d, sizeof *out);
            for (int c = 0; c < d; c++) {
                add[c] = 0.1 * (c + 1);
                base_at(k, i, "attention.self.key.bias")[c] += add[c];
                base_at(v, i, "attention.self.value.bias")[c] += add[c];
            }
            product(rig.m->weight[o], add, d, d, 1, out);
            for (int c = 0; c < d; c++) base_at(vo, i, "attention.output.dense.bias")[c] += out[c];
            free(add);
            free(out);
        }
        (prefix ? differ : same)("E11: biases of keys", a, k);
        (prefix ? differ : same)("E11: biases of values in W_o's", v, vo);
        differ("E11: biases of values matter", a, v);
        drop(a);
        drop(k);
        drop(v);
        drop(vo);
    }
}

/* ---- the other ways to the same ---- */

static void a_made_prefix_is_a_flat_one(void **state) {
    (void)state;
    struct point a = point("prefix(l=4,mlp=5)", 0.4), b = point("prefix(l=4)", 0.1);
    node made[2 * 8];
    tape_reset(rig.prologue, false, 0, 0);
    attach_prologue(a.p, rig.prologue, a.x, NULL, made);
    for (int i = 0; i < a.p->made; i++) {
        assert_string_equal(a.p->made_tensor[i].name, b.p->tensor[i].name);
        memcpy(b.x + b.p->tensor[i].offset, tape_value(rig.prologue, made[i]),
               a.p->made_tensor[i].count * sizeof(real));
    }
    same("E13", a, b);
    drop(a);
    drop(b);
}

static void dropout_is_for_training_alone(void **state) {
    (void)state;
    static const char *const texts[][2] = {
        {"lora(dropout=0.5)", "lora"},
        {"adapter-pfeiffer(dropout=0.5)", "adapter-pfeiffer"},
        {"prefix(dropout=0.5)", "prefix"},
        {"multi-head-parallel-adapter(dropout=0.5)", "multi-head-parallel-adapter"}};
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        struct point a = point(texts[i][0], 0.3), b = point(texts[i][1], 0.3);
        assert_true(apart(a, b) == 0);
        assert_true(rig_loss(&rig, a.p, a.x, NULL) == rig_loss(&rig, a.p, a.x, NULL));
        assert_true(fabs(rig_loss(&rig, a.p, a.x, NULL) - rig_loss(&rig, b.p, b.x, NULL)) > 1e-4);
        drop(a);
        drop(b);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_joined_softmax_is_the_gate),
        cmocka_unit_test(behind_or_before_the_output_map),
        cmocka_unit_test(a_scale_goes_into_the_matrices),
        cmocka_unit_test(sequential_linear_is_a_change_of_weights),
        cmocka_unit_test(heads_that_share_a_down_map_are_one_adapter),
        cmocka_unit_test(a_factorised_head_is_a_free_one_through_the_query_map),
        cmocka_unit_test(two_loras_are_one),
        cmocka_unit_test(two_prefixes_are_one),
        cmocka_unit_test(scaling_keys_is_scaling_queries),
        cmocka_unit_test(scales_are_rows_and_columns_of_weights),
        cmocka_unit_test(biases_of_keys_and_values),
        cmocka_unit_test(a_made_prefix_is_a_flat_one),
        cmocka_unit_test(dropout_is_for_training_alone),
    };
    return cmocka_run_group_tests_name("equivalences", tests, open_rig, close_rig);
}
