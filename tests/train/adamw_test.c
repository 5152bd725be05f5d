#include "tests/train/adamw.h"

static void tiny_in_32_bits(void **state) {
    (void)state;
    on_the_tiny_model(1e-4);
}

static void minilm_in_32_bits(void **state) {
    (void)state;
    on_minilm(1e-4);
}

int main(int argc, char **argv) {
    (void)argc;
    blas_start(argv);
    const struct CMUnitTest tests[] = { cmocka_unit_test(tiny_in_32_bits),
                                        cmocka_unit_test(minilm_in_32_bits) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
