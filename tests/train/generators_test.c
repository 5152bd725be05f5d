/* Generators in 32 bits, beside PyTorch in 64 (generators.h).  Values after ten steps of AdamW are not compared: where a
 * gradient is rounding alone its sign decides. */
#include "core/engine/blas.h"
#include "tests/train/generators.h"

static void runs_are_pytorchs(void **state) {
    (void)state;
    static const struct generator_bounds by = { 1e-4, 1e-4, 0 };
    for (size_t i = 0; i < COUNT_OF(generator_cases); i++) generator_check(&generator_cases[i], NULL, &by);
}

int main(int argc, char **argv) {
    (void)argc;
    blas_start(argv);
    const struct CMUnitTest tests[] = { cmocka_unit_test(runs_are_pytorchs) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
