#include "core/data/rouge.h"

#include <stdlib.h>

#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/data/words.h"

/* Returns the letter or digit of a code point after lower-casing, or 0.  Two characters beyond ASCII have an
 * ASCII letter as (the first part of) their lower case: the Kelvin sign, and the capital I with a dot, whose
 * dot then separates words. */
static char letter(uint32_t cp) {
    if ((cp >= 'a' && cp <= 'z') || (cp >= '0' && cp <= '9')) return (char)cp;
    if (cp >= 'A' && cp <= 'Z') return (char)(cp + 32);
    return cp == 0x212A ? 'k' : cp == 0x130 ? 'i' : 0;
}

static void rouge_split(const char *s, size_t n, struct words *w) {
    struct buf word = BUF_INIT;
    while (n) {
        uint32_t cp;
        size_t used = utf8_decode(s, n, &cp);
        char c = letter(cp);
        s += used;
        n -= used;
        if (c) buf_putc(&word, c);
        if ((c && cp != 0x130 && n) || !word.size) continue;
        words_add(w, word.data, word.size);
        buf_clear(&word);
    }
    buf_release(&word);
}

static double f1(size_t common, size_t reference, size_t given) {
    return reference + given ? 2.0 * (double)common / (double)(reference + given) : 0;
}

struct rouge rouge_of(const char *reference, size_t reference_size, const char *text, size_t size) {
    struct words a = { 0 }, b = { 0 };
    rouge_split(reference, reference_size, &a);
    rouge_split(text, size, &b);
    int32_t *x = xcalloc(a.n + 1, sizeof *x), *y = xcalloc(b.n + 1, sizeof *y);
    words_number(&a, &b, x, y);
    struct rouge r = {
        .one = f1(ngrams_common(x, a.n, y, b.n, 1), a.n, b.n),
        .two = f1(ngrams_common(x, a.n, y, b.n, 2), ngrams_of(a.n, 2), ngrams_of(b.n, 2)),
        .longest = f1(common_subsequence(x, a.n, y, b.n), a.n, b.n),
    };
    words_release(&a);
    words_release(&b);
    free(x);
    free(y);
    return r;
}
