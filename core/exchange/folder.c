/* Finds the adapter folder that a path refers to, and its base model. */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/exchange/import.h"
#include "core/exchange/reading.h"

static bool has_config(const char *folder) {
    char *path = file_join(folder, ADAPTER_CONFIG);
    bool there = file_exists(path);
    free(path);
    return there;
}

/* Returns the number of a "checkpoint-N", or -1. */
static int64_t checkpoint_number(const char *name) {
    int64_t n;
    return text_starts(name, "checkpoint-") && text_to_int(name + strlen("checkpoint-"), &n) ? n : -1;
}

static int folder_order(const void *a, const void *b) {
    const char *x = *(char *const *)a, *y = *(char *const *)b;
    int64_t n = checkpoint_number(x), m = checkpoint_number(y);
    return n != m ? n < m ? -1 : 1 : strcmp(x, y);
}

/* Lists the subfolders that contain an adapter: checkpoints last, by number. */
static struct notes adapters_below(const char *path) {
    struct notes out = { 0 };
    DIR *d = opendir(path);
    if (!d) return out;
    for (struct dirent *x; (x = readdir(d));) {
        char *folder = x->d_name[0] == '.' ? NULL : file_join(path, x->d_name);
        if (folder && has_config(folder)) notes_add(&out, "%s", x->d_name);
        free(folder);
    }
    closedir(d);
    if (out.count) qsort(out.line, out.count, sizeof *out.line, folder_order);
    return out;
}

/* Returns "a, b, …" of the first n; caller frees. */
static char *list_folders(const struct notes *all, size_t n) {
    struct buf b = BUF_INIT;
    for (size_t i = 0; i < n && i < 8; i++) buf_printf(&b, "%s%s", i ? ", " : "", all->line[i]);
    if (n > 8) buf_printf(&b, " and %zu more", n - 8);
    return buf_take(&b);
}

char *import_adapter_folder(const char *path, struct notes *aside, struct err *e) {
    if (!file_is_folder(path)) return NULL;
    struct notes below = adapters_below(path);
    char *found = has_config(path) ? xstrdup(path) : NULL;
    size_t n = below.count, checkpoints = 0;
    for (size_t i = 0; i < n; i++) checkpoints += checkpoint_number(below.line[i]) >= 0;
    if (!found && n && (n == 1 || checkpoints == n)) found = file_join(path, below.line[--n]);
    char *list = list_folders(&below, n);
    if (found && n) notes_add(aside, "the adapters in %s", list);
    else if (!found && n)
        err_set(e, ERR_INPUT, "%s: contains several folders of adapters; use one of them: %s", path, list);
    free(list);
    notes_release(&below);
    return found;
}

bool import_is_peft(const char *folder) {
    char *type = reading_member(folder, ADAPTER_CONFIG, "peft_type");
    bool is = type != NULL;
    free(type);
    return is;
}

bool import_is_hub(const char *folder) {
    char *type = reading_member(folder, ADAPTER_CONFIG, "model_type");
    bool is = type != NULL;
    free(type);
    return is;
}

char *import_base(const char *folder) {
    char *base = reading_member(folder, ADAPTER_CONFIG, "base_model_name_or_path");
    return base ? base : reading_member(folder, ADAPTER_CONFIG, "model_name");
}
