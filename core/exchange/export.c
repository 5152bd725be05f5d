#include "core/exchange/export.h"

#include <stdlib.h>
#include <unistd.h>

#include "core/base/file.h"

int export_folder(const char *path, struct err *e) {
    if (file_exists(path) && !file_is_empty_folder(path))
        return err_set(e, ERR_USAGE, "%s: exists and is not empty; use a new folder", path);
    return file_make_folder(path, e);
}

void export_undo(const char *folder, const char *const *file) {
    for (; *file; file++) {
        char *path = file_join(folder, *file);
        unlink(path);
        free(path);
    }
    rmdir(folder);
}
