#include "core/model/weights.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/model/gguf.h"

#define SINGLE "model.safetensors"
#define INDEX "model.safetensors.index.json"
/* Files of torch.save, used if there is nothing else. */
#define PICKLED "pytorch_model.bin"
#define PICKLED_INDEX "pytorch_model.bin.index.json"

enum { INDEX_LIMIT = 64 << 20 /* bytes */, SHARDS_MAX = 1024 };

/* ---- opening a file of the folder ---- */

/* The folder that links must stay within: the folder itself, or the model's part of a cache. */
static char *link_root(const char *real_folder) {
    char *root = xstrdup(real_folder);
    char *last = strrchr(root, '/');
    if (!last || last == root) return root;
    *last = '\0';
    char *before = strrchr(root, '/');
    bool cache = before && before != root && !strcmp(before + 1, "snapshots");
    if (cache) *before = '\0';
    char *name = strrchr(root, '/');
    if (cache && name && text_starts(name + 1, "models--")) return root;
    free(root);
    return xstrdup(real_folder);
}

/* Resolves the link folder/name, or returns NULL with *e if the target is outside. */
static char *weights_follow(const char *folder, const char *name, struct err *e) {
    char *path = file_join(folder, name);
    char *target = realpath(path, NULL), *real_folder = realpath(folder, NULL);
    char *root = real_folder ? link_root(real_folder) : NULL;
    if (!target) {
        err_set(e, ERR_NOT_FOUND, "%s: broken symbolic link", path);
    } else if (!root || !text_starts(target, root) || target[strlen(root)] != '/') {
        err_set(e, ERR_INPUT, "%s: symbolic link to a file outside the model folder: %s",
                path, target);
        free(target);
        target = NULL;
    }
    free(root);
    free(real_folder);
    free(path);
    return target;
}

static struct st_file *open_in(int folder_fd, const char *folder, const char *name, struct err *e) {
    char *path = file_join(folder, name);
    char *target = NULL;
    struct stat st;
    struct st_file *f = NULL;
    int fd = -1;
    if (fstatat(folder_fd, name, &st, AT_SYMLINK_NOFOLLOW)) {
        err_set(e, errno == ENOENT ? ERR_NOT_FOUND : ERR_SYSTEM, "%s: cannot be opened: %s", path,
                strerror(errno));
        goto done;
    }
    bool link = S_ISLNK(st.st_mode);
    if (link && !(target = weights_follow(folder, name, e))) goto done;
    fd = openat(folder_fd, link ? target : name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    if (fd < 0) err_set(e, ERR_SYSTEM, "%s: cannot be opened: %s", path, strerror(errno));
    else f = st_open_fd(path, fd, e);
done:
    free(target);
    free(path);
    return f;
}

/* Takes ownership of `st`, which is NULL after an error. */
static int weights_add(struct weights *w, const char *name, struct st_file *st, const struct err *e) {
    if (!st) return e->code;
    w->file = xrealloc(w->file, w->files + 1, sizeof *w->file);
    w->file[w->files++] = (struct weights_file){ xstrdup(name), st };
    w->tensors += st_count(st);
    return 0;
}

static int weights_add_file(struct weights *w, int folder_fd, const char *folder, const char *name,
                            struct err *e) {
    return weights_add(w, name, open_in(folder_fd, folder, name, e), e);
}

/* ---- shards ---- */

static struct st_file *shard_by_name(const struct weights *w, const char *name) {
    for (size_t i = 0; i < w->files; i++)
        if (!strcmp(w->file[i].name, name)) return w->file[i].st;
    return NULL;
}

static int check_shard_name(const char *index, const char *tensor, const json_t *value,
                            struct err *e) {
    const char *shard = json_string_value(value);
    if (!shard)
        return err_set(e, ERR_INPUT, "%s: the file name of \"%s\" must be a string", index, tensor);
    const char *end = text_ends(index, PICKLED_INDEX) ? ".bin" : ".safetensors";
    if (file_name_is_safe(shard) && text_ends(shard, end)) return 0;
    return err_set(e, ERR_INPUT,
                   "%s: \"%s\" is in the file \"%s\"; must be a file name that ends with %s", index,
                   tensor, shard, end);
}

/* Every tensor of the index must be in the shard it names… */
static int check_map(const struct weights *w, const char *index, const json_t *map, struct err *e) {
    const char *tensor;
    const json_t *value;
    json_object_foreach((json_t *)map, tensor,
                        value) if (!st_find(shard_by_name(w, json_string_value(value)),
                                            tensor)) return err_set(e, ERR_INPUT,
                                                                    "%s: \"%s\" is missing from %s",
                                                                    index, tensor,
                                                                    json_string_value(value));
    return 0;
}

/* …and every tensor of a shard in the index, under that shard. */
static int check_shards(const struct weights *w, const char *index, const json_t *map,
                        struct err *e) {
    for (size_t i = 0; i < w->files; i++)
        for (size_t k = 0; k < st_count(w->file[i].st); k++) {
            const char *tensor = st_at(w->file[i].st, k)->name;
            const char *shard = json_string_value(json_object_get(map, tensor));
            if (!shard)
                return err_set(e, ERR_INPUT, "%s: \"%s\" in %s is missing from the index", index, tensor,
                               w->file[i].name);
            if (strcmp(shard, w->file[i].name))
                return err_set(e, ERR_INPUT, "%s: \"%s\" is in %s, but in %s according to the index", index,
                               tensor, w->file[i].name, shard);
        }
    return 0;
}

/* "model-00001-of-00003.safetensors", "pytorch_model-00001-of-00003.bin" */
static bool looks_like_shard(const char *index, const char *name) {
    bool pickled = text_ends(index, PICKLED_INDEX);
    return text_starts(name, pickled ? "pytorch_model-" : "model-") && strstr(name, "-of-") &&
           text_ends(name, pickled ? ".bin" : ".safetensors");
}

static int check_folder(const struct weights *w, const char *folder, const char *index,
                        struct err *e) {
    DIR *d = opendir(folder);
    if (!d) return err_set(e, ERR_SYSTEM, "%s: cannot be listed: %s", folder, strerror(errno));
    int rc = 0;
    for (struct dirent *entry; !rc && (entry = readdir(d));)
        if (looks_like_shard(index, entry->d_name) && !shard_by_name(w, entry->d_name))
            rc = err_set(e, ERR_INPUT, "%s: %s is missing from the index", index,
                         entry->d_name);
    closedir(d);
    return rc;
}

static int open_shards(struct weights *w, int folder_fd, const char *folder, const char *name,
                       struct err *e) {
    char *index = file_join(folder, name);
    json_t *root = json_read(index, INDEX_LIMIT, e);
    int rc = root ? 0 : e->code;
    const json_t *map = json_object_get(root, "weight_map");
    if (!rc && !json_object_size(map))
        rc = err_set(e, ERR_INPUT, "%s: \"weight_map\" must be a nonempty object", index);
    const char *tensor;
    const json_t *value;
    if (!rc) json_object_foreach((json_t *)map, tensor, value) {
        rc = check_shard_name(index, tensor, value, e);
        if (rc) break;
        const char *shard = json_string_value(value);
        if (shard_by_name(w, shard)) continue;
        if (w->files == SHARDS_MAX)
            rc = err_set(e, ERR_INPUT, "%s: more than 1,024 shards", index);
        else rc = weights_add_file(w, folder_fd, folder, shard, e);
        if (rc == ERR_NOT_FOUND)
            rc = err_set(e, ERR_INPUT, "%s: the shard %s, which should contain \"%s\", is missing",
                         index, shard, tensor);
        if (rc) break;
    }
    if (!rc) rc = check_map(w, index, map, e);
    if (!rc) rc = check_shards(w, index, map, e);
    if (!rc) rc = check_folder(w, folder, index, e);
    json_decref(root);
    free(index);
    return rc;
}

/* ---- the folder ---- */

static bool exists_in(int folder_fd, const char *name) {
    struct stat st;
    return fstatat(folder_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

static int no_weights(const char *folder, struct err *e) {
    static const char *const others[] = { ".safetensors", ".pt",      ".pth",  ".ckpt",
                                          ".h5",          ".msgpack", ".onnx", ".gguf" };
    char *found = NULL;
    DIR *d = opendir(folder);
    for (struct dirent *x; d && (x = readdir(d));)
        for (size_t i = 0; i < COUNT_OF(others); i++) {
            if (!text_ends(x->d_name, others[i]) || (found && strcmp(found, x->d_name) < 0)) continue;
            free(found);
            found = xstrdup(x->d_name);
        }
    if (d) closedir(d);
    int rc = !found
                 ? err_set(e, ERR_NOT_FOUND,
                           "%s: weights are missing: expected " SINGLE " or " INDEX " or " PICKLED, folder)
                 : err_set(e, ERR_INPUT,
                           "%s: unsupported weights %s; supported: " SINGLE " and " PICKLED "%s", folder,
                           found,
                           text_starts(found, "model.") && text_ends(found, others[0]) ? "; rename it" : "");
    free(found);
    return rc;
}

int weights_open(const char *folder, struct weights *out, struct buf *report, struct err *e) {
    struct err own = ERR_INIT;
    if (!e) e = &own;
    *out = (struct weights){ 0 };
    if (gguf_is_file(folder)) return weights_add(out, folder, st_open(folder, e), e);
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return err_set(e, errno == ENOENT ? ERR_NOT_FOUND : ERR_SYSTEM, "%s: cannot be opened: %s",
                       folder, strerror(errno));
    int rc;
    if (exists_in(fd, SINGLE)) {
        rc = weights_add_file(out, fd, folder, SINGLE, e);
        if (exists_in(fd, INDEX) && report)
            buf_printf(report, "%s is ignored: " SINGLE " is used\n", INDEX);
    } else if (exists_in(fd, INDEX)) {
        rc = open_shards(out, fd, folder, INDEX, e);
    } else if (exists_in(fd, PICKLED)) {
        rc = weights_add_file(out, fd, folder, PICKLED, e);
    } else if (exists_in(fd, PICKLED_INDEX)) {
        rc = open_shards(out, fd, folder, PICKLED_INDEX, e);
    } else {
        rc = no_weights(folder, e);
    }
    close(fd);
    if (rc) weights_close(out);
    return rc;
}

void weights_close(struct weights *w) {
    for (size_t i = 0; i < w->files; i++) {
        free(w->file[i].name);
        st_close(w->file[i].st);
    }
    free(w->file);
    *w = (struct weights){ 0 };
}

char *weights_path(const char *folder, const struct weights_file *f) {
    return st_gguf(f->st) ? xstrdup(f->name) : file_join(folder, f->name);
}
