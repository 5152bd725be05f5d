#include "tests/support/adapter.h"

#include <dirent.h>
#include <stdlib.h>

#include "core/base/file.h"
#include "core/base/mem.h"
#include "tests/support/test.h"

char *adapter_folder(const char *name) {
    char *inside = xprintf("tests/reference/adapters/%s", name), *path = test_path(inside);
    free(inside);
    return path;
}

char *folder_copy(const char *from, const char *parent, const char *name) {
    struct err e = ERR_INIT;
    char *own = file_join(parent, name);
    DIR *d = opendir(from);
    assert_non_null(d);
    test_ok(file_make_folder(own, &e), &e);
    for (struct dirent *x; (x = readdir(d));) {
        char *path = file_join(from, x->d_name), *copy = file_join(own, x->d_name);
        struct buf bytes = BUF_INIT;
        if (!file_is_folder(path)) {
            test_ok(file_read(path, 1 << 24, &bytes, &e), &e);
            test_ok(file_write(copy, bytes.data, bytes.size, &e), &e);
        }
        buf_release(&bytes);
        free(path);
        free(copy);
    }
    closedir(d);
    return own;
}

static void put_with(const char *folder, const char *file, const char *from, const char *to) {
    char *was = test_text(folder, file), *now = test_with(was, from, to);
    test_put(folder, file, now);
    free(was);
    free(now);
}

char *model_copy(const char *model, const char *parent, const char *name, const char *from, const char *to) {
    char *own = folder_copy(model, parent, name);
    put_with(own, "config.json", from, to);
    return own;
}

char *adapter_copy(const char *parent, const char *name, const char *from, const char *to) {
    static int copies;
    char *source = adapter_folder(name), *as = xprintf("changed-%d", copies++), *own = folder_copy(source, parent, as);
    put_with(own, "adapter_config.json", from, to);
    free(source);
    free(as);
    return own;
}
