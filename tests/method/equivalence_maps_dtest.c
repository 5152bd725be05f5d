/* Equivalent maps: adapters and LoRAs, their places and their combinations. */
#include "tests/method/equivalence.h"

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
            } else { /* relu commutes with a positive factor */
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
    at(b, place[n - 1], "bottleneck.head.b_d")[0] += 3; /* beyond the kink of relu */
    differ("E8: a head of its own", a, b);
    drop(a);
    drop(b);
}

/* W_q, divided by the root of the head width (not in T5), times the factor is one down-map. */
static void a_factorized_head_is_a_free_one_through_the_query_map(void **state) {
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
    /* its W_d reads the inner width */
    if (rig.m->arch.inner != width()) assert_true(c.p->trained != a.p->trained);
    differ("E18", a, c);
    drop(a);
    drop(b);
    drop(c);
}

static bool is_bottleneck(const struct method *m, int i) { return m->module[i].fn == FN_BOTTLENECK; }

static void an_adapter_beside_the_ffn_widens_it(void **state) {
    (void)state;
    const struct arch *arch = &rig.m->arch;
    char text[120];
    if (arch->gated) return; /* its FFN has a second, gating map */
    snprintf(text, sizeof text, "bottleneck(r=3; act=%s, read=f.in, write=f.out, s=0.5%s)", method_act_name(arch->act),
             arch->biases ? "" : ", biases=no");
    struct point a = point(text, 0.3);
    struct plan *bare = rig_bare(&rig);
    real *head = bare ? rig_params(&rig, bare, 21, 0) : NULL;
    if (bare) memcpy(head, a.x + a.p->trained - a.p->head, a.p->head * sizeof *head);
    struct wide w = widened(a, is_bottleneck);
    real *x = rig_logits(&rig, a.p, a.x), *y = rig_logits_of(&rig, &w.model, bare, head), *z = rig_logits(&rig, bare, head);
    if (!(rig_apart(&rig, x, y) < 1e-10)) fail_msg("E19: logits differ by %g", rig_apart(&rig, x, y));
    assert_true(rig_apart(&rig, x, z) > 1e-4);
    widened_free(&w);
    free(x);
    free(y);
    free(z);
    free(head);
    if (bare) plan_free(bare);
    drop(a);
}

/* ---- E6, E7 ---- */

/* Concatenates the rows of two matrices: r1+r2 rows. */
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

/* A decomposed map whose magnitudes are the norms of W + s W_u W_d. */
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
    /* an unchanged direction: rows of W scaled, b unchanged */
    for (int i = 0; i < n && rig.m->arch.biases; i++)
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

int main(void) {
    int failed;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(behind_or_before_the_output_map),
        cmocka_unit_test(a_scale_goes_into_the_matrices),
        cmocka_unit_test(sequential_linear_is_a_change_of_weights),
        cmocka_unit_test(heads_that_share_a_down_map_are_one_adapter),
        cmocka_unit_test(a_factorized_head_is_a_free_one_through_the_query_map),
        cmocka_unit_test(a_scale_is_a_rate_of_the_up_map),
        cmocka_unit_test(a_scale_of_one_is_none),
        cmocka_unit_test(a_lora_in_the_ffn_is_no_adapter_beside_it),
        cmocka_unit_test(an_adapter_beside_the_ffn_widens_it),
        cmocka_unit_test(two_loras_are_one),
        cmocka_unit_test(two_prefixes_are_one),
        cmocka_unit_test(a_decomposed_map_at_its_own_length_is_a_low_rank_one),
    };
    EQUIVALENCE_RUN(tests, failed);
    return failed;
}
