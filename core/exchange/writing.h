/* Tensors on their way into a stranger's folder: what the writers of folders share (writing.c).  Private to
 * core/exchange. */
#ifndef CORE_EXCHANGE_WRITING_H
#define CORE_EXCHANGE_WRITING_H

#include "core/engine/real.h"
#include "core/model/safetensors.h"

struct adapter_writing {
    struct st_write *tensor;
    size_t tensors, room;
};
/* `name` is taken over, `data` is not copied.  rows 0: a vector. */
void writing_add(struct adapter_writing *w, char *name, size_t rows, size_t cols, const real *data);
/* A safetensors file of them, by name.  meta NULL: without. */
int writing_save(struct adapter_writing *w, const char *path, const struct st_pair *meta, struct err *e);
void writing_release(struct adapter_writing *w);

#endif
