/* Loading a model from its folder: the reading part of model.h. */
#ifndef CORE_MODEL_LOAD_H
#define CORE_MODEL_LOAD_H

#include "core/model/model.h"

/* Fills m, of which only m->folder is set.  On failure the caller frees what was filled so far. */
int model_fill(struct model *m, struct err *e);

#endif
