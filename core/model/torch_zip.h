/* The zip container of torch.save: uncompressed entries.  Private to core/model. */
#ifndef CORE_MODEL_TORCH_ZIP_H
#define CORE_MODEL_TORCH_ZIP_H

#include "core/model/torch.h"

struct torch_entry {
    char *name; /* below the only top folder */
    size_t begin, size;
};
struct torch_zip {
    struct torch_entry *entry; /* sorted by name */
    size_t count;
    const struct torch_entry *pickle; /* data.pkl */
};
/* Reads the central directory.  Refuses entries that are compressed, encrypted, in more than one top folder,
 * overlapping or beyond the end of the file.  On failure *out must be closed too. */
int torch_zip_open(const struct st_bytes *f, struct torch_zip *out, struct err *e);
void torch_zip_close(struct torch_zip *z);
/* Returns data/KEY, or NULL. */
const struct torch_entry *torch_zip_data(const struct torch_zip *z, const unsigned char *key, size_t n);

#endif
