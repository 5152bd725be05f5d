#include "app/history/moved.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/mem.h"
#include "core/base/text.h"

enum { BASES = 4 };

static bool is_it(const char *path, const char *sha256) {
    char hash[65];
    return file_exists(path) && !file_is_folder(path) && !file_sha256(path, hash, NULL) &&
           !strcmp(hash, sha256);
}

/* Returns the file below one of the bases: for a/b/c/rows.tsv, the longest suffix that exists.  Caller
 * frees; NULL when none does. */
static char *moved_find(const char *old, const char *sha256, char *const base[BASES]) {
    for (const char *end = old; end; end = strchr(end, '/')) {
        end += *end == '/';
        for (int i = 0; i < BASES; i++) {
            char *path = base[i] ? file_join(base[i], end) : NULL;
            if (path && is_it(path, sha256)) {
                char *full = realpath(path, NULL);
                if (!full) return path;
                free(path);
                return full;
            }
            free(path);
        }
    }
    return NULL;
}

/* Replaces *path when it is missing and found elsewhere. */
static bool moved_follow(char **path, const char *sha256, char *const base[BASES], struct buf *notes) {
    if (!*path || !sha256 || file_exists(*path)) return false;
    char *now = moved_find(*path, sha256, base);
    if (!now) return false;
    text_line(notes, "data: %s does not exist; using %s, which has the same contents", *path, now);
    free(*path);
    *path = now;
    return true;
}

static char *moved_folder_of(const char *path) {
    const char *slash = path ? strrchr(path, '/') : NULL;
    return slash ? xstrndup(path, slash == path ? 1 : (size_t)(slash - path)) : NULL;
}

/* Replaces a missing model that was the folder of the data files, or a file in it, by that of their new folder. */
static void moved_model(struct run_config *c, const char *rows_before, struct buf *notes) {
    char *was = moved_folder_of(rows_before), *now = moved_folder_of(c->train_file),
         *around = moved_folder_of(c->model_folder), *found = NULL;
    if (was && now && c->model_folder && !file_exists(c->model_folder)) {
        if (!strcmp(was, c->model_folder)) found = xstrdup(now);
        else if (around && !strcmp(was, around)) found = file_join(now, c->model_folder + strlen(around) + 1);
    }
    if (found && file_exists(found)) {
        text_line(notes, "model: %s does not exist; using %s, next to the data files", c->model_folder, found);
        xreplace(&c->model_folder, found);
    }
    free(found);
    free(around);
    free(was);
    free(now);
}

void moved_rows(struct run_config *c, const char *history, struct buf *notes) {
    char *program = file_program_folder();
    char *base[BASES] = { xstrdup("."), moved_folder_of(history), program,
                          program ? file_join(program, "..") : NULL };
    for (int i = 0; i < config_task_count(c); i++) {
        struct run_config *of = config_data(c, i);
        char *was = of->train_file ? xstrdup(of->train_file) : NULL;
        bool train = moved_follow(&of->train_file, of->train_sha256, base, notes);
        bool one = of->train_file && of->dev_file && !strcmp(was, of->dev_file); /* reported once */
        bool dev = moved_follow(&of->dev_file, of->dev_sha256, base, train && one ? NULL : notes);
        if (train && !c->tasks) moved_model(c, was, notes);
        free(was);
        if (!of->task_folder || !(train || dev)) continue;
        free(of->task_folder);
        of->task_folder = moved_folder_of(train ? of->train_file : of->dev_file);
    }
    for (int i = 0; i < BASES; i++) free(base[i]);
}
