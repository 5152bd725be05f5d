/* README's "How to add a screen", done: a copy of views gets two files, a line and the row of a key, is built, and the
 * new screen is drawn, reached by its key, explained (recipe/check.c) and printed by render. */
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "tests/support/command.h"
#include "tests/support/recipe.h"
#include "tests/support/test.h"

static void a_screen_is_two_files_and_a_line(void **state) {
    (void)state;
    char *scratch = recipe_run("tests/views/recipe"), *bin = xprintf("%s/petri", scratch),
         *was = getenv("PETRI_BIN") ? xstrdup(getenv("PETRI_BIN")) : NULL;
    struct command c;
    setenv("PETRI_BIN", bin, 1);
    command_run(&c, NULL, "render --screen queue");
    command_expect(&c, 0);
    if (!strstr(buf_text(&c.out), "nothing waits")) fail_msg("%s", buf_text(&c.out));
    command_release(&c);
    command_run(&c, NULL, "render --screen nothing");
    command_expect(&c, 2);
    assert_non_null(strstr(buf_text(&c.err), "queue"));
    command_release(&c);
    if (was) setenv("PETRI_BIN", was, 1);
    free(was);
    free(bin);
    free(scratch);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_screen_is_two_files_and_a_line)};
    return cmocka_run_group_tests_name("a screen more, by the recipe", tests, NULL, NULL);
}
