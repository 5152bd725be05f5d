/* Keys and values computed from prompts, compared with loops and with the published formulas of their
 * counts. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/rng.h"
#include "core/method/attach.h"
#include "core/method/plan.h"
#include "tests/method/loops.h"
#include "tests/method/published.h"
#include "tests/method/shapes.h"
#include "tests/support/test.h"

/* ---- values ---- */

enum { TASKS = 3, L = 2, B = 3, D = 8, DQ = 6, T = 2, WIDTH = 4, HIDDEN = 5 };

/* I(τ, ℓ) without biases and norm. */
static void inner_of(const struct plan *p, const real *x, int task, int layer, double out[T]) {
    const real *z = named(p, x, "hyper.task") + task * WIDTH, *e = named(p, x, "hyper.enc.layer") + layer * WIDTH;
    double h[HIDDEN] = {0};
    for (int i = 0; i < HIDDEN; i++) {
        for (int j = 0; j < WIDTH; j++) {
            h[i] += (double)named(p, x, "hyper.enc.W_1.task")[i * WIDTH + j] * (double)z[j];
            h[i] += (double)named(p, x, "hyper.enc.W_1.layer")[i * WIDTH + j] * (double)e[j];
        }
        if (h[i] < 0) h[i] = 0;
    }
    for (int i = 0; i < T; i++) {
        out[i] = 0;
        for (int j = 0; j < HIDDEN; j++) out[i] += (double)named(p, x, "hyper.enc.W_2")[i * HIDDEN + j] * h[j];
    }
}

/* D or U of a task at a layer, element by element. */
static double map_at(const struct plan *p, const real *x, const char *what, int task, int layer, int at, int count) {
    char name[96];
    if (p->method.hyper[0].on) {
        double inner[T], sum = 0;
        inner_of(p, x, task, layer, inner);
        snprintf(name, sizeof name, "hyper.enc.%s.weight", what);
        for (int i = 0; i < T; i++) sum += (double)named(p, x, name)[at * T + i] * inner[i];
        return sum;
    }
    bool each = p->method.module[0].source == SOURCE_PROMPT_SEP;
    snprintf(name, sizeof name, "enc.%d.self/softmax.head.%s", layer, what);
    return (double)named(p, x, name)[(each ? task * count : 0) + at];
}

static double want_at(const struct plan *p, const real *x, const char *kind, int task, int layer, int row, int col) {
    char down[8], up[8];
    double sum = 0;
    snprintf(down, sizeof down, "D_%s", kind);
    snprintf(up, sizeof up, "U_%s", kind);
    for (int i = 0; i < B; i++) {
        double h = 0;
        for (int j = 0; j < D; j++)
            h += map_at(p, x, down, task, layer, i * D + j, B * D) *
                 (double)named(p, x, "enc.all.self/softmax.head.P")[(task * L + row) * D + j];
        if (h > 0) sum += map_at(p, x, up, task, layer, col * B + i, DQ * B) * h;
    }
    return sum;
}

static void keys_and_values_are_those_of_loops(void **state) {
    (void)state;
    static const char *const sources[] = {"prompt-share(3))", "prompt-sep(3))",
                                          "prompt-global(3)) + hyper(task=4, layer=4, place=0, hidden=5, inner=2, norm=no, "
                                          "biases=no, start=hyperfan)"};
    struct arch a = shape(T5_OF_LOOPS);
    for (size_t k = 0; k < COUNT_OF(sources); k++) {
        char text[256];
        snprintf(text, sizeof text, "softmax(l=2; site=self, stack=encoder, source=%s", sources[k]);
        struct plan *p = plan_of(text, &a, TASKS);
        real *x = xcalloc(p->trained, sizeof *x), *made = xcalloc(p->generated_size, sizeof *made);
        for (size_t i = 0; i < p->trained; i++) x[i] = (real)rng_normal(rng_key(5, RNG_TEST, 0, 0), i);
        attach_regenerate(p, NULL, x, made);
        assert_int_equal(p->generated, 2 * a.encoder_layers);
        for (int i = 0; i < p->generated; i++) {
            const struct plan_generated *m = &p->generated_tensor[i];
            assert_int_equal(m->count, TASKS * L * DQ);
            for (int v = 0; v < TASKS * L * DQ; v++) {
                double got = (double)made[m->offset + (size_t)v];
                double want = want_at(p, x, strstr(m->name, ".P_k") ? "k" : "v", v / (L * DQ), m->layer, v / DQ % L, v % DQ);
                if (!(fabs(got - want) <= 1e-12 * (1 + fabs(want))))
                    fail_msg("%s, %s, value %d: %.17g, not %.17g", text, m->name, v, got, want);
            }
        }
        free(x);
        free(made);
        plan_free(p);
    }
    arch_release(&a);
}

/* For a single task the generated values are its prefix. */
static void a_task_alone_has_its_prefix(void **state) {
    (void)state;
    struct arch a = shape(T5_OF_LOOPS);
    struct err e = ERR_INIT;
    struct plan *p = plan_of("hyperprompt-global(l=2,b=3)", &a, TASKS);
    real *x = xcalloc(p->trained, sizeof *x), *made = xcalloc(p->generated_size, sizeof *made), *own_x, *own_made;
    for (size_t i = 0; i < p->trained; i++) x[i] = (real)rng_normal(rng_key(6, RNG_TEST, 0, 0), i);
    attach_regenerate(p, NULL, x, made);
    for (int task = 0; task < TASKS; task++) {
        struct plan *own = plan_of_task(p, &a, task, x, made, &own_x, &own_made, &e);
        if (!own) fail_msg("%s", e.text);
        char *text = method_text(&own->method);
        assert_string_equal(text, "full + prefix(l=2,init=normal,stack=encoder,site=self)");
        assert_int_equal(own->generated, 0);
        for (int i = 0; i < p->generated; i++) {
            const struct plan_generated *m = &p->generated_tensor[i];
            assert_memory_equal(named(own, own_x, m->name), made + m->offset + (size_t)task * (m->count / TASKS),
                                m->count / TASKS * sizeof *made);
        }
        free(text);
        free(own_x);
        free(own_made);
        plan_free(own);
    }
    free(x);
    free(made);
    plan_free(p);
    arch_release(&a);
}

/* ---- counts ---- */

/* Share T·l·d + 4bd·M, Sep T·l·d + 4bd·M·T, Global T·l·d + 4bd·t + T·t' + M·t' + 2t'·e + e·t, where the heads
 * together are as wide as the model: 2b(d + H·d_h) for 4bd in general. */
static size_t published(const char *name, const struct arch *a, size_t tasks, size_t l, size_t b) {
    size_t d = (size_t)a->width, maps = 2 * b * (d + (size_t)(a->heads * a->head_width)), m = (size_t)a->encoder_layers;
    size_t t = 32, given = 64, e = 64;
    if (strstr(name, "share")) return tasks * l * d + maps * m;
    if (strstr(name, "sep")) return tasks * l * d + maps * m * tasks;
    return tasks * l * d + maps * t + tasks * given + m * given + 2 * given * e + e * t;
}

static void counts_are_those_of_the_formulas(void **state) {
    (void)state;
    static const char *const names[] = {"hyperprompt-share", "hyperprompt-sep", "hyperprompt-global"};
    static const int tasks[] = {1, 3, 8, 12};
    struct arch shapes[] = {shape(T5_BASE), shape(FLAN_T5_SMALL), shape_bert_base()};
    for (size_t i = 0; i < COUNT_OF(shapes); i++)
        for (size_t n = 0; n < COUNT_OF(names); n++)
            for (size_t k = 0; k < COUNT_OF(tasks); k++) {
                char text[96];
                snprintf(text, sizeof text, "%s(backbone=frozen,l=10,b=24)", names[n]);
                struct plan *p = plan_of(text, &shapes[i], tasks[k]), *whole = plan_of(names[n], &shapes[i], tasks[k]);
                assert_int_equal(p->trained_method, published(names[n], &shapes[i], (size_t)tasks[k], 10, 24));
                assert_int_equal(whole->trained_method,
                                 whole->model + published(names[n], &shapes[i], (size_t)tasks[k], 16, 48));
                plan_free(p);
                plan_free(whole);
            }
    /* With the published sizes, eight tasks on T5-base; Global is 1.02 times the model. */
    static const size_t values[] = {1867776, 14254080, 4828416};
    for (size_t n = 0; n < COUNT_OF(names); n++) {
        struct plan *p = plan_of(names[n], &shapes[0], 8);
        assert_int_equal(p->trained_method - p->model, values[n]);
        if (n == 2) assert_int_equal((int)(100 * (double)p->trained_method / (double)p->model), 102);
        plan_free(p);
    }
    for (size_t i = 0; i < COUNT_OF(shapes); i++) arch_release(&shapes[i]);
}

/* ---- refused ---- */

static void what_cannot_be_is_refused(void **state) {
    (void)state;
    static const struct {
        const char *text, *rule;
    } at[] = {{"softmax(l=2; source=prompt-share)", "V54"},
              {"hyperprompt-sep(site=cross,stack=decoder)", "V54"},
              {"bottleneck(r=2; source=prompt-share)", "V54"},
              {"softmax(l=2; site=self, source=prompt-global)", "V50"},
              {"softmax(l=2; site=self, source=prompt-share, comp=learned)", "V47"},
              {"softmax(l=2; stack=decoder, site=self, source=prompt-global) + hyper(instance=pooled)", "V54"},
              {"hyperprompt-share + hyperprompt-share(stack=decoder)", "V12"}};
    struct arch a = shape(T5_OF_LOOPS);
    for (size_t i = 0; i < COUNT_OF(at); i++) {
        struct method m;
        struct err e = ERR_INIT;
        struct finding f[8];
        test_ok(method_parse(at[i].text, &m, &e), &e);
        assert_true(method_check(&m, &a, f, 8) > 0);
        if (strcmp(f[0].rule, at[i].rule)) fail_msg("%s: %s %s", at[i].text, f[0].rule, f[0].text);
    }
    arch_release(&a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_and_values_are_those_of_loops),
        cmocka_unit_test(a_task_alone_has_its_prefix),
        cmocka_unit_test(counts_are_those_of_the_formulas),
        cmocka_unit_test(what_cannot_be_is_refused),
    };
    return cmocka_run_group_tests_name("prompts of tasks", tests, NULL, NULL);
}
