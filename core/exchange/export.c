#include "core/exchange/export.h"

#include <dirent.h>
#include <string.h>

#include "core/base/file.h"

static bool is_empty(const char *folder) {
    DIR *d = opendir(folder);
    if (!d) return false;
    bool empty = true;
    for (struct dirent *x; empty && (x = readdir(d));)
        empty = !strcmp(x->d_name, ".") || !strcmp(x->d_name, "..");
    closedir(d);
    return empty;
}

int export_folder(const char *path, struct err *e) {
    if (file_exists(path) && !is_empty(path))
        return err_set(e, ERR_USAGE, "%s: exists and is not empty; name a new folder", path);
    return file_make_folder(path, e);
}
