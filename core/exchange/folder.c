/* Which folder of an adapter a path leads to, and which model that says it is for. */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/exchange/import.h"
#include "core/exchange/reading.h"

/* A member of a folder's adapter_config.json as a string, or NULL; caller frees. */
static char *folder_member(const char *folder, const char *key) {
    struct err ignored = ERR_INIT;
    char *path = file_join(folder, "adapter_config.json");
    json_t *config = file_exists(path) ? json_read(path, CONFIG_BYTES, &ignored) : NULL;
    const char *value = json_string_value(json_object_get(config, key));
    char *out = value ? xstrdup(value) : NULL;
    if (config) json_decref(config);
    free(path);
    return out;
}

static bool has_config(const char *folder) {
    char *path = file_join(folder, "adapter_config.json");
    bool there = file_exists(path);
    free(path);
    return there;
}

/* The number of a "checkpoint-N", or -1. */
static int64_t checkpoint_number(const char *name) {
    int64_t n;
    return text_starts(name, "checkpoint-") && text_to_int(name + strlen("checkpoint-"), &n) ? n : -1;
}

/* The only folder below that has an adapter, or the latest checkpoint. */
static char *folder_below(const char *path, struct err *e) {
    DIR *d = opendir(path);
    char *found = NULL;
    int others = 0;
    int64_t latest = -1;
    if (!d) return NULL;
    for (struct dirent *x; (x = readdir(d));) {
        char *folder = x->d_name[0] == '.' ? NULL : file_join(path, x->d_name);
        int64_t n = checkpoint_number(x->d_name);
        if (!folder || !has_config(folder) || (found && n >= 0 && n < latest)) {
            free(folder);
            continue;
        }
        others += n < 0;
        if (n >= 0) latest = n;
        free(found);
        found = folder;
    }
    closedir(d);
    if (!found || others + (latest >= 0) < 2) return found;
    free(found);
    err_set(e, ERR_INPUT, "%s: holds several folders of adapters; name one of them", path);
    return NULL;
}

char *import_adapter_folder(const char *path, struct err *e) {
    if (!file_is_folder(path)) return NULL;
    return has_config(path) ? xstrdup(path) : folder_below(path, e);
}

bool import_is_peft(const char *folder) {
    char *type = folder_member(folder, "peft_type");
    bool is = type != NULL;
    free(type);
    return is;
}

bool import_is_hub(const char *folder) {
    char *type = folder_member(folder, "model_type");
    bool is = type != NULL;
    free(type);
    return is;
}

char *import_base(const char *folder) {
    char *base = folder_member(folder, "base_model_name_or_path");
    return base ? base : folder_member(folder, "model_name");
}
