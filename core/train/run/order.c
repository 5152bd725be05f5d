#include "core/train/run/order.h"

#include <stdlib.h>

#include "core/base/mem.h"
#include "core/base/rng.h"

enum { SHARDS = 64 }; /* maximum of the config */

void order_epoch(uint64_t seed, int64_t epoch, uint32_t *order, size_t rows) {
    rng_permute(rng_key(seed, RNG_ORDER, (uint64_t)epoch, 0), order, rows);
}

static void sift(uint64_t *key, size_t root, size_t n) {
    for (size_t child; (child = 2 * root + 1) < n; root = child) {
        if (child + 1 < n && key[child + 1] > key[child]) child++;
        if (key[root] >= key[child]) return;
        uint64_t t = key[root];
        key[root] = key[child];
        key[child] = t;
    }
}

/* Heap sort, ascending: qsort may allocate memory, and a step must not. */
static void sort_keys(uint64_t *key, size_t n) {
    for (size_t i = n / 2; i-- > 0;) sift(key, i, n);
    for (size_t end = n; end-- > 1;) {
        uint64_t t = key[0];
        key[0] = key[end];
        key[end] = t;
        sift(key, 0, end);
    }
}

/* Ascending keys: longest example first, then by position. */
static uint64_t length_key(size_t tokens, size_t place) {
    return (uint64_t)(UINT32_MAX - (uint32_t)tokens) << 32 | (uint32_t)place;
}

static size_t order_tokens_of(const size_t *start_of, const size_t *target_of, uint32_t row) {
    size_t tokens = start_of[row + 1] - start_of[row];
    return target_of ? tokens + target_of[row + 1] - target_of[row] : tokens;
}

/* Divides a micro-batch into at most `shards` parts, starting at part c->parts. */
static void cut_micro(struct row_parts *c, const uint32_t *rows, const uint32_t *tokens, int n, int shards) {
    size_t load[SHARDS] = { 0 };
    int count[SHARDS] = { 0 }, fill[SHARDS];
    if (shards > n) shards = n;
    for (int i = 0; i < n; i++)
        c->scratch[i] = length_key(tokens[i], (size_t)i);
    sort_keys(c->scratch, (size_t)n);
    /* The part is stored in the upper half, in place of the length. */
    for (int i = 0; i < n; i++) {
        uint32_t place = (uint32_t)c->scratch[i];
        size_t length = UINT32_MAX - (uint32_t)(c->scratch[i] >> 32);
        int lightest = 0;
        for (int s = 1; s < shards; s++)
            if (load[s] < load[lightest]) lightest = s;
        /* Every example has tokens, so each of the first `shards` examples starts a part. */
        load[lightest] += length ? length : 1;
        count[lightest]++;
        c->scratch[i] = (uint64_t)lightest << 32 | place;
    }
    int at = c->start[c->parts];
    for (int s = 0; s < shards; s++) {
        fill[s] = at;
        at += count[s];
        c->start[++c->parts] = at;
    }
    for (int i = 0; i < n; i++) c->row[fill[c->scratch[i] >> 32]++] = rows[(uint32_t)c->scratch[i]];
}

void order_cut(struct row_parts *c, const uint32_t *rows, const uint32_t *tokens, int n, int micro,
               int shards) {
    BUG_IF(n < 1 || micro < 1 || shards < 1 || shards > SHARDS);
    if (micro > n) micro = n;
    c->parts = 0;
    c->start[0] = 0;
    for (int i = 0; i < micro; i++) {
        int from = (int)((int64_t)n * i / micro), to = (int)((int64_t)n * (i + 1) / micro);
        cut_micro(c, rows + from, tokens + from, to - from, shards);
    }
}

int order_task(int tasks, const uint32_t *first, uint32_t row) {
    int t = 0;
    while (t < tasks - 1 && row >= first[t + 1]) t++;
    return t;
}

void order_by_task(struct row_parts *c, int tasks, const uint32_t *first) {
    for (int p = 0; p < c->parts && tasks > 1; p++) {
        int from = c->start[p], n = c->start[p + 1] - from;
        for (int i = 0; i < n; i++)
            c->scratch[i] = (uint64_t)order_task(tasks, first, c->row[from + i]) << 48 | (uint64_t)i << 32 |
                            c->row[from + i];
        sort_keys(c->scratch, (size_t)n);
        for (int i = 0; i < n; i++) c->row[from + i] = (uint32_t)c->scratch[i];
    }
}

void order_by_length(uint32_t *order, size_t rows, const size_t *start_of, const size_t *target_of) {
    uint64_t *key = xmalloc(rows * sizeof *key);
    for (size_t i = 0; i < rows; i++) key[i] = length_key(order_tokens_of(start_of, target_of, (uint32_t)i),
                                                          i);
    sort_keys(key, rows);
    for (size_t i = 0; i < rows; i++) order[i] = (uint32_t)key[i];
    free(key);
}
