/* Filling a model from its folder: the part of model.h that reads. */
#ifndef CORE_MODEL_LOAD_H
#define CORE_MODEL_LOAD_H

#include "core/model/model.h"

/* m->folder is set, everything else is empty.  On failure the caller frees what was
 * filled so far. */
int model_fill(struct model *m, struct err *e);

#endif
