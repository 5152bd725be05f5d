#include "tests/support/recipe.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "core/base/buf.h"
#include "core/base/mem.h"
#include "tests/support/test.h"

/* Runs a shell command, which must succeed; frees it. */
static void run(char *command) {
    struct buf said = BUF_INIT;
    char line[4096];
    FILE *f = popen(command, "r");
    assert_non_null(f);
    while (fgets(line, sizeof line, f)) buf_puts(&said, line);
    if (pclose(f)) fail_msg("%s", buf_text(&said));
    buf_release(&said);
    free(command);
}

/* The folder of the build that this program is of. */
static char *build_folder(void) {
    const char *bin = getenv("PETRI_BIN");
    return bin ? xstrndup(bin, (size_t)(strrchr(bin, '/') - bin)) : test_path("build");
}

char *recipe_run(const char *folder) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    test_skip("the copy is built without a sanitizer");
#endif
    char *scratch = test_folder(), *build = build_folder();
    run(xprintf("'%s/%s/build' '%s' '%s' 2>&1", test_root(), folder, scratch, build));
    run(xprintf("cd '%s' && '%s/check' 2>&1", test_root(), scratch));
    free(build);
    return scratch;
}
