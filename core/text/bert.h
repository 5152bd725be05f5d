/* Text cleaning and word splitting of BERT's tokenizer.  Pure functions. */
#ifndef CORE_TEXT_BERT_H
#define CORE_TEXT_BERT_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/buf.h"

struct bert_normalizer {
    bool clean, ideographs, strip_accents, lowercase;
};
/* Appends the normalized form of n bytes to out. */
void bert_normalize(const struct bert_normalizer *z, const char *s, size_t n, struct buf *out);

/* Splits at whitespace, with each punctuation sign alone: finds the next word of s[*at … n), returns true
 * with [*from, *to), and moves *at past it. */
bool bert_next_word(const char *s, size_t n, size_t *at, size_t *from, size_t *to);

#endif
