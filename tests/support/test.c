#include "tests/support/test.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/base/mem.h"
#include "core/engine/dnnl.h"

void test_ok(int rc, const struct err *e) {
    if (rc) fail_msg("failed with %d: %s", rc, e->text);
}

void test_refused(int rc, int code, const struct err *e, const char *part) {
    if (rc != code) fail_msg("returned %d, not %d: %s", rc, code, e->text);
    if (!strstr(e->text, part)) fail_msg("the message lacks \"%s\": %s", part, e->text);
}

static char *folders[256];
static size_t folder_count;

static void remove_folders(void) {
    for (size_t i = 0; i < folder_count; i++) {
        char *command = xprintf("rm -rf '%s'", folders[i]);
        if (system(command)) fprintf(stderr, "could not remove %s\n", folders[i]);
        free(command);
        free(folders[i]);
    }
}

char *test_folder(void) {
    const char *base = getenv("TMPDIR");
    char *path = xprintf("%s/petri-test-XXXXXX", base ? base : "/tmp");
    if (!mkdtemp(path)) fail_msg("no temporary folder");
    if (!folder_count) atexit(remove_folders);
    BUG_IF(folder_count == COUNT_OF(folders));
    folders[folder_count++] = xstrdup(path);
    return path;
}

char *test_file(const char *folder, const char *name, const void *bytes, size_t n) {
    char *path = file_join(folder, name);
    struct err e = ERR_INIT;
    test_ok(file_write(path, bytes, n, &e), &e);
    return path;
}

void test_put(const char *folder, const char *name, const char *text) {
    free(test_file(folder, name, text, strlen(text)));
}

char *test_text(const char *folder, const char *name) {
    struct buf b;
    struct err e = ERR_INIT;
    char *path = file_join(folder, name);
    test_ok(file_read(path, 1 << 20, &b, &e), &e);
    free(path);
    return buf_take(&b);
}

char *test_with(const char *text, const char *from, const char *to) {
    const char *at = strstr(text, from);
    if (!at) fail_msg("no %s in %s", from, text);
    return xprintf("%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
}

const char *test_root(void) {
    const char *root = getenv("PETRI_ROOT");
    return root ? root : ".";
}

char *test_path(const char *path) { return file_join(test_root(), path); }

bool test_slow(void) { return getenv("PETRI_SLOW") != NULL; }

void test_skip(const char *format, ...) {
    char reason[512];
    va_list args;
    va_start(args, format);
    vsnprintf(reason, sizeof reason, format, args);
    va_end(args);
    print_message("skipped: %s\n", reason);
    skip();
    abort();
}

void test_needs(const char *path) {
    char *there = test_path(path);
    bool found = file_exists(there) || file_is_folder(there);
    free(there);
    if (found) return;
    print_message("lacks: %s\n", path);
    test_skip("%s is absent%s", path,
                  strncmp(path, "assets/", 7) ? "" : " (make fetch, make t5 and make tasks bring models and tasks)");
}

const char *test_shared_data(void) {
    static const char where[] = "../shared/data";
    static char path[4096];
    test_needs(where);
    snprintf(path, sizeof path, "%s/%s", test_root(), where);
    return path;
}

int test_rounded(void) {
    int status;
    if (!dnnl_is_native()) return 0;
    pid_t child = fork();
    if (!child) {
        setenv("DNNL_MAX_CPU_ISA", "AVX2", 1);
        execl("/proc/self/exe", "rounded", "rounded", (char *)NULL);
        _exit(127);
    }
    return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
