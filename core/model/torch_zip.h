/* The zip that torch.save writes: entries stored as they are.  Private to core/model. */
#ifndef CORE_MODEL_TORCH_ZIP_H
#define CORE_MODEL_TORCH_ZIP_H

#include "core/model/torch.h"

struct torch_entry {
    char *name; /* below the one top folder */
    size_t begin, size;
};
struct torch_zip {
    struct torch_entry *entry; /* sorted by name */
    size_t count;
    const struct torch_entry *pickle; /* data.pkl */
};
/* The central directory decides.  Refuses what is compressed, encrypted, in more than one top folder,
 * overlapping or beyond the file's end.  On failure *out is to be closed too. */
int torch_zip_open(const struct torch_bytes *f, struct torch_zip *out, struct err *e);
void torch_zip_close(struct torch_zip *z);
/* data/KEY, or NULL. */
const struct torch_entry *torch_zip_data(const struct torch_zip *z, const unsigned char *key, size_t n);

#endif
