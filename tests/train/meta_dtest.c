/* Gradients through the inner loop, in 64 bits. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/rng.h"
#include "tests/support/episodes.h"
#include "tests/support/fixture.h"
#include "tests/support/test.h"

enum { CLASSES = 3, ROWS = 6, QUERY = 7 };
static struct fixture tiny;

static int open_tiny(void **state) {
    (void)state;
    fixture_open(&tiny, "tests/reference/bert-tiny", "tests/reference/bert-tiny/expected.safetensors");
    return 0;
}

static int close_tiny(void **state) {
    (void)state;
    fixture_close(&tiny);
    return 0;
}

static void open_episode(const struct meta_rig *r, struct made_episode *e) {
    episode_make(e, 2, CLASSES, regime_batches(&r->meta.regime), ROWS, QUERY, tiny.model->arch.vocabulary);
}

/* A direction over what the outer loop learns; `rates`: over the rates alone, or all else. */
static real *direction(const struct meta_rig *r, bool rates) {
    real *d = xcalloc(r->plan->trained, sizeof *d);
    for (int i = 0; i < r->plan->tensors; i++) {
        const struct plan_tensor *t = &r->plan->tensor[i];
        struct rng_key key = rng_key(4, RNG_TEST, 1, rng_site(t->name));
        for (size_t k = 0; k < t->count && t->outer && (i == r->plan->rate_tensor) == rates; k++)
            d[t->offset + k] = (real)rng_normal(key, k);
    }
    return d;
}

static double along(struct meta_rig *r, const struct made_episode *e, const real *d, double s) {
    size_t n = r->plan->trained;
    real *moved = xcalloc(n, sizeof *moved);
    for (size_t i = 0; i < n; i++) moved[i] = r->params[i] + (real)s * d[i];
    double f = meta_objective(&r->meta, &r->bench, moved, &e->episode, 11);
    free(moved);
    return f;
}

/* Central differences of fourth order. */
static double difference(struct meta_rig *r, const struct made_episode *e, const real *d) {
    double h = 2e-5;
    return (8 * (along(r, e, d, h) - along(r, e, d, -h)) - (along(r, e, d, 2 * h) - along(r, e, d, -2 * h))) / (12 * h);
}

static real *gradient(struct meta_rig *r, const struct made_episode *e, double *objective) {
    real *g = xcalloc(r->plan->trained, sizeof *g);
    double tokens;
    assert_true(meta_episode(&r->meta, &r->bench, r->params, &e->episode, 11, 1, g, objective, &tokens));
    return g;
}

static double dot(size_t n, const real *a, const real *b) {
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += (double)a[i] * (double)b[i];
    return sum;
}

static const struct {
    const char *method, *regime;
} ways[] = {
    { "meta-adapters(m=3)", "meta(order=fd, inner=3, inner-lr=learned(0.1))" },
    { "meta-adapters(m=3)", "meta(order=fd, inner=4, inner-lr=learned(0.05), losses=every(2), labels=apart)" },
    { "hybrid-smlmt", "meta(order=fd, inner=2, inner-lr=learned(0.05))" },
    { "lora(r=2) + generated-head(hidden=6, width=5)", "meta(order=fd, inner=3, inner-lr=0.3)" },
    { "bottleneck(r=3; act=gelu, learn=inner) + bottleneck(r=2; act=tanh, read=a.in, write=a.out, learn=outer) + "
      "generated-head(hidden=6, width=5, learn=both)", "meta(order=fd, inner=3, inner-lr=learned(0.2))" },
};

/* The recursion against the objective as a whole, with dropout whose masks stay. */
static void second_order_is_exact(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(ways); i++) {
        struct meta_rig r;
        struct made_episode e;
        double objective;
        meta_rig_open(&r, tiny.model, ways[i].method, ways[i].regime);
        r.meta.dropout = r.meta.attention_dropout = r.meta.classifier_dropout = 0.1;
        open_episode(&r, &e);
        real *g = gradient(&r, &e, &objective);
        double whole = meta_objective(&r.meta, &r.bench, r.params, &e.episode, 11);
        assert_true(fabs(objective - whole) < 1e-12 * fabs(whole));
        for (int rates = 0; rates <= (r.plan->rate_tensor >= 0); rates++) {
            real *d = direction(&r, rates);
            double want = difference(&r, &e, d), got = dot(r.plan->trained, g, d);
            if (!(fabs(got - want) < 1e-6 * fabs(want)))
                fail_msg("%s, %s, %s: %.12g, not %.12g (%.2g apart)", ways[i].method, ways[i].regime,
                         rates ? "rates" : "values", got, want, fabs(got - want) / fabs(want));
            free(d);
        }
        free(g);
        episode_release(&e);
        meta_rig_close(&r);
    }
}

/* First order is the recursion with Hessians of zero; and it is another gradient than the second's. */
static void first_order_has_no_curvature(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(ways); i++) {
        struct meta_rig r;
        struct made_episode e;
        double objective, most = 0, apart = 0;
        meta_rig_open(&r, tiny.model, ways[i].method, ways[i].regime);
        r.meta.regime.clip = 0.05; /* clipped: its factor takes part in both */
        open_episode(&r, &e);
        real *second = gradient(&r, &e, &objective);
        r.meta.flat = true;
        real *flat = gradient(&r, &e, &objective);
        r.meta.regime.order = META_FIRST;
        real *first = gradient(&r, &e, &objective);
        for (size_t k = 0; k < r.plan->trained; k++) {
            most = fmax(most, fabs((double)first[k]));
            apart = fmax(apart, fabs((double)(first[k] - second[k])));
        }
        for (size_t k = 0; k < r.plan->trained; k++)
            if (!(fabs((double)(first[k] - flat[k])) < 1e-12 * most))
                fail_msg("value %zu: %g, not %g", k, (double)first[k], (double)flat[k]);
        assert_true(apart > 1e-6 * most);
        free(first);
        free(second);
        free(flat);
        episode_release(&e);
        meta_rig_close(&r);
    }
}

/* What the outer loop does not learn gets nothing. */
static void the_rest_stands_still(void **state) {
    (void)state;
    struct meta_rig r;
    struct made_episode e;
    double objective;
    meta_rig_open(&r, tiny.model, "meta-adapters(m=3)", "meta(inner=2, outer=shared, inner-lr=0.1)");
    open_episode(&r, &e);
    real *g = gradient(&r, &e, &objective);
    int moved = 0;
    for (int i = 0; i < r.plan->tensors; i++) {
        const struct plan_tensor *t = &r.plan->tensor[i];
        double sum = dot(t->count, g + t->offset, g + t->offset);
        if (!t->outer && sum != 0) fail_msg("%s moves", t->name);
        if (t->inner) assert_false(t->outer); /* no start is learned */
        moved += sum != 0;
    }
    assert_true(moved > 8);
    free(g);
    episode_release(&e);
    meta_rig_close(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(second_order_is_exact),
        cmocka_unit_test(first_order_has_no_curvature),
        cmocka_unit_test(the_rest_stands_still),
    };
    return cmocka_run_group_tests(tests, open_tiny, close_tiny);
}
