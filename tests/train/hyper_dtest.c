/* Weights made by a generator, in 64 bits: the gradient of a mixed batch of three tasks, through the modules,
 * the generator and the losses across the batch, against central differences of the step's loss. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "tests/support/mixed.h"
#include "tests/support/test.h"

static struct mixed mixed[MIXED_MODELS];

static int open_all(void **state) {
    (void)state;
    mixed_open_both(mixed, NULL);
    return 0;
}

static int close_all(void **state) {
    (void)state;
    mixed_release_both(mixed);
    return 0;
}

static const double moved = 0.05;

/* The loss of the first step from x on. */
static double loss_at(struct mixed *m, const struct run_config *c, const real *x) {
    struct trained out = { 0 };
    struct step_stopper s = { .out = &out, .step = 1 };
    s.run = mixed_begin(m, c, NULL, step_stopper_sink(&s));
    memcpy(run_params(s.run), x, run_plan(s.run)->trained * sizeof *x);
    trained_run(s.run, 1, &out);
    assert_int_equal(out.points, 1);
    double loss = out.loss[0];
    trained_release(&out);
    return loss;
}

/* `most` elements of every tensor of the network, one of others. */
static void check(struct mixed *m, const char *method, size_t most) {
    const double eps = 1e-5;
    struct run_config c = mixed_config(m, method, 9, 2); /* stopped after one: nothing is scored */
    c.accumulate = 2;
    real *g = mixed_gradient(m, &c, moved);
    struct run *r = mixed_begin_moved(m, &c, NULL, (struct event_sink){ NULL, NULL }, moved);
    const struct plan *p = run_plan(r);
    real *x = xcalloc(p->trained, sizeof *x);
    memcpy(x, run_params(r), p->trained * sizeof *x);
    int networks = 0;
    for (int i = 0; i < p->tensors; i++) {
        const struct plan_tensor *t = &p->tensor[i];
        size_t each = t->kind == PLAN_NETWORK ? most : 1;
        networks += t->kind == PLAN_NETWORK;
        for (size_t k = 0; k < each && k < t->count; k++) {
            size_t at = t->offset + (each - 1 - k) * (t->count - 1) + t->count / 3 * k;
            real was = x[at];
            x[at] = was + eps;
            double up = loss_at(m, &c, x);
            x[at] = was - eps;
            double slope = (up - loss_at(m, &c, x)) / (2 * eps);
            x[at] = was;
            if (!(fabs(g[at] - slope) <= 2e-8 + 1e-5 * fabs(slope)))
                fail_msg("%s: %s, element %zu: %.12g, not %.12g", method, t->name, at - t->offset, g[at], slope);
        }
    }
    assert_true(p->generated + p->per_example > 0 && (networks > 5) == method_has_generator(&p->method));
    run_free(r);
    free(x);
    free(g);
    config_release(&c);
}

static void gradients(void **state) {
    (void)state;
    static const char *const everywhere[] = {
        "bottleneck(r=2; act=gelu-tanh, read=a.out, write=a.out, site=self, source=hyper, norm=own) + "
        "bottleneck(r=2; act=gelu-tanh, read=f.out, write=f.out, source=hyper, norm=own) + full(target=norms) + "
        "hyper(task=3, layer=2, place=4, hidden=5, inner=3)",
        "linear(r=2; read=a.in, write=a.q, comp=learned, source=hyper) + scale(write=f.act, source=hyper) + "
        "hyper(task=3, layer=0, place=0, hidden=5, inner=3, norm=no, net=layer)",
        "softmax(l=2; source=hyper) + bottleneck(r=2; act=tanh, read=f.in, write=f.out, layers=2, source=hyper, norm=shared) + "
        "hyper(task=4, layer=2, place=2, hidden=5, inner=3, net=layer, start=fan) + "
        "retriever(hidden=5, width=4, prototype=decoupled, weight=0.5, temperature=0.4)",
        "lora(r=2) + linear(r=2; read=f.in, write=f.pre, source=hyper) + softmax(l=2; site=self, source=hyper) + "
        "hyper(task=3, layer=2, place=2, hidden=4, inner=3, net=site, biases=no) + "
        "retriever(hidden=0, width=3, instance=negatives, prototype=softmax, temperature=0.5)",
        "linear(r=2; read=a.in, write=a.q, site=self, source=hyper) + bottleneck(r=2; act=gelu, read=f.in, write=f.out, "
        "source=hyper2) + hyper(task=0, prototype=4, layer=2, place=0, hidden=5, inner=3) + "
        "hyper2(task=3, layer=0, place=0, hidden=4, inner=3) + "
        "retriever(hidden=0, width=4, prototype=decoupled)",
        "softmax(l=2; site=self, source=prompt-global(3)) + softmax(l=2; site=self, comp=add, source=prompt-sep(2)) + "
        "hyper(task=3, layer=3, place=0, hidden=4, inner=3, norm=no, biases=no, start=hyperfan)",
    };
    for (int of = 0; of < MIXED_MODELS; of++)
        for (size_t i = 0; i < COUNT_OF(everywhere); i++) check(&mixed[of], everywhere[i], 2);
    for (int of = 0; of < MIXED_MODELS; of++) /* on the encoder alone its halves */
        check(&mixed[of], "bottleneck(r=2; act=gelu, read=f.in, write=f.out, stack=encoder) + bottleneck(r=2; act=gelu, read=f.in, "
                          "write=f.out, stack=decoder, source=hyper) + hyper(task=4, layer=3, place=0, hidden=5, inner=3, start=fan) + "
                      "retriever(hidden=5, width=4, prototype=decoupled)", 2);
    check(&mixed[T5], "softmax(l=2; stack=encoder, site=self, source=prompt-share(3)) + "
                      "softmax(l=3; stack=decoder, site=self, source=prompt-share(2), dropout=0.1) + full(target=norms)", 2);
}

/* What is made for each row, and back through the row's vector into what lies below. */
static void gradients_of_rows(void **state) {
    (void)state;
    static const char *const of_t5[] = {
        "bottleneck(r=2; act=gelu, read=f.res, write=f.out, stack=encoder) + "
        "bottleneck(r=2; act=gelu, read=f.res, write=f.out, comp=learned(0.5), stack=decoder, source=hyper) + "
        "hyper(task=0, layer=3, place=0, instance=mlp, hidden=5, inner=0, norm=no)",
        "lora(r=2,stack=encoder) + softmax(l=2; stack=decoder, source=hyper) + scale(write=f.act, stack=decoder, source=hyper) + "
        "hyper(task=2, prototype=3, layer=2, place=2, instance=retriever, hidden=5, inner=3, net=layer) + "
        "retriever(hidden=5, width=3, prototype=softmax, temperature=0.5)",
        "bottleneck(r=2; act=gelu, read=f.res, write=f.out, stack=encoder, source=hyper) + "
        "bottleneck(r=2; act=gelu, read=f.res, write=f.out, stack=decoder, source=hyper2) + "
        "hyper(task=3, layer=2, place=0, hidden=4, inner=0, norm=no) + "
        "hyper2(task=0, layer=3, place=0, instance=mlp, hidden=5, inner=0, norm=no)",
        "bottleneck(r=2; act=gelu, read=f.in, write=f.out, stack=encoder) + "
        "bottleneck(r=2; act=gelu, read=f.in, write=f.out, norm=own, source=hyper) + "
        "hyper(task=0, layer=2, place=0, instance=pooled, pass=2, hidden=5, inner=3)",
    };
    for (size_t i = 0; i < COUNT_OF(of_t5); i++) check(&mixed[T5], of_t5[i], 1);
    check(&mixed[BERT], "bottleneck(r=2; act=gelu, read=f.in, write=f.out, layers=1) + "
                        "linear(r=2; read=a.in, write=a.q, layers=2, source=hyper) + "
                        "hyper(task=0, layer=2, place=0, instance=pooled, tap=1, hidden=5, inner=3) + "
                        "retriever(hidden=3, width=4, tap=1)", 1);
    /* both generators in the halves of an encoder, the row's one being the first */
    check(&mixed[BERT], "bottleneck(r=2; act=gelu, read=f.in, write=f.out, stack=encoder, source=hyper2) + "
                        "bottleneck(r=2; act=gelu, read=f.in, write=f.out, stack=decoder, source=hyper) + "
                        "hyper(task=0, layer=2, place=0, instance=pooled, hidden=5, inner=3) + "
                        "hyper2(task=3, layer=0, place=0, hidden=4, inner=3)", 1);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(gradients), cmocka_unit_test(gradients_of_rows) };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
