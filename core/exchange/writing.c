#include "core/exchange/writing.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"

void writing_add(struct adapter_writing *w, char *name, size_t rows, size_t cols, const real *data) {
    GROW(w->tensor, w->room, w->tensors + 1);
    struct st_write *t = &w->tensor[w->tensors++];
    *t = (struct st_write){ .name = name, .type = ST_F32, .rank = rows ? 2 : 1, .data = data };
    t->shape[0] = rows ? rows : cols;
    t->shape[1] = rows ? cols : 0;
}

static int by_name(const void *a, const void *b) {
    return strcmp(((const struct st_write *)a)->name, ((const struct st_write *)b)->name);
}

int writing_save(struct adapter_writing *w, const char *path, const struct st_pair *meta, struct err *e) {
    if (w->tensors) qsort(w->tensor, w->tensors, sizeof *w->tensor, by_name);
    return st_save(path, w->tensor, w->tensors, meta, meta ? 1 : 0, e);
}

void writing_release(struct adapter_writing *w) {
    for (size_t i = 0; i < w->tensors; i++) free((char *)(uintptr_t)w->tensor[i].name);
    free(w->tensor);
    *w = (struct adapter_writing){ 0 };
}
