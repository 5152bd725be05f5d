/* In 64 bits. */
#include "tests/train/language.h"

static void losses_are_those_of_the_references(void **state) {
    (void)state;
    lora_is_pefts(1e-8);
    whole_model_is_pytorchs(1, 4, 1e-8);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(losses_are_those_of_the_references) };
    return cmocka_run_group_tests(tests, open_language, close_language);
}
