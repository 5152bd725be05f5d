#define TOLERANCE 1e-6
#include "tests/analysis/tsne_cases.h"

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dense_oracle),
        cmocka_unit_test(test_sparse_oracle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
