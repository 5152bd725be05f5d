/* Gradients of every valid form by central differences, through whole tiny models of every family, in 64 bits
 * (tests/support/slope.h). */
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/method/functions.h"
#include "tests/support/slope.h"
#include "tests/support/test.h"

static int model, decoder; /* indices of the current test model */
static const char *const decoders[] = { "tests/reference/causal/llama", "tests/reference/causal/qwen3" };
static struct rig rig;
static int done, refused;

static int open_rig(void **state) {
    (void)state;
    rig_open_at(&rig, rig_folder(model) ? rig_folder(model) : decoders[decoder]);
    done = refused = 0;
    return 0;
}

static int close_rig(void **state) {
    (void)state;
    rig_close(&rig);
    return 0;
}

static void gradient_of(const char *text) {
    if (!rig_has_place(&rig, text)) {
        refused++;
        return;
    }
    done++;
    slope_check(&rig, text);
}

/* Covers every function, including new ones. */
static void every_function(void **state) {
    (void)state;
    for (int f = 0; f < FN_COUNT; f++) {
        int n = slope_check_function(&rig, (enum fn)f);
        if (!n && function_at((enum fn)f)->form != FORM_IN_WEIGHT) fail_msg("%s has no place", fn_name((enum fn)f));
    }
}

static const char *const comps[] = {"add", "scaled(0.5)", "learned(1.5)"};

/* The reads and writes of docs/methods.md, each with add, scaled and learned; on models after the first, one
 * of these each. */
static void bottlenecks_and_linear(void **state) {
    (void)state;
    static const char *const pairs[][2] = {
        {"f.in", "f.out"},  {"f.res", "f.out"}, {"f.out", "f.out"}, {"f.norm", "f.out"},
        {"f.pre", "f.out"}, {"f.act", "f.out"}, {"f.in", "f.pre"},  {"f.pre", "f.pre"},
        {"f.in", "f.up"},   {"f.up", "f.up"},   {"f.up", "f.out"},
        {"f.in", "f.act"},  {"f.act", "f.act"}, {"a.in", "a.ctx"},  {"a.in", "a.out"},
        {"a.res", "a.out"}, {"a.out", "a.out"}, {"a.ctx", "a.ctx"}, {"a.ctx", "a.out"},
        {"a.q", "a.out"},   {"a.in", "a.q"},    {"a.in", "a.k"},    {"a.in", "a.v"},
        {"a.q", "a.q"},     {"a.k", "a.k"},     {"a.v", "a.v"},     {"a.k", "a.ctx"},
        {"embed", "embed"}};
    static const char *const acts[] = {"gelu",      "tanh",    "silu", "relu",
                                       "gelu-tanh", "sigmoid", "none"};
    char text[160];
    for (size_t i = 0; i < COUNT_OF(pairs); i++)
        for (size_t c = 0; c < COUNT_OF(comps); c++) {
            if (model && (i + (size_t)model) % COUNT_OF(comps) != c) continue;
            snprintf(text, sizeof text, "bottleneck(r=3; act=%s, read=%s, write=%s, comp=%s)",
                     acts[(i + c) % COUNT_OF(acts)], pairs[i][0], pairs[i][1], comps[c]);
            gradient_of(text);
            snprintf(text, sizeof text, "linear(r=3; read=%s, write=%s, comp=%s)", pairs[i][0],
                     pairs[i][1], comps[c]);
            gradient_of(text);
        }
}

static void heads(void **state) {
    (void)state;
    static const char *const forms[] = {"biases=no, read=a.q, write=a.head, heads=factorised",
                                        "read=a.q, write=a.head, heads=factorised",
                                        "act=gelu, read=a.head, write=a.head, heads=factorised",
                                        "act=tanh, read=a.in, write=a.head, heads=free",
                                        "act=none, read=a.head, write=a.head, heads=free",
                                        "biases=no, read=a.v, write=a.head, heads=free"};
    char text[160];
    for (size_t i = 0; i < COUNT_OF(forms); i++)
        for (size_t c = 0; c < COUNT_OF(comps); c++) {
            snprintf(text, sizeof text, "bottleneck(r=3; %s, comp=%s)", forms[i], comps[c]);
            gradient_of(text);
        }
}

/* Includes the gate λ: keys and values share the softmax with the prefix. */
static void prefixes(void **state) {
    (void)state;
    static const char *const all[] = {"gated", "add", "scaled(0.5)", "learned(1.5)"};
    static const char *const sources[] = {"free", "shared", "mlp(5)", "mlp(5,relu)"};
    char text[160];
    for (size_t c = 0; c < COUNT_OF(all); c++)
        for (size_t s = 0; s < COUNT_OF(sources); s++) {
            snprintf(text, sizeof text, "softmax(l=3; comp=%s, source=%s) + full(write=a.k)",
                     all[c], sources[s]);
            gradient_of(text);
        }
    gradient_of("prefix(l=2) + prefix(l=3,layers=2-) + prefix(l=1,comp=add)");
    gradient_of("prefix(l=2,mlp=4,layers=2) + prefix(l=1,mlp=3)");
}

/* Rows added to the sequence, at both places, from each source, together with trained embedding tables. */
static void prompts(void **state) {
    (void)state;
    static const char *const texts[] = {
        "prompt(l=3) + full(target=embeddings)",      "prompt(l=2; write=embed) + scale(write=embed)",
        "prompt(l=2; place=after-bos) + prefix(l=2)", "prompt(l=2; write=embed, place=after-bos)",
        "prompt(l=2; pool=row0)",                     "prompt(l=3; source=mlp(4))",
        "prompt(l=3; source=mlp(4,tanh), rows=peft)", "prompt(l=3; source=lstm(2))",
        "prompt(l=2; source=lstm(3), rows=peft)",     "prompt(l=3; source=product(2)) + lora(r=2)",
        "prompt(l=2; source=fusion) + prompt(l=2; source=fusion) + prompt(l=2) + attempt(hidden=3, temperature=2) + lookup(r=2)",
        "prompt(l=2; write=embed, source=fusion) + prompt(l=2; write=embed) + attempt(hidden=3, norm=frozen)"};
    for (size_t i = 0; i < COUNT_OF(texts); i++) gradient_of(texts[i]);
}

/* Gates with noise; a fixed mask over every kind of tensor: tables, maps, norms, those of the tied head. */
static void masked_changes(void **state) {
    (void)state;
    static const char *const texts[] = {"masked(write=f.pre) + pruning + prefix(l=2)", "masked(target=norms) + pruning(groups=no)",
                                        "masked + pruning(mask=fixed, keep=0.1)"};
    for (size_t i = 0; i < COUNT_OF(texts); i++) gradient_of(texts[i]);
}

static void scales_and_existing_tensors(void **state) {
    (void)state;
    static const char *const texts[] = {"ia3(at=q+k+v+ctx+o+pre+act+out+embed)", "ia3(at=up)",
                                        "full(write=f.up) + lora(at=down)",
                                        "scale(write=a.k, source=shared)",
                                        "full",
                                        "bitfit",
                                        "full(target=norms)",
                                        "full(target=embeddings)",
                                        "full(write=a.end) + full(write=f.pre)",
                                        "bitfit + prefix(l=2)",
                                        "full(layers=2)"};
    for (size_t i = 0; i < COUNT_OF(texts); i++) gradient_of(texts[i]);
}

static void unions_dropout_and_sharing(void **state) {
    (void)state;
    static const char *const texts[] = {
        "mam(l=3,r=3)",
        "lora(r=2) + ia3 + prefix(l=2) + adapter-pfeiffer(r=3) + bitfit(layers=1)",
        "adapter-houlsby(r=3)",
        "lora(r=2,dropout=0.4)",
        "adapter-pfeiffer(r=3,dropout=0.4)",
        "prefix(l=3,dropout=0.4)",
        "prefix(l=3,mlp=4,dropout=0.4)",
        "linear(r=2; read=a.k, write=a.k, dropout=0.4)",
        "multi-head-parallel-adapter(r=3,dropout=0.4)",
        "lora(r=2,source=shared)",
        "adapter-pfeiffer(r=3,source=shared)",
        "adapter-pfeiffer(r=2) + linear(r=3; read=f.out, write=f.out)"};
    for (size_t i = 0; i < COUNT_OF(texts); i++) gradient_of(texts[i]);
    rig.attention_dropout = 0.3;
    gradient_of("mam(l=3,r=3)");
    rig.attention_dropout = 0;
}

/* Frozen adapters joined by attention: gradients through the tap that is read, the tap that is written and
 * the outputs of the adapters. */
static void fusions(void **state) {
    (void)state;
#define FUSED "source=fusion, read=f.norm, write=f.out"
    static const char *const texts[] = {
        "bottleneck(r=2; act=tanh, " FUSED ") + bottleneck(r=3; act=gelu, " FUSED ", comp=scaled(0.5)) + fusion + lora(r=2)",
        "bottleneck(r=2; act=tanh, " FUSED ", layers=2) + bottleneck(r=3; " FUSED ", layers=2) + bottleneck(r=1; act=silu, " FUSED
        ", layers=2, comp=learned(2)) + fusion(value=no, of=written)",
        "bottleneck(r=2; act=tanh, source=fusion, read=f.in) + bottleneck(r=3; act=gelu, source=fusion, read=f.in) + "
        "fusion(residual=inside, key=no, start=drawn) + full(target=norms)",
        "bottleneck(r=2; act=tanh, source=fusion, read=a.out, write=a.out, site=self) + "
        "bottleneck(r=2; act=silu, source=fusion, read=a.out, write=a.out, site=self) + fusion(query=no)"};
    for (size_t i = 0; i < COUNT_OF(texts); i++) gradient_of(texts[i]);
    rig.attention_dropout = 0.3;
    gradient_of(texts[0]);
    rig.attention_dropout = 0;
}

/* `head` is invalid without a head; presets for episodes have modules that others have too. */
static void presets(void **state) {
    (void)state;
    for (int i = 0; i < preset_count(); i++)
        if (!preset_at(i)->regime && (rig.classes || strcmp(preset_at(i)->name, "head"))) gradient_of(preset_at(i)->name);
}

/* Each kind of attention separately, and modules that only one of them supports. */
static void places(void **state) {
    (void)state;
    static const char *const forms[] = {"prefix(l=3", "prefix-mlp(l=2,mlp=4", "prefix(l=1,comp=add",
                                        "lora(r=2,at=q+k+v+o", "ia3(at=q+k+v+ctx+o",
                                        "multi-head-parallel-adapter(r=2",
                                        "parallel-adapter-attn(r=2", "adapter-houlsby(r=2",
                                        "full(target=norms"};
    static const char *const where[] = {"stack=encoder", "stack=decoder", "site=self",
                                        "site=cross", "stack=decoder,site=self"};
    char text[160];
    if (!rig.m->arch.decoder_layers) return;
    for (size_t i = 0; i < COUNT_OF(forms); i++)
        for (size_t k = 0; k < COUNT_OF(where); k++) {
            snprintf(text, sizeof text, "%s,%s)", forms[i], where[k]);
            gradient_of(text);
        }
    static const char *const more[] = {
        "linear(r=2; read=a.k, write=a.ctx, site=self)",
        "bottleneck(r=2; read=a.res, write=a.v, site=self)",
        "bottleneck(r=2; act=tanh, read=a.in, write=a.k, site=cross, dropout=0.4)",
        "bottleneck(r=2; act=tanh, read=a.in, write=a.v, site=cross)",
        "linear(r=2; read=a.v, write=a.v, site=cross)",
        "lora(r=2,stack=encoder) + prefix(l=2,site=cross) + ia3(stack=decoder)",
        "prefix(l=2) + prefix(l=1,stack=decoder) + lora(r=1) + lora(r=2,site=cross)",
        "full(stack=decoder)",
        "full(site=cross)",
        "full(target=embeddings)",
        "prefix(l=2,source=shared) + scaled-parallel-adapter(r=2,source=shared)",
        "lora(r=2,source=shared)"};
    for (size_t i = 0; i < COUNT_OF(more); i++) gradient_of(more[i]);
}

/* Examples of three tasks in one batch, every third time of two of them: weights per task, together with
 * shared ones; heads are separate. */
static void tasks(void **state) {
    (void)state;
    static const char *const texts[] = {
        "bottleneck(r=3; act=gelu, read=f.in, write=f.out, source=task)",
        "bottleneck(r=3; act=tanh, read=f.out, write=f.out, source=task, comp=scaled(0.5))",
        "bottleneck(r=3; act=tanh, read=a.in, write=a.out, source=task, comp=learned(1.5))",
        "bottleneck(r=3; act=tanh, biases=no, read=a.q, write=a.q, source=task)",
        "bottleneck(r=3; act=gelu, read=f.in, write=f.out, source=task, norm=own)",
        "bottleneck(r=3; act=gelu, read=f.in, write=f.out, source=task, norm=shared, comp=scaled(0.5))",
        "bottleneck(r=3; act=gelu, read=f.in, write=f.out, norm=own)",
        "bottleneck(r=3; act=tanh, read=a.in, write=a.out, source=shared, norm=own)",
        "linear(r=3; read=a.in, write=a.v, source=task)",
        "linear(r=3; read=a.in, write=a.q, source=task, comp=learned(1.5), dropout=0.4)",
        "linear(r=3; read=f.in, write=f.pre, source=task)",
        "scale(write=a.k, source=task)",
        "scale(write=f.act, source=task)",
        "scale(write=embed, source=task)",
        "softmax(l=3; source=task)",
        "softmax(l=3; comp=add, source=task)",
        "softmax(l=2; comp=scaled(0.5), source=task, dropout=0.4)",
        "softmax(l=2; source=task) + prefix(l=2) + full(write=a.k)",
        "softmax(l=2; source=task) + scale(write=a.v, source=task) + lora(r=2) + prefix(l=2,mlp=3)"};
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        rig_mix(&rig, i % 3 == 2);
        gradient_of(texts[i]);
    }
    if (rig.m->arch.decoder_layers) gradient_of("linear(r=2; read=a.in, write=a.v, site=cross, source=task)");
    rig_unmix(&rig);
}

/* The gradient of a task without examples is exactly 0. */
static void no_rows_no_gradient(void **state) {
    (void)state;
    rig_mix(&rig, true);
    struct plan *p = rig_plan(&rig, "scale(write=a.v, source=task) + softmax(l=2; source=task) + "
                                    "bottleneck(r=3; act=gelu, read=f.in, write=f.out, source=task, norm=own)");
    real *x = rig_params(&rig, p, 9, 0.3), *g = xcalloc(p->trained, sizeof *g);
    rig_loss(&rig, p, x, g);
    for (int k = 0; k < p->tensors; k++) {
        const struct plan_tensor *t = &p->tensor[k];
        size_t n = t->count / (size_t)t->blocks;
        for (int block = 0; block < RIG_RANGES; block++) {
            bool some = false;
            if (t->blocks == 1 && t->task != block) continue;
            for (size_t i = 0; i < n; i++) some |= g[t->offset + (t->blocks > 1 ? (size_t)block * n : 0) + i] != 0;
            if (some != (block != 1)) fail_msg("%s: of task %d there is %s gradient", t->name, block, some ? "a" : "no");
        }
    }
    free(x);
    free(g);
    plan_free(p);
    rig_unmix(&rig);
}

/* Norms and residuals of an adapter. */
static void norms_and_residuals(void **state) {
    (void)state;
    static const char *const forms[] = {
        "bottleneck(r=3; act=tanh, read=f.out, write=f.out, norm-before=yes, norm=scaled, comp=learned(1.5))",
        "bottleneck(r=3; act=gelu, read=f.norm, write=f.out, norm=sum, comp=scaled(0.5), residual=stream)",
        "bottleneck(r=3; act=tanh, read=f.norm, write=f.out, residual=read, end=bare)",
        "bottleneck(r=3; act=tanh, read=f.in, write=f.out, norm=scaled, comp=scaled(2), end=bare)",
        "bottleneck(r=3; act=tanh, read=a.norm, write=a.out, norm=sum, residual=read, comp=learned(1.5))",
        "bottleneck(r=3; act=gelu, read=a.norm, write=a.out, residual=stream, end=bare, norm-before=yes)",
        "bottleneck(r=3; act=gelu, read=a.out, write=a.out, norm=sum) + adapter-pfeiffer(r=2)",
        "compacter(r=4,norms=no)",
        "bottleneck(r=4; act=tanh, source=kronecker(4), rank=2, rule=own, comp=learned(1.5))",
        "bottleneck(r=4; act=gelu, read=f.out, source=kronecker(2), rank=0, norm=sum, layers=2)",
        "bottleneck(r=4; act=tanh, source=kronecker(2), comp=learned-channel(1.5))",
        "bottleneck(r=4; act=tanh, source=kronecker(4), comp=input-gate, stack=encoder)",
        "bottleneck(r=3; act=tanh, read=f.norm, write=f.out, norm=scaled, comp=input-gate(2), stack=encoder)",
        "bottleneck(r=3; act=tanh, read=f.out, write=f.out, norm=sum, comp=input-gate, stack=encoder)"};
    for (size_t i = 0; i < COUNT_OF(forms); i++)
        if (!model || i % 3 == (size_t)model % 3) gradient_of(forms[i]);
    rig_mix(&rig, false);
    gradient_of("bottleneck(r=3; act=tanh, read=f.out, write=f.out, source=task, norm-before=yes, norm=sum)");
    rig_unmix(&rig);
}

/* Explicit classifiers, with one task and with several; bitfit trains a pooler that has no effect. */
static void classifiers(void **state) {
    (void)state;
    static const char *const texts[] = {"lora(r=2) + classifier", "bitfit + classifier(layers=1)", "lora(r=2) + classifier(hidden=3)",
                                        "full + classifier(layers=2, act=gelu)"},
                      *const pooled[] = {"full(target=pooler) + classifier(layers=2, act=relu, pooler=yes)",
                                         "lora(r=2) + classifier(layers=1, pooler=yes)"};
    if (!rig.classes) return;
    for (size_t i = 0; i < COUNT_OF(texts); i++) gradient_of(texts[i]);
    for (size_t i = 0; i < COUNT_OF(pooled) && rig.m->arch.pooler; i++) gradient_of(pooled[i]);
    rig_mix(&rig, false);
    gradient_of("lora(r=2) + classifier");
    rig_unmix(&rig);
}

static void gated_sublayers(void **state) {
    (void)state;
    static const char *const texts[] = { "lora(r=2,at=all-linear)", "dora(r=2,at=up)", "ia3(at=k+v+up+down)",
                                         "prefix(l=2,shift=yes) + ln-tuning", "prompt-tuning(l=2) + lora(at=up)" };
    for (size_t i = 0; i < COUNT_OF(texts); i++) gradient_of(texts[i]);
}

/* Must be the last test. */
static void most_have_a_place(void **state) {
    (void)state;
    assert_true(done > 120 && refused * 3 < done);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_function),
        cmocka_unit_test(bottlenecks_and_linear),
        cmocka_unit_test(heads),
        cmocka_unit_test(prefixes),
        cmocka_unit_test(prompts),
        cmocka_unit_test(masked_changes),
        cmocka_unit_test(scales_and_existing_tensors),
        cmocka_unit_test(unions_dropout_and_sharing),
        cmocka_unit_test(presets),
        cmocka_unit_test(places),
        cmocka_unit_test(tasks),
        cmocka_unit_test(no_rows_no_gradient),
        cmocka_unit_test(norms_and_residuals),
        cmocka_unit_test(fusions),
        cmocka_unit_test(classifiers),
        cmocka_unit_test(most_have_a_place),
    };
    const struct CMUnitTest causal[] = { cmocka_unit_test(every_function), cmocka_unit_test(gated_sublayers) };
    int failed = 0;
    for (; rig_folder(model); model++)
        failed += cmocka_run_group_tests_name(rig_folder(model), tests, open_rig, close_rig);
    for (decoder = 0; decoder < (int)COUNT_OF(decoders); decoder++)
        failed += cmocka_run_group_tests_name(decoders[decoder], causal, open_rig, close_rig);
    return failed;
}
