/* Adds a field of a module to a copy of core/method, as one member and one table row, and checks that it is
 * read, written, compared, validated and explained (field/check.c). */
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
