/* Generators in 64 bits, beside PyTorch (generators.h). */
#include "tests/train/generators.h"

static void runs_are_pytorchs(void **state) {
    (void)state;
    static const struct generator_bounds by = { 1e-9, 1e-9, 1e-8 };
    for (size_t i = 0; i < COUNT_OF(generator_cases); i++)
        generator_check(&generator_cases[i], getenv("PETRI_PARITY_DUMP"), &by);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(runs_are_pytorchs) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
