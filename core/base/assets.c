#include "core/base/assets.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/mem.h"
#include "core/base/text.h"

/* Relative values count as unset. */
char *assets_own_root(void) {
    const char *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
    if (data && data[0] == '/') return file_join(data, "petri");
    return home && home[0] == '/' ? file_join(home, ".local/share/petri") : NULL;
}

size_t assets_roots(char ***out) {
    static const char *const near[] = { "assets", "../assets", NULL,
                                        "../share/petri" }; /* NULL: the folder of the user */
    char **roots = xcalloc(COUNT_OF(near) + 1, sizeof *roots), *program = file_program_folder();
    size_t n = 0;
    roots[n++] = xstrdup("assets");
    for (size_t i = 0; i < COUNT_OF(near); i++) {
        char *root = !near[i] ? assets_own_root() : program ? file_join(program, near[i]) : NULL;
        if (root) roots[n++] = root;
    }
    free(program);
    *out = roots;
    return n;
}

void assets_free(char **list, size_t n) {
    for (size_t i = 0; i < n; i++) free(list[i]);
    free(list);
}

char *assets_find(const char *inside) {
    char **roots, *found = NULL;
    size_t n = assets_roots(&roots);
    for (size_t i = 0; i < n && !found; i++) {
        found = file_join(roots[i], inside);
        if (file_exists(found)) continue;
        free(found);
        found = NULL;
    }
    assets_free(roots, n);
    return found;
}

static int assets_by_text(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

struct named {
    char **name;
    size_t count, room;
};

static void add_folders(struct named *l, const char *folder, const char *marker) {
    DIR *d = opendir(folder);
    for (struct dirent *f; d && (f = readdir(d));) {
        char *path = file_join(folder, f->d_name), *inside = marker ? file_join(path, marker) : NULL;
        if (f->d_name[0] != '.' && (inside ? file_exists(inside) : file_is_folder(path))) {
            GROW(l->name, l->room, l->count + 1);
            l->name[l->count++] = xstrdup(f->d_name);
        }
        free(inside);
        free(path);
    }
    if (d) closedir(d);
}

/* Sorts the names and removes duplicates. */
static size_t named_sorted(struct named *l, char ***out) {
    size_t kept = 0;
    if (l->count) qsort(l->name, l->count, sizeof *l->name, assets_by_text);
    for (size_t i = 0; i < l->count; i++) {
        if (kept && !strcmp(l->name[kept - 1], l->name[i])) free(l->name[i]);
        else l->name[kept++] = l->name[i];
    }
    *out = l->name;
    return kept;
}

size_t assets_folders(const char *folder, char ***out) {
    struct named l = { 0 };
    add_folders(&l, folder, NULL);
    return named_sorted(&l, out);
}

static void add_files(struct named *l, const char *folder, const char *end) {
    DIR *d = opendir(folder);
    for (struct dirent *f; d && (f = readdir(d));) {
        if (f->d_name[0] == '.' || !text_ends(f->d_name, end)) continue;
        GROW(l->name, l->room, l->count + 1);
        l->name[l->count++] = xstrndup(f->d_name, strlen(f->d_name) - strlen(end));
    }
    if (d) closedir(d);
}

/* Collects what `add` finds in KIND of each root. */
static size_t of_all_roots(const char *kind,
                           void (*add)(struct named *l, const char *folder, const char *what),
                           const char *what, char ***out) {
    struct named l = { 0 };
    char **roots;
    size_t n = assets_roots(&roots);
    for (size_t i = 0; i < n; i++) {
        char *folder = file_join(roots[i], kind);
        add(&l, folder, what);
        free(folder);
    }
    assets_free(roots, n);
    return named_sorted(&l, out);
}

size_t assets_files(const char *kind, const char *end, char ***out) {
    return of_all_roots(kind, add_files, end, out);
}

size_t assets_names(const char *kind, const char *marker, char ***out) {
    return of_all_roots(kind, add_folders, marker, out);
}
