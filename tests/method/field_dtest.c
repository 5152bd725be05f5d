/* A field of a module, added to a copy of core/method: a member and a row, and the new field is read, written,
 * compared, checked and explained (field/check.c). */
#include <stdlib.h>

#include "tests/support/recipe.h"
#include "tests/support/test.h"

static void a_field_is_a_member_and_a_row(void **state) {
    (void)state;
    free(recipe_run("tests/method/field"));
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(a_field_is_a_member_and_a_row) };
    return cmocka_run_group_tests_name("a field more, by the recipe", tests, NULL, NULL);
}
