/* A column of a table that a verb prints, added to a copy of the verb: a member and a row, and text, JSON, CSV and
 * Markdown have it (column/check). */
#include <stdlib.h>

#include "tests/support/recipe.h"
#include "tests/support/test.h"

static void a_column_is_a_member_and_a_row(void **state) {
    (void)state;
    free(recipe_run("tests/app/verbs/column"));
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(a_column_is_a_member_and_a_row) };
    return cmocka_run_group_tests_name("a column more, by the recipe", tests, NULL, NULL);
}
