/* Tensors on their way into a stranger's folder: what the writers of folders share (writing.c).  Private to
 * core/exchange. */
#ifndef CORE_EXCHANGE_WRITING_H
#define CORE_EXCHANGE_WRITING_H

#include "core/model/model.h"
#include "core/model/safetensors.h"

struct adapter_writing {
    struct st_write *tensor;
    size_t tensors, room;
};
/* `name` is taken over, `data` is not copied.  rows 0: a vector. */
void writing_add(struct adapter_writing *w, char *name, size_t rows, size_t cols, const real *data);
/* The same of three dimensions. */
void writing_add3(struct adapter_writing *w, char *name, size_t a, size_t b, size_t c, const real *data);
/* Puts them in the order of their names.  ERR_USAGE where two have one name: of two modules at one place, where the
 * library has room for one. */
int writing_order(struct adapter_writing *w, const char *library, struct err *e);
/* The name of a tap's map in files of models with a head, without ".weight"; caller frees. */
char *writing_map(const struct model *m, enum tap tap, int stack, int site, int layer);
void writing_release(struct adapter_writing *w);

#endif
