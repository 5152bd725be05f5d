/* Encoding one text with a pretrained model: token ids and the output of the last layer. */
#ifndef CORE_MODEL_ENCODE_H
#define CORE_MODEL_ENCODE_H

#include <stddef.h>

#include "core/model/model.h"

/* Encodes a text (or a pair; b may be NULL), truncated to max_len tokens (0: the model's maximum), without
 * dropout. *cls: the vector of the last layer that a classifier reads (forward_first), *mean: the mean over
 * all tokens, special ones included; width values each, freed by the caller.  With cls and mean NULL only the
 * tokens are computed.  *out is released by the caller (encoded_release).  On failure there is nothing to
 * free. */
int model_encode_text(const struct model *m, const char *a, const char *b, size_t max_len,
                      struct encoded *out, real **cls, real **mean, struct err *e);

#endif
