#include "core/data/words.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"

void words_add(struct words *w, const char *s, size_t n) {
    GROW(w->end, w->room, w->n + 1);
    buf_add(&w->text, s, n);
    w->end[w->n++] = w->text.size;
}

void words_release(struct words *w) {
    buf_release(&w->text);
    free(w->end);
    memset(w, 0, sizeof *w);
}

struct word_slot {
    const char *s;
    size_t n;
    int32_t *to;
};

static int words_by_bytes(const void *a, const void *b) {
    const struct word_slot *x = a, *y = b;
    int d = memcmp(x->s, y->s, x->n < y->n ? x->n : y->n);
    return d ? d : (x->n > y->n) - (x->n < y->n);
}

static void words_place(const struct words *w, int32_t *to, struct word_slot *out) {
    for (size_t i = 0, from = 0; i < w->n; from = w->end[i++])
        out[i] = (struct word_slot){ buf_text(&w->text) + from, w->end[i] - from, to + i };
}

void words_number(const struct words *a, const struct words *b, int32_t *x, int32_t *y) {
    size_t n = a->n + b->n;
    struct word_slot *all = xmalloc((n + 1) * sizeof *all);
    words_place(a, x, all);
    words_place(b, y, all + a->n);
    qsort(all, n, sizeof *all, words_by_bytes);
    int32_t number = 0;
    for (size_t i = 0; i < n; i++) {
        if (i && words_by_bytes(&all[i - 1], &all[i])) number++;
        *all[i].to = number;
    }
    free(all);
}

struct ngram {
    int32_t id[NGRAM_MOST]; /* unused ones are 0 */
};

static int by_ids(const void *a, const void *b) {
    const struct ngram *x = a, *y = b;
    for (int i = 0; i < NGRAM_MOST; i++)
        if (x->id[i] != y->id[i]) return x->id[i] < y->id[i] ? -1 : 1;
    return 0;
}

static struct ngram *sorted(const int32_t *x, size_t n, int order) {
    size_t count = ngrams_of(n, order);
    struct ngram *g = xcalloc(count + 1, sizeof *g);
    for (size_t i = 0; i < count; i++) memcpy(g[i].id, x + i, (size_t)order * sizeof *x);
    qsort(g, count, sizeof *g, by_ids);
    return g;
}

size_t ngrams_common(const int32_t *x, size_t n, const int32_t *y, size_t m, int order) {
    BUG_IF(order < 1 || order > NGRAM_MOST);
    struct ngram *a = sorted(x, n, order), *b = sorted(y, m, order);
    size_t i = 0, j = 0, common = 0;
    while (i < ngrams_of(n, order) && j < ngrams_of(m, order)) {
        int d = by_ids(&a[i], &b[j]);
        common += d == 0;
        i += d <= 0;
        j += d >= 0;
    }
    free(a);
    free(b);
    return common;
}

size_t common_subsequence(const int32_t *x, size_t n, const int32_t *y, size_t m) {
    /* length[j]: of the x so far and the first j of y; `corner` is length[j-1] of the previous row */
    size_t *length = xcalloc(m + 1, sizeof *length);
    for (size_t i = 0; i < n; i++) {
        size_t corner = 0;
        for (size_t j = 1; j <= m; j++) {
            size_t above = length[j];
            if (x[i] == y[j - 1]) length[j] = corner + 1;
            else if (length[j - 1] > above) length[j] = length[j - 1];
            corner = above;
        }
    }
    size_t longest = length[m];
    free(length);
    return longest;
}
