#define TOLERANCE 2e-3
#include "tests/analysis/tsne_cases.h"

#include "core/analysis/pairs.h"
#include "core/analysis/scores.h"
#include "core/base/rng.h"
#include "core/engine/blas.h"

/* ---- against the reference libraries ---- */

static void test_digits(void **state) {
    (void)state;
    struct tsne_options o;
    struct err e = ERR_INIT;
    real *x = xmalloc(DIGITS * PIXELS * sizeof *x);
    read_digits(x, NULL);
    tsne_options_init(&o);
    o.crew = crew_new(2, NULL);
    struct tsne *t = tsne_new(x, DIGITS, PIXELS, &o, &e);
    assert_non_null(t);
    assert_int_equal(tsne_step(t, 10000), 750);
    assert_true(tsne_done(t));
    double kl = tsne_divergence(t), kept = score_preservation(x, PIXELS, tsne_layout(t), DIGITS, 10);
    double best = fmin(read_number("opentsne.kl"), read_number("sklearn.kl"));
    printf("digits: divergence %.4f (openTSNE %.4f, scikit-learn %.4f), 10 neighbors kept %.4f (%.4f, %.4f)\n",
           kl, read_number("opentsne.kl"), read_number("sklearn.kl"), kept, read_number("opentsne.preservation"),
           read_number("sklearn.preservation"));
    assert_true(kl > 0.5 && kl <= best);
    assert_true(kept >= read_number("opentsne.preservation") - 0.01);
    tsne_free(t);
    crew_free(o.crew);
    free(x);
}

/* Components do not depend on the size of the numbers: neither overflow nor zeros. */
static void test_pca_of_any_size(void **state) {
    (void)state;
    struct err e = ERR_INIT;
    static const float size[] = { 1e19f, 1e-25f, 1e30f };
    real x[5 * 3], y[10], z[10];
    for (int i = 0; i < 15; i++) x[i] = (real)sin(i * i * 0.7);
    test_ok(pca_two(x, 5, 3, y, &e), &e);
    for (size_t k = 0; k < COUNT_OF(size); k++) {
        real scaled[5 * 3];
        for (int i = 0; i < 15; i++) scaled[i] = x[i] * (real)size[k];
        test_ok(pca_two(scaled, 5, 3, z, &e), &e);
        for (int i = 0; i < 10; i++) assert_true(fabs((double)z[i] / (double)size[k] - (double)y[i]) < 1e-4);
    }
}

static void test_pca(void **state) {
    (void)state;
    struct err e = ERR_INIT;
    real *x = xmalloc(DIGITS * PIXELS * sizeof *x), *y = xmalloc(2 * DIGITS * sizeof *y);
    double want[2], first[2];
    read_digits(x, NULL);
    test_ok(pca_two(x, DIGITS, PIXELS, y, &e), &e);
    read_numbers("pca.deviation", 2, want);
    read_numbers("pca.first", 2, first);
    for (int a = 0; a < 2; a++) {
        double sum = 0;
        for (int i = 0; i < DIGITS; i++) sum += (double)y[2 * i + a] * (double)y[2 * i + a];
        assert_true(fabs(sqrt(sum / DIGITS) - want[a]) < 1e-4 * want[a]);
        assert_true(fabs(fabs((double)y[a]) - first[a]) < 1e-3);
    }
    /* more values than points: the other matrix, the same components */
    real wide[6 * PIXELS], flat[12];
    memcpy(wide, x, sizeof wide);
    test_ok(pca_two(wide, 6, PIXELS, flat, &e), &e);
    double dot = 0, own[2] = { 0 };
    for (int i = 0; i < 6; i++) {
        dot += (double)flat[2 * i] * (double)flat[2 * i + 1];
        for (int a = 0; a < 2; a++) own[a] += (double)flat[2 * i + a] * (double)flat[2 * i + a];
    }
    assert_true(fabs(dot) < 1e-3 * sqrt(own[0] * own[1]));
    assert_true(own[0] > own[1] && own[1] > 1);
    free(x);
    free(y);
}

/* ---- the loops of each processor ---- */

static void test_loops(void **state) {
    (void)state;
    enum { N = 100, ROOM = 112 };
    real x[ROOM], y[ROOM], p[ROOM];
    int32_t index[ROOM];
    for (int i = 0; i < ROOM; i++) {
        x[i] = i < N ? (real)sin(i * 1.3) * 3 : PAIRS_FAR;
        y[i] = i < N ? (real)sin(i * i * 0.7) : PAIRS_FAR;
        p[i] = i < N && i != 7 ? (real)(i % 5) * (real)0.01 : 0;
        index[i] = i < N ? i : 7;
    }
    const struct pairs *k[] = { &pairs_base, pairs_in_use(),
#if defined(__x86_64__)
                                pairs_in_use() == &pairs_base ? &pairs_base : &pairs_avx2
#endif
    };
    double want[5] = { 0 };
    for (int j = 0; j < N; j++) {
        double dx = (double)x[j] - (double)x[7], dy = (double)y[j] - (double)y[7], q = 1 / (1 + dx * dx + dy * dy);
        want[0] += q;
        want[1] += q * q * dx;
        want[2] += q * q * dy;
        want[3] += (double)p[j] * q * dx;
        want[4] += (double)p[j] * q * dy;
    }
    for (size_t i = 0; i < COUNT_OF(k); i++) {
        struct pair_sums all, split;
        k[i]->all(x, y, ROOM, 7, p, &all);
        k[i]->repel(x, y, ROOM, 7, &split);
        k[i]->attract(x, y, index, p, ROOM, 7, &split);
        double have[2][5] = { { all.q, all.away[0], all.away[1], all.near[0], all.near[1] },
                              { split.q, split.away[0], split.away[1], split.near[0], split.near[1] } };
        for (int h = 0; h < 2; h++)
            for (int j = 0; j < 5; j++)
                if (!(fabs(have[h][j] - want[j]) < 1e-5)) fail_msg("table %zu, sum %d: %g, not %g", i, j, have[h][j], want[j]);
    }
}

/* ---- the same bits ---- */

static struct tsne *made(const real *x, int n, struct crew *crew, uint64_t seed) {
    struct tsne_options o;
    struct err e = ERR_INIT;
    tsne_options_init(&o);
    o.crew = crew;
    o.seed = seed;
    o.iterations = 90;
    struct tsne *t = tsne_new(x, n, PIXELS, &o, &e);
    if (!t) fail_msg("%s", e.text);
    return t;
}

static void same_bits(int n) {
    real *x = xmalloc(DIGITS * PIXELS * sizeof *x);
    read_digits(x, NULL);
    struct crew *crew = crew_new(3, NULL);
    struct tsne *one = made(x, n, NULL, 3), *three = made(x, n, crew, 3), *other = made(x, n, NULL, 4);
    size_t bytes = 2 * (size_t)n * sizeof(real);
    assert_int_equal(tsne_step(one, 1000), 90);
    for (int i = 0; i < 30; i++) assert_int_equal(tsne_step(three, 3), 3);
    assert_int_equal(tsne_step(three, 1), 0);
    assert_memory_equal(tsne_layout(one), tsne_layout(three), bytes);
    assert_true(tsne_divergence(one) == tsne_divergence(three));
    real *first = xmalloc(bytes);
    memcpy(first, tsne_layout(one), bytes);
    tsne_rewind(one);
    assert_int_equal(tsne_iteration(one), 0);
    assert_true(memcmp(first, tsne_layout(one), bytes) != 0);
    tsne_step(one, 90);
    assert_memory_equal(first, tsne_layout(one), bytes);
    tsne_step(other, 90);
    assert_true(memcmp(first, tsne_layout(other), bytes) != 0);
    tsne_free(one);
    tsne_free(three);
    tsne_free(other);
    crew_free(crew);
    free(first);
    free(x);
}

static void test_workers(void **state) {
    (void)state;
    same_bits(301);
    same_bits(1100);
}

/* ---- hard input ---- */

/* A layout that is gone on from: it begins there exactly, and what was settled stays about where it is. */
static void test_start(void **state) {
    (void)state;
    enum { N = 90, D = 5 };
    real x[N * D], first[2 * N];
    struct err e = ERR_INIT;
    struct tsne_options o;
    for (int i = 0; i < N * D; i++) x[i] = (real)rng_normal(rng_key(3, RNG_DRAW, 0, 0), (uint64_t)i) + (i / D % 3) * 6;
    tsne_options_init(&o);
    o.perplexity = 10;
    struct tsne *t = tsne_new(x, N, D, &o, &e);
    assert_non_null(t);
    tsne_step(t, o.iterations);
    double kl = tsne_divergence(t), spread = 0, moved = 0;
    memcpy(first, tsne_layout(t), sizeof first);
    tsne_free(t);
    o.start = first;
    o.iterations = 100;
    t = tsne_new(x, N, D, &o, &e);
    assert_non_null(t);
    assert_memory_equal(tsne_layout(t), first, sizeof first);
    tsne_step(t, 100);
    for (int i = 0; i < 2 * N; i++) {
        spread += fabs((double)first[i]);
        moved += fabs((double)tsne_layout(t)[i] - (double)first[i]);
    }
    if (!(moved < 0.1 * spread)) fail_msg("points moved by %g of their spread", moved / spread);
    assert_true(tsne_divergence(t) < kl + 0.01);
    tsne_free(t);
}

static void refused(const real *x, int n, int d, int code, const char *part) {
    struct tsne_options o;
    struct err e = ERR_INIT;
    tsne_options_init(&o);
    assert_null(tsne_new(x, n, d, &o, &e));
    test_refused(e.code, code, &e, part);
}

static void test_refusals(void **state) {
    (void)state;
    real x[40];
    for (int i = 0; i < 40; i++) x[i] = (real)(i * i % 17);
    refused(x, 3, 2, ERR_INPUT, "at least 4 points");
    refused(x, 0, 2, ERR_INPUT, "at least 4 points: found 0");
    refused(x, TSNE_MOST + 1, 2, ERR_USAGE, "15000");
    x[9] = NAN;
    refused(x, 20, 2, ERR_INPUT, "example 5, value 2");
    x[9] = INFINITY;
    refused(x, 20, 2, ERR_INPUT, "example 5, value 2 is infinite");
    for (int i = 0; i < 40; i++) x[i] = (real)(i % 2);
    refused(x, 20, 2, ERR_INPUT, "all 20 points are identical");
    struct tsne_options o;
    struct err e = ERR_INIT;
    tsne_options_init(&o);
    o.perplexity = 0.5;
    assert_null(tsne_new(x, 20, 2, &o, &e));
    test_refused(e.code, ERR_USAGE, &e, "perplexity");
}

/* Runs to the end and looks that all is finite and of a sensible size. */
static void survives(const real *x, int n, int d, double perplexity) {
    struct tsne_options o;
    struct err e = ERR_INIT;
    tsne_options_init(&o);
    o.perplexity = perplexity;
    struct tsne *t = tsne_new(x, n, d, &o, &e);
    if (!t) fail_msg("%d points: %s", n, e.text);
    assert_true(tsne_perplexity(t) <= (n - 1) / 3.0 + 1e-12);
    tsne_step(t, 750);
    for (int i = 0; i < 2 * n; i++)
        if (!(fabs((double)tsne_layout(t)[i]) < 1e6)) fail_msg("%d points: a place of %g", n, (double)tsne_layout(t)[i]);
    assert_true(isfinite(tsne_divergence(t)));
    tsne_free(t);
}

static void test_hard_input(void **state) {
    (void)state;
    real x[3 * 200];
    for (int i = 0; i < 200; i++) x[i] = (real)(i >= 100); /* two heaps of duplicates, one value each */
    survives(x, 200, 1, 30);
    for (int i = 0; i < 600; i++) x[i] = (real)sin(i * i);
    survives(x, 4, 3, 30);
    survives(x, 5, 3, 1000);
    for (int i = 0; i < 600; i++) x[i] = (real)1e30 * (real)sin(i * i);
    survives(x, 200, 3, 30);
    for (int i = 0; i < 600; i++) x[i] = (real)1e-30 * (real)sin(i * i);
    survives(x, 200, 3, 30);
    for (int i = 0; i < 600; i++) x[i] = i == 300; /* 199 duplicates and one other */
    survives(x, 200, 3, 30);
    real *many = xcalloc(1200 * 2, sizeof *many); /* sparse: more duplicates than neighbors */
    for (int i = 0; i < 1200; i++) many[2 * i] = (real)(i % 3);
    survives(many, 1200, 2, 30);
    free(many);
}

int main(int argc, char **argv) {
    (void)argc;
    blas_start(argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_loops),         cmocka_unit_test(test_dense_oracle),
        cmocka_unit_test(test_sparse_oracle), cmocka_unit_test(test_digits),
        cmocka_unit_test(test_pca_of_any_size),
        cmocka_unit_test(test_pca),           cmocka_unit_test(test_workers), cmocka_unit_test(test_start),
        cmocka_unit_test(test_refusals),      cmocka_unit_test(test_hard_input),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
