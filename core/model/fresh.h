/* A randomly initialized BERT: a folder with config.json, model.safetensors, vocab.txt and
 * tokenizer_config.json, from which pretraining starts.  It has no pooler and no head. */
#ifndef CORE_MODEL_FRESH_H
#define CORE_MODEL_FRESH_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"

struct fresh {
    int layers, width, heads;
    int inner;      /* of the FFN */
    int positions;  /* maximum sequence length */
    uint64_t seed;  /* weights N(0, 0.02), biases 0, norms 1 and 0 */
};
/* Checks the sizes; ERR_USAGE names the options of petri pretrain. */
int fresh_check(const struct fresh *f, struct err *e);
/* Writes the folder.  `vocab`: n bytes of vocab.txt, whose lines are the tokens.  The folder is written under
 * a temporary name and renamed when complete; an existing one is ERR_USAGE. */
int fresh_write(const struct fresh *f, const char *vocab, size_t n, const char *folder, struct err *e);

/* Removes the files of such a folder, and the folder if it is then empty. */
void fresh_remove(const char *folder);

#endif
