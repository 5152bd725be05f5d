/* A text through a model as it is: ids, and what the last layer makes of them. */
#ifndef CORE_MODEL_ENCODE_H
#define CORE_MODEL_ENCODE_H

#include <stddef.h>

#include "core/model/model.h"

/* Encodes a text (or a pair; b may be NULL), cut to max_len tokens (0: the model's
 * longest), without dropout.  *cls: the last layer's first vector, *mean: the mean over all
 * tokens of the row, special ones included; width values each, freed by the caller.  Without cls
 * and mean (NULL) nothing is computed: the tokens alone.  *out is released by the caller
 * (encoded_release).  On failure nothing is left to free. */
int model_encode_text(const struct model *m, const char *a, const char *b, size_t max_len,
                      struct encoded *out, real **cls, real **mean, struct err *e);

#endif
