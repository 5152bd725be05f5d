/* The generator compared with plain loops, and its published counts. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/rng.h"
#include "core/method/attach.h"
#include "core/method/hyper.h"
#include "core/method/plan.h"
#include "tests/method/loops.h"
#include "tests/method/published.h"
#include "tests/support/test.h"

/* 8 tasks on T5-base: HyperFormer's 5,211,056 and 122,343,744, and the counts of PHA's released code. */
static void counts_are_the_published_ones(void **state) {
    (void)state;
    static const struct {
        const char *text;
        size_t values;
        size_t own; /* one embedding per task */
    } at[] = {{"hyperformer++", 5211056, 8 * 64}, {"hyperformer", 122343744, 8 * 64}, {"pha", 7766336, 8 * 64},
              {"hyperdecoder", 15259192, 0},
              /* HyperDecoder's grid: modules of the encoder generated per task, of the decoder per example */
              {"bottleneck(r=64; read=f.res, write=f.out, source=hyper, stack=encoder) + bottleneck(r=64; read=f.res, "
               "write=f.out, source=hyper2, stack=decoder) + hyper(task=768, layer=10, place=0, hidden=128, inner=0, norm=no, "
               "start=fan) + hyper2(task=0, layer=10, place=0, instance=mlp, hidden=128, inner=0, norm=no, start=fan)",
               15259192 - 12 * (2 * 768 * 64 + 768 + 64) + 8 * 768 + 778 * 128 + 128 + 120 + 129 * (2 * 768 * 64 + 768 + 64),
               8 * 768},
              /* as released; without z_τ; without the retriever, whose prototypes are as wide as the model; both */
              {"hyperformer++ + hyper(place=0, net=site)", 10289376, 8 * 64},
              {"pha + hyper(task=0, instance=retriever) + retriever(prototype=none)", 7766336 - 8 * 64, 0},
              {"pha + hyper(task=768) + retriever(width=0)", 7766336 - 106688 + 704 * (128 + 8), 8 * 768},
              {"pha + hyper(task=0, instance=pooled) + retriever(width=0, prototype=none)",
               7766336 - 106688 + 704 * 128 - 8 * 64, 0}};
    struct arch a = shape(T5_BASE);
    for (size_t i = 0; i < COUNT_OF(at); i++) {
        struct plan *p = plan_of(at[i].text, &a, 8);
        assert_int_equal(p->trained_method, at[i].values);
        assert_int_equal(p->own, at[i].own);
        plan_free(p);
    }
    arch_release(&a);
    a = shape(T5_SMALL); /* 0.50% and 5.80% per task; the reduction of 32 is r=16 there */
    struct plan *small = plan_of("hyperformer++(r=16)", &a, 8), *each = plan_of("hyperformer(r=16)", &a, 8);
    assert_int_equal(small->trained_method, 2415776);
    assert_int_equal(each->trained_method, 28013632);
    plan_free(small);
    plan_free(each);
    arch_release(&a);
    a = shape(FLAN_T5_LARGE); /* the sizes of T5-large */
    struct plan *p = plan_of("hyperdecoder", &a, 8);
    assert_int_equal(p->trained_method, 22452400);
    plan_free(p);
    arch_release(&a);
}

/* On a model with only an encoder its upper half serves as the decoder: the same formulas over those
 * layers. */
static void counts_on_an_encoder_alone(void **state) {
    (void)state;
    enum { D = 768, R = 64, H = 128, LOWER = 6, UPPER = 6, TASKS_OF = 8 };
    struct arch a = shape(ROBERTA_BASE);
    struct plan *p = plan_of("hyperdecoder", &a, TASKS_OF);
    assert_int_equal(p->trained_method, (D + 10) * H + H + 2 * (H + 1) * D * R + (H + 1) * (D + R) + 10 * UPPER +
                                            2 * (D * D + D) + LOWER * (2 * D * R + R + D));
    plan_free(p);
    p = plan_of("pha", &a, TASKS_OF);
    assert_int_equal(p->trained_method, LOWER * (2 * D * R + R + D) + 128 * 128 + 128 + 128 * 64 + 64 + 128 +
                                            2 * 65 * D * R + 65 * (D + R) + 64 * UPPER + 128 * D + 128 + 128 * 64 + 64 +
                                            64 * TASKS_OF);
    for (int i = 0; i < p->generated; i++) assert_true(p->generated_tensor[i].layer >= LOWER);
    plan_free(p);
    /* modules generated for both stacks are generated in both halves, with consecutive layer indices */
    p = plan_of("bottleneck(r=2; stack=encoder, source=hyper) + bottleneck(r=2; stack=decoder, source=hyper) + hyper", &a, TASKS_OF);
    assert_int_equal(p->trained_method, 64 * (TASKS_OF + LOWER + UPPER + 2) + 3 * 64 * H + H + 64 * H + 64 + 2 * 64 +
                                            65 * (2 * 2 * D + 2 + D));
    assert_int_equal(p->generated, 4 * (LOWER + UPPER));
    plan_free(p);
    arch_release(&a);
}

static double dot(const real *a, const real *b, int n) {
    double sum = 0;
    for (int i = 0; i < n; i++) sum += (double)a[i] * (double)b[i];
    return sum;
}

enum { TASK = 3, LAYER = 2, PLACE = 4, HIDDEN = 5, INNER = 3, TASKS = 3 };

/* The inputs of a generated tensor: the prefix of its stack or of all stacks; its place index and that of its
 * head. */
struct made_of {
    const char *stack;
    char projection[32], head[64];
    int layer, place;
};

/* Returns b, or 0 without biases. */
static double bias(const struct plan *p, const real *x, const char *name, int i) {
    return p->method.hyper[0].biases ? (double)named(p, x, name)[i] : 0;
}

/* Returns the name of a tensor of a network: "hyper.dec." + "b_1". */
static const char *in(const char *network, const char *tensor) {
    static char name[2][96];
    static int turn;
    turn = !turn;
    snprintf(name[turn], sizeof name[turn], "%s%s", network, tensor);
    return name[turn];
}

/* Returns W of one condition times its embedding. */
static double condition(const struct plan *p, const real *x, const struct made_of *of, const char *what, const char *table,
                        int width, int unit, int row) {
    const real *w = named(p, x, in(of->projection, what)) + unit * width;
    return dot(w, named(p, x, table) + row * width, width);
}

/* Computes I(τ, ℓ, p), line by line. */
static void inner_of(const struct plan *p, const real *x, int task, const struct made_of *of, real out[INNER]) {
    const struct hyper *hyper = &p->method.hyper[0];
    char layers[32], places[32];
    real h[HIDDEN];
    snprintf(layers, sizeof layers, "hyper.%s.layer", of->stack);
    snprintf(places, sizeof places, "hyper.%s.place", of->stack);
    for (int i = 0; i < HIDDEN; i++) {
        double v = bias(p, x, in(of->projection, "b_1"), i) + condition(p, x, of, "W_1.task", "hyper.task", TASK, i, task);
        if (hyper->layer) v += condition(p, x, of, "W_1.layer", layers, LAYER, i, of->layer);
        if (hyper->place) v += condition(p, x, of, "W_1.place", places, PLACE, i, of->place);
        h[i] = v > 0 ? (real)v : 0;
    }
    double mean = 0, var = 0, y[INNER];
    for (int i = 0; i < INNER; i++) {
        y[i] = bias(p, x, in(of->projection, "b_2"), i) + dot(named(p, x, in(of->projection, "W_2")) + i * HIDDEN, h, HIDDEN);
        mean += y[i] / INNER;
    }
    for (int i = 0; i < INNER; i++) var += (y[i] - mean) * (y[i] - mean) / INNER;
    for (int i = 0; i < INNER; i++)
        out[i] = (real)(!hyper->norm ? y[i]
                                     : (y[i] - mean) / sqrt(var + 1e-6) * (double)named(p, x, in(of->projection, "norm.gamma"))[i] +
                                           (double)named(p, x, in(of->projection, "norm.beta"))[i]);
}

/* `place`: the module's expected place index. */
static struct made_of made_of(const struct plan *p, const struct plan_generated *m, int place) {
    const struct hyper *h = &p->method.hyper[0];
    struct made_of of = {.stack = m->stack == STACK_DECODER ? "dec" : "enc", .layer = m->layer < 0 ? 0 : m->layer, .place = place};
    const char *slot = strrchr(m->name, '.') + 1;
    snprintf(of.projection, sizeof of.projection, "hyper.%s.", h->layer || h->place ? of.stack : "all");
    if (h->net == HYPER_STACK) snprintf(of.head, sizeof of.head, "hyper.%s.%s.", of.stack, slot);
    else if (h->net == HYPER_SITE || m->layer < 0) snprintf(of.head, sizeof of.head, "hyper.%s.all.%d.%s.", of.stack, place, slot);
    else snprintf(of.head, sizeof of.head, "hyper.%s.%d.%d.%s.", of.stack, m->layer, place, slot);
    return of;
}

static void check_made(const struct plan *p, const real *x, const real *made, const struct plan_generated *m, int place) {
    const struct made_of of = made_of(p, m, place);
    size_t values = m->count / TASKS;
    for (int task = 0; task < TASKS; task++) {
        real inner[INNER];
        inner_of(p, x, task, &of, inner);
        for (size_t v = 0; v < values; v++) {
            double want = dot(named(p, x, in(of.head, "weight")) + v * INNER, inner, INNER) + bias(p, x, in(of.head, "bias"), (int)v);
            double got = (double)made[m->offset + (size_t)task * values + v];
            if (!(fabs(got - want) <= 1e-12 * (1 + fabs(want))))
                fail_msg("%s, task %d, value %zu: %.17g, not %.17g", m->name, task, v, got, want);
        }
    }
}

/* Slots of every function that a generator supports, with every set of conditions and heads. The FFN follows
 * self-attention in the canonical text, whatever the order of the text. */
static void made_values_are_those_of_loops(void **state) {
    (void)state;
    static const struct {
        const char *modules, *net;
        const char *places[4]; /* in the order of their indices */
    } at[] = {
        {"bottleneck(r=2; write=f.out, source=hyper) + bottleneck(r=2; write=a.out, site=self, source=hyper)", "stack",
         {"self/", "ffn/"}},
        {"bottleneck(r=2; write=a.out, site=self, source=hyper) + bottleneck(r=2; write=f.out, source=hyper)", "stack",
         {"self/", "ffn/"}},
        {"linear(r=2; write=a.q, site=self, source=hyper) + linear(r=2; write=a.v, site=self, source=hyper)", "stack",
         {".q.", ".v."}},
        {"softmax(l=2; site=self, source=hyper)", "stack", {"self/"}},
        {"linear(r=2; write=a.q, site=self, comp=learned(0.5), source=hyper)", "stack", {".q."}},
        {"scale(write=a.v, source=hyper)", "stack", {"self/", "cross/"}},
        {"scale(write=embed, source=hyper)", "stack", {"embed/"}},
        {"bottleneck(r=2; write=f.out, source=hyper, norm=own) + softmax(l=3; site=self, source=hyper) + "
         "linear(r=2; write=a.q, site=self, source=hyper) + scale(write=f.act, source=hyper)", "site",
         {"self/linear", "self/softmax", "ffn/scale", "ffn/bottleneck"}},
        {"bottleneck(r=2; write=f.out, source=hyper, norm=own) + softmax(l=3; site=self, source=hyper) + "
         "linear(r=2; write=a.q, site=self, source=hyper) + scale(write=embed, source=hyper)", "layer",
         {"self/linear", "self/softmax", "ffn/bottleneck", "embed/scale"}},
    };
    static const char *const sizes[] = {
        "task=3, layer=2, place=4, hidden=5, inner=3",
        "task=3, layer=2, place=0, hidden=5, inner=3, biases=no",
        "task=3, layer=0, place=4, hidden=5, inner=3, norm=no",
        "task=3, layer=0, place=0, hidden=5, inner=3",
    };
    struct arch a = shape(T5_OF_LOOPS);
    for (size_t k = 0; k < COUNT_OF(at) * COUNT_OF(sizes); k++) {
        char text[512];
        const char *const *places = at[k / COUNT_OF(sizes)].places;
        snprintf(text, sizeof text, "%s + hyper(%s, net=%s)", at[k / COUNT_OF(sizes)].modules, sizes[k % COUNT_OF(sizes)],
                 at[k / COUNT_OF(sizes)].net);
        struct plan *p = plan_of(text, &a, TASKS);
        real *x = xcalloc(p->trained, sizeof *x), *made = xcalloc(p->generated_size, sizeof *made);
        for (size_t i = 0; i < p->trained; i++) x[i] = (real)(0.3 * rng_normal(rng_key(3, RNG_TEST, 0, 0), i));
        attach_regenerate(p, NULL, x, made);
        int seen = 0;
        for (int i = 0; i < p->generated; i++)
            for (int place = 0; place < 4 && places[place]; place++) {
                if (!strstr(p->generated_tensor[i].name, places[place])) continue;
                check_made(p, x, made, &p->generated_tensor[i], place);
                seen++;
            }
        assert_int_equal(seen, p->generated);
        free(x);
        free(made);
        plan_free(p);
    }
    arch_release(&a);
}

/* Generator g of p generates the same as the only generator of `alone` with the same parameters. */
static void same_alone(const struct plan *p, const real *x, const real *made, int g, const struct plan *alone) {
    real *y = xcalloc(alone->trained, sizeof *y), *got = xcalloc(alone->generated_size, sizeof *got);
    int seen = 0;
    for (int i = 0; i < alone->tensors; i++) {
        const struct plan_tensor *t = &alone->tensor[i];
        char name[PLAN_NAME];
        if (t->kind != PLAN_NETWORK) continue;
        snprintf(name, sizeof name, "%s%s", g ? "hyper2" : "hyper", t->name + strlen("hyper"));
        memcpy(y + t->offset, named(p, x, name), t->count * sizeof *y);
    }
    attach_regenerate(alone, NULL, y, got);
    for (int i = 0; i < alone->generated; i++)
        for (int k = 0; k < p->generated; k++) {
            const struct plan_generated *of = &alone->generated_tensor[i], *in_both = &p->generated_tensor[k];
            if (strcmp(of->name, in_both->name) != 0) continue;
            assert_memory_equal(made + in_both->offset, got + of->offset, of->count * sizeof *got);
            seen++;
        }
    assert_int_equal(seen, alone->generated);
    free(y);
    free(got);
}

/* One kind of module is generated from a prototype, another from a task embedding, independently. */
static void two_generators_make_what_each_makes_alone(void **state) {
    (void)state;
    static const char *const first = "hyper(task=0, prototype=4, layer=2, place=3, hidden=5, inner=3)",
                            *const second = "(task=3, layer=0, place=0, hidden=4, inner=0, norm=no, net=layer)",
                            *const keys = "linear(r=2; write=a.q, site=self, source=hyper)";
    struct arch a = shape(T5_OF_LOOPS);
    char text[512];
    snprintf(text, sizeof text, "%s + bottleneck(r=2; write=f.out, source=hyper2) + scale(write=f.act, source=hyper2) + %s + hyper2%s",
             keys, first, second);
    struct plan *both = plan_of(text, &a, TASKS);
    assert_non_null(strstr(plan_prototypes(both)->name, "hyper.prototype"));
    real *x = xcalloc(both->trained, sizeof *x), *made = xcalloc(both->generated_size, sizeof *made);
    for (size_t i = 0; i < both->trained; i++) x[i] = (real)(0.3 * rng_normal(rng_key(3, RNG_TEST, 0, 0), i));
    attach_regenerate(both, NULL, x, made);
    snprintf(text, sizeof text, "%s + %s", keys, first);
    struct plan *alone = plan_of(text, &a, TASKS);
    same_alone(both, x, made, 0, alone);
    size_t trained = alone->trained_method;
    plan_free(alone);
    snprintf(text, sizeof text, "bottleneck(r=2; write=f.out, source=hyper) + scale(write=f.act, source=hyper) + hyper%s", second);
    alone = plan_of(text, &a, TASKS);
    same_alone(both, x, made, 1, alone);
    assert_int_equal(both->trained_method, trained + alone->trained_method);
    plan_free(alone);
    plan_free(both);
    free(x);
    free(made);
    arch_release(&a);
}

static void formula_is(const char *text, const char *config, const char *wanted) {
    struct arch a = shape(config);
    struct plan *p = plan_of(text, &a, 3);
    char *formula = method_generator_formula(&p->method, 0);
    assert_string_equal(formula, wanted);
    free(formula);
    plan_free(p);
    arch_release(&a);
}

static void formulas_say_what_is_computed(void **state) {
    (void)state;
    formula_is("hyperformer", T5_SMALL, "I = W_2 relu(W_1 [z_\u03C4] + b_1) + b_2, weights = A I + a; for each task");
    formula_is("hyperdecoder", T5_SMALL,
               "I = relu(W_1 [g_i; e_\u2113] + b_1), weights = A I + a, g_i = V_2 relu(V_1 h + c_1) + c_2; for each row");
    formula_is("hyperdecoder + hyper(instance=pooled, biases=no)", ROBERTA_BASE,
               "I = relu(W_1 [g_i; e_\u2113]), weights = A I, g_i = h; for each row, h of layer 6");
    formula_is("bottleneck(source=hyper) + hyper(prototype=4, layer=0, instance=retriever, pass=2, inner=3, norm=no) + retriever",
               T5_SMALL, "I = W_2 relu(W_1 [z_\u03C4; k_\u03C4; g_i; e_p] + b_1) + b_2, weights = A I + a, g_i = z of the "
               "retriever; for each row, the encoder runs twice");
    struct arch a = shape(T5_SMALL);
    struct plan *p = plan_of("lora", &a, 3);
    assert_null(method_generator_formula(&p->method, 0));
    plan_free(p);
    arch_release(&a);
}

/* A learned s has the specified initial value, whatever its source. */
static void a_made_scale_begins_where_it_is_said(void **state) {
    (void)state;
    struct arch a = shape(T5_OF_LOOPS);
    struct plan *p = plan_of("linear(r=2; write=a.q, site=self, comp=learned(0.5), source=hyper) + hyper", &a, TASKS);
    int heads = 0;
    for (int i = 0; i < p->tensors; i++) {
        real one = 7;
        if (!strstr(p->tensor[i].name, ".s.bias")) continue;
        hyper_init(p, &p->tensor[i], rng_key(1, RNG_INIT, 0, 0), &one);
        assert_true(p->tensor[i].count == 1 && one == 0.5);
        heads++;
    }
    assert_int_equal(heads, 2);
    plan_free(p);
    arch_release(&a);
}

/* Whether the vector of an example depends on the weights of its task. */
static void an_encoder_may_know_whose_row_it_is(void **state) {
    (void)state;
    static const struct {
        const char *text;
        bool known;
    } at[] = {{"bottleneck(r=2; stack=encoder, source=hyper) + hyper", true},
              {"bottleneck(r=2; stack=encoder, source=hyper) + hyper(instance=pooled, pass=2)", true},
              {"bottleneck(r=2; stack=encoder, source=hyper) + hyper(task=0, prototype=8, instance=pooled, pass=2)", true},
              {"bottleneck(r=2; stack=encoder, source=hyper) + hyper(task=0, instance=pooled, pass=2)", false},
              {"bottleneck(r=2; stack=decoder, source=hyper) + hyper(instance=pooled)", false}};
    struct arch a = shape(T5_OF_LOOPS);
    for (size_t i = 0; i < COUNT_OF(at); i++) {
        struct plan *p = plan_of(at[i].text, &a, TASKS), *one = plan_of(at[i].text, &a, 1);
        if (plan_encodes_by_task(p) != at[i].known) fail_msg("%s: %d", at[i].text, !at[i].known);
        assert_false(plan_encodes_by_task(one));
        plan_free(p);
        plan_free(one);
    }
    arch_release(&a);
}

/* Invalid combinations are refused with the reason. */
static void what_cannot_be_made_is_refused(void **state) {
    (void)state;
    static const struct {
        const char *text, *rule;
    } at[] = {{"bottleneck(r=2; source=hyper)", "V50"},
              {"lora + hyper", "V50"},
              {"bottleneck(r=2; source=hyper) + bottleneck(r=3; write=a.out, source=hyper) + hyper", "V50"},
              {"bottleneck(r=2; source=hyper) + hyper(task=8) + retriever(width=4, prototype=softmax)", "V51"},
              {"bottleneck(r=2; source=hyper) + hyper(prototype=8, task=4) + retriever(width=4, prototype=softmax)", "V51"},
              {"bottleneck(r=2; source=hyper) + hyper(task=0)", "V50"},
              {"bottleneck(r=2; source=hyper) + hyper(instance=pooled)", "V52"},
              {"bottleneck(r=2; layers=3-5, stack=encoder, source=hyper) + hyper(instance=pooled, tap=3)", "V52"},
              {"bottleneck(r=2; stack=decoder, source=hyper) + hyper(instance=pooled, tap=7)", "V52"},
              {"bottleneck(r=2; stack=decoder, source=hyper) + hyper(instance=pooled, pass=2)", "V52"},
              {"bottleneck(r=2; source=hyper) + hyper(instance=pooled, pass=2, tap=2)", "V52"},
              {"bottleneck(r=2; source=hyper) + hyper(tap=2)", "V52"},
              {"bottleneck(r=2; source=hyper) + hyper(pass=2)", "V52"},
              {"bottleneck(r=2; stack=decoder, source=hyper) + hyper(instance=retriever)", "V52"},
              {"bottleneck(r=2; source=hyper2) + hyper", "V50"},
              {"lora + hyper2", "V50"},
              {"bottleneck(r=2; stack=decoder, source=hyper) + bottleneck(r=2; write=a.out, stack=decoder, source=hyper2) + "
               "hyper(instance=pooled) + hyper2(instance=mlp)", "V50"},
              {"lora + retriever(tap=7)", "V52"}};
    static const char *const fine[] = {
        "bottleneck(r=2; layers=4-6, stack=encoder, source=hyper) + hyper(instance=pooled, tap=3)",
        "bottleneck(r=2; source=hyper) + hyper(instance=mlp, pass=2)",
        "bottleneck(r=2; stack=decoder, source=hyper) + hyper(instance=retriever) + retriever(tap=2)"};
    struct arch a = shape(T5_SMALL);
    for (size_t i = 0; i < COUNT_OF(at); i++) {
        struct method m;
        struct err e = ERR_INIT;
        struct finding f[8];
        test_ok(method_parse(at[i].text, &m, &e), &e);
        assert_true(method_check(&m, &a, f, 8) > 0);
        assert_string_equal(f[0].rule, at[i].rule);
    }
    for (size_t i = 0; i < COUNT_OF(fine); i++) plan_free(plan_of(fine[i], &a, 3));
    arch_release(&a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_are_the_published_ones),
        cmocka_unit_test(counts_on_an_encoder_alone),
        cmocka_unit_test(made_values_are_those_of_loops),
        cmocka_unit_test(two_generators_make_what_each_makes_alone),
        cmocka_unit_test(formulas_say_what_is_computed),
        cmocka_unit_test(a_made_scale_begins_where_it_is_said),
        cmocka_unit_test(an_encoder_may_know_whose_row_it_is),
        cmocka_unit_test(what_cannot_be_made_is_refused),
    };
    return cmocka_run_group_tests_name("the generator", tests, NULL, NULL);
}
