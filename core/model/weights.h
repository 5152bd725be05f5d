/* The tensors of a model folder: one model.safetensors, or shards with an index; or those
 * of a GGUF file.
 *
 * Files are opened relative to the folder.  A symbolic link is followed only if its target stays inside the
 * folder or, in a Hugging Face cache (…/models--X/snapshots/REV), inside that model's part of the cache. */
#ifndef CORE_MODEL_WEIGHTS_H
#define CORE_MODEL_WEIGHTS_H

#include <stddef.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/model/safetensors.h"

struct weights_file {
    char *name; /* within the folder; of a GGUF file its path */
    struct st_file *st;
};

struct weights {
    struct weights_file *file;
    size_t files;
    size_t tensors; /* in all files */
};

/* Checks every header and, for shards, the index and the files against each other.  Remarks go to `report`
 * (may be NULL). */
int weights_open(const char *folder, struct weights *out, struct buf *report, struct err *e);
void weights_close(struct weights *w);
/* Returns the path of a file of the folder; caller frees. */
char *weights_path(const char *folder, const struct weights_file *f);

#endif
