/* Agreement of decoder-only models with transformers in 32 bits. */
#include "tests/model/causal_cases.h"

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(causal_parity) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
