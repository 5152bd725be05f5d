/* Losses between rows: known values, gradients against central differences, batches without a positive. */
#include <math.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/rng.h"
#include "core/train/run/contrast.h"
#include "tests/support/test.h"

enum { ROWS = 5, WIDTH = 2 };
static const real points[ROWS * WIDTH] = { 1, 0, 1, 1, 0, 1, -1, 1, -1, 0 };
static const int tasks[ROWS] = { 0, 0, 1, 1, 2 };

static void near(double got, double want, double by) {
    if (!(fabs(got - want) <= by)) fail_msg("%.12f, not %.12f", got, want);
}

/* Values of the formulas at five points, worked out apart from this code; the fifth has no positive. */
static void known_values(void **state) {
    (void)state;
    real grad[ROWS * WIDTH];
    int anchors;
    double supcon = contrast_instances(INSTANCE_SUPCON, 0.1, 1, ROWS, WIDTH, points, tasks, grad, &anchors);
    assert_int_equal(anchors, 4);
    near(0.1 * supcon, 0.0520497524, 1e-9);
    double negatives = contrast_instances(INSTANCE_NEGATIVES, 0.1, 1, ROWS, WIDTH, points, tasks, grad, &anchors);
    near(0.1 * negatives, -0.1766694226, 1e-9);
}

static void gradients(void **state) {
    (void)state;
    enum { N = 7, W = 5 };
    static const int of[N] = { 0, 1, 0, 2, 1, 0, 3 };
    for (int kind = INSTANCE_SUPCON; kind <= INSTANCE_NEGATIVES; kind++) {
        real z[N * W], grad[N * W], unused[N * W];
        int anchors;
        for (int i = 0; i < N * W; i++) z[i] = rng_normal(rng_key(3, RNG_TEST, 0, 0), (uint64_t)i);
        contrast_instances((enum instance_loss)kind, 0.3, 0.7, N, W, z, of, grad, &anchors);
        assert_int_equal(anchors, 5);
        for (int i = 0; i < N * W; i++) {
            const double eps = 1e-6;
            real was = z[i];
            z[i] = was + eps;
            double up = contrast_instances((enum instance_loss)kind, 0.3, 0.7, N, W, z, of, unused, &anchors);
            z[i] = was - eps;
            double down = contrast_instances((enum instance_loss)kind, 0.3, 0.7, N, W, z, of, unused, &anchors);
            z[i] = was;
            near(grad[i], 0.7 * (up - down) / (2 * eps), 1e-8);
        }
    }
}

static void without_a_positive(void **state) {
    (void)state;
    static const int apart[ROWS] = { 0, 1, 2, 3, 4 }, alike[ROWS] = { 0 };
    real grad[ROWS * WIDTH];
    int anchors;
    near(contrast_instances(INSTANCE_SUPCON, 0.1, 1, ROWS, WIDTH, points, apart, grad, &anchors), 0, 0);
    assert_int_equal(anchors, 0);
    for (int i = 0; i < ROWS * WIDTH; i++) near(grad[i], 0, 0);
    contrast_instances(INSTANCE_SUPCON, 0.1, 1, ROWS, WIDTH, points, alike, grad, &anchors);
    assert_int_equal(anchors, ROWS);
    contrast_instances(INSTANCE_NEGATIVES, 0.1, 1, ROWS, WIDTH, points, alike, grad, &anchors);
    assert_int_equal(anchors, 0); /* no negatives either */
}

static void prototypes(void **state) {
    (void)state;
    static const real k[3 * WIDTH] = { 1, 0, 0, 1, -1, -1 };
    real grad[ROWS * WIDTH], grad_k[3 * WIDTH], unused[ROWS * WIDTH], unused_k[3 * WIDTH], z[ROWS * WIDTH], at[3 * WIDTH];
    double decoupled =
        contrast_prototypes(PROTOTYPE_DECOUPLED, 0.1, 1, ROWS, WIDTH, points, tasks, 3, k, grad, grad_k);
    near(0.1 * decoupled, -0.6827908658, 1e-9);
    double softmax = contrast_prototypes(PROTOTYPE_SOFTMAX, 0.1, 1, ROWS, WIDTH, points, tasks, 3, k, grad, grad_k);
    near(0.1 * softmax, 0.0138987353, 1e-9);
    memcpy(z, points, sizeof z);
    memcpy(at, k, sizeof at);
    for (int kind = PROTOTYPE_DECOUPLED; kind <= PROTOTYPE_SOFTMAX; kind++) {
        contrast_prototypes((enum prototype_loss)kind, 0.4, 0.7, ROWS, WIDTH, z, tasks, 3, at, grad, grad_k);
        for (int i = 0; i < ROWS * WIDTH + 3 * WIDTH; i++) {
            const double eps = 1e-6;
            real *x = i < ROWS * WIDTH ? &z[i] : &at[i - ROWS * WIDTH], was = *x;
            *x = was + eps;
            double up = contrast_prototypes((enum prototype_loss)kind, 0.4, 0.7, ROWS, WIDTH, z, tasks, 3, at, unused, unused_k);
            *x = was - eps;
            double down = contrast_prototypes((enum prototype_loss)kind, 0.4, 0.7, ROWS, WIDTH, z, tasks, 3, at, unused, unused_k);
            *x = was;
            near(i < ROWS * WIDTH ? grad[i] : grad_k[i - ROWS * WIDTH], 0.7 * (up - down) / (2 * eps), 1e-8);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_values),
        cmocka_unit_test(gradients),
        cmocka_unit_test(without_a_positive),
        cmocka_unit_test(prototypes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
