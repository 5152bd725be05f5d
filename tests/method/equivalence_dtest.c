/* Forms that compute the same function, compared in 64 bits with random values on tiny models of every
 * family: gates of the attention, scales, biases, generated weights. Maps: equivalence_maps_dtest.c. */
#include "tests/method/equivalence.h"

/* ---- E1, E20: the gate, on the attention ---- */

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

/* Returns the share λ of the softmax mass on the prefix; softmax(A_p) P_v in delta. */
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
                        /* E20: a zero prefix still has the gate. */
                        if (zero) assert_true(fabs(g.joined[at_c]) < fabs(g.plain[at_c]));
                    }
                }
        free(g.plain);
        free(g.joined);
    }
    struct point a = point("ia3", 0), b = point("prefix(l=3)", 0); /* initialized to ones: the identity */
    memset(b.x, 0, b.p->trained_method * sizeof *b.x);
    differ("E20: a zero prefix and none", a, b);
    drop(a);
    drop(b);
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

/* ---- other equivalent forms ---- */

static void a_made_prefix_is_a_flat_one(void **state) {
    (void)state;
    struct point a = point("prefix(l=4,mlp=5)", 0.4), b = point("prefix(l=4)", 0.1);
    node made[2 * PLACES];
    tape_reset(rig.prologue, false, 0, 0);
    attach_prologue(a.p, rig.m, rig.prologue, a.x, NULL, made);
    for (int i = 0; i < a.p->generated; i++) {
        assert_string_equal(a.p->generated_tensor[i].name, b.p->tensor[i].name);
        memcpy(b.x + b.p->tensor[i].offset, tape_value(rig.prologue, made[i]),
               a.p->generated_tensor[i].count * sizeof(real));
    }
    same("E13", a, b);
    drop(a);
    drop(b);
}

/* Maps that are sums of Kronecker products, copied to a free bottleneck. */
static void made_maps_are_free_ones(void **state) {
    (void)state;
    /* 2 does not divide all widths */
    if (!rig_has_place(&rig, "bottleneck(r=4; act=relu, source=kronecker(2), write=f.out)")) return;
    struct point a = point("bottleneck(r=4; act=relu, source=kronecker(2), write=f.out)", 0.4),
                 b = point("bottleneck(r=4; act=relu, write=f.out)", 0.1);
    node *made = xcalloc((size_t)a.p->generated, sizeof *made);
    tape_reset(rig.prologue, false, 0, 0);
    attach_prologue(a.p, rig.m, rig.prologue, a.x, NULL, made);
    for (int i = 0; i < a.p->generated; i++) {
        const struct plan_generated *m = &a.p->generated_tensor[i];
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

/* E12: without an MLP both are one point; in PEFT the text has positions after those of the prefix. */
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

/* V23: if all factors of a change are 0 the gradient remains 0. No initialization is like this: in each
 * module some tensor has a gradient in the first step. */
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

/* E13, and E16 for a product. */
static void a_made_prompt_is_a_flat_one(void **state) {
    (void)state;
    static const char *const made[] = {"prompt(l=3,source=mlp(5))", "prompt(l=3,source=lstm(2))", "prompt(l=3,source=product(2))"};
    for (size_t i = 0; i < COUNT_OF(made); i++) {
        struct point a = point(made[i], 0.4), b = point("prompt(l=3)", 0.1);
        node value;
        tape_reset(rig.prologue, false, 0, 0);
        attach_prologue(a.p, rig.m, rig.prologue, a.x, NULL, &value);
        assert_string_equal(a.p->generated_tensor[0].name, b.p->tensor[0].name);
        memcpy(b.x, tape_value(rig.prologue, value), a.p->generated_tensor[0].count * sizeof(real));
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

/* E14: the final vector of a prompt row depends on the text, unlike the rows of a fixed prefix. */
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
    int failed;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_joined_softmax_is_the_gate),
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
    EQUIVALENCE_RUN(tests, failed);
    return failed;
}
