/* An untrained BERT: a folder with config.json, model.safetensors, vocab.txt and tokenizer_config.json, from
 * which training begins.  It has no pooler and no head. */
#ifndef CORE_MODEL_FRESH_H
#define CORE_MODEL_FRESH_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"

struct fresh {
    int layers, width, heads;
    int inner;      /* of the FFN */
    int positions;  /* tokens of a text at most */
    uint64_t seed;  /* weights N(0, 0.02), biases 0, norms 1 and 0 */
};
/* ERR_USAGE in the words of petri pretrain's options. */
int fresh_check(const struct fresh *f, struct err *e);
/* `vocab`: n bytes of vocab.txt, whose lines are the tokens.  The folder is written beside its name and gets
 * it when it is whole; what stood there before is ERR_USAGE. */
int fresh_write(const struct fresh *f, const char *vocab, size_t n, const char *folder, struct err *e);

/* Takes such a folder's files away, and the folder where nothing else is in it. */
void fresh_remove(const char *folder);

#endif
