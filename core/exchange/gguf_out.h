/* Runs as GGUF files: what the writers of adapters (gguf_lora.c) and of whole models (gguf_whole.c) share.
 * Private to core/exchange. */
#ifndef CORE_EXCHANGE_GGUF_OUT_H
#define CORE_EXCHANGE_GGUF_OUT_H

#include "core/model/gguf_save.h"
#include "core/train/use/predict.h"

/* Returns the architecture's name in GGUF files, or NULL. */
const char *gguf_architecture(const struct arch *a);
/* Returns the rows per head that a file has in another order for tensors of this role (gguf_save.h); 0: as they
 * are. */
size_t gguf_pairs(const struct arch *a, enum tensor_role role);
/* Refuses a predictor other than a language model of such an architecture: ERR_USAGE. */
int gguf_takes(const struct predictor *p, struct err *e);

#endif
