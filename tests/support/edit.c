#include "tests/support/edit.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/mem.h"
#include "tests/support/test.h"

static struct st_write *put(struct edit *x, const char *name, enum st_type type, int rank,
                            void *data) {
    x->tensor = xrealloc(x->tensor, x->tensors + 1, sizeof *x->tensor);
    x->tensor[x->tensors] = (struct st_write){xstrdup(name), type, rank, {0}, data};
    return &x->tensor[x->tensors++];
}

void edit_open_file(struct edit *x, const char *folder, const char *name) {
    struct err e = ERR_INIT;
    char *path = file_join(folder, name);
    struct st_file *f = st_open(path, &e);
    if (!f) fail_msg("%s", e.text);
    *x = (struct edit){0};
    for (size_t i = 0; i < st_count(f); i++) {
        const struct st_tensor *t = st_at(f, i);
        real *v = xcalloc(t->count, sizeof *v);
        test_ok(st_read(f, t, v, &e), &e);
        memcpy(put(x, t->name, ST_F32, t->rank, v)->shape, t->shape, sizeof t->shape);
    }
    st_close(f);
    free(path);
}

void edit_open(struct edit *x, const char *folder) { edit_open_file(x, folder, "model.safetensors"); }

real *edit_values(struct edit *x, const char *name) {
    for (size_t i = 0; i < x->tensors; i++)
        if (!strcmp(x->tensor[i].name, name)) return (real *)(uintptr_t)x->tensor[i].data;
    fail_msg("no tensor %s", name);
    return NULL;
}

void edit_add(struct edit *x, const char *name, enum st_type type, int rank, size_t a, size_t b) {
    struct st_write *w = put(x, name, type, rank, xcalloc(a * (rank > 1 ? b : 1), 8));
    w->shape[0] = a;
    w->shape[1] = b;
}

void edit_rename(struct edit *x, size_t i, const char *name) {
    char *copy = xstrdup(name);
    free((char *)x->tensor[i].name);
    x->tensor[i].name = copy;
}

static void free_tensor(struct st_write *w) {
    free((char *)w->name);
    free((void *)w->data);
}

void edit_drop(struct edit *x, const char *name) {
    size_t kept = 0;
    for (size_t i = 0; i < x->tensors; i++) {
        if (strcmp(x->tensor[i].name, name)) x->tensor[kept++] = x->tensor[i];
        else free_tensor(&x->tensor[i]);
    }
    if (kept == x->tensors) fail_msg("no tensor %s", name);
    x->tensors = kept;
}

void edit_save_part(const struct edit *x, size_t first, size_t n, const char *folder,
                    const char *name) {
    struct err e = ERR_INIT;
    char *path = file_join(folder, name);
    test_ok(st_save(path, x->tensor + first, n, NULL, 0, &e), &e);
    free(path);
}

void edit_save(const struct edit *x, const char *folder) {
    edit_save_part(x, 0, x->tensors, folder, "model.safetensors");
}

void edit_release(struct edit *x) {
    for (size_t i = 0; i < x->tensors; i++) free_tensor(&x->tensor[i]);
    free(x->tensor);
}
