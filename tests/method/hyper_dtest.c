/* The generator against loops, and its counts as published. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/rng.h"
#include "core/method/attach.h"
#include "core/method/plan.h"
#include "tests/method/published.h"
#include "tests/support/test.h"

static struct arch shape(const char *config) {
    struct arch a;
    struct err e = ERR_INIT;
    test_ok(arch_parse("config.json", config, strlen(config), &a, NULL, &e), &e);
    return a;
}

static struct plan *plan_of(const char *text, const struct arch *a, int tasks) {
    static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
    static const int outputs[8] = {0};
    const struct plan_tasks of = {tasks, names, outputs};
    struct method m;
    struct err e = ERR_INIT;
    test_ok(method_parse(text, &m, &e), &e);
    struct plan *p = plan_new_tasks(&m, a, &of, &e);
    if (!p) fail_msg("%s: %s", text, e.text);
    return p;
}

/* 8 tasks on T5-base: HyperFormer's 5,211,056 and 122,343,744, and what PHA's released code has. */
static void counts_are_the_published_ones(void **state) {
    (void)state;
    static const struct {
        const char *text;
        size_t values;
    } at[] = {{"hyperformer++", 5211056}, {"hyperformer", 122343744}, {"pha", 7766336}};
    struct arch a = shape(T5_BASE);
    for (size_t i = 0; i < COUNT_OF(at); i++) {
        struct plan *p = plan_of(at[i].text, &a, 8);
        assert_int_equal(p->trained_method, at[i].values);
        assert_int_equal(p->own, 8 * 64); /* an embedding a task */
        plan_free(p);
    }
    arch_release(&a);
}

static const real *named(const struct plan *p, const real *x, const char *name) {
    for (int i = 0; i < p->tensors; i++)
        if (!strcmp(p->tensor[i].name, name)) return x + p->tensor[i].offset;
    fail_msg("no tensor %s", name);
    return NULL;
}

static double dot(const real *a, const real *b, int n) {
    double sum = 0;
    for (int i = 0; i < n; i++) sum += (double)a[i] * (double)b[i];
    return sum;
}

enum { TASK = 3, LAYER = 2, PLACE = 4, HIDDEN = 5, INNER = 3, TASKS = 3 };

/* I(τ, ℓ, p), line by line. */
static void inner_of(const struct plan *p, const real *x, int task, int layer, int place, real out[INNER]) {
    real h[HIDDEN];
    for (int i = 0; i < HIDDEN; i++) {
        double v = (double)named(p, x, "hyper.dec.b_1")[i];
        v += dot(named(p, x, "hyper.dec.W_1.task") + i * TASK, named(p, x, "hyper.task") + task * TASK, TASK);
        v += dot(named(p, x, "hyper.dec.W_1.layer") + i * LAYER, named(p, x, "hyper.dec.layer") + layer * LAYER, LAYER);
        v += dot(named(p, x, "hyper.dec.W_1.place") + i * PLACE, named(p, x, "hyper.dec.place") + place * PLACE, PLACE);
        h[i] = v > 0 ? (real)v : 0;
    }
    double mean = 0, var = 0, y[INNER];
    for (int i = 0; i < INNER; i++) {
        y[i] = (double)named(p, x, "hyper.dec.b_2")[i] + dot(named(p, x, "hyper.dec.W_2") + i * HIDDEN, h, HIDDEN);
        mean += y[i] / INNER;
    }
    for (int i = 0; i < INNER; i++) var += (y[i] - mean) * (y[i] - mean) / INNER;
    for (int i = 0; i < INNER; i++)
        out[i] = (real)((y[i] - mean) / sqrt(var + 1e-6) * (double)named(p, x, "hyper.dec.norm.gamma")[i] +
                        (double)named(p, x, "hyper.dec.norm.beta")[i]);
}

/* The FFN stands behind self-attention in the canonical text, whichever was said first. */
static void made_values_are_those_of_loops(void **state) {
    (void)state;
    static const char *const texts[] = {
        "bottleneck(r=2; write=f.out, source=hyper) + bottleneck(r=2; write=a.out, site=self, source=hyper) + "
        "hyper(task=3, layer=2, place=4, hidden=5, inner=3)",
        "bottleneck(r=2; write=a.out, site=self, source=hyper) + bottleneck(r=2; write=f.out, source=hyper) + "
        "hyper(task=3, layer=2, place=4, hidden=5, inner=3)"};
    struct arch a = shape(T5_SMALL);
    for (size_t k = 0; k < COUNT_OF(texts); k++) {
        struct plan *p = plan_of(texts[k], &a, TASKS);
        real *x = xcalloc(p->trained, sizeof *x), *made = xcalloc(p->made_size, sizeof *made);
        for (size_t i = 0; i < p->trained; i++) x[i] = (real)(0.3 * rng_normal(rng_key(3, RNG_TEST, 0, 0), i));
        attach_remake(p, x, made);
        int seen = 0;
        for (int i = 0; i < p->made; i++) {
            const struct plan_made *m = &p->made_tensor[i];
            if (m->stack != STACK_DECODER || !strstr(m->name, "W_d")) continue;
            seen++;
            for (int task = 0; task < TASKS; task++) {
                real inner[INNER];
                inner_of(p, x, task, m->layer, m->site == SUB_FFN, inner);
                const real *w = named(p, x, "hyper.dec.W_d.weight"), *b = named(p, x, "hyper.dec.W_d.bias");
                size_t values = m->count / TASKS;
                assert_int_equal(values, 2 * a.width);
                for (size_t v = 0; v < values; v++) {
                    double want = dot(w + v * INNER, inner, INNER) + (double)b[v];
                    double got = (double)made[m->offset + (size_t)task * values + v];
                    if (!(fabs(got - want) <= 1e-12 * (1 + fabs(want))))
                        fail_msg("%s, task %d, value %zu: %.17g, not %.17g", m->name, task, v, got, want);
                }
            }
        }
        assert_int_equal(seen, 2 * a.decoder_layers);
        free(x);
        free(made);
        plan_free(p);
    }
    arch_release(&a);
}

/* What cannot be is refused, and why. */
static void what_cannot_be_made_is_refused(void **state) {
    (void)state;
    static const struct {
        const char *text, *rule;
    } at[] = {{"bottleneck(r=2; source=hyper)", "V50"},
              {"lora + hyper", "V50"},
              {"bottleneck(r=2; source=hyper) + bottleneck(r=3; write=a.out, source=hyper) + hyper", "V50"},
              {"bottleneck(r=2; source=hyper) + hyper(task=8) + retriever(width=4, prototype=softmax)", "V51"}};
    struct arch a = shape(T5_SMALL);
    for (size_t i = 0; i < COUNT_OF(at); i++) {
        struct method m;
        struct err e = ERR_INIT;
        struct finding f[8];
        test_ok(method_parse(at[i].text, &m, &e), &e);
        assert_true(method_check(&m, &a, f, 8) > 0);
        assert_string_equal(f[0].rule, at[i].rule);
    }
    arch_release(&a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_are_the_published_ones),
        cmocka_unit_test(made_values_are_those_of_loops),
        cmocka_unit_test(what_cannot_be_made_is_refused),
    };
    return cmocka_run_group_tests_name("the generator", tests, NULL, NULL);
}
