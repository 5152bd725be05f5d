#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/mem.h"
#include "core/engine/blas.h"
#include "tests/support/test.h"

/* Runs this program again with `--facts`, which prints the kernel and what selected it after blas_start(),
 * with the kernel variable unset (NULL) or set. */
static void facts_of_child(const char *core, char *out, size_t size) {
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (!child) {
        dup2(ends[1], 1);
        if (core) setenv("OPENBLAS_CORETYPE", core, 1);
        else unsetenv("OPENBLAS_CORETYPE");
        execl("/proc/self/exe", "blas_test", "--facts", (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    size_t n = 0;
    ssize_t got;
    while (n + 1 < size && (got = read(ends[0], out + n, size - 1 - n)) > 0) n += (size_t)got;
    out[n] = '\0';
    close(ends[0]);
    int status;
    waitpid(child, &status, 0);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void test_choice(void **state) {
    (void)state;
    const struct blas_facts *f = blas_facts();
    char out[256];
    facts_of_child(NULL, out, sizeof out);
    /* the selected kernel runs here, and is not an old one on a processor with AVX2 */
    assert_non_null(strstr(out, " passed"));
    if (!strcmp(f->features, "avx2") || !strcmp(f->features, "avx512"))
        assert_null(strstr(out, "Prescott"));
    assert_null(strstr(out, "environment"));
    /* a value that is set is respected */
    facts_of_child("Prescott", out, sizeof out);
    assert_string_equal(out, "Prescott environment passed\n");
    facts_of_child("", out, sizeof out);
    assert_non_null(strstr(out, "environment"));
}

static void test_facts(void **state) {
    (void)state;
    const struct blas_facts *f = blas_facts();
    assert_true(f->self_test_passed);
    assert_non_null(strstr(f->self_test, "match"));
    assert_true(f->kernel[0] && f->version[0] && f->processor[0]);
    assert_true(blas_rate(64, 64, 64, 0.001) > 0);
    assert_true(blas_layer_rate(0.001) > 0);
}

static void test_no_inner_size(void **state) {
    (void)state;
    real c[] = { 1, 2, (real)NAN, 4, 5, 6 }, none[1] = { 0 };
    blas_gemm(false, false, 2, 2, 0, 1, none, 1, none, 2, 1, c, 3);
    assert_true(c[0] == 1 && c[4] == 5);
    blas_gemm(false, false, 2, 3, 0, 1, none, 1, none, 3, 0, c, 3);
    for (int i = 0; i < 6; i++) assert_true(c[i] == 0);
}

static void test_record(void **state) {
    (void)state;
    real a[64] = { 0 }, b[64] = { 0 }, c[64] = { 0 };
    blas_gemm(false, false, 4, 4, 4, 1, a, 4, b, 4, 0, c, 4);
    struct blas_record *r = blas_record_start();
    blas_gemm(true, false, 4, 3, 2, 1, a, 4, b, 3, 0, c, 3);
    blas_gemm(false, true, 5, 6, 7, 1, a, 7, b, 7, 1, c, 6);
    blas_gemm(false, true, 0, 6, 7, 1, a, 7, b, 7, 1, c, 6);
    blas_record_stop(r);
    blas_gemm(false, false, 4, 4, 4, 1, a, 4, b, 4, 0, c, 4);
    assert_int_equal(blas_record_count(r), 2);
    assert_true(blas_record_flops(r) == 2 * (4 * 3 * 2 + 5 * 6 * 7));
    assert_true(blas_record_replay(r) >= 0);
    assert_int_equal(blas_record_count(r), 2);
    blas_record_free(r);
}

int main(int argc, char **argv) {
    blas_start(argv);
    if (argc > 1 && !strcmp(argv[1], "--facts")) {
        const struct blas_facts *f = blas_facts();
        printf("%s %s %s\n", f->kernel, f->chosen_by, f->self_test_passed ? "passed" : "failed");
        return 0;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_choice),
        cmocka_unit_test(test_facts),
        cmocka_unit_test(test_no_inner_size),
        cmocka_unit_test(test_record),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
