#include "tests/support/adapter.h"

#include <stdlib.h>

#include "core/base/file.h"
#include "core/base/mem.h"
#include "tests/support/test.h"

char *adapter_folder(const char *name) {
    char *inside = xprintf("tests/reference/adapters/%s", name), *path = test_path(inside);
    free(inside);
    return path;
}

char *adapter_copy(const char *parent, const char *name, const char *from, const char *to) {
    static const char *const files[] = { "adapter_config.json", "adapter_model.safetensors", "adapter.safetensors",
                                         "head_config.json", "model_head.safetensors" };
    static int copies;
    struct err e = ERR_INIT;
    char *source = adapter_folder(name), *own = xprintf("%s/changed-%d", parent, copies++);
    test_ok(file_make_folder(own, &e), &e);
    for (size_t i = 0; i < COUNT_OF(files); i++) {
        char *path = file_join(source, files[i]), *copy = file_join(own, files[i]);
        struct buf bytes = BUF_INIT;
        if (file_exists(path)) {
            test_ok(file_read(path, 1 << 20, &bytes, &e), &e);
            test_ok(file_write(copy, bytes.data, bytes.size, &e), &e);
        }
        buf_release(&bytes);
        free(path);
        free(copy);
    }
    char *was = test_text(source, "adapter_config.json"), *now = test_with(was, from, to);
    test_put(own, "adapter_config.json", now);
    free(source);
    free(was);
    free(now);
    return own;
}
