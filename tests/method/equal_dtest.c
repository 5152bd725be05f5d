/* Both sides of the equalities that explain lists: for every published method and every tiny model, random
 * parameters are transferred according to the equality and logits compared in 64 bits. */
#include "core/method/equal.h"
#include "core/method/functions.h"
#include "core/method/hyper.h"
#include "core/method/merge.h"
#include "core/method/slots.h"
#include "tests/method/equivalence.h"

static const struct equality *asked; /* the equality being checked */
static int checked[32];              /* how often each was checked, by its index in the table */

static bool asked_of(const struct method *m, int i) {
    return asked->of(&(struct question){m, &m->module[i], i, &rig.m->arch});
}

/* ---- the two sides ---- */

static struct point of_method(const struct method *m, double sigma) {
    char *text = method_text(m);
    struct point a = point(text, sigma);
    free(text);
    return a;
}

/* Returns the generated values of a plan; caller frees. */
static real *made_by(struct point a) {
    real *made = xcalloc(a.p->generated_size + 1, sizeof *made);
    node *n = xcalloc((size_t)a.p->generated + 1, sizeof *n);
    tape_reset(rig.prologue, false, 0, 0);
    if (a.p->generated) attach_prologue(a.p, rig.m, rig.prologue, a.x, NULL, n);
    for (int i = 0; i < a.p->generated; i++)
        memcpy(made + a.p->generated_tensor[i].offset, tape_value(rig.prologue, n[i]), a.p->generated_tensor[i].count * sizeof *made);
    free(n);
    return made;
}

static const struct plan_tensor *named(const struct plan *p, const char *name) {
    for (int i = 0; i < p->tensors; i++)
        if (!strcmp(p->tensor[i].name, name)) return &p->tensor[i];
    return NULL;
}

/* "enc.0.self/linear.q.W_d" with `from` replaced by `to`. */
static char *renamed(const char *name, const char *from, const char *to) {
    const char *at = strstr(name, from);
    return at ? xprintf("%.*s%s%s", (int)(at - name), name, to, at + strlen(from)) : xstrdup(name);
}

/* Copies to b the values of a with the same names, trained or generated; `to` in b is called `from` in a. */
static void carry_as(struct point a, struct point b, const char *from, const char *to) {
    real *made = made_by(a);
    for (int i = 0; i < b.p->tensors; i++) {
        const struct plan_tensor *t = &b.p->tensor[i];
        char *name = renamed(t->name, to, from);
        const struct plan_tensor *x = named(a.p, name);
        if (x && x->count == t->count) memcpy(b.x + t->offset, a.x + x->offset, t->count * sizeof *b.x);
        for (int k = 0; k < a.p->generated && !x; k++)
            if (!strcmp(a.p->generated_tensor[k].name, name) && a.p->generated_tensor[k].count == t->count)
                memcpy(b.x + t->offset, made + a.p->generated_tensor[k].offset, t->count * sizeof *b.x);
        free(name);
    }
    free(made);
}

static void carry(struct point a, struct point b) { carry_as(a, b, "//", "//"); }

static void sides_are_same(struct point a, struct point b) {
    same(asked->id, a, b);
    drop(a);
    drop(b);
}

static void sides_differ(struct point a, struct point b) {
    differ(asked->id, a, b);
    drop(a);
    drop(b);
}

/* Removes the networks whose generated values are free parameters now. */
static void without_generators(struct method *m) {
    for (int g = 0; g < GENERATORS; g++) m->hyper[g] = (struct hyper){0};
    m->retriever = (struct retriever){0};
}

/* ---- the gated form, instead of one softmax over prefix and tokens ---- */

struct gates {
    const struct hooks *inner; /* the hooks of the method */
    struct attach *attach;
};

static bool gates_wants(void *self, const struct site *site, enum tap tap) {
    const struct gates *g = self;
    return (tap >= TAP_A_Q && tap <= TAP_A_HEAD) || g->inner->wants(g->inner->self, site, tap);
}

static node gates_weight(void *self, struct tape *t, int tensor) {
    const struct gates *g = self;
    return g->inner->weight(g->inner->self, t, tensor);
}

static double score_of(const real *q, const real *k, int d, double scale) {
    double s = 0;
    for (int c = 0; c < d; c++) s += (double)q[c] * (double)k[c];
    return s * scale;
}

/* Keys and values first … end-1 of one head, with stride w. */
struct keys {
    const real *k, *v;
    int first, end, w, d;
    double scale;
};

static double largest_score(const struct keys *x, const real *q) {
    double most = -INFINITY;
    for (int j = x->first; j < x->end; j++) most = fmax(most, score_of(q, x->k + j * x->w, x->d, x->scale));
    return most;
}

/* Returns the unnormalized mass of a softmax, Σ exp(score - most); the weighted sum of the values is written
 * to `out` (may be NULL). */
static double mass_of(const struct keys *x, const real *q, double most, double *out) {
    double mass = 0;
    for (int j = x->first; j < x->end; j++) {
        double s = exp(score_of(q, x->k + j * x->w, x->d, x->scale) - most);
        mass += s;
        for (int c = 0; c < x->d && out; c++) out[c] += s * (double)x->v[j * x->w + c];
    }
    return mass;
}

/* (1 - \u03BB) h + \u03BB \u0394h of each query and head; h is what the attention came to without the prefix. */
static node gates_form(const struct gates *g, struct tape *t, const struct forward *f, struct site *site, node h) {
    const struct arch *a = &rig.m->arch;
    struct kv_set set[HOOK_SETS];
    int sets = g->inner->keys(g->inner->self, t, f, site, set, HOOK_SETS), dh = a->head_width, w = tape_cols_of(t, h);
    double scale = a->scale_scores ? 1 / sqrt(dh) : 1;
    if (!sets) return h;
    assert_true(sets == 1 && set[0].join == KV_CONCAT && !set[0].block);
    const real *q = tape_value(t, site->value[TAP_A_Q]), *k = tape_value(t, site->value[TAP_A_K]);
    const real *v = tape_value(t, site->value[TAP_A_V]);
    const real *pk = tape_value(t, set[0].key), *pv = tape_value(t, set[0].value);
    int rows = tape_rows_of(t, h);
    real *out = arena_keep(rig.arena, (size_t)rows * (size_t)w * sizeof *out);
    memcpy(out, tape_value(t, h), (size_t)rows * (size_t)w * sizeof *out);
    for (int s = 0; s < site->rows->count; s++)
        for (int i = site->rows->start[s]; i < site->rows->start[s + 1]; i++)
            for (int head = 0; head < w; head += dh) {
                bool causal = site->stack == STACK_DECODER && site->sublayer == SUB_SELF;
                int end = causal ? i + 1 : site->key_rows->start[s + 1];
                const struct keys own = {k + head, v + head, site->key_rows->start[s], end, w, dh, scale};
                const struct keys prefix = {pk + head, pv + head, 0, tape_rows_of(t, set[0].key), w, dh, scale};
                const real *query = q + i * w + head;
                double delta[64] = {0}, most = largest_score(&prefix, query), all = fmax(most, largest_score(&own, query));
                double on_prefix = mass_of(&prefix, query, most, delta), on_keys = mass_of(&own, query, all, NULL);
                double lambda = on_prefix * exp(most - all) / (on_prefix * exp(most - all) + on_keys);
                for (int c = 0; c < dh; c++)
                    out[i * w + head + c] = (real)((1 - lambda) * (double)out[i * w + head + c] + lambda * delta[c] / on_prefix);
            }
    return tape_frozen(t, rows, w, out);
}

static node gates_write(void *self, struct tape *t, const struct forward *f, struct site *site, enum tap tap, enum tap_stage stage,
                        node value) {
    const struct gates *g = self;
    if (tap == TAP_A_HEAD && stage == TAP_RAW) value = gates_form(g, t, f, site, value);
    return g->inner->wants(g->inner->self, site, tap) ? g->inner->write(g->inner->self, t, f, site, tap, stage, value) : value;
}

static void a_joined_prefix_is_a_gate(const struct method *m) {
    if (rig.m->arch.buckets) return; /* T5 adds relative biases to the scores of tokens */
    struct point a = of_method(m, 0.4);
    real *made = made_by(a), *joined = rig_logits(&rig, a.p, a.x);
    struct attach *attach = attach_new(a.p, rig.m);
    struct forward f;
    tape_reset(rig.tape, false, 3, 5);
    struct gates g = {attach_begin(attach, rig.tape, a.x, made, NULL), attach};
    struct hooks mine = *g.inner;
    mine.self = &g;
    mine.wants = gates_wants;
    mine.weight = gates_weight;
    mine.write = gates_write;
    mine.keys = NULL;
    mine.reached = NULL;
    struct batch batch = rig_batch(&rig, a.p);
    forward_init(&f, rig.tape, rig.m, &batch, &mine);
    node encoded = forward_encode(&f), out;
    if (rig.classes) out = attach_head(attach, &f, attach_pool(attach, &f, encoded), (struct task_range){0, 0, batch.examples}, 0);
    else out = forward_logits(&f, forward_decode(&f, encoded));
    double d = rig_apart(&rig, joined, tape_value(rig.tape, out));
    if (!(d < 1e-10)) fail_msg("E1: logits differ by %g", d);
    attach_free(attach);
    free(made);
    free(joined);
    drop(a);
}

/* ---- one check per equality ---- */

/* Returns the scale s of the module of a tensor W_u or b_u. */
static double scale_of(struct point a, const struct plan_tensor *t) {
    const struct plan_tensor *s = plan_slot(a.p, t->module, SLOT_SCALE, t->stack, t->site, t->layer);
    return s ? (double)a.x[s->offset] : a.p->method.module[t->module].scale;
}

static void free_of_scale(struct method *m) {
    struct method given = *m;
    for (int i = 0; i < m->count; i++)
        if (asked_of(&given, i)) m->module[i].comp = COMP_ADD;
    method_normalize(m);
}

static void scales_go_into_maps(const struct method *m) {
    struct method other = *m;
    free_of_scale(&other);
    struct point a = of_method(m, 0.3), b = of_method(&other, 0.1);
    carry(a, b);
    for (int i = 0; i < b.p->tensors; i++) {
        const struct plan_tensor *t = &b.p->tensor[i], *x = named(a.p, t->name);
        if (t->kind == PLAN_OWN && (t->role == SLOT_UP_W || t->role == SLOT_UP_B) && asked_of(&a.p->method, x->module))
            times(b.x + t->offset, (int)t->count, scale_of(a, x));
    }
    sides_are_same(a, b);
}

static void scales_are_rates(const struct method *m) {
    struct method other = *m;
    double s = 1;
    for (int i = 0; i < m->count; i++)
        if (asked_of(m, i)) s = m->module[i].scale;
    free_of_scale(&other);
    struct point a = of_method(m, 0), b = of_method(&other, 0);
    carry(a, b);
    train_point(a, 1);
    train_point(b, s);
    sides_are_same(a, b);
}

static void before_or_behind_the_output_map(const struct method *m) {
    struct method other = *m;
    struct place place[PLACES];
    int d = width(), dq = projected(), n = places(true, place);
    for (int i = 0; i < m->count; i++)
        if (asked_of(m, i)) other.module[i].write = TAP_A_OUT;
    struct point a = of_method(m, 0.3), b = of_method(&other, 0.1);
    carry_as(a, b, ".ctx.", ".out.");
    for (int i = 0; i < n; i++) {
        const real *o = rig.m->weight[find(place[i], ROLE_O_W)];
        product(o, at(a, place[i], "bottleneck.ctx.W_u"), d, dq, m->module[0].size, at(b, place[i], "bottleneck.out.W_u"));
        product(o, at(a, place[i], "bottleneck.ctx.b_u"), d, dq, 1, at(b, place[i], "bottleneck.out.b_u"));
    }
    sides_are_same(a, b);
}

/* Compares each module twice with one module of twice the size: rows are concatenated, or columns. */
static void two_are_one(const struct method *m) {
    struct method twice = *m, one = *m;
    for (int i = 0; i < m->count; i++) {
        if (!asked_of(m, i)) continue;
        twice.module[twice.count++] = m->module[i];
        one.module[i].size *= 2;
    }
    struct point a = of_method(&twice, 0.3), b = of_method(&one, 0.1);
    carry(a, b);
    for (int i = 0; i < b.p->tensors; i++) {
        const struct plan_tensor *t = &b.p->tensor[i], *x = named(a.p, t->name);
        const char *last = strrchr(t->name, '.');
        char *name = xprintf("%.*s.2%s", (int)(last - t->name), t->name, last);
        const struct plan_tensor *y = named(a.p, name);
        size_t row = y ? (size_t)y->cols : 0;
        free(name);
        if (!y) continue;
        if (t->cols == y->cols) { /* rows */
            memcpy(b.x + t->offset, a.x + x->offset, x->count * sizeof *b.x);
            memcpy(b.x + t->offset + x->count, a.x + y->offset, y->count * sizeof *b.x);
            continue;
        }
        for (size_t r = 0; r < (size_t)t->rows; r++) {
            memcpy(b.x + t->offset + 2 * r * row, a.x + x->offset + r * row, row * sizeof *b.x);
            memcpy(b.x + t->offset + (2 * r + 1) * row, a.x + y->offset + r * row, row * sizeof *b.x);
        }
    }
    sides_are_same(a, b);
}

static void keys_or_queries(const struct method *m) {
    struct method other = *m;
    for (int i = 0; i < m->count; i++)
        if (asked_of(m, i)) other.module[i].read = other.module[i].write = m->module[i].write == TAP_A_K ? TAP_A_Q : TAP_A_K;
    struct point a = of_method(m, 0.4), b = of_method(&other, 0.1);
    carry_as(a, b, ".k.", ".q.");
    sides_are_same(a, b);
}

static void scales_are_weights(const struct method *m) {
    struct method other = *m;
    struct place place[PLACES];
    int d = width(), f = rig.m->arch.inner;
    static const struct {
        enum tap tap, map;
        const char *name;
    } of[] = {{TAP_A_K, TAP_A_K, "scale.k.l"}, {TAP_A_V, TAP_A_V, "scale.v.l"}, {TAP_F_ACT, TAP_F_OUT, "scale.act.l"}};
    for (int i = 0; i < m->count; i++) {
        other.module[i] = module_default(FN_FULL);
        other.module[i].target = TARGET_TAP;
        other.module[i].write = m->module[i].write == TAP_F_ACT ? TAP_F_OUT : m->module[i].write;
    }
    method_normalize(&other);
    struct point a = of_method(m, 0.4), b = of_method(&other, 0);
    for (size_t k = 0; k < COUNT_OF(of); k++) {
        int n = places(of[k].tap != TAP_F_ACT, place);
        for (int i = 0; i < n; i++) {
            const real *l = at(a, place[i], of[k].name);
            real *w = trained(b, place[i], tap_weight_role(of[k].map)), *bias = trained(b, place[i], tap_bias_role(of[k].map));
            bool columns = of[k].tap == TAP_F_ACT;
            int rows = columns ? d : projected(), cols = columns ? f : d;
            for (int r = 0; r < rows; r++)
                for (int c = 0; c < cols; c++) w[r * cols + c] *= l[columns ? c : r];
            for (int r = 0; r < rows && bias && !columns; r++) bias[r] *= l[r];
        }
    }
    sides_are_same(a, b);
}

static void key_biases_do_nothing(const struct method *m) {
    struct place place[PLACES];
    int d = width(), dq = projected(), n = places(true, place);
    struct point a = of_method(m, 0.3), b = of_method(m, 0.3), c = of_method(m, 0.3);
    real *add = xcalloc((size_t)dq, sizeof *add), *out = xcalloc((size_t)d, sizeof *out);
    for (int k = 0; k < dq; k++) add[k] = 0.1 * (k + 1);
    for (int i = 0; i < n; i++) {
        product(rig.m->weight[find(place[i], ROLE_O_W)], add, d, dq, 1, out);
        for (int k = 0; k < dq; k++) trained(b, place[i], ROLE_K_B)[k] += add[k];
        for (int k = 0; k < dq; k++) trained(b, place[i], ROLE_V_B)[k] += add[k];
        for (int k = 0; k < d; k++) trained(c, place[i], ROLE_O_B)[k] += out[k];
    }
    free(add);
    free(out);
    drop(a);
    sides_are_same(b, c);
}

static void p_tuning_v2(const struct method *m) {
    struct method other = *m;
    for (int i = 0; i < m->count; i++) {
        if (!asked_of(m, i)) continue;
        other.module[i] = preset_find("p-tuning-v2")->method.module[0];
        other.module[i].size = m->module[i].size;
    }
    struct point a = of_method(m, 0.3), b = of_method(&other, 0.1);
    carry(a, b);
    sides_are_same(a, b);
}

static void made_values_are_free_ones(const struct method *m) {
    struct method other = *m;
    bool some = false;
    for (int i = 0; i < m->count; i++) {
        if (asked_of(m, i)) other.module[i].source = SOURCE_FREE;
        some = some || source_is_generated(other.module[i].source);
    }
    if (!some) without_generators(&other);
    method_normalize(&other);
    struct point a = of_method(m, 0.3), b = of_method(&other, 0.1);
    carry(a, b);
    sides_are_same(a, b);
}

/* The final vector of a prompt row depends on the text. */
static void rows_depend_on_the_text(const struct method *m) {
    struct method other = *m;
    double most = 0;
    if (!rig.classes) return;
    for (int i = 0; i < m->count; i++)
        if (asked_of(m, i)) other.module[i].pool = POOL_ROW0;
    struct point a = of_method(&other, 0.4);
    real *logits = rig_logits(&rig, a.p, a.x);
    for (int i = 0; i < rig.classes; i++) most = fmax(most, fabs((double)(logits[i] - logits[rig.classes + i])));
    assert_true(most > 1e-4);
    free(logits);
    drop(a);
}

static void one_is_no_scale(const struct method *m) {
    struct method other = *m;
    for (int i = 0; i < m->count; i++) {
        if (!asked_of(m, i)) continue;
        other.module[i].comp = m->module[i].comp == COMP_ADD ? COMP_SCALED : COMP_ADD;
        other.module[i].scale = 1;
    }
    struct point a = of_method(m, 0.3), b = of_method(&other, 0.1);
    carry(a, b);
    sides_are_same(a, b);
}

static void a_product_of_ones(const struct method *m) {
    struct method other = *m;
    for (int i = 0; i < m->count; i++)
        if (asked_of(m, i)) other.module[i].source = SOURCE_FREE;
    method_normalize(&other);
    struct point a = of_method(m, 0.4), b = of_method(&other, 0.1);
    for (int i = 0; i < a.p->tensors; i++) {
        const struct plan_tensor *t = &a.p->tensor[i];
        double one = t->role == SLOT_PRODUCT_U ? 1 : t->role == SLOT_PRODUCT_V ? 1.0 / a.p->method.module[t->module].mid : 0;
        for (size_t k = 0; k < t->count && one > 0; k++) a.x[t->offset + k] = (real)one;
    }
    carry(a, b); /* the generated values are then P */
    sides_are_same(a, b);
}

static void a_decomposed_map_at_its_length(const struct method *m) {
    struct method other = *m;
    for (int i = 0; i < m->count; i++)
        if (asked_of(m, i)) other.module[i].fn = FN_LINEAR;
    struct point a = of_method(m, 0.3), b = of_method(&other, 0.1);
    carry_as(a, b, "/decomposed.", "/linear.");
    for (int i = 0; i < a.p->tensors; i++) {
        const struct plan_tensor *t = &a.p->tensor[i];
        if (t->kind != PLAN_OWN || t->role != SLOT_LENGTH) continue;
        const struct module *x = &a.p->method.module[t->module];
        int w = arch_find(rig.m->tensor, rig.m->tensors, tap_weight_role(x->write), t->stack, t->site, t->layer);
        int in = rig.m->tensor[w].cols, r = x->size;
        const real *down = a.x + plan_slot(a.p, t->module, SLOT_DOWN_W, t->stack, t->site, t->layer)->offset,
                   *up = a.x + plan_slot(a.p, t->module, SLOT_UP_W, t->stack, t->site, t->layer)->offset;
        double s = x->comp == COMP_ADD ? 1 : scale_of(a, t);
        for (int64_t row = 0; row < t->cols; row++) {
            real sum = 0;
            for (int c = 0; c < in; c++) {
                real change = 0;
                for (int k = 0; k < r; k++) change += up[row * r + k] * down[k * in + c];
                real v = rig.m->weight[w][row * in + c] + (real)s * change;
                sum += v * v;
            }
            a.x[t->offset + (size_t)row] = (real)sqrt((double)sum);
        }
    }
    sides_are_same(a, b);
}

static void lora_in_the_ffn_is_no_adapter(const struct method *m) {
    struct method other = *m;
    const char *why;
    int n = 0;
    for (int i = 0; i < m->count; i++) /* one module parallel to the sublayer instead of two inside */
        if (!asked_of(m, i)) other.module[n++] = m->module[i];
    other.count = n + 1;
    other.module[n] = m->module[0];
    other.module[n].read = TAP_F_IN;
    other.module[n].write = TAP_F_OUT;
    struct point a = of_method(m, 0.3), b = of_method(&other, 0.3);
    assert_true(attach_can_merge(a.p, &why) && !attach_can_merge(b.p, &why));
    sides_differ(a, b);
}

static void an_adapter_widens_the_ffn(const struct method *m) {
    struct method other = *m;
    int n = 0;
    for (int i = 0; i < m->count; i++)
        if (!asked_of(m, i)) other.module[n++] = m->module[i];
    other.count = n;
    struct point a = of_method(m, 0.3), b = {.p = n ? NULL : rig_bare(&rig)};
    if (n) b = of_method(&other, 0.1);
    else if (b.p) b.x = rig_params(&rig, b.p, 21, 0);
    if (b.p) carry(a, b);
    struct wide w = widened(a, asked_of);
    real *x = rig_logits(&rig, a.p, a.x), *y = rig_logits_of(&rig, &w.model, b.p, b.x);
    if (!(rig_apart(&rig, x, y) < 1e-10)) fail_msg("E19: logits differ by %g", rig_apart(&rig, x, y));
    widened_free(&w);
    free(x);
    free(y);
    if (b.p) drop(b);
    drop(a);
}

/* Compares no prefixes with prefixes of zeros. */
static void zeros_are_no_identity(const struct method *m) {
    struct method zeros = *m, none = *m;
    int n = 0;
    for (int i = 0; i < m->count; i++) {
        if (asked_of(m, i)) zeros.module[i].source = SOURCE_FREE;
        else none.module[n++] = m->module[i];
    }
    none.count = n;
    if (m->module[m->count - 1].source == SOURCE_PROMPT_GLOBAL) without_generators(&zeros), without_generators(&none);
    method_normalize(&zeros);
    struct point a = of_method(&zeros, 0.3), b;
    for (int i = 0; i < a.p->tensors; i++) {
        const struct plan_tensor *t = &a.p->tensor[i];
        if (t->kind == PLAN_OWN && (t->role == SLOT_KEY || t->role == SLOT_VALUE)) times(a.x + t->offset, (int)t->count, 0);
    }
    if (n) {
        b = of_method(&none, 0.1);
        carry(a, b);
        sides_differ(a, b);
        return;
    }
    b = point("ia3", 0); /* initialized to ones */
    sides_differ(a, b);
}

/* ---- all equalities ---- */

static const struct {
    const char *id;
    void (*check)(const struct method *m);
} checks[] = {
    {"E1", a_joined_prefix_is_a_gate},
    {"E2", before_or_behind_the_output_map},
    {"E3", scales_go_into_maps},
    {"E4", scales_are_rates},
    {"E6", two_are_one},
    {"E7", two_are_one},
    {"E9", keys_or_queries},
    {"E10", scales_are_weights},
    {"E11", key_biases_do_nothing},
    {"E12", p_tuning_v2},
    {"E13", made_values_are_free_ones},
    {"E14", rows_depend_on_the_text},
    {"E15", one_is_no_scale},
    {"E16", a_product_of_ones},
    {"E17", a_decomposed_map_at_its_length},
    {"E18", lora_in_the_ffn_is_no_adapter},
    {"E19", an_adapter_widens_the_ffn},
    {"E20", zeros_are_no_identity},
    {"E21", made_values_are_free_ones},
    {"E22", made_values_are_free_ones},
    {"E23", made_values_are_free_ones},
};

static void check_all(const struct method *given) {
    struct method fitted = *given;
    const struct method *m = &fitted;
    hyper_fit(&fitted, &rig.m->arch);
    const struct equality *q;
    for (int k = 0; (q = equality_at(k)); k++) {
        size_t c = 0;
        if (!equality_applies(q, m, &rig.m->arch) ) continue;
        while (c < COUNT_OF(checks) && strcmp(checks[c].id, q->id)) c++;
        if (c == COUNT_OF(checks)) fail_msg("%s is listed, and no check is here", q->id);
        asked = q;
        checks[c].check(m);
        checked[k]++;
    }
}

/* Reduces the sizes for tiny models. */
static void shrink(struct method *m) {
    for (int i = 0; i < m->count; i++) {
        struct module *x = &m->module[i];
        if (x->source == SOURCE_KRONECKER) x->mid = 2;
        else if (x->mid > 3) x->mid = 3;
        if (module_is_sized(x)) x->size = 2;
    }
    method_normalize(m);
}

static bool lists_any(const struct method *m) {
    const struct equality *q;
    for (int k = 0; (q = equality_at(k)); k++)
        if (equality_applies(q, m, &rig.m->arch)) return true;
    return false;
}

static void every_listed_equality_holds(void **state) {
    (void)state;
    for (int i = 0; i < preset_count(); i++) {
        struct method m = preset_at(i)->method;
        shrink(&m);
        char *text = method_text(&m);
        if (preset_at(i)->regime) assert_false(lists_any(&m)); /* its head has no logits outside an episode */
        else if (rig_has_place(&rig, text)) check_all(&m);
        free(text);
    }
}

/* Equalities that do not hold are not listed, or only where they hold. */
static void what_does_not_hold_is_not_listed(void **state) {
    (void)state;
    static const struct {
        const char *text, *ids; /* ids that must be missing, each followed by a blank */
    } rows[] = {
        {"dora", "E6 "}, {"vera", "E6 "}, {"adalora", "E6 "}, {"unipelt", "E6 E7 "}, {"lora(comp=learned-channel)", "E3 E4 E6 "},
        {"prefix(comp=add)", "E1 E7 E20 "}, {"prefix-mlp", "E7 "}, {"ia3 + prefix", "E9 E10 "}, {"lora(init=bert)", "E4 "},
        {"bitfit + lora", "E11 "}, {"parallel-adapter-ffn(act=silu)", "E19 "}, {"parallel-adapter-ffn(norm=own)", "E19 E3 "},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct method m;
        struct err e = ERR_INIT;
        const struct equality *q;
        test_ok(method_parse(rows[i].text, &m, &e), &e);
        method_normalize(&m);
        for (int k = 0; (q = equality_at(k)); k++) {
            char *mark = xprintf("%s ", q->id);
            if (strstr(rows[i].ids, mark) && equality_applies(q, &m, &rig.m->arch)) fail_msg("%s lists %s", rows[i].text, q->id);
            free(mark);
        }
    }
}

int main(void) {
    int failed;
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_listed_equality_holds), cmocka_unit_test(what_does_not_hold_is_not_listed)};
    EQUIVALENCE_RUN(tests, failed);
    const struct equality *q;
    for (size_t c = 0; c < COUNT_OF(checks); c++)
        for (int k = 0; (q = equality_at(k)); k++)
            if (!strcmp(q->id, checks[c].id) && !checked[k]) failed += printf("%s was never checked\n", q->id) > 0;
    return failed;
}
