/* Two texts as sequences of words, and what they have in common: what ROUGE and BLEU count.
 *
 * Plain values: the caller owns a struct words. */
#ifndef CORE_DATA_WORDS_H
#define CORE_DATA_WORDS_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"

struct words {
    struct buf text; /* the words' bytes, one after another */
    size_t *end;     /* n: where each ends in text */
    size_t n, room;
};
void words_add(struct words *w, const char *s, size_t n);
void words_release(struct words *w);

/* Numbers for the words of two texts, equal where the words are: x (a->n) and y (b->n). */
void words_number(const struct words *a, const struct words *b, int32_t *x, int32_t *y);

enum { NGRAM_MOST = 4 };
/* How many n-grams of `order` (1 … NGRAM_MOST) x and y share, each as often as both have it. */
size_t ngrams_common(const int32_t *x, size_t n, const int32_t *y, size_t m, int order);
/* n-grams of a sequence of n words. */
static inline size_t ngrams_of(size_t n, int order) {
    return n >= (size_t)order ? n - (size_t)order + 1 : 0;
}
/* Length of the longest common subsequence; time n·m. */
size_t common_subsequence(const int32_t *x, size_t n, const int32_t *y, size_t m);

#endif
