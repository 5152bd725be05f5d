/* flan-t5-small in 64 bits. */
#include "tests/model/t5_cases.h"

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(t5_forward),
        cmocka_unit_test(t5_gradients),
        cmocka_unit_test(t5_lora),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
