#include "core/data/leopard.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/mem.h"
#include "core/base/text.h"

static const char leopard_mark[] = "_train_";

/* "PREFIX_train_D_K.json": returns the length of the prefix, or 0. */
static size_t prefix_of(const char *name) {
    size_t found = 0;
    for (const char *s = name; (s = strstr(s, leopard_mark)); s++) found = (size_t)(s - name);
    if (!found) return 0;
    const char *at = name + found + strlen(leopard_mark);
    for (int i = 0; i < 2; i++) {
        size_t digits = strspn(at, "0123456789");
        if (!digits || at[digits] != (i ? '.' : '_')) return 0;
        at += digits + 1;
    }
    return strcmp(at, "json") ? 0 : found;
}

bool leopard_is_draw(const char *path) {
    const char *slash = strrchr(path, '/');
    return prefix_of(slash ? slash + 1 : path) > 0;
}

char *leopard_prefix(const char *draw) {
    const char *slash = strrchr(draw, '/'), *name = slash ? slash + 1 : draw;
    size_t n = prefix_of(name);
    return n ? xstrndup(draw, (size_t)(name - draw) + n) : NULL;
}

char *leopard_eval(const char *prefix) { return xprintf("%s_eval.json", prefix); }
char *leopard_draw(const char *prefix, int draw, int k) {
    return xprintf("%s%s%d_%d.json", prefix, leopard_mark, draw, k);
}

static void leopard_add(struct leopard *l, const char *folder, const char *prefix) {
    l->of = xrealloc(l->of, (size_t)l->count + 1, sizeof *l->of);
    l->of[l->count++] = (struct leopard_task){ file_base_name(folder), file_join(folder, prefix) };
}

/* Returns the prefix of the draws in a folder, or NULL. */
static int find_prefix(const char *folder, char **prefix, struct err *e) {
    DIR *d = opendir(folder);
    int rc = 0;
    *prefix = NULL;
    if (!d) return err_set(e, ERR_SYSTEM, "%s: %s", folder, strerror(errno));
    for (struct dirent *x; !rc && (x = readdir(d));) {
        size_t n = prefix_of(x->d_name);
        if (!n) continue;
        if (!*prefix) *prefix = xstrndup(x->d_name, n);
        else if (strlen(*prefix) != n || memcmp(*prefix, x->d_name, n))
            rc = err_set(e, ERR_INPUT, "%s: support sets of two tasks, %s and %.*s; expected one task per "
                                       "folder",
                         folder, *prefix, (int)n, x->d_name);
    }
    closedir(d);
    return rc;
}

static int add_folder(struct leopard *l, const char *folder, struct err *e) {
    char *prefix;
    int rc = find_prefix(folder, &prefix, e);
    if (!rc && prefix) leopard_add(l, folder, prefix);
    free(prefix);
    return rc;
}

static int add_below(struct leopard *l, const char *folder, struct err *e) {
    DIR *d = opendir(folder);
    int rc = 0;
    if (!d) return err_set(e, ERR_SYSTEM, "%s: %s", folder, strerror(errno));
    for (struct dirent *x; !rc && (x = readdir(d));) {
        if (x->d_name[0] == '.') continue;
        char *path = file_join(folder, x->d_name);
        if (file_is_folder(path)) rc = add_folder(l, path, e);
        free(path);
    }
    closedir(d);
    return rc;
}

static int leopard_by_name(const void *a, const void *b) {
    return strcmp(((const struct leopard_task *)a)->name, ((const struct leopard_task *)b)->name);
}

int leopard_find(const char *folder, struct leopard *out, struct err *e) {
    *out = (struct leopard){ 0 };
    if (!file_is_folder(folder)) return 0;
    int rc = add_folder(out, folder, e);
    if (!rc && !out->count) rc = add_below(out, folder, e);
    if (rc) leopard_release(out);
    else if (out->count) qsort(out->of, (size_t)out->count, sizeof *out->of, leopard_by_name);
    return rc;
}

void leopard_release(struct leopard *l) {
    for (int i = 0; i < l->count; i++) {
        free(l->of[i].name);
        free(l->of[i].prefix);
    }
    free(l->of);
    *l = (struct leopard){ 0 };
}

int leopard_classes(const char *prefix, bool *pair, size_t *rows, char ***names, int *count, struct err *e) {
    struct dataset d;
    char *path = leopard_eval(prefix);
    const struct dataset_options o = {
        .path = path, .format = DATA_LIST, .text_a = "sentence1", .label = "label", .kind = DATA_KIND_CLASSES
    };
    int rc = file_exists(path) ? dataset_read(&d, &o, e)
                               : err_set(e, ERR_NOT_FOUND, "%s: does not exist", path);
    free(path);
    if (rc) return rc;
    *rows = d.examples;
    *count = d.classes;
    *names = xcalloc((size_t)d.classes + 1, sizeof **names);
    for (int i = 0; i < d.classes; i++) (*names)[i] = xstrdup(d.class_name[i]);
    *pair = false;
    for (int i = 0; i < d.columns; i++) *pair = *pair || !strcmp(d.column[i], "sentence2");
    dataset_release(&d);
    return 0;
}

/* ---- published results ---- */

static const struct leopard_cell cells[] = {
    { "conll", 4, "Adapter", 53.4, 7.8, NULL },
    { "conll", 4, "AdapterFusion", 41.6, 4.4, NULL },
    { "conll", 4, "Hybrid-SMLMT", 59.9, 5.4, NULL },
    { "conll", 4, "Meta-Adapters", 64.1, 2.9, NULL },
    { "scitail", 4, "Adapter", 53.8, 6.5, NULL },
    { "scitail", 4, "AdapterFusion", 53.7, NAN, NULL },
    { "scitail", 4, "Hybrid-SMLMT", 80.0, 4.9, NULL },
    { "scitail", 4, "Meta-Adapters", 78.4, 4.3, NULL },
    { "emotion", 4, "Adapter", 11.6, NAN, NULL },
    { "emotion", 4, "AdapterFusion", 11.7, NAN, NULL },
    { "emotion", 4, "Hybrid-SMLMT", 12.2, NAN, NULL },
    { "emotion", 4, "Meta-Adapters", 12.3, NAN, NULL },
    { "political_message", 4, "Adapter", 17.6, NAN, NULL },
    { "political_message", 4, "AdapterFusion", 19.6, NAN, NULL },
    { "political_message", 4, "Hybrid-SMLMT", 17.5, NAN, NULL },
    { "political_message", 4, "Meta-Adapters", 18.0, NAN, NULL },
    { NULL, 4, "Adapter", 48.4, NAN, NULL },
    { NULL, 4, "AdapterFusion", 56.8, NAN, "probably a misprint: the cells of the table have the mean 54.4" },
    { NULL, 4, "Hybrid-SMLMT", 59.9, NAN, NULL },
    { NULL, 4, "Meta-Adapters", 60.0, NAN, NULL },
    { NULL, 8, "Adapter", 54.2, NAN, NULL },
    { NULL, 8, "AdapterFusion", 59.9, NAN, NULL },
    { NULL, 8, "Hybrid-SMLMT", 64.0, NAN, NULL },
    { NULL, 8, "Meta-Adapters", 62.7, NAN, NULL },
    { NULL, 16, "Adapter", 61.1, NAN, NULL },
    { NULL, 16, "AdapterFusion", 64.2, NAN, NULL },
    { NULL, 16, "Hybrid-SMLMT", 66.7, NAN, NULL },
    { NULL, 16, "Meta-Adapters", 65.3, NAN, NULL },
};

const struct leopard_cell *leopard_cell(int i) {
    return i >= 0 && i < (int)COUNT_OF(cells) ? &cells[i] : NULL;
}
