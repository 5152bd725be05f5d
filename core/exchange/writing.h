/* Tensors on their way into a stranger's folder: what the writers of folders share (writing.c).  Private to
 * core/exchange. */
#ifndef CORE_EXCHANGE_WRITING_H
#define CORE_EXCHANGE_WRITING_H

#include "core/exchange/parts.h"
#include "core/model/model.h"
#include "core/model/safetensors.h"

struct adapter_writing {
    struct st_write *tensor;
    size_t tensors, room;
    real **made; /* values that are in the file in another order, owned */
    size_t mades, made_room;
};
/* Returns n values that live as long as it does. */
real *writing_room(struct adapter_writing *w, size_t n);
/* `name` is taken over, `data` is not copied.  rows 0: a vector. */
void writing_add(struct adapter_writing *w, char *name, size_t rows, size_t cols, const real *data);
/* Adds a part of a module from the plan's values.  Its name is taken over.  n: the first dimension of one
 * that is split. */
void writing_part(struct adapter_writing *w, char *name, const struct file_part *p,
                  const struct plan_tensor *t, const real *params, int n);
/* Puts them in the order of their names.  ERR_USAGE where two have one name: of two modules at one place,
 * where the library has room for one. */
int writing_order(struct adapter_writing *w, const char *library, struct err *e);
/* The name of a tap's map in files of models with a head, without ".weight"; caller frees. */
char *writing_map(const struct model *m, enum tap tap, int stack, int site, int layer);
/* Returns the name of a plan's tensor of a classifier in files of this model, or NULL. */
const char *writing_head(const char *as, const struct plan *p, const struct arch *a);
void writing_release(struct adapter_writing *w);

#endif
