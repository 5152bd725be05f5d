#include <stdlib.h>
#include <string.h>

#include "core/base/assets.h"
#include "core/base/file.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/lesson/lesson.h"

static const char ending[] = ".lesson";

/* Lists the names of all lessons below the asset folders, without duplicates; owned: assets_free. */
static size_t lesson_names(char ***out) { return assets_files("lessons", ending, out); }

char *lesson_file(const char *typed, struct err *e) {
    if (file_exists(typed) && !file_is_folder(typed)) return xstrdup(typed);
    char *inside = xprintf("lessons/%s%s", typed, ending),
         *found = strchr(typed, '/') ? NULL : assets_find(inside);
    free(inside);
    if (found) return found;
    char **name;
    size_t n = lesson_names(&name);
    const char *near = text_nearest(typed, (const char *const *)name, n);
    err_set(e, ERR_NOT_FOUND, "%s: lesson or file not found%s%s%s", typed,
            near ? "; did you mean \"" : "; petri learn --list shows all lessons", near ? near : "",
            near ? "\"?" : "");
    assets_free(name, n);
    return NULL;
}

static int lesson_by_order(const void *a, const void *b) {
    const struct lesson *x = a, *y = b;
    return x->order != y->order ? (x->order < y->order ? -1 : 1) : strcmp(x->name, y->name);
}

int lesson_list(struct lesson **out, struct err *e) {
    char **name;
    size_t n = lesson_names(&name);
    struct lesson *list = xcalloc(n + 1, sizeof *list);
    int count = 0;
    struct err *first = e;
    for (size_t i = 0; i < n; i++) {
        struct err why = ERR_INIT;
        char *path = lesson_file(name[i], &why);
        if (path && !lesson_read(&list[count], path, &why)) count++;
        else if (first) *first = why, first = NULL;
        free(path);
    }
    assets_free(name, n);
    qsort(list, (size_t)count, sizeof *list, lesson_by_order);
    *out = list;
    return count;
}

void lesson_list_free(struct lesson *l, int n) {
    for (int i = 0; i < n; i++) lesson_release(&l[i]);
    free(l);
}
