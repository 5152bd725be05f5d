#include <math.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/engine/optim.h"
#include "tests/reference/optim.h"
#include "tests/support/test.h"

enum { N = 19, STEPS = 6, PAD = 3 };

/* The block contains two groups, with elements of neither around them. */
static real param[2 * N + 3 * PAD], grad[2 * N + 3 * PAD], m[2 * N + 3 * PAD], v[2 * N + 3 * PAD];
static const size_t first = PAD, second = PAD + N + PAD;

static void start(void) {
    memset(m, 0, sizeof m);
    memset(v, 0, sizeof v);
    for (size_t i = 0; i < COUNT_OF(param); i++) param[i] = 77;
    for (int i = 0; i < N; i++)
        param[first + (size_t)i] = param[second + (size_t)i] = (real)(i - 9) / 8;
}

static void gradients(int step) {
    for (int i = 0; i < N; i++)
        grad[first + (size_t)i] = grad[second + (size_t)i] = (real)((i * 7 + step * 5) % 11 - 5) / 16;
}

static void near(const real *got, const double *want) {
    for (int i = 0; i < N; i++)
        if (!(fabs((double)got[i] - want[i]) <= 4e-7 * (1 + fabs(want[i]))))
            fail_msg("element %d is %.9g, not %.9g", i, (double)got[i], want[i]);
}

static void untouched(void) {
    for (size_t i = 0; i < PAD; i++) {
        assert_true(param[i] == 77 && param[first + N + i] == 77 && param[second + N + i] == 77);
        assert_true(m[i] == 0 && v[first + N + i] == 0);
    }
}

static void test_adamw(void **state) {
    (void)state;
    const struct adamw o = { 0.9, 0.999, 1e-8, 0.1 };
    const struct optim_group groups[] = { { first, N, 1, 1 }, { second, N, 2, 0 } };
    start();
    for (int step = 0; step < STEPS; step++) {
        gradients(step);
        optim_adamw(&o, 0.01, (uint64_t)step + 1, 2, groups, param, grad, m, v);
    }
    near(param + first, adamw_expected);
    near(param + second, adamw_plain_expected);
    untouched();
}

static void test_sgd(void **state) {
    (void)state;
    const struct sgd o = { 0.9, 0.1 };
    const struct optim_group groups[] = { { first, N, 2, 1 } };
    start();
    for (int step = 0; step < STEPS; step++) {
        gradients(step);
        optim_sgd(&o, 0.05, 1, groups, param, grad, m);
    }
    near(param + first, sgd_expected);
    untouched();
    start();
    gradients(0);
    optim_sgd(&(struct sgd){ 0, 0 }, 0.05, 1, groups, param, grad, NULL);
    assert_true(fabs((double)(param[first] - ((real)-9 / 8 - (real)0.1 * grad[first]))) < 1e-7);
}

/* Slices in any order give the bits of the whole. */
static void slices_are_the_whole(void **state) {
    (void)state;
    const struct adamw o = ADAMW_DEFAULT;
    const struct optim_group one = { 3, 1000, 0.5, 1 };
    real p[2][1003], slope[1003], early[2][1003] = { { 0 } }, late[2][1003] = { { 0 } };
    for (int i = 0; i < 1003; i++) {
        p[0][i] = p[1][i] = (real)sin(i);
        slope[i] = (real)cos(3 * i);
    }
    for (uint64_t step = 1; step < 4; step++) {
        optim_adamw(&o, 0.1, step, 1, &one, p[0], slope, early[0], late[0]);
        for (int at = 1003 / 17; at >= 0; at--) {
            const struct optim_group part = optim_slice(&one, (size_t)at * 17, (size_t)at * 17 + 17);
            optim_adamw(&o, 0.1, step, 1, &part, p[1], slope, early[1], late[1]);
        }
        assert_memory_equal(p[0], p[1], sizeof p[0]);
    }
    assert_int_equal(optim_slice(&one, 1003, 2000).count, 0);
    assert_int_equal(optim_slice(&one, 0, 2).count, 0);
}

static void test_clip(void **state) {
    (void)state;
    real g[] = { 3, 4, 0, 12 };
    assert_true(fabs(optim_norm(4, g) - 13) < 1e-12);
    assert_true(optim_norm(0, g) == 0);
    assert_true(optim_clip_factor(13, 0) == 1);
    assert_true(optim_clip_factor(13, 20) == 1);
    assert_true(fabs(optim_clip_factor(13, 1) * 13 - 1) < 1e-6);
    assert_true(optim_clip_factor((double)NAN, 1) == 1);
    g[1] = (real)NAN;
    assert_true(isnan(optim_norm(4, g)));
    g[1] = (real)1e30; /* its square overflows a float */
    assert_true(fabs(optim_norm(4, g) / 1e30 - 1) < 1e-6);
}

static void rates(enum lr_schedule shape, uint64_t warmup, const double *want) {
    for (uint64_t i = 0; i < 10; i++) {
        double got = lr_schedule_factor(shape, i, warmup, 10);
        if (!(fabs(got - want[i]) < 1e-8)) fail_msg("step %d: %g, not %g", (int)i, got, want[i]);
    }
}

static void test_rates(void **state) {
    (void)state;
    rates(LR_LINEAR, 0, linear_expected);
    rates(LR_LINEAR, 4, linear_warm_expected);
    rates(LR_COSINE, 3, cosine_expected);
    rates(LR_CONSTANT, 3, constant_expected);
    /* one step, and warm-ups longer than the run */
    for (int shape = 0; shape <= LR_CONSTANT; shape++) {
        assert_true(fabs(lr_schedule_factor((enum lr_schedule)shape, 0, 0, 1) - 1) < 1e-12);
        assert_true(fabs(lr_schedule_factor((enum lr_schedule)shape, 0, 1, 1) - 1) < 1e-12);
        assert_true(fabs(lr_schedule_factor((enum lr_schedule)shape, 9, 50, 10) - 1) < 1e-12);
        assert_true(fabs(lr_schedule_factor((enum lr_schedule)shape, 3, 50, 10) - 3.0 / 9) < 1e-12);
    }
    assert_true(lr_schedule_factor(LR_LINEAR, 10, 0, 10) == 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_adamw),
        cmocka_unit_test(test_sgd),
        cmocka_unit_test(slices_are_the_whole),
        cmocka_unit_test(test_clip),
        cmocka_unit_test(test_rates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
