/* In 64 bits. */
#include "tests/train/meta_truth.h"

static void gradients(void **state) {
    (void)state;
    gradients_are_pytorchs(1e-8, 1e-6);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(gradients) };
    return cmocka_run_group_tests(tests, open_tiny, close_tiny);
}
