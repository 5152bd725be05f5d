/* Agreement of decoder-only models with transformers (tests/reference/make_causal.py): layers, logits, the
 * loss, the gradient of every tensor. */
#ifndef TESTS_MODEL_CAUSAL_CASES_H
#define TESTS_MODEL_CAUSAL_CASES_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "tests/support/fixture.h"
#include "tests/support/test.h"
#include "tests/support/tuned.h"

/* Largest differences in 64 and in 32 bits: of values of unit scale, and of a gradient relative to the largest
 * one. */
enum { CAUSAL_WIDE = sizeof(real) == sizeof(double), PLACES = 64 };
static const double value_limit = CAUSAL_WIDE ? 1e-9 : 1e-5, slope_limit = CAUSAL_WIDE ? 1e-9 : 1e-5;

static const char *const causal_models[] = { "llama", "llama3", "linear", "yarn", "mistral", "qwen2", "qwen3",
                                            "gpt2" };

struct causal {
    struct fixture fixture;
    struct arena *arena;
    struct tape *tape;
    struct forward forward;
    int layers; /* reported so far */
};

static void causal_open(struct causal *x, const char *name) {
    char *folder = xprintf("tests/reference/causal/%s", name), *file = xprintf("%s/expected.safetensors", folder);
    *x = (struct causal){ .arena = arena_new() };
    fixture_open(&x->fixture, folder, file);
    x->tape = tape_new(x->arena);
    struct batch *b = &x->fixture.batch;
    int labels = 0;
    for (int i = 0; i < b->tokens; i++) labels += b->target_out[i] >= 0;
    for (int i = 0; i < b->tokens; i++) b->target_weight[i] = 1 / (real)labels;
    free(folder);
    free(file);
}

static void causal_close(struct causal *x) {
    tape_free(x->tape);
    arena_free(x->arena);
    fixture_close(&x->fixture);
}

static void compare_whole(const struct causal *x, const char *name, node n) {
    size_t size = (size_t)tape_rows_of(x->tape, n) * (size_t)tape_cols_of(x->tape, n);
    fixture_compare(&x->fixture, name, tape_value(x->tape, n), size, value_limit);
}

static void compare_block(void *self, int layer, node output) {
    struct causal *x = self;
    char name[32];
    snprintf(name, sizeof name, "layer.%d", layer);
    compare_whole(x, name, output);
    x->layers++;
}

static node encode(struct causal *x, bool training, const struct hooks *hooks) {
    tape_reset(x->tape, training, 1, 0);
    forward_init(&x->forward, x->tape, x->fixture.model, &x->fixture.batch, hooks);
    if (!training) x->forward.layer_done = compare_block;
    x->forward.layer_self = x;
    return forward_encode(&x->forward);
}

static void check_gradient(const struct causal *x, int tensor, const real *grad, double largest) {
    const struct tensor_info *t = &x->fixture.model->tensor[tensor];
    char *name = fixture_name(&x->fixture, "grad.", t->name, "");
    size_t n, size = tensor_size(t);
    double *right = fixture_values(&x->fixture, name, &n);
    assert_int_equal(n, PLACES);
    for (size_t i = 0; i < n; i++) {
        double got = (double)grad[(i * 7919 + 13) % size];
        if (!(fabs(got - right[i]) <= slope_limit * largest))
            fail_msg("%s, place %zu: %.12g, not %.12g", name, i, got, right[i]);
    }
    free(right);
    free(name);
}

static void causal_parity(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(causal_models); i++) {
        struct causal x;
        struct full full;
        causal_open(&x, causal_models[i]);
        node encoded = encode(&x, false, NULL);
        assert_int_equal(x.layers, 3);
        compare_whole(&x, "encoded", encoded);
        compare_whole(&x, "logits", forward_logits(&x.forward, encoded));
        full_open(&full, x.fixture.model);
        node loss = forward_lm_loss(&x.forward, encode(&x, true, &full.hooks), 0);
        compare_whole(&x, "loss", loss);
        tape_backward(x.tape, 1, &loss, NULL);
        double largest = fixture_largest(&x.fixture, "grad.");
        for (int k = 0; k < x.fixture.model->tensors; k++) check_gradient(&x, k, full.grad[k], largest);
        full_close(&full);
        causal_close(&x);
    }
}

#endif
