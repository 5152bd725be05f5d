/* Files of torch.save: the positions of their tensors.  Two containers, a zip of stored entries and the older
 * sequence of pickles; their pickles are only parsed (pickle.h).  Private to core/model. */
#ifndef CORE_MODEL_TORCH_H
#define CORE_MODEL_TORCH_H

#include <stdbool.h>

#include "core/model/safetensors.h"

/* Bytes at the start of a file that torch_is needs, if it has as many. */
enum { TORCH_HEAD = 264 };
bool torch_is(const unsigned char *head, size_t n);
/* Lists the tensors of the dictionary in the file, with ranges from the start of the file; *list and the
 * names are owned by the caller.  ERR_INPUT: invalid; ERR_SYSTEM: the file cannot be read. */
int torch_list(const struct st_bytes *f, struct st_tensor **list, size_t *n, struct err *e);

#endif
