/* Follows "How to add a function" in the README: a copy of core/method gets one file and one line, is built,
 * and the new function is written, counted, checked against finite differences and trained
 * (recipe/check.c). */
#include <stdlib.h>

#include "tests/support/recipe.h"
#include "tests/support/test.h"

static void a_function_is_one_file_and_one_line(void **state) {
    (void)state;
    free(recipe_run("tests/method/recipe"));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_function_is_one_file_and_one_line)};
    return cmocka_run_group_tests_name("a function more, by the recipe", tests, NULL, NULL);
}
