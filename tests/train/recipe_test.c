/* README's "How to add an objective", done: a copy of core/train/run gets a file and a line, is built, and trains
 * (recipe/check.c). */
#include <stdlib.h>

#include "tests/support/recipe.h"
#include "tests/support/test.h"

static void an_objective_is_a_file_and_a_line(void **state) {
    (void)state;
    free(recipe_run("tests/train/recipe"));
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(an_objective_is_a_file_and_a_line) };
    return cmocka_run_group_tests_name("an objective more, by the recipe", tests, NULL, NULL);
}
