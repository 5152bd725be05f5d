/* README's "How to add a function", done: a copy of core/method gets one file and one line, is built, and the new
 * function is written, counted, checked against differences and trained (recipe/check.c). */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "core/base/buf.h"
#include "core/base/mem.h"
#include "tests/support/test.h"

/* Runs a shell command; its output, standard error too, goes to `said`; the exit code, or -1. */
static int run(const char *command, struct buf *said) {
    char line[4096];
    FILE *f = popen(command, "r");
    assert_non_null(f);
    while (fgets(line, sizeof line, f)) buf_puts(said, line);
    int status = pclose(f);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* The folder of the build that this program is of. */
static char *build_folder(void) {
    const char *bin = getenv("PETRI_BIN");
    return bin ? xstrndup(bin, (size_t)(strrchr(bin, '/') - bin)) : test_path("build");
}

static void a_function_is_one_file_and_one_line(void **state) {
    (void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    test_skip("the copy is built without a sanitizer");
#endif
    struct buf said = BUF_INIT;
    char *scratch = test_folder(), *build = build_folder(), *script = test_path("tests/method/recipe/build");
    char *command = xprintf("'%s' '%s' '%s' 2>&1", script, scratch, build);
    if (run(command, &said)) fail_msg("%s", buf_text(&said));
    free(command);
    command = xprintf("cd '%s' && '%s/check' 2>&1", test_root(), scratch);
    buf_clear(&said);
    if (run(command, &said)) fail_msg("%s", buf_text(&said));
    buf_release(&said);
    free(command);
    free(script);
    free(build);
    free(scratch);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_function_is_one_file_and_one_line)};
    return cmocka_run_group_tests_name("a function more, by the recipe", tests, NULL, NULL);
}
