/* The loss over a vocabulary in blocks equals a product followed by cross-entropy, with less memory than all
 * logits need. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/engine/ops.h"
#include "tests/support/test.h"

enum { ROWS = 300, WIDTH = 4, WORDS = 30011 };

struct weights {
    real *x, *w, *b, *dx, *dw, *db, weight[ROWS];
    int32_t label[ROWS];
};

static real *numbers(size_t n, uint64_t from) {
    real *v = xcalloc(n, sizeof *v);
    struct rng_key key = rng_key(1, RNG_TEST, 0, from);
    for (size_t i = 0; i < n; i++) v[i] = (real)rng_normal(key, i);
    return v;
}

static void open(struct weights *o) {
    o->x = numbers(ROWS * WIDTH, 1);
    o->w = numbers(WORDS * WIDTH, 2);
    o->b = numbers(WORDS, 3);
    o->dx = xcalloc(ROWS * WIDTH, sizeof(real));
    o->dw = xcalloc(WORDS * WIDTH, sizeof(real));
    o->db = xcalloc(WORDS, sizeof(real));
    for (int i = 0; i < ROWS; i++) {
        o->label[i] = i * 101 % WORDS;
        o->weight[i] = (real)(i % 3) / ROWS;
    }
}

static void release(struct weights *o) {
    free(o->x);
    free(o->w);
    free(o->b);
    free(o->dx);
    free(o->dw);
    free(o->db);
}

/* Computes loss and gradients (into *o), fused or not; sets the peak memory in bytes. */
static double run(struct weights *o, bool fused, bool trained, size_t *peak) {
    struct arena *a = arena_new();
    struct tape *t = tape_new(a);
    tape_reset(t, true, 1, 0);
    node x = tape_trained(t, ROWS, WIDTH, o->x, o->dx);
    node w = trained ? tape_trained(t, WORDS, WIDTH, o->w, o->dw)
                     : tape_frozen(t, WORDS, WIDTH, o->w);
    node b = trained ? tape_trained(t, 1, WORDS, o->b, o->db) : tape_frozen(t, 1, WORDS, o->b);
    node loss = fused ? op_vocabulary_loss(t, x, w, b, o->label, o->weight, 0, NULL)
                      : op_cross_entropy(t, op_linear(t, x, w, b), o->label, o->weight);
    double value = (double)*tape_value(t, loss);
    tape_backward(t, 1, &loss, NULL);
    *peak = arena_peak(a);
    tape_free(t);
    arena_free(a);
    return value;
}

static void near(const real *a, const real *b, size_t n) {
    double most = 0;
    for (size_t i = 0; i < n; i++) most = fmax(most, fabs((double)b[i]));
    for (size_t i = 0; i < n; i++)
        if (!(fabs((double)a[i] - (double)b[i]) <= 2e-5 * most))
            fail_msg("%zu: %.9g, not %.9g", i, (double)a[i], (double)b[i]);
}

static void test_parts(void **state) {
    (void)state;
    const size_t whole = (size_t)ROWS * WORDS * sizeof(real);
    struct weights plain, fused;
    size_t peak;
    open(&plain);
    open(&fused);
    double right = run(&plain, false, true, &peak);
    assert_true(peak > whole);
    for (int trained = 0; trained < 2; trained++) {
        double loss = run(&fused, true, trained, &peak);
        assert_true(fabs(loss - right) < 2e-6 * right);
        assert_true(peak < whole * 6 / 10);
        near(fused.dx, plain.dx, ROWS * WIDTH);
    }
    near(fused.dw, plain.dw, WORDS * WIDTH);
    near(fused.db, plain.db, WORDS);
    release(&plain);
    release(&fused);
}

/* A NaN logit makes the loss NaN; rows with weight 0 are ignored. */
static void test_not_finite(void **state) {
    (void)state;
    struct weights o;
    size_t peak;
    open(&o);
    o.x[0] = (real)NAN; /* row 0 has weight 0 */
    assert_true(isfinite(run(&o, true, false, &peak)));
    assert_true(o.dx[0] == 0);
    o.x[WIDTH] = (real)NAN;
    assert_true(isnan(run(&o, true, false, &peak)));
    o.x[WIDTH] = (real)INFINITY;
    assert_false(isfinite(run(&o, true, false, &peak)));
    release(&o);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parts),
        cmocka_unit_test(test_not_finite),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
