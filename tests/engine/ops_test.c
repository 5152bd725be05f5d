#include "tests/engine/run_cases.h"

/* The float build compared with plain loops in double. */
static const struct tolerance tolerance = { 4e-6, 2e-5, 1e-4 };

static void test_table(void **state) {
    (void)state;
    check_table();
}

static void test_cases(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(op_cases); i++) {
        struct trial x;
        for (int variant = 0; trial_init(&x, &op_cases[i], variant); variant++) {
            double *out = xcalloc(x.out_size + 1, sizeof *out);
            check_value(&x, &tolerance, out);
            check_gradients(&x, &tolerance, out);
            check_masks(&x);
            check_all_recycled(&x);
            free(out);
            trial_release(&x);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_cases),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
