/* Methods on tiny models of every family, in 32 bits: the initial state, LoRA's gradients compared with
 * PyTorch, merging into the weights. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "tests/support/rig.h"
#include "tests/support/test.h"

static struct rig rig;
static int model; /* index of the current test model */

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

/* ---- step 0 ---- */

static void starts(const char *text, bool as_the_base) {
    if (!rig_has_place(&rig, text)) return;
    struct plan *none = rig_bare(&rig), *p = rig_plan(&rig, text);
    real *x = rig_params(&rig, none, 1, 0), *y = rig_params(&rig, p, 1, 0);
    real *base = rig_logits(&rig, none, x), *got = rig_logits(&rig, p, y);
    bool same = !memcmp(base, got, rig_logit_count(&rig) * sizeof *base);
    if (same != as_the_base)
        fail_msg("%s %s at step 0 (%g)", text, same ? "is the base" : "is not the base",
                 rig_apart(&rig, base, got));
    free(x);
    free(y);
    free(base);
    free(got);
    plan_free(p);
    plan_free(none);
}

static void no_ops_start_as_the_base(void **state) {
    (void)state;
    static const char *const same[] = {"lora",
                                       "lora(r=2,alpha=16)",
                                       "lora(at=q+k+v+o+w1+w2)",
                                       "lora-ffn",
                                       "scaled-parallel-adapter",
                                       "scaled-parallel-adapter(s=learned)",
                                       "parallel-adapter-attn(init=lora)",
                                       "ia3",
                                       "ia3(peft)",
                                       "ia3(at=q+k+v+ctx+o+pre+act+out+embed)",
                                       "bitfit",
                                       "full",
                                       "full(target=norms)",
                                       "lora(source=shared)",
                                       "adapter-pfeiffer(init=lora)",
                                       "lora + ia3 + bitfit",
                                       "linear(r=3; write=embed, read=embed)"};
    static const char *const other[] = {"prefix",
                                        "prefix(l=1)",
                                        "prefix(comp=add)",
                                        "prefix-mlp",
                                        "mam",
                                        "multi-head-parallel-adapter",
                                        "adapter-houlsby",
                                        "adapter-pfeiffer",
                                        "parallel-adapter-attn",
                                        "parallel-adapter-ffn"};
    for (size_t i = 0; i < COUNT_OF(same); i++) starts(same[i], true);
    for (size_t i = 0; i < COUNT_OF(other); i++) starts(other[i], false);
}

/* ---- LoRA against PyTorch ---- */

/* Writes the fixture's name of a factor in the naming of the model's file, whose names can have a prefix.
 * Returns false for a tensor of the head. */
static bool factor_name(const struct plan_tensor *t, const char *kind, char out[200]) {
    static const char *const prefixes[] = {"", "roberta.", "model."};
    const char *last = strrchr(t->name, '.');
    if (t->kind != PLAN_OWN) return false;
    bool query = strstr(t->name, "linear.q.") != NULL;
    int i = arch_find(rig.m->tensor, rig.m->tensors, query ? ROLE_Q_W : ROLE_V_W, t->stack, t->site,
                      t->layer);
    int size = (int)strlen(rig.m->tensor[i].name) - (int)strlen(".weight");
    for (size_t k = 0; k < COUNT_OF(prefixes); k++) {
        snprintf(out, 200, "lora.%s%s%.*s.%c", kind, prefixes[k], size, rig.m->tensor[i].name,
                 strcmp(last, ".W_d") ? 'b' : 'a');
        if (st_find(rig.fixture.expected, out)) return true;
    }
    fail_msg("%s is not expected", out);
    return false;
}

/* Returns the plan with the rank of the fixture. */
static struct plan *torch_plan(void) {
    char name[200], text[64];
    size_t n;
    struct plan *p = rig_plan(&rig, "lora(r=1,s=2)");
    assert_true(factor_name(&p->tensor[0], "", name));
    free(fixture_values(&rig.fixture, name, &n));
    plan_free(p);
    snprintf(text, sizeof text, "lora(r=%zu,s=2)", n / (size_t)rig.m->arch.width);
    return rig_plan(&rig, text);
}

static void lora_agrees_with_torch(void **state) {
    (void)state;
    const struct fixture *f = &rig.fixture;
    struct plan *p = torch_plan();
    real *x = rig_params(&rig, p, 1, 0), *g = xcalloc(p->trained, sizeof *g);
    char name[200];
    size_t n;
    for (int i = 0; i < p->tensors; i++) {
        const struct plan_tensor *t = &p->tensor[i];
        if (!factor_name(t, "", name)) continue;
        double *v = fixture_values(f, name, &n);
        assert_int_equal(n, t->count);
        for (size_t k = 0; k < n; k++) x[t->offset + k] = (real)v[k];
        free(v);
    }
    double loss = rig_loss(&rig, p, x, g), *want = fixture_values(f, "lora.loss", &n);
    double largest = fixture_largest(f, "lora.grad.");
    if (!(fabs(loss - *want) < 1e-5)) fail_msg("loss %g, not %g", loss, *want);
    free(want);
    for (int i = 0; i < p->tensors; i++) {
        const struct plan_tensor *t = &p->tensor[i];
        if (!factor_name(t, "grad.", name)) snprintf(name, sizeof name, "lora.grad.%s", t->name);
        if (!strcmp(t->name, "head.weight")) strcpy(name, "lora.grad.classifier.weight");
        if (!strcmp(t->name, "head.bias")) strcpy(name, "lora.grad.classifier.bias");
        if (t->kind == PLAN_HEAD && !st_find(f->expected, name)) continue; /* only BERT's fixture has them */
        fixture_compare_gradient(f, name, g + t->offset, t->count, 1e-4, largest);
    }
    real *logits = rig_logits(&rig, p, x);
    fixture_compare(f, "lora.logits", logits, rig_logit_count(&rig), 1e-4);
    free(logits);
    free(x);
    free(g);
    plan_free(p);
}

/* ---- merging ---- */

/* Returns a copy of the model with merged tensors. */
static struct model merged_model(real **out) {
    struct model m = *rig.m;
    m.weight = xcalloc((size_t)m.tensors, sizeof *m.weight);
    for (int i = 0; i < m.tensors; i++) m.weight[i] = out[i] ? out[i] : rig.m->weight[i];
    return m;
}

static void folds(const char *text) {
    struct err e = ERR_INIT;
    const char *why;
    if (!rig_has_place(&rig, text)) return;
    struct plan *p = rig_plan(&rig, text), *none = rig_bare(&rig);
    real *x = rig_params(&rig, p, 4, 0.1), *h = rig_params(&rig, none, 1, 0);
    real **out = xcalloc((size_t)rig.m->tensors, sizeof *out);
    if (none) memcpy(h, x + p->trained - p->head, p->head * sizeof *h); /* the head is last */
    assert_true(attach_can_merge(p, &why));
    test_ok(attach_merge(p, rig.m, x, out, &e), &e);
    struct model m = merged_model(out);
    real *tuned = rig_logits(&rig, p, x), *folded = rig_logits_of(&rig, &m, none, h);
    real *base = rig_logits(&rig, none, h);
    /* In training too, with the backbone's dropout: a low-rank change is applied before it. */
    const struct model *bare = rig.m;
    rig.dropout = 0.3;
    double loss = rig_loss(&rig, p, x, NULL);
    rig.m = &m;
    double folded_loss = rig_loss(&rig, none, h, NULL);
    rig.m = bare;
    rig.dropout = 0;
    if (fabs(loss - folded_loss) > 1e-5)
        fail_msg("%s: training loss %g, merged %g", text, loss, folded_loss);
    double apart = rig_apart(&rig, tuned, folded), moved = rig_apart(&rig, tuned, base);
    if (apart > 1e-5 || moved < 1e-3)
        fail_msg("%s: merged differs by %g; tuning moved %g", text, apart, moved);
    for (int i = 0; i < m.tensors; i++) free(out[i]);
    free(out);
    free(m.weight);
    free(tuned);
    free(folded);
    free(base);
    free(x);
    free(h);
    plan_free(p);
    plan_free(none);
}

static void what_can_be_folded_is(void **state) {
    (void)state;
    folds("lora(r=2,alpha=16)");
    folds("lora(r=2,at=q+k+v+o+w1+w2)");
    folds("lora(r=2,at=all-linear)");
    folds("lora(source=shared,s=learned)");
    folds("dora(r=2,alpha=16,at=q+k+v+o+w1+w2) + ia3(peft)");
    folds("dora(s=learned) + bitfit");
    folds("adalora(r=3,s=2,at=q+k+v+o+w1+w2)");
    folds("vera(r=3,at=q+k+v+o+w1+w2)");
    folds("bitfit");
    folds("full");
    folds("masked(layers=2) + pruning(mask=fixed, keep=0.2) + lora(layers=1)");
    folds("full(target=norms) + lora");
    folds("ia3");
    folds("ia3(at=q+k+v+ctx+o+pre+act+out)");
    folds("ia3(at=up)");
    if (rig.m->arch.embed_norm) folds("ia3(at=q+k+v+ctx+o+pre+act+out+embed)");
    if (!rig.m->arch.decoder_layers) {
        folds("lookup(r=2,s=0.5) + lora");
        return;
    }
    folds("lora(r=2,at=q+k+v+o,site=cross)");
    folds("lora(stack=decoder) + ia3(site=self) + full(target=norms, stack=encoder)");
    folds("lora(at=q+k+v+o+w1+w2,layers=2-) + ia3(peft) + bitfit");
}

static void what_cannot_is_refused(void **state) {
    (void)state;
    static const struct {
        const char *text, *why;
    } rows[] = {{"mam", "prefix"}, {"lora + adapter-pfeiffer", "bottleneck"},
                {"linear(r=2; read=f.in, write=f.out)", "more than one linear layer"},
                {"prefix(comp=add)", "prefix"}, {"lora(source=hyper) + hyper", "one task at a time"},
                {"lora(source=hyper) + hyper(instance=pooled, pass=2)", "per example"},
                {"scale(write=embed)", "merged into the LayerNorm of the embeddings"}};
    for (size_t i = 0; i < COUNT_OF(rows) - rig.m->arch.embed_norm; i++) {
        struct plan *p = rig_plan(&rig, rows[i].text);
        real *x = rig_params(&rig, p, 1, 0), **out = xcalloc((size_t)rig.m->tensors, sizeof *out);
        struct err e = ERR_INIT;
        const char *why;
        assert_false(attach_can_merge(p, &why));
        assert_non_null(strstr(why, rows[i].why));
        test_refused(attach_merge(p, rig.m, x, out, &e), ERR_FAILED, &e, rows[i].why);
        free(x);
        free(out);
        plan_free(p);
    }
}

/* The parameters of the model are read, never written. */
static void the_base_stays_as_it_is(void **state) {
    (void)state;
    size_t n = 0;
    for (int i = 0; i < rig.m->tensors; i++)
        n += (size_t)rig.m->tensor[i].rows * (size_t)rig.m->tensor[i].cols;
    real *before = xcalloc(n, sizeof *before);
    memcpy(before, rig.m->values, n * sizeof *before);
    for (int i = 0; i < preset_count(); i++) {
        const char *name = preset_at(i)->name;
        if (preset_at(i)->regime) continue; /* the runs of their modules are missing here */
        if ((!rig.classes && !strcmp(name, "head")) || !rig_has_place(&rig, name)) continue;
        struct plan *p = rig_plan(&rig, name);
        real *x = rig_params(&rig, p, 1, 0.1), *g = xcalloc(p->trained, sizeof *g);
        rig_loss(&rig, p, x, g);
        free(x);
        free(g);
        plan_free(p);
    }
    assert_memory_equal(before, rig.m->values, n * sizeof *before);
    free(before);
}

/* A frozen head has no gradient; tensors marked no_gradient have only floating-point noise. */
static void still_tensors_get_no_gradient(void **state) {
    (void)state;
    static const char *const texts[] = {"bitfit",
                                        "full",
                                        "lora + head(frozen)",
                                        "bottleneck(r=2; write=a.k)",
                                        "prefix(l=1,comp=add)",
                                        "bitfit + prefix(l=2,layers=2)",
                                        "prefix-mlp(l=3)",
                                        "bottleneck(r=2; read=a.k, write=a.k) + bitfit",
                                        "bitfit + linear(r=2; read=a.k, write=a.k)",
                                        "bottleneck(r=2; write=a.k) + prefix(l=2,site=self)",
                                        "full + prefix(l=2,layers=1)",
                                        "bitfit + prefix(l=2,site=self)",
                                        "bitfit + prefix(l=2,site=cross)"}; /* for models with a decoder */
    for (size_t i = 0; i < COUNT_OF(texts) - !!rig.classes; i++) {
        if (!rig_has_place(&rig, texts[i])) continue;
        struct plan *p = rig_plan(&rig, texts[i]);
        real *x = rig_params(&rig, p, 2, 0.1), *g = xcalloc(p->trained, sizeof *g);
        double largest = 0;
        rig_loss(&rig, p, x, g);
        for (size_t k = 0; k < p->trained; k++) largest = fmax(largest, fabs((double)g[k]));
        for (int k = 0; k < p->tensors; k++) {
            const struct plan_tensor *t = &p->tensor[k];
            double most = 0;
            for (size_t j = 0; j < t->count; j++) most = fmax(most, fabs((double)g[t->offset + j]));
            bool still = most < 1e-6 * largest;
            if (still != t->no_gradient)
                fail_msg("%s: %s: gradient %g of %g", texts[i], t->name, most, largest);
        }
        free(x);
        free(g);
        plan_free(p);
    }
}

/* Changing a token changes no logits before it, and none of other sequences. */
static void sees_nothing_behind(const char *text) {
    struct batch *b = &rig.fixture.batch;
    struct plan *p = rig_plan(&rig, text);
    real *x = rig_params(&rig, p, 6, 0.2), *before = rig_logits(&rig, p, x);
    for (int row = 0; row < b->examples; row++) {
        int last = b->target_start[row + 1] - 1, kept = b->target_in[last];
        b->target_in[last] = (kept + 1) % rig.m->arch.vocabulary;
        real *after = rig_logits(&rig, p, x);
        size_t n = (size_t)rig.m->arch.vocabulary;
        for (int t = 0; t < b->target_tokens; t++) {
            bool same = !memcmp(before + (size_t)t * n, after + (size_t)t * n, n * sizeof *before);
            if (same != (t != last)) fail_msg("%s: token %d at %d", text, t, last);
        }
        b->target_in[last] = kept;
        free(after);
    }
    free(before);
    free(x);
    plan_free(p);
}

static void a_decoder_sees_nothing_behind(void **state) {
    (void)state;
    if (rig.classes) return;
    for (int i = 0; i < preset_count(); i++) {
        const char *name = preset_at(i)->name;
        if (strcmp(name, "head") && !preset_at(i)->regime && rig_has_place(&rig, name)) sees_nothing_behind(name);
    }
    sees_nothing_behind("prefix(comp=add) + bottleneck(r=2; read=a.k, write=a.ctx, site=self)");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_ops_start_as_the_base),
        cmocka_unit_test(lora_agrees_with_torch),
        cmocka_unit_test(what_can_be_folded_is),
        cmocka_unit_test(what_cannot_is_refused),
        cmocka_unit_test(the_base_stays_as_it_is),
        cmocka_unit_test(still_tensors_get_no_gradient),
        cmocka_unit_test(a_decoder_sees_nothing_behind),
    };
    int failed = 0;
    for (; rig_folder(model); model++)
        failed += cmocka_run_group_tests_name(rig_folder(model), tests, open_rig, close_rig);
    return failed;
}
