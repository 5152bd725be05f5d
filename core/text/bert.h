/* How BERT's tokenizer cleans a text and cuts it into words.  Pure functions. */
#ifndef CORE_TEXT_BERT_H
#define CORE_TEXT_BERT_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/buf.h"

struct bert_normalizer {
    bool clean, ideographs, strip_accents, lowercase;
};
/* Appends the normalised form of n bytes to out. */
void bert_normalize(const struct bert_normalizer *z, const char *s, size_t n, struct buf *out);

/* Cut at blanks, each punctuation sign alone: finds the next word of s[*at … n): true with
 * [*from, *to), and *at moved past it. */
bool bert_next_word(const char *s, size_t n, size_t *at, size_t *from, size_t *to);

#endif
