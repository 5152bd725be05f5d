/* Common n-grams and subsequences of two texts as sequences of words, for ROUGE and BLEU.
 *
 * Plain values: the caller owns a struct words. */
#ifndef CORE_DATA_WORDS_H
#define CORE_DATA_WORDS_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"

struct words {
    struct buf text; /* the concatenated words */
    size_t *end;     /* n: end of each word in text */
    size_t n, room;
};
void words_add(struct words *w, const char *s, size_t n);
void words_release(struct words *w);

/* Numbers the words of two texts, equal for equal words: x (a->n) and y (b->n). */
void words_number(const struct words *a, const struct words *b, int32_t *x, int32_t *y);

enum { NGRAM_MOST = 4 };
/* Counts the n-grams of `order` (1 … NGRAM_MOST) shared by x and y, each as often as both have it. */
size_t ngrams_common(const int32_t *x, size_t n, const int32_t *y, size_t m, int order);
/* Returns the number of n-grams of a sequence of n words. */
static inline size_t ngrams_of(size_t n, int order) {
    return n >= (size_t)order ? n - (size_t)order + 1 : 0;
}
/* Length of the longest common subsequence; time n·m. */
size_t common_subsequence(const int32_t *x, size_t n, const int32_t *y, size_t m);

#endif
