#include "core/exchange/writing.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/method/slots.h"

void writing_add(struct adapter_writing *w, char *name, size_t rows, size_t cols, const real *data) {
    GROW(w->tensor, w->room, w->tensors + 1);
    struct st_write *t = &w->tensor[w->tensors++];
    *t = (struct st_write){ .name = name, .type = ST_F32, .rank = rows ? 2 : 1, .data = data };
    t->shape[0] = rows ? rows : cols;
    t->shape[1] = rows ? cols : 0;
}

real *writing_room(struct adapter_writing *w, size_t n) {
    GROW(w->made, w->made_room, w->mades + 1);
    return w->made[w->mades++] = xcalloc(n, sizeof **w->made);
}

void writing_part(struct adapter_writing *w, char *name, const struct file_part *p,
                  const struct plan_tensor *t, const real *params, int n) {
    const real *data = params + t->offset;
    size_t cols = p->rows == SIZE_NONE  ? t->count
                  : p->cols == SIZE_ONE ? 1
                                        : (size_t)(p->turned ? t->rows : t->cols);
    real *turned = p->turned ? writing_room(w, t->count) : NULL;
    for (size_t k = 0; turned && k < t->count; k++)
        turned[k % (size_t)t->cols * cols + k / (size_t)t->cols] = data[k];
    writing_add(w, name, p->rows == SIZE_NONE ? 0 : t->count / cols, cols, turned ? turned : data);
    if (!p->split) return;
    w->tensor[w->tensors - 1] =
        (struct st_write){ .name = name,
                           .type = ST_F32,
                           .rank = 3,
                           .data = data,
                           .shape = { (size_t)n, (size_t)(t->rows / n), (size_t)t->cols } };
}

static int by_name(const void *a, const void *b) {
    return strcmp(((const struct st_write *)a)->name, ((const struct st_write *)b)->name);
}

int writing_order(struct adapter_writing *w, const char *library, struct err *e) {
    if (w->tensors) qsort(w->tensor, w->tensors, sizeof *w->tensor, by_name);
    for (size_t i = 1; i < w->tensors; i++)
        if (!strcmp(w->tensor[i - 1].name, w->tensor[i].name))
            return err_set(
                e, ERR_USAGE,
                "cannot be written for %s, which supports one module per layer: two modules have the "
                "tensor %s",
                library, w->tensor[i].name);
    return 0;
}

char *writing_map(const struct model *m, enum tap tap, int stack, int site, int layer) {
    int i = arch_find(m->tensor, m->tensors, tap_weight_role(tap), stack, site, layer);
    BUG_IF(i < 0);
    const char *name = m->tensor[i].name;
    return xprintf("%s%.*s", family_prefix(m->arch.family), (int)(strlen(name) - strlen(".weight")), name);
}

void writing_release(struct adapter_writing *w) {
    for (size_t i = 0; i < w->tensors; i++) free((char *)(uintptr_t)w->tensor[i].name);
    free(w->tensor);
    for (size_t i = 0; i < w->mades; i++) free(w->made[i]);
    free(w->made);
    *w = (struct adapter_writing){ 0 };
}
