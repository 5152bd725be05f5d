/* Products with a weight in bfloat16: their values, their bits in any batch, and on one thread; with oneDNN and with
 * rounded operands. */
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/engine/arena.h"
#include "core/engine/blas.h"
#include "core/engine/dnnl.h"
#include "core/engine/kernel.h"
#include "core/engine/packed.h"
#include "tests/support/test.h"

enum { ROWS = 150 };

static real *random_matrix(int rows, int cols, unsigned seed) {
    size_t n = (size_t)rows * (size_t)cols;
    real *x = xmalloc(n * sizeof *x);
    uint32_t state = seed;
    for (size_t i = 0; i < n; i++) {
        state = state * 1664525u + 1013904223u;
        x[i] = (real)((double)state / 4294967296.0 - 0.5);
    }
    return x;
}

static double rounded(real x, real s) {
    real y;
    kernel_round_bf16(1, s, &x, &y);
    return (double)y;
}

static void numbers_are_rounded_to_nearest(void **state) {
    (void)state;
    const real x[] = { 1, 1.00390625F, 1.01171875F, 1.0039064F, -3.1415927F, 3.3895314e38F, 1e-40F, INFINITY, NAN };
    const real y[] = { 1, 1, 1.015625F, 1.0078125F, -3.140625F, 3.3895314e38F, 0, INFINITY, NAN };
    for (size_t i = 0; i < COUNT_OF(x); i++) {
        double got = rounded(x[i], 1);
        if (isnan(y[i])) assert_true(isnan(got));
        else if (i == 6) assert_true(fabs(got - 1e-40) <= 0x1p-134);
        else assert_true(got == (double)y[i]);
    }
}

/* Against sums in double of the rounded operands: what is left is the rounding of float32 sums. */
static void products_are_those_of_rounded_operands(void **state) {
    (void)state;
    static const int shape[][2] = { { 96, 64 }, { 33, 17 }, { 384, 1536 }, { 1, 5 }, { 7, 300 } };
    struct arena *a = arena_new();
    for (size_t i = 0; i < COUNT_OF(shape); i++) {
        int out = shape[i][0], in = shape[i][1];
        real *w = random_matrix(out, in, 1), *x = random_matrix(ROWS, in + 3, 2), *dy = random_matrix(ROWS, out, 3);
        real *y = random_matrix(ROWS, out, 4), *before = random_matrix(ROWS, out, 4), *dx = random_matrix(ROWS, in, 5);
        size_t lacks;
        struct packed *p = packed_new(out, in, w, &lacks);
        assert_true(packed_bytes(p) == (size_t)((dnnl_is_native() ? 2 : 4) * in * out));
        packed_forward(p, a, ROWS, 2, x, in + 3, NULL, true, y);
        packed_to_input(p, a, ROWS, 1, dy, out, false, dx);
        assert_true(packed_bytes(p) == (size_t)(4 * in * out));
        for (int r = 0; r < ROWS; r += 7) {
            for (int c = 0; c < out; c++) {
                double sum = (double)before[r * out + c];
                for (int k = 0; k < in; k++) sum += rounded(x[r * (in + 3) + k], 2) * rounded(w[c * in + k], 1);
                assert_true(fabs(sum - (double)y[r * out + c]) < 4e-6 * sqrt(in));
            }
            for (int k = 0; k < in; k++) {
                double sum = 0;
                for (int c = 0; c < out; c++) sum += rounded(dy[r * out + c], 1) * rounded(w[c * in + k], 1);
                assert_true(fabs(sum - (double)dx[r * in + k]) < 4e-6 * sqrt(out));
            }
        }
        packed_free(p);
        free(w), free(x), free(dy), free(y), free(before), free(dx);
    }
    arena_free(a);
}

static void a_weight_is_packed_again(void **state) {
    (void)state;
    enum { OUT = 96, IN = 65 };
    struct arena *a = arena_new();
    real *w = random_matrix(OUT, IN, 1), *other = random_matrix(OUT, IN, 2), *x = random_matrix(ROWS, IN, 3);
    real *y = random_matrix(ROWS, OUT, 4), *again = random_matrix(ROWS, OUT, 5);
    size_t failed;
    struct packed *once = packed_new(OUT, IN, w, &failed), *trained = packed_trained_new(OUT, IN, &failed);
    packed_fill(trained, other);
    packed_fill(trained, w);
    packed_forward(once, a, ROWS, 1, x, IN, NULL, false, y);
    packed_forward(trained, a, ROWS, 1, x, IN, NULL, false, again);
    assert_memory_equal(y, again, sizeof(real) * ROWS * OUT);
    packed_to_input(once, a, ROWS, 1, y, OUT, false, x);
    packed_to_input(trained, a, ROWS, 1, y, OUT, false, again);
    assert_memory_equal(x, again, sizeof(real) * ROWS * IN);
    packed_free(once), packed_free(trained);
    free(w), free(other), free(x), free(y), free(again);
    arena_free(a);
}

/* Likewise, for counts of examples around those of one call. */
static void gradients_of_weights_are_those_of_rounded_operands(void **state) {
    (void)state;
    enum { OUT = 33, IN = 70, MOST = 1100 };
    static const int count[] = { 0, 1, 31, 32, 33, 200, 512, MOST };
    struct arena *a = arena_new();
    size_t failed;
    struct packed *p = packed_trained_new(OUT, IN, &failed);
    real *dy = random_matrix(MOST, OUT + 2, 1), *x = random_matrix(MOST, IN + 3, 2);
    for (size_t i = 0; i < 2 * COUNT_OF(count); i++) {
        int n = count[i / 2];
        bool add = i % 2;
        real *dw = random_matrix(OUT, IN, 3), *before = random_matrix(OUT, IN, 3);
        packed_to_weight(p, a, n, 0.7F, dy, OUT + 2, x, IN + 3, add, dw);
        for (int r = 0; r < OUT; r++)
            for (int c = 0; c < IN; c++) {
                double sum = add ? (double)before[r * IN + c] : 0;
                for (int k = 0; k < n; k++)
                    sum += rounded(dy[k * (OUT + 2) + r], 0.7F) * rounded(x[k * (IN + 3) + c], 1);
                assert_true(fabs(sum - (double)dw[r * IN + c]) < 4e-6 * sqrt(n + 1));
            }
        free(dw), free(before);
    }
    packed_free(p);
    free(dy), free(x);
    arena_free(a);
}

static void a_row_has_the_same_bits_in_any_batch(void **state) {
    (void)state;
    if (!dnnl_is_native()) test_skip("the matrix library does not promise it");
    enum { IN = 1536, OUT = 384, MANY = 300 };
    struct arena *a = arena_new();
    real *w = random_matrix(OUT, IN, 1), *x = random_matrix(MANY, IN, 2), *all = xmalloc(sizeof(real) * MANY * OUT),
         *some = xmalloc(sizeof(real) * MANY * OUT);
    size_t lacks;
    struct packed *p = packed_new(OUT, IN, w, &lacks);
    packed_forward(p, a, MANY, 1, x, IN, NULL, false, all);
    for (int from = 0; from < MANY; from += 37)
        for (int n = 1; from + n <= MANY && n < 200; n = n * 3 + 1) {
            packed_forward(p, a, n, 1, x + from * IN, IN, NULL, false, some);
            assert_memory_equal(some, all + from * OUT, sizeof(real) * (size_t)n * OUT);
        }
    packed_free(p);
    free(w), free(x), free(all), free(some);
    arena_free(a);
}

static int threads(void) {
    DIR *d = opendir("/proc/self/task");
    int n = 0;
    for (const struct dirent *e; (e = readdir(d));) n += e->d_name[0] != '.';
    closedir(d);
    return n;
}

static void no_thread_is_started(void **state) {
    (void)state;
    struct arena *a = arena_new();
    real *w = random_matrix(768, 768, 1), *x = random_matrix(1024, 768, 2), *y = xmalloc(sizeof(real) * 1024 * 768);
    int before = threads();
    size_t lacks;
    struct packed *p = packed_new(768, 768, w, &lacks);
    packed_forward(p, a, 1024, 1, x, 768, NULL, false, y);
    assert_int_equal(threads(), before);
    packed_free(p);
    free(w), free(x), free(y);
    arena_free(a);
}

/* What `make DNNL=0` would do to the build of this program. */
static void another_setting_of_the_library_rebuilds_it(void **state) {
    (void)state;
    const char *bin = getenv("PETRI_BIN");
    if (!dnnl_name() || !bin) test_skip("needs a build with oneDNN, by tests/run");
    char line[4096],
        *command = xprintf("cd '%s' && env -u MAKEFLAGS -u MAKELEVEL make -n DNNL=0 OUT='%.*s' '%s' 2>&1", test_root(),
                           (int)(strrchr(bin, '/') - bin), bin, bin);
    bool compiled = false, linked = false;
    FILE *f = popen(command, "r");
    assert_non_null(f);
    while (fgets(line, sizeof line, f)) {
        compiled |= strstr(line, "-c") && strstr(line, "core/engine/dnnl.c");
        linked |= strstr(line, "-lopenblas") && !strstr(line, "-ldnnl");
    }
    assert_int_equal(pclose(f), 0);
    assert_true(compiled && linked);
    free(command);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(numbers_are_rounded_to_nearest),
    cmocka_unit_test(products_are_those_of_rounded_operands),
    cmocka_unit_test(a_weight_is_packed_again),
    cmocka_unit_test(gradients_of_weights_are_those_of_rounded_operands),
    cmocka_unit_test(a_row_has_the_same_bits_in_any_batch),
    cmocka_unit_test(no_thread_is_started),
    cmocka_unit_test(another_setting_of_the_library_rebuilds_it),
};

int main(int argc, char **argv) {
    blas_start(argv);
    int rc = cmocka_run_group_tests(tests, NULL, NULL);
    return rc || argc > 1 ? rc : test_rounded();
}
