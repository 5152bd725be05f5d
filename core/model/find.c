/* Resolves the name of a model: a folder, a GGUF file, the local Hugging Face cache, models of assets.h. */
#include <stdbool.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/assets.h"
#include "core/base/buf.h"
#include "core/base/file.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/model/gguf.h"
#include "core/model/model.h"

/* "name" or "org/name" of letters, digits, '.', '_' and '-'. */
static bool is_hub_name(const char *s) {
    int slashes = 0;
    if (!*s || *s == '.' || *s == '/' || strstr(s, "..") || strstr(s, "--")) return false;
    for (const char *p = s; *p; p++) {
        bool plain =
            (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || (*p >= '0' && *p <= '9');
        if (*p == '/') slashes++;
        else if (!plain && !strchr("._-", *p)) return false;
    }
    return slashes <= 1 && !text_ends(s, "/");
}

/* "org/name" → "models--org--name" */
static char *cache_name(const char *hub) {
    struct buf b = BUF_INIT;
    buf_puts(&b, "models--");
    for (const char *p = hub; *p; p++) buf_puts(&b, *p == '/' ? "--" : (char[2]){ *p, '\0' });
    return buf_take(&b);
}

/* Returns the folder of cached models, as in huggingface_hub; NULL without a home folder. */
static char *cache_root(void) {
    const char *hub = getenv("HF_HUB_CACHE"), *home = getenv("HF_HOME");
    const char *cache = getenv("XDG_CACHE_HOME"), *user = getenv("HOME");
    if (hub && *hub) return xstrdup(hub);
    if (home && *home) return file_join(home, "hub");
    if (cache && *cache) return file_join(cache, "huggingface/hub");
    if (user && *user) return file_join(user, ".cache/huggingface/hub");
    return NULL;
}

/* Returns the only entry of a folder, or NULL. */
static char *only_entry(const char *folder) {
    DIR *d = opendir(folder);
    if (!d) return NULL;
    char *name = NULL;
    int n = 0;
    for (struct dirent *entry; (entry = readdir(d));) {
        if (entry->d_name[0] == '.') continue;
        free(name);
        name = xstrdup(entry->d_name);
        n++;
    }
    closedir(d);
    if (n == 1) return name;
    free(name);
    return NULL;
}

/* Returns the snapshot of refs/main, or the only snapshot. */
static char *snapshot(const char *cached) {
    char *ref = file_join(cached, "refs/main"), *snapshots = file_join(cached, "snapshots");
    char *revision = NULL, *found = NULL;
    struct buf text;
    if (!file_read(ref, 256, &text, NULL)) {
        revision = xstrndup(buf_text(&text), strcspn(buf_text(&text), " \r\n"));
        buf_release(&text);
    } else {
        revision = only_entry(snapshots);
    }
    if (revision && file_name_is_safe(revision)) found = file_join(snapshots, revision);
    if (found && !file_is_folder(found)) {
        free(found);
        found = NULL;
    }
    free(revision);
    free(snapshots);
    free(ref);
    return found;
}

static char *in_cache(const char *where, struct buf *looked) {
    char *root = is_hub_name(where) ? cache_root() : NULL;
    if (!root) return NULL;
    char *name = cache_name(where), *cached = file_join(root, name), *found = snapshot(cached);
    if (!found) buf_printf(looked, ", %s", cached);
    free(cached);
    free(name);
    free(root);
    return found;
}

/* Returns the only GGUF file of a folder without config.json; NULL without one.  Caller frees. */
static char *only_gguf(const char *folder) {
    char *config = file_join(folder, "config.json"), *found = NULL;
    DIR *d = file_exists(config) ? NULL : opendir(folder);
    int n = 0;
    for (struct dirent *x; d && (x = readdir(d));) {
        if (x->d_name[0] == '.' || !text_ends(x->d_name, ".gguf") || n++) continue;
        found = file_join(folder, x->d_name);
    }
    if (d) closedir(d);
    free(config);
    if (n == 1 && gguf_is_file(found)) return found;
    free(found);
    return NULL;
}

/* Takes ownership of a folder; returns it or its GGUF file. */
static char *folder_or_gguf(char *folder) {
    char *file = folder ? only_gguf(folder) : NULL;
    if (!file) return folder;
    free(folder);
    return file;
}

static char *in_assets(const char *where, struct buf *looked) {
    char **roots, *found = NULL;
    size_t n = assets_roots(&roots);
    for (size_t i = 0; i < n && !found; i++) {
        found = xprintf("%s/models/%s", roots[i], where);
        if (file_is_folder(found)) continue;
        buf_printf(looked, ", %s", found);
        free(found);
        found = NULL;
    }
    assets_free(roots, n);
    return found;
}

char *model_asset(const char *name) {
    struct buf ignored = BUF_INIT;
    char *folder = in_assets(name, &ignored), *config = folder ? file_join(folder, "config.json") : NULL;
    bool plain = config && file_exists(config);
    char *found = plain || !folder ? NULL : only_gguf(folder);
    buf_release(&ignored);
    free(config);
    if (plain) return folder;
    free(folder);
    return found;
}

size_t model_names(char ***out) {
    size_t n = assets_names("models", NULL, out), kept = 0;
    for (size_t i = 0; i < n; i++) {
        char *path = model_asset((*out)[i]);
        if (path) (*out)[kept++] = (*out)[i];
        else free((*out)[i]);
        free(path);
    }
    return kept;
}

/* ---- messages for other folders ---- */

enum { NAMED_FOLDERS = 4 };

static bool is_model(const char *folder) {
    struct err ignored = ERR_INIT;
    char *path = file_join(folder, "config.json");
    json_t *config = file_exists(path) ? json_read(path, 1 << 20, &ignored) : NULL;
    bool is = json_object_get(config, "model_type") || json_object_get(config, "architectures");
    if (config) json_decref(config);
    free(path);
    return is;
}

/* Adds models one and two levels down to the list, and a file of another format to *other. */
static void look_below(const char *folder, int depth, struct buf *list, int *n, char **other) {
    char **name;
    size_t count = assets_folders(folder, &name);
    for (size_t i = 0; i < count; i++) {
        char *path = file_join(folder, name[i]);
        if (is_model(path) && (*n)++ < NAMED_FOLDERS) buf_printf(list, "%s%s", *n > 1 ? ", " : "", path);
        if (depth > 1) look_below(path, depth - 1, list, n, other);
        free(path);
    }
    assets_free(name, count);
    DIR *d = *other ? NULL : opendir(folder);
    for (struct dirent *x; d && !*other && (x = readdir(d));)
        if (text_ends(x->d_name, ".gguf") || text_ends(x->d_name, ".onnx")) *other = xstrdup(x->d_name);
    if (d) closedir(d);
}

/* Reports what the folder contains instead of config.json. */
static int check_config(const char *folder, struct err *e) {
    char *path = file_join(folder, "config.json"), *adapter = file_join(folder, "adapter_config.json"),
         *other = NULL;
    struct buf list = BUF_INIT;
    int n = 0, rc = 0;
    if (!file_exists(path)) {
        look_below(folder, 2, &list, &n, &other);
        if (n)
            rc = err_set(e, ERR_NOT_FOUND, "%s: config.json is missing; did you mean one of its folders: "
                                           "%s%s",
                         folder, buf_text(&list), n > NAMED_FOLDERS ? ", \u2026" : "");
        else if (file_exists(adapter))
            rc = err_set(e, ERR_INPUT, "%s: an adapter, not a model; use petri import %s --model DIR",
                         folder, folder);
        else if (other)
            rc = err_set(e, ERR_INPUT,
                         "%s: config.json is missing, found only %s; %s", folder, other,
                         text_ends(other, ".gguf") ? "specify the GGUF file itself as the model"
                                                   : "a model needs config.json and model.safetensors or "
                                                     "pytorch_model.bin");
    }
    buf_release(&list);
    free(other);
    free(path);
    free(adapter);
    return rc;
}

/* Returns the argument of petri fetch that downloads a model; NULL for none. */
static const char *fetched_by(const char *name) {
    static const struct {
        const char *name, *by;
    } known[] = { { "all-MiniLM-L6-v2", "model" }, { "flan-t5-small", "t5" }, { "smollm2", "smollm2" } };
    for (size_t i = 0; i < COUNT_OF(known); i++)
        if (!strcmp(name, known[i].name)) return known[i].by;
    return NULL;
}

char *model_find(const char *where, struct err *e) {
    if (!*where) {
        err_set(e, ERR_USAGE, "the model name is empty");
        return NULL;
    }
    if (file_is_folder(where)) {
        char *file = only_gguf(where);
        return file || check_config(where, e) ? file : xstrdup(where);
    }
    if (gguf_is_file(where)) return xstrdup(where);
    if (file_exists(where)) {
        err_set(
            e, ERR_INPUT,
            "%s: is a file, but a model is a folder with config.json and model.safetensors, or a GGUF file",
            where);
        return NULL;
    }
    struct buf looked = BUF_INIT;
    char *found = in_cache(where, &looked);
    if (!found && file_name_is_safe(where)) found = in_assets(where, &looked);
    const char *fetched = found ? NULL : fetched_by(where);
    if (!found)
        err_set(e, ERR_NOT_FOUND, "%s: model folder not found%s%s; %s `petri %s%s`", where,
                looked.size ? "; searched " : "", looked.size ? buf_text(&looked) + 2 : "",
                fetched ? "fetch it with" : "list models with", fetched ? "fetch " : "models",
                fetched ? fetched : "");
    buf_release(&looked);
    return folder_or_gguf(found);
}
