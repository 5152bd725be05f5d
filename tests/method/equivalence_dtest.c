/* What equals what: forms that are the same function, in 64 bits, on random values, on tiny
 * models of every family. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/engine/optim.h"
#include "tests/support/rig.h"
#include "tests/support/test.h"

static struct rig rig;
static int model; /* the number of that which the tests run on */

static int open_rig(void **state) {
    (void)state;
    rig_open_at(&rig, rig_folder(model));
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

/* A sublayer of a layer. */
struct place {
    int stack, site, layer;
};
enum { PLACES = 32 };

/* Every attention, or every FFN. */
static int places(bool attention, struct place out[PLACES]) {
    const struct arch *a = &rig.m->arch;
    int n = 0;
    for (int stack = STACK_ENCODER; stack <= STACK_DECODER; stack++)
        for (int site = attention ? SUB_SELF : SUB_FFN; site <= (attention ? SUB_CROSS : SUB_FFN);
             site++)
            for (int i = 0; i < (stack ? a->decoder_layers : a->encoder_layers); i++)
                if (stack || site != SUB_CROSS) out[n++] = (struct place){stack, site, i};
    assert_in_range(n, 1, PLACES);
    return n;
}

static real *at(struct point a, struct place p, const char *rest) {
    char name[96];
    snprintf(name, sizeof name, "%s.%d.%s/%s", p.stack ? "dec" : "enc", p.layer, site_name(p.site),
             rest);
    return a.x + rig_tensor(a.p, name)->offset;
}

static int find(struct place p, enum tensor_role role) {
    return arch_find(rig.m->tensor, rig.m->tensors, role, p.stack, p.site, p.layer);
}

/* A model tensor that the method trains; NULL where the family has none. */
static real *trained(struct point a, struct place p, enum tensor_role role) {
    int i = find(p, role);
    return i < 0 ? NULL : a.x + rig_tensor(a.p, rig.m->tensor[i].name)->offset;
}

/* Both heads become the first's. */
static double apart(struct point a, struct point b) {
    size_t n = a.p->head; /* the last in the block */
    memcpy(b.x + b.p->trained - n, a.x + a.p->trained - n, n * sizeof(real));
    real *p = rig_logits(&rig, a.p, a.x), *q = rig_logits(&rig, b.p, b.x);
    double d = rig_apart(&rig, p, q);
    free(p);
    free(q);
    return d;
}

static void same(const char *what, struct point a, struct point b) {
    double d = apart(a, b);
    if (!(d < 1e-10)) fail_msg("%s: logits differ by %g", what, d);
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
static int projected(void) { return rig.m->arch.heads * rig.m->arch.head_width; }

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
    struct point a = point("ia3", 0), b = point("prefix(l=3)", 0); /* of ones, a no-op */
    memset(b.x, 0, b.p->trained_method * sizeof *b.x);
    differ("E20: a zero prefix and none", a, b);
    drop(a);
    drop(b);
}

/* ---- E2, E3, E5, E8 ---- */

static void behind_or_before_the_output_map(void **state) {
    (void)state;
    struct place place[PLACES];
    int d = width(), dq = projected(), r = 3, n = places(true, place);
    struct point a = point("parallel-adapter-attn(r=3)", 0.3);
    struct point b = point("parallel-adapter-attn(r=3,write=a.out)", 0.1);
    for (int i = 0; i < n; i++) {
        const real *o = rig.m->weight[find(place[i], ROLE_O_W)];
        memcpy(at(b, place[i], "bottleneck.out.W_d"), at(a, place[i], "bottleneck.ctx.W_d"),
               (size_t)(r * d) * sizeof(real));
        memcpy(at(b, place[i], "bottleneck.out.b_d"), at(a, place[i], "bottleneck.ctx.b_d"),
               (size_t)r * sizeof(real));
        product(o, at(a, place[i], "bottleneck.ctx.W_u"), d, dq, r,
                at(b, place[i], "bottleneck.out.W_u"));
        product(o, at(a, place[i], "bottleneck.ctx.b_u"), d, dq, 1,
                at(b, place[i], "bottleneck.out.b_u"));
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
    struct place place[PLACES];
    int d = width(), r = 3, n = places(false, place);
    for (int form = 0; form < 3; form++) {
        char text[96];
        snprintf(text, sizeof text, "parallel-adapter-ffn(r=3,act=%s,s=2.5)", acts[form]);
        struct point a = point(text, 0.3);
        snprintf(text, sizeof text, "parallel-adapter-ffn(r=3,act=%s)", acts[form]);
        struct point b = point(text, 0.3);
        memcpy(b.x, a.x, a.p->trained * sizeof *a.x);
        if (form == 2) differ("E3: without the factor", a, b);
        for (int i = 0; i < n; i++) {
            if (form < 2) {
                times(at(b, place[i], "bottleneck.out.W_u"), d * r, 2.5);
            } else { /* relu lets a positive factor through */
                times(at(b, place[i], "bottleneck.out.W_d"), d * r, 2.5);
                times(at(b, place[i], "bottleneck.out.b_d"), r, 2.5);
            }
            times(at(b, place[i], "bottleneck.out.b_u"), d, 2.5);
        }
        same("E3", a, b);
        drop(a);
        drop(b);
    }
}

/* W ← W + W_u (W_d W), b likewise. */
static void sequential_linear_is_a_change_of_weights(void **state) {
    (void)state;
    static const char *const texts[][2] = {
        {"linear(r=3; read=a.out, write=a.out)", "full(write=a.out)"},
        {"linear(r=3; read=f.out, write=f.out)", "full(write=f.out)"}};
    struct place place[PLACES];
    int d = width(), r = 3;
    for (int k = 0; k < 2; k++) {
        struct point a = point(texts[k][0], 0.3), b = point(texts[k][1], 0);
        int n = places(k == 0, place);
        for (int i = 0; i < n; i++)
            for (int bias = 0; bias < 2; bias++) {
                enum tensor_role role = bias ? k ? ROLE_F2_B : ROLE_O_B : k ? ROLE_F2_W : ROLE_O_W;
                int in = bias ? 1 : k ? rig.m->arch.inner : projected();
                real *w = trained(b, place[i], role);
                if (!w) continue;
                real *low = xcalloc((size_t)(r * in), sizeof *low),
                     *high = xcalloc((size_t)(d * in), sizeof *high);
                product(at(a, place[i], "linear.out.W_d"), w, r, d, in, low);
                product(at(a, place[i], "linear.out.W_u"), low, d, r, in, high);
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
    struct place place[PLACES];
    int d = width(), dq = projected(), r = 3, h = rig.m->arch.heads, n = places(true, place);
    struct point a = point("parallel-adapter-attn(r=3)", 0.3);
    struct point b = point("bottleneck(r=3; read=a.in, write=a.head, heads=free)", 0.1);
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < h; k++) {
            memcpy(at(b, place[i], "bottleneck.head.W_d") + k * r * d,
                   at(a, place[i], "bottleneck.ctx.W_d"), (size_t)(r * d) * sizeof(real));
            memcpy(at(b, place[i], "bottleneck.head.b_d") + k * r,
                   at(a, place[i], "bottleneck.ctx.b_d"), (size_t)r * sizeof(real));
        }
        memcpy(at(b, place[i], "bottleneck.head.W_u"), at(a, place[i], "bottleneck.ctx.W_u"),
               (size_t)(r * dq) * sizeof(real));
        memcpy(at(b, place[i], "bottleneck.head.b_u"), at(a, place[i], "bottleneck.ctx.b_u"),
               (size_t)dq * sizeof(real));
    }
    same("E8", a, b);
    at(b, place[n - 1], "bottleneck.head.b_d")[0] += 3; /* beyond the bend of relu */
    differ("E8: a head of its own", a, b);
    drop(a);
    drop(b);
}

/* W_q, divided by the root of the head's width (not in T5), and the factor are one
 * down-map. */
static void a_factorised_head_is_a_free_one_through_the_query_map(void **state) {
    (void)state;
    const struct arch *arch = &rig.m->arch;
    struct place place[PLACES];
    int d = width(), dq = projected(), r = 3, h = arch->heads, dh = arch->head_width;
    int n = places(true, place);
    struct point a = point("multi-head-parallel-adapter(r=3)", 0.5);
    struct point b = point("bottleneck(r=3; read=a.in, write=a.head, heads=free)", 0.1);
    for (int i = 0; i < n; i++) {
        int w = find(place[i], ROLE_Q_W), c = find(place[i], ROLE_Q_B);
        real *down = at(b, place[i], "bottleneck.head.W_d"),
             *down_b = at(b, place[i], "bottleneck.head.b_d");
        const real *factor = at(a, place[i], "bottleneck.head.W_d");
        memset(down_b, 0, (size_t)(h * r) * sizeof *down_b);
        for (int k = 0; k < h; k++) {
            product(factor + k * r * dh, rig.m->weight[w] + k * dh * d, r, dh, d, down + k * r * d);
            if (c < 0) continue;
            product(factor + k * r * dh, rig.m->weight[c] + k * dh, r, dh, 1, down_b + k * r);
        }
        times(down, h * r * d, arch->scale_scores ? 1 / sqrt(dh) : 1);
        times(down_b, h * r, arch->scale_scores ? 1 / sqrt(dh) : 1);
        memcpy(at(b, place[i], "bottleneck.head.W_u"), at(a, place[i], "bottleneck.head.W_u"),
               (size_t)(dq * r) * sizeof(real));
        memset(at(b, place[i], "bottleneck.head.b_u"), 0, (size_t)dq * sizeof(real));
    }
    same("factorised", a, b);
    drop(a);
    drop(b);
}

/* ---- E4, E15, E18, E19 ---- */

/* AdamW without decay, its ε as good as 0; `factor`: of the rate of W_u and b_u. */
static void train_point(struct point a, double factor) {
    static const struct adamw how = {0.9, 0.999, 1e-300, 0};
    enum { STEPS = 6 };
    size_t n = a.p->trained;
    real *g = xcalloc(n, sizeof *g), *moments = xcalloc(2 * n, sizeof *moments);
    struct optim_group *group = xcalloc((size_t)a.p->tensors, sizeof *group);
    for (int i = 0; i < a.p->tensors; i++) {
        const struct plan_tensor *t = &a.p->tensor[i];
        bool up = strstr(t->name, ".W_u") || strstr(t->name, ".b_u");
        group[i] = (struct optim_group){t->offset, t->count, up ? factor : 1, 0};
    }
    for (uint64_t step = 1; step <= STEPS; step++) {
        rig_loss(&rig, a.p, a.x, g);
        optim_adamw(&how, 1e-3, step, (size_t)a.p->tensors, group, a.x, g, moments, moments + n);
    }
    free(g);
    free(moments);
    free(group);
}

static void a_scale_is_a_rate_of_the_up_map(void **state) {
    (void)state;
    struct point a = point("parallel-adapter-ffn(r=3,act=gelu,init=lora,s=4)", 0),
                 b = point("parallel-adapter-ffn(r=3,act=gelu,init=lora)", 0),
                 c = point("parallel-adapter-ffn(r=3,act=gelu,init=lora)", 0);
    memcpy(b.x, a.x, a.p->trained * sizeof *a.x);
    memcpy(c.x, a.x, a.p->trained * sizeof *a.x);
    train_point(a, 1);
    train_point(b, 4);
    train_point(c, 1);
    same("E4", a, b);
    differ("E4: at one rate", a, c);
    drop(a);
    drop(b);
    drop(c);
}

static void a_scale_of_one_is_none(void **state) {
    (void)state;
    struct point a = point("parallel-adapter-ffn(r=3,s=1,init=lora)", 0.3), b = point("parallel-adapter-ffn(r=3)", 0);
    memcpy(b.x, a.x, a.p->trained * sizeof *a.x);
    same("E15", a, b);
    drop(a);
    drop(b);
}

static void a_lora_in_the_ffn_is_no_adapter_beside_it(void **state) {
    (void)state;
    struct point a = point("bottleneck(r=3; act=none, biases=no, read=f.in, write=f.out)", 0.3),
                 b = point("linear(r=3; read=f.in, write=f.out)", 0), c = point("linear(r=3; write=f.out)", 0.3);
    memcpy(b.x, a.x, a.p->trained * sizeof *a.x);
    same("E18: without a bend it is a linear map over the sublayer", a, b);
    if (rig.m->arch.inner != width()) assert_true(c.p->trained != a.p->trained); /* its W_d reads inside */
    differ("E18", a, c);
    drop(a);
    drop(b);
    drop(c);
}

/* The FFN's maps of one layer, with the adapter's as further units; the caller's arrays. */
static void widen(struct model *wide, struct place p, struct point a, int r, bool biases, real **own) {
    int w1 = find(p, ROLE_F1_W), b1 = find(p, ROLE_F1_B), w2 = find(p, ROLE_F2_W), b2 = find(p, ROLE_F2_B);
    int d = width(), f = rig.m->arch.inner;
    real *first = own[0] = xmalloc((size_t)((f + r) * d) * sizeof *first),
         *second = own[1] = xmalloc((size_t)((f + r) * d) * sizeof *second);
    memcpy(first, rig.m->weight[w1], (size_t)(f * d) * sizeof *first);
    memcpy(first + f * d, at(a, p, "bottleneck.out.W_d"), (size_t)(r * d) * sizeof *first);
    for (int i = 0; i < d; i++) {
        memcpy(second + i * (f + r), rig.m->weight[w2] + i * f, (size_t)f * sizeof *second);
        memcpy(second + i * (f + r) + f, at(a, p, "bottleneck.out.W_u") + i * r, (size_t)r * sizeof *second);
        times(second + i * (f + r) + f, r, 0.5);
    }
    wide->weight[w1] = first;
    wide->weight[w2] = second;
    wide->tensor[w1].rows = wide->tensor[w2].cols = f + r;
    if (!biases) return;
    real *inner = own[2] = xmalloc((size_t)(f + r) * sizeof *inner), *outer = own[3] = xmalloc((size_t)d * sizeof *outer);
    memcpy(inner, rig.m->weight[b1], (size_t)f * sizeof *inner);
    memcpy(inner + f, at(a, p, "bottleneck.out.b_d"), (size_t)r * sizeof *inner);
    for (int i = 0; i < d; i++) outer[i] = rig.m->weight[b2][i] + 0.5 * at(a, p, "bottleneck.out.b_u")[i];
    wide->weight[b1] = inner;
    wide->weight[b2] = outer;
    wide->tensor[b1].cols = f + r;
}

static void an_adapter_beside_the_ffn_widens_it(void **state) {
    (void)state;
    enum { R = 3 };
    const struct arch *arch = &rig.m->arch;
    struct place place[PLACES];
    real *own[PLACES][4] = {{NULL}};
    char text[120];
    int n = places(false, place);
    if (arch->gated) return; /* its FFN has a second map beside the first */
    snprintf(text, sizeof text, "bottleneck(r=3; act=%s, read=f.in, write=f.out, s=0.5%s)", method_act_name(arch->act),
             arch->biases ? "" : ", biases=no");
    struct point a = point(text, 0.3);
    struct plan *bare = rig_bare(&rig);
    real *head = bare ? rig_params(&rig, bare, 21, 0) : NULL;
    if (bare) memcpy(head, a.x + a.p->trained - a.p->head, a.p->head * sizeof *head);
    struct model wide = *rig.m;
    wide.arch.inner += R;
    wide.tensor = xcalloc((size_t)wide.tensors, sizeof *wide.tensor);
    wide.weight = xcalloc((size_t)wide.tensors, sizeof *wide.weight);
    memcpy(wide.tensor, rig.m->tensor, (size_t)wide.tensors * sizeof *wide.tensor);
    memcpy(wide.weight, rig.m->weight, (size_t)wide.tensors * sizeof *wide.weight);
    for (int i = 0; i < n; i++) widen(&wide, place[i], a, R, arch->biases, own[i]);
    real *x = rig_logits(&rig, a.p, a.x), *y = rig_logits_of(&rig, &wide, bare, head), *z = rig_logits(&rig, bare, head);
    if (!(rig_apart(&rig, x, y) < 1e-10)) fail_msg("E19: logits differ by %g", rig_apart(&rig, x, y));
    assert_true(rig_apart(&rig, x, z) > 1e-4);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < 4; k++) free(own[i][k]);
    free(wide.tensor);
    free(wide.weight);
    free(x);
    free(y);
    free(z);
    free(head);
    if (bare) plan_free(bare);
    drop(a);
}

/* ---- E6, E7 ---- */

/* One matrix of r1+r2 rows from two. */
static void stack_rows(real *out, const real *a, int na, const real *b, int nb) {
    memcpy(out, a, (size_t)na * sizeof *a);
    memcpy(out + na, b, (size_t)nb * sizeof *b);
}

static void two_loras_are_one(void **state) {
    (void)state;
    struct place place[PLACES];
    int d = width(), dq = projected(), n = places(true, place);
    struct point a = point("linear(r=2; write=a.q, s=3) + linear(r=1; write=a.q, s=3)", 0.3);
    struct point b = point("linear(r=3; write=a.q, s=3)", 0.1);
    for (int i = 0; i < n; i++) {
        struct place p = place[i];
        stack_rows(at(b, p, "linear.q.W_d"), at(a, p, "linear.q.W_d"), 2 * d,
                   at(a, p, "linear.q.2.W_d"), d);
        for (int c = 0; c < dq; c++)
            stack_rows(at(b, p, "linear.q.W_u") + 3 * c, at(a, p, "linear.q.W_u") + 2 * c, 2,
                       at(a, p, "linear.q.2.W_u") + c, 1);
    }
    same("E6", a, b);
    drop(a);
    drop(b);
}

static void two_prefixes_are_one(void **state) {
    (void)state;
    struct place place[PLACES];
    int dq = projected(), n = places(true, place);
    struct point a = point("prefix(l=2) + prefix(l=3)", 0.5), b = point("prefix(l=5)", 0.1);
    struct point c = point("prefix(l=2,comp=add) + prefix(l=3,comp=add)", 0.5);
    for (int i = 0; i < n; i++) {
        struct place p = place[i];
        stack_rows(at(b, p, "softmax.head.P_k"), at(a, p, "softmax.head.P_k"), 2 * dq,
                   at(a, p, "softmax.head.2.P_k"), 3 * dq);
        stack_rows(at(b, p, "softmax.head.P_v"), at(a, p, "softmax.head.P_v"), 2 * dq,
                   at(a, p, "softmax.head.2.P_v"), 3 * dq);
    }
    same("E7", a, b);
    differ("E7: ungated, each with a softmax of its own", b, c);
    drop(a);
    drop(b);
    drop(c);
}

/* ---- E17 ---- */

/* A decomposed map whose lengths are those of W + s W_u W_d. */
static void a_decomposed_map_at_its_own_length_is_a_low_rank_one(void **state) {
    (void)state;
    struct place place[PLACES];
    int d = width(), dq = projected(), n = places(true, place), r = 2;
    struct point a = point("dora(r=2,s=0.5,at=v)", 0), b = point("lora(r=2,s=0.5,at=v)", 0.3),
                 c = point("dora(r=2,s=0.5,at=v)", 0),
                 e = point(rig.m->arch.biases ? "scale(write=a.v) + bias(write=a.v)" : "scale(write=a.v)", 0);
    for (int i = 0; i < n; i++) {
        const real *w = rig.m->weight[find(place[i], ROLE_V_W)], *down = at(b, place[i], "linear.v.W_d"),
                   *up = at(b, place[i], "linear.v.W_u");
        memcpy(at(a, place[i], "decomposed.v.W_d"), down, (size_t)(r * d) * sizeof *down);
        memcpy(at(a, place[i], "decomposed.v.W_u"), up, (size_t)(r * dq) * sizeof *up);
        for (int row = 0; row < dq; row++) {
            real sum = 0;
            for (int k = 0; k < d; k++) {
                real v = w[row * d + k] + (real)0.5 * (up[row * r] * down[k] + up[row * r + 1] * down[d + k]);
                sum += v * v;
            }
            at(a, place[i], "decomposed.v.m")[row] = (real)sqrt((double)sum);
        }
    }
    same("E17", a, b);
    for (int i = 0; i < n && rig.m->arch.biases; i++) /* a direction that stays: rows of W scaled, b not */
        for (int row = 0; row < dq; row++) {
            real l = (real)1.1 + (real)0.01 * (real)row;
            at(c, place[i], "decomposed.v.m")[row] *= l;
            at(e, place[i], "scale.v.l")[row] = l;
            trained(e, place[i], ROLE_V_B)[row] /= l;
        }
    if (rig.m->arch.biases) same("E17: lengths alone", c, e);
    drop(a);
    drop(b);
    drop(c);
    drop(e);
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
    static const struct {
        const char *name;
        enum tensor_role weight, bias;
    } maps[] = {{"scale.k.l", ROLE_K_W, ROLE_K_B}, {"scale.v.l", ROLE_V_W, ROLE_V_B}};
    struct place place[PLACES];
    int d = width(), dq = projected(), f = rig.m->arch.inner, n = places(true, place);
    struct point a = point("ia3", 0.5),
                 b = point("full(write=a.k) + full(write=a.v) + full(write=f.out)", 0);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < 2; k++)
            for (int row = 0; row < dq; row++) {
                real l = at(a, place[i], maps[k].name)[row];
                real *bias = trained(b, place[i], maps[k].bias);
                times(trained(b, place[i], maps[k].weight) + row * d, d, l);
                if (bias) times(bias + row, 1, l);
            }
    n = places(false, place);
    for (int i = 0; i < n; i++)
        for (int row = 0; row < d; row++)
            for (int c = 0; c < f; c++)
                trained(b, place[i], ROLE_F2_W)[row * f + c] *= at(a, place[i], "scale.act.l")[c];
    same("E10", a, b);
    drop(a);
    drop(b);
}

static void biases_of_keys_and_values(void **state) {
    (void)state;
    struct place place[PLACES];
    int d = width(), dq = projected(), n = places(true, place);
    if (!rig.m->arch.biases) return;
    for (int prefix = 0; prefix < 2; prefix++) {
        const char *text = prefix ? "bitfit + prefix(l=3)" : "bitfit";
        struct point a = point(text, 0.3), k = point(text, 0.3), v = point(text, 0.3),
                     vo = point(text, 0.3);
        for (int i = 0; i < n; i++) {
            const real *o = rig.m->weight[find(place[i], ROLE_O_W)];
            real *add = xcalloc((size_t)dq, sizeof *add), *out = xcalloc((size_t)d, sizeof *out);
            for (int c = 0; c < dq; c++) {
                add[c] = 0.1 * (c + 1);
                trained(k, place[i], ROLE_K_B)[c] += add[c];
                trained(v, place[i], ROLE_V_B)[c] += add[c];
            }
            product(o, add, d, dq, 1, out);
            for (int c = 0; c < d; c++) trained(vo, place[i], ROLE_O_B)[c] += out[c];
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
    node made[2 * PLACES];
    tape_reset(rig.prologue, false, 0, 0);
    attach_prologue(a.p, rig.m, rig.prologue, a.x, NULL, made);
    for (int i = 0; i < a.p->made; i++) {
        assert_string_equal(a.p->made_tensor[i].name, b.p->tensor[i].name);
        memcpy(b.x + b.p->tensor[i].offset, tape_value(rig.prologue, made[i]),
               a.p->made_tensor[i].count * sizeof(real));
    }
    same("E13", a, b);
    drop(a);
    drop(b);
}

/* Maps that are sums of Kronecker products, put into a free bottleneck. */
static void made_maps_are_free_ones(void **state) {
    (void)state;
    if (!rig_has_place(&rig, "bottleneck(r=4; act=relu, source=kronecker(2), write=f.out)")) return; /* 2 divides not all widths */
    struct point a = point("bottleneck(r=4; act=relu, source=kronecker(2), write=f.out)", 0.4),
                 b = point("bottleneck(r=4; act=relu, write=f.out)", 0.1);
    node *made = xcalloc((size_t)a.p->made, sizeof *made);
    tape_reset(rig.prologue, false, 0, 0);
    attach_prologue(a.p, rig.m, rig.prologue, a.x, NULL, made);
    for (int i = 0; i < a.p->made; i++) {
        const struct plan_made *m = &a.p->made_tensor[i];
        memcpy(b.x + rig_tensor(b.p, m->name)->offset, tape_value(rig.prologue, made[i]), m->count * sizeof(real));
    }
    for (int i = 0; i < a.p->tensors; i++) { /* biases are trained in both */
        const struct plan_tensor *t = &a.p->tensor[i];
        if (t->kind == PLAN_OWN && t->rows == 1) memcpy(b.x + rig_tensor(b.p, t->name)->offset, a.x + t->offset, t->count * sizeof(real));
    }
    same("E23", a, b);
    free(made);
    drop(a);
    drop(b);
}

/* E12: without an MLP they are one point; as the library PEFT has it the text stands behind the prefix's positions. */
static void p_tuning_v2_is_a_flat_prefix(void **state) {
    (void)state;
    struct point a = point("p-tuning-v2(l=4)", 0.4), b = point("prefix(l=4)", 0.1);
    assert_int_equal(a.p->trained, b.p->trained);
    memcpy(b.x, a.x, a.p->trained * sizeof(real));
    same("E12", a, b);
    drop(b);
    if (rig.m->arch.positions && !rig.m->arch.decoder_layers) {
        struct point c = point("prefix(l=1,shift=yes)", 0), d = point("prefix(l=1)", 0);
        memcpy(d.x, c.x, c.p->trained * sizeof(real));
        differ("E12: with positions of its own", c, d);
        drop(c);
        drop(d);
    }
    drop(a);
}

/* V23: where all factors of a change are 0 no gradient is left, for ever.  No start is so: in each module some tensor has a gradient in
 * the first step. */
static void no_start_is_a_saddle(void **state) {
    (void)state;
    static const char *const texts[] = {
        "linear(r=2; init=lora)", "linear(r=2; init=bert)", "linear(r=2; s=learned)", "lookup(r=2)", "svd(r=2)", "projected(r=2)",
        "decomposed(r=2)", "scale(write=a.k)", "bottleneck(r=2; init=lora, write=f.out, read=f.in)",
        "bottleneck(r=2; init=houlsby, write=f.out)", "bottleneck(r=4; source=kronecker(2))", "prompt(l=2)", "prefix(l=2)",
        "masked(write=a.v) + pruning", "masked(write=a.v) + pruning(mask=fixed)"};
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        if (!rig_has_place(&rig, texts[i])) continue;
        struct point a = point(texts[i], 0);
        real *g = xcalloc(a.p->trained, sizeof *g);
        bool moves = false;
        rig_loss(&rig, a.p, a.x, g);
        for (int k = 0; k < a.p->tensors; k++)
            for (size_t j = 0; a.p->tensor[k].kind == PLAN_OWN && j < a.p->tensor[k].count; j++) moves |= g[a.p->tensor[k].offset + j] != 0;
        if (!moves) fail_msg("V23: %s has no gradient at its start", texts[i]);
        free(g);
        drop(a);
    }
}

/* E13, and E16 of a product. */
static void a_made_prompt_is_a_flat_one(void **state) {
    (void)state;
    static const char *const made[] = {"prompt(l=3,source=mlp(5))", "prompt(l=3,source=lstm(2))", "prompt(l=3,source=product(2))"};
    for (size_t i = 0; i < COUNT_OF(made); i++) {
        struct point a = point(made[i], 0.4), b = point("prompt(l=3)", 0.1);
        node value;
        tape_reset(rig.prologue, false, 0, 0);
        attach_prologue(a.p, rig.m, rig.prologue, a.x, NULL, &value);
        assert_string_equal(a.p->made_tensor[0].name, b.p->tensor[0].name);
        memcpy(b.x, tape_value(rig.prologue, value), a.p->made_tensor[0].count * sizeof(real));
        same("E13", a, b);
        drop(a);
        drop(b);
    }
    struct point a = point("prompt(l=3,source=product(1))", 0.4), b = point("prompt(l=3)", 0.1);
    const struct plan_tensor *p = &a.p->tensor[0], *u = &a.p->tensor[1], *v = &a.p->tensor[2];
    for (size_t i = 0; i < u->count + v->count; i++) a.x[u->offset + i] = 1;
    memcpy(b.x, a.x + p->offset, p->count * sizeof(real));
    same("E16", a, b);
    drop(a);
    drop(b);
}

/* E14: what a row of the prompt has become differs from text to text, which no fixed prefix's rows do. */
static void a_prompt_depends_on_the_text(void **state) {
    (void)state;
    if (!rig.classes) return;
    struct point a = point("prompt(l=3,pool=row0)", 0.4);
    real *logits = rig_logits(&rig, a.p, a.x);
    double most = 0;
    for (int i = 0; i < rig.classes; i++) most = fmax(most, fabs((double)(logits[i] - logits[rig.classes + i])));
    assert_true(most > 1e-4);
    free(logits);
    drop(a);
}

/* E24 */
static void equal_adapters_fused_are_one(void **state) {
    (void)state;
    struct point a = point("adapter-pfeiffer(r=3,source=fusion) + adapter-pfeiffer(r=3,source=fusion) + fusion", 0.4),
                 b = point("adapter-pfeiffer(r=3)", 0.4);
    char twin[PLAN_NAME + 4];
    for (int i = 0; i < b.p->tensors; i++) {
        const struct plan_tensor *t = &b.p->tensor[i];
        const char *last = strrchr(t->name, '.');
        if (t->kind != PLAN_OWN) continue;
        memcpy(a.x + rig_tensor(a.p, t->name)->offset, b.x + t->offset, t->count * sizeof(real));
        snprintf(twin, sizeof twin, "%.*s.2%s", (int)(last - t->name), t->name, last);
        memcpy(a.x + rig_tensor(a.p, twin)->offset, b.x + t->offset, t->count * sizeof(real));
    }
    for (int i = 0; i < a.p->tensors; i++) {
        const struct plan_tensor *t = &a.p->tensor[i];
        size_t n = strlen(t->name);
        if (t->kind != PLAN_NETWORK || strcmp(t->name + n - 2, ".V")) continue;
        for (int k = 0; k < t->rows * t->cols; k++) a.x[t->offset + (size_t)k] = k % (t->cols + 1) == 0;
    }
    same("E24", a, b);
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
        assert_true(apart(a, b) < 1e-12);
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
        cmocka_unit_test(a_scale_is_a_rate_of_the_up_map),
        cmocka_unit_test(a_scale_of_one_is_none),
        cmocka_unit_test(a_lora_in_the_ffn_is_no_adapter_beside_it),
        cmocka_unit_test(an_adapter_beside_the_ffn_widens_it),
        cmocka_unit_test(two_loras_are_one),
        cmocka_unit_test(two_prefixes_are_one),
        cmocka_unit_test(a_decomposed_map_at_its_own_length_is_a_low_rank_one),
        cmocka_unit_test(scaling_keys_is_scaling_queries),
        cmocka_unit_test(scales_are_rows_and_columns_of_weights),
        cmocka_unit_test(biases_of_keys_and_values),
        cmocka_unit_test(a_made_prefix_is_a_flat_one),
        cmocka_unit_test(made_maps_are_free_ones),
        cmocka_unit_test(p_tuning_v2_is_a_flat_prefix),
        cmocka_unit_test(no_start_is_a_saddle),
        cmocka_unit_test(a_made_prompt_is_a_flat_one),
        cmocka_unit_test(a_prompt_depends_on_the_text),
        cmocka_unit_test(equal_adapters_fused_are_one),
        cmocka_unit_test(dropout_is_for_training_alone),
    };
    int failed = 0;
    for (; rig_folder(model); model++)
        failed += cmocka_run_group_tests_name(rig_folder(model), tests, open_rig, close_rig);
    return failed;
}
