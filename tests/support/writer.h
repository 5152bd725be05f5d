/* Small encoder–decoder models with a WordPiece vocabulary, and toy tasks for them: what text to
 * text needs, in a fraction of a second.
 *
 * Random weights of a size that lets it learn; width 16, 2 + 2 layers, 2 heads, inner width 32. */
#ifndef TESTS_SUPPORT_WRITER_H
#define TESTS_SUPPORT_WRITER_H

#include "core/model/arch.h"

/* Makes parent/name with config.json, model.safetensors, vocab.txt, tokenizer_config.json for T5,
 * BART or mBART; `config`: further members of config.json, as ",\"foo\":1", or NULL.  Caller frees
 * the path. */
char *writer_model(const char *parent, const char *name, enum family family, const char *config);
/* Makes parent/toy.tsv: 20 rows of columns text and label (0 or 1); caller frees the path. */
char *writer_labels(const char *parent);
/* Makes parent/pairs.tsv: 12 rows of columns source and target; caller frees the path. */
char *writer_pairs(const char *parent);

#endif
