/* Agreement with transformers on the real weights of flan-t5-small (tests/reference/make_t5.py): layers,
 * logits, losses, the gradient of every tensor, LoRA at every attention. */
#ifndef TESTS_MODEL_T5_CASES_H
#define TESTS_MODEL_T5_CASES_H

#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "tests/support/fixture.h"
#include "tests/support/test.h"
#include "tests/support/tuned.h"

#define T5 "assets/models/flan-t5-small"
#define T5_EXPECTED "tests/reference/flan-t5-small/expected.safetensors"

/* Largest differences in 64 and in 32 bits, relative to a tensor's largest magnitude; absolute for losses. */
enum { T5_WIDE = sizeof(real) == sizeof(double) };
static const double layer_limit = T5_WIDE ? 1e-9 : 2e-4, loss_limit = T5_WIDE ? 1e-9 : 1e-4,
                    gradient_limit = T5_WIDE ? 1e-8 : 1e-3;

struct t5 {
    struct fixture fixture;
    struct arena *arena;
    struct tape *tape;
    struct forward forward;
    int layers; /* layers reported so far */
};

/* Skips the test where the folder is absent. */
static void t5_open(struct t5 *x) {
    test_needs(T5);
    *x = (struct t5){.arena = arena_new()};
    fixture_open(&x->fixture, T5, T5_EXPECTED);
    x->tape = tape_new(x->arena);
}

static void t5_close(struct t5 *x) {
    tape_free(x->tape);
    arena_free(x->arena);
    fixture_close(&x->fixture);
}

static void t5_layer(void *self, int layer, node output) {
    struct t5 *x = self;
    char name[32];
    snprintf(name, sizeof name, "layer.%d", layer);
    size_t size = (size_t)tape_rows_of(x->tape, output) * (size_t)tape_cols_of(x->tape, output);
    fixture_compare_samples(&x->fixture, name, tape_value(x->tape, output), size, layer_limit, 0);
    x->layers++;
}

static struct passed t5_pass(struct t5 *x, bool training, const struct hooks *hooks, double smoothing) {
    struct forward *f = &x->forward;
    tape_reset(x->tape, training, 1, 0);
    forward_init(f, x->tape, x->fixture.model, &x->fixture.batch, hooks);
    f->dropout = f->attention_dropout = f->activation_dropout = 0;
    if (!training) f->layer_done = t5_layer, f->layer_self = x;
    return pass(f, NULL, smoothing);
}

static void t5_compare(struct t5 *x, const char *name, node n) {
    size_t size = (size_t)tape_rows_of(x->tape, n) * (size_t)tape_cols_of(x->tape, n);
    fixture_compare_samples(&x->fixture, name, tape_value(x->tape, n), size, layer_limit, 0);
}

/* The last token of each row. */
static void t5_compare_last(struct t5 *x, const char *name, node n, const int *start) {
    size_t d = (size_t)tape_cols_of(x->tape, n), rows = (size_t)x->fixture.batch.examples;
    real *last = xcalloc(rows * d, sizeof *last);
    for (size_t i = 0; i < rows; i++)
        memcpy(last + i * d, tape_value(x->tape, n) + (size_t)(start[i + 1] - 1) * d, d * sizeof *last);
    fixture_compare(&x->fixture, name, last, rows * d, layer_limit);
    free(last);
}

static void t5_forward(void **state) {
    (void)state;
    struct t5 x;
    t5_open(&x);
    struct batch *b = &x.fixture.batch;
    struct passed p = t5_pass(&x, false, NULL, 0);
    assert_int_equal(x.layers, 18);
    t5_compare_last(&x, "encoded", p.encoded, b->start);
    t5_compare_last(&x, "decoded", p.decoded, b->target_start);
    t5_compare(&x, "logits", p.logits);
    fixture_compare(&x.fixture, "loss", tape_value(x.tape, p.loss), 1, loss_limit);
    p = t5_pass(&x, false, NULL, 0.1);
    fixture_compare(&x.fixture, "smooth.tokens", tape_value(x.tape, p.loss), 1, loss_limit);
    t5_close(&x);
}

static void t5_gradients(void **state) {
    (void)state;
    struct t5 x;
    struct full full;
    t5_open(&x);
    const struct model *m = x.fixture.model;
    full_open(&full, m);
    struct passed p = t5_pass(&x, true, &full.hooks, 0);
    tape_backward(x.tape, 1, &p.loss, NULL);
    double largest = fixture_largest(&x.fixture, "grad.");
    for (int i = 0; i < m->tensors; i++) {
        char *name = fixture_name(&x.fixture, "grad.", m->tensor[i].name, "");
        fixture_compare_samples(&x.fixture, name, full.grad[i], tensor_size(&m->tensor[i]),
                                gradient_limit, largest);
        free(name);
    }
    full_close(&full);
    t5_close(&x);
}

/* Factor k of the reference's rule. */
static void t5_factor(real *v, size_t n, size_t k) {
    for (size_t i = 0; i < n; i++) v[i] = (real)(((double)((i * 37 + k * 101) % 201) - 100) / 4096);
}

static void t5_lora(void **state) {
    (void)state;
    struct t5 x;
    struct lora l;
    t5_open(&x);
    const struct model *m = x.fixture.model;
    size_t k = 0;
    lora_open(&l, m);
    for (int i = 0; i < m->tensors; i++) {
        const struct tensor_info *t = &m->tensor[i];
        if (t->role != ROLE_Q_W && t->role != ROLE_V_W) continue;
        lora_put(&l, i, 2);
        t5_factor(l.a[i], 2 * (size_t)t->cols, k++);
        t5_factor(l.b[i], 2 * (size_t)t->rows, k++);
    }
    struct passed p = t5_pass(&x, true, &l.hooks, 0);
    t5_compare(&x, "lora.logits", p.logits);
    fixture_compare(&x.fixture, "lora.loss", tape_value(x.tape, p.loss), 1, loss_limit);
    tape_backward(x.tape, 1, &p.loss, NULL);
    double largest = fixture_largest(&x.fixture, "lora.grad.");
    for (int i = 0; i < m->tensors; i++) {
        const struct tensor_info *t = &m->tensor[i];
        if (!l.rank[i]) continue;
        char *a = xprintf("lora.grad.%.*s.a", (int)strlen(t->name) - 7, t->name);
        char *b = xprintf("lora.grad.%.*s.b", (int)strlen(t->name) - 7, t->name);
        fixture_compare_samples(&x.fixture, a, l.da[i], 2 * (size_t)t->cols, gradient_limit, largest);
        fixture_compare_samples(&x.fixture, b, l.db[i], 2 * (size_t)t->rows, gradient_limit, largest);
        free(a);
        free(b);
    }
    lora_close(&l);
    t5_close(&x);
}

#endif
