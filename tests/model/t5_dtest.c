/* The real T5 in 64 bits. */
#include "tests/model/t5_cases.h"

static const struct t5_limits limits = {.layer = 1e-9, .loss = 1e-9, .gradient = 1e-8};

static void test_forward(void **state) {
    (void)state;
    t5_forward(&limits);
}

static void test_gradients(void **state) {
    (void)state;
    t5_gradients(&limits);
}

static void test_lora(void **state) {
    (void)state;
    t5_lora(&limits);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forward),
        cmocka_unit_test(test_gradients),
        cmocka_unit_test(test_lora),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
