/* Gradients of every valid form by central differences, through the whole tiny model, in
 * 64 bits: along one random direction of all values, and at one value of each tensor. */
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

static double slope(const struct plan *p, real *x, const real *along, real *moved, double h) {
    double side[2];
    for (int k = 0; k < 2; k++) {
        for (size_t i = 0; i < p->trained; i++) moved[i] = x[i] + (k ? -h : h) * along[i];
        side[k] = rig_loss(&rig, p, moved, NULL);
    }
    return (side[0] - side[1]) / (2 * h);
}

static void agree(const char *text, const char *what, double analytic, double measured) {
    if (!(fabs(analytic - measured) <= 1e-7 + 1e-5 * fabs(measured)))
        fail_msg("%s: %s: %.12g, by differences %.12g", text, what, analytic, measured);
}

static void gradient_of(const char *text) {
    struct plan *p = rig_plan(&rig, text);
    struct rng_key key = rng_key(11, RNG_TEST, 0, rng_site(text));
    real *x = rig_params(&rig, p, 9, 0.3), *g = xcalloc(p->trained, sizeof *g);
    real *along = xcalloc(p->trained, sizeof *along), *moved = xcalloc(p->trained, sizeof *moved);
    double dot = 0;
    rig_loss(&rig, p, x, g);
    for (size_t i = 0; i < p->trained; i++) dot += g[i] * (along[i] = (real)rng_normal(key, i));
    agree(text, "along all", dot, slope(p, x, along, moved, 1e-6));
    memset(along, 0, p->trained * sizeof *along);
    for (int k = 0; k < p->tensors; k++) {
        const struct plan_tensor *t = &p->tensor[k];
        size_t i = t->offset + rng_below(key, 1000000 + (uint64_t)k, t->count);
        along[i] = 1;
        agree(text, t->name, g[i], slope(p, x, along, moved, 1e-5));
        along[i] = 0;
    }
    free(x);
    free(g);
    free(along);
    free(moved);
    plan_free(p);
}

static const char *const comps[] = {"add", "scaled(0.5)", "learned(1.5)"};

/* The reads and writes of docs/methods.md, each with add, scaled and learned. */
static void bottlenecks_and_linear(void **state) {
    (void)state;
    static const char *const pairs[][2] = {
        {"f.in", "f.out"},  {"f.res", "f.out"}, {"f.out", "f.out"}, {"f.norm", "f.out"},
        {"f.pre", "f.out"}, {"f.act", "f.out"}, {"f.in", "f.pre"},  {"f.pre", "f.pre"},
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

/* Through the gate λ too: keys and values share the softmax with the prefix. */
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

static void scales_and_existing_tensors(void **state) {
    (void)state;
    static const char *const texts[] = {"ia3(at=q+k+v+ctx+o+pre+act+out+embed)",
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

static void presets(void **state) {
    (void)state;
    for (int i = 0; i < preset_count(); i++) gradient_of(preset_at(i)->name);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bottlenecks_and_linear),
        cmocka_unit_test(heads),
        cmocka_unit_test(prefixes),
        cmocka_unit_test(scales_and_existing_tensors),
        cmocka_unit_test(unions_dropout_and_sharing),
        cmocka_unit_test(presets),
    };
    return cmocka_run_group_tests_name("method gradients", tests, open_rig, close_rig);
}
