/* Files of torch.save: where their tensors lie.  Two containers, a zip of stored entries and the pickles of
 * before; the pickles in them are only read (pickle.h).  Private to core/model. */
#ifndef CORE_MODEL_TORCH_H
#define CORE_MODEL_TORCH_H

#include <stdbool.h>

#include "core/model/safetensors.h"

/* The bytes that the tensors are looked for in. */
struct torch_bytes {
    const char *name; /* in messages */
    size_t size;
    const void *self;
    int (*fetch)(const void *self, size_t at, void *out, size_t n, struct err *e);
};
/* How many bytes torch_is wants to see of a file's beginning, where it has as many. */
enum { TORCH_HEAD = 264 };
bool torch_is(const unsigned char *head, size_t n);
/* The tensors of the dictionary in the file, their ranges from the file's beginning on; *list and the names
 * are the caller's.  ERR_INPUT says what is wrong, ERR_SYSTEM that the file cannot be read. */
int torch_list(const struct torch_bytes *f, struct st_tensor **list, size_t *n, struct err *e);

#endif
