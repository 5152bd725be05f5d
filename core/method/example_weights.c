#include "core/method/example_weights.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/model/cache.h"

/* An integer array in reused memory. */
struct numbers {
    int *at;
    size_t room;
};

/* Values that a cache of texts continues to use after other passes: a copy of one matrix, and the range of a
 * value's blocks in it. */
struct kept_rows {
    real *value;
    size_t room;
    int rows, cols;
    int first, blocks;
};

enum { SEQUENCES_ALL, SEQUENCES_SELF, SEQUENCES_CROSS, SEQUENCES };

struct example_weights {
    const struct plan *p;
    int count;               /* rows of the pass that generated the values */
    int kept_count;          /* rows of the pass whose values are cached */
    bool generated;          /* on the tape of this step */
    struct example_value *value; /* p->per_example */
    struct kept_rows *kept;       /* p->per_example; values that share a matrix have it at the first */
    int *same;               /* p->per_example: the first value that shares the matrix */
    struct row_groups groups;
    struct numbers start, block;
    struct numbers sequence[SEQUENCES];
    struct numbers *key_start;  /* one per module */
    struct tape_rows *key_rows;
};

struct example_weights *example_weights_new(const struct plan *p) {
    if (!hyper_per_example(&p->method)) return NULL;
    struct example_weights *r = xcalloc(1, sizeof *r);
    size_t n = (size_t)p->per_example + 1, modules = (size_t)p->method.count + 1;
    r->p = p;
    r->value = xcalloc(n, sizeof *r->value);
    r->kept = xcalloc(n, sizeof *r->kept);
    r->same = xcalloc(n, sizeof *r->same);
    r->key_start = xcalloc(modules, sizeof *r->key_start);
    r->key_rows = xcalloc(modules, sizeof *r->key_rows);
    return r;
}

void example_weights_free(struct example_weights *r) {
    if (!r) return;
    for (int i = 0; i < r->p->per_example; i++) free(r->kept[i].value);
    for (int i = 0; i < r->p->method.count; i++) free(r->key_start[i].at);
    for (int i = 0; i < SEQUENCES; i++) free(r->sequence[i].at);
    free(r->value);
    free(r->kept);
    free(r->same);
    free(r->key_start);
    free(r->key_rows);
    free(r->start.at);
    free(r->block.at);
    free(r);
}

void example_weights_begin(struct example_weights *r) {
    if (r) r->generated = false;
}

/* First block, number of blocks: of the values generated on this tape, or else the cached ones. */
static int first_of(const struct example_weights *r, int i) {
    return r->generated ? r->value[i].first : r->kept[i].first;
}
static int blocks_of(const struct example_weights *r, int i) {
    return r->generated ? r->value[i].blocks : r->kept[i].blocks;
}

int example_weights_count(const struct example_weights *r) { return r->generated ? r->count : r->kept_count; }

static void copy_rows(struct kept_rows *k, const struct tape *t, node n) {
    k->rows = tape_rows_of(t, n);
    k->cols = tape_cols_of(t, n);
    size_t size = (size_t)k->rows * (size_t)k->cols;
    GROW(k->value, k->room, size);
    memcpy(k->value, tape_value(t, n), size * sizeof *k->value);
}

/* Caches the values, because the tape of the first token is reset before the second. */
static void keep(struct example_weights *r, const struct tape *t, int stack) {
    for (int i = 0; i < r->p->per_example; i++) {
        if (r->p->example_tensor[i].stack != stack) continue;
        r->kept[i].first = r->value[i].first;
        r->kept[i].blocks = r->value[i].blocks;
        r->same[i] = 0;
        while (r->value[r->same[i]].value != r->value[i].value) r->same[i]++;
        if (r->same[i] == i) copy_rows(&r->kept[i], t, r->value[i].value);
    }
}

void example_weights_generate(struct example_weights *r, struct tape *t, const struct forward *f,
                              const node *leaf, int stack, node h, const int *task) {
    hyper_generate_per_example(r->p, t, leaf, stack, h, task, r->value);
    r->count = f->batch->examples;
    r->generated = true;
    if (!f->cache || stack != STACK_DECODER) return;
    r->kept_count = r->count;
    keep(r, t, stack);
}

node example_weights_value(struct example_weights *r, struct tape *t, int i) {
    if (r->generated) return r->value[i].value;
    const struct kept_rows *k = &r->kept[r->same[i]];
    BUG_IF(!k->rows);
    return tape_frozen(t, k->rows, k->cols, k->value);
}

const real *example_weights_one(struct example_weights *r, struct tape *t, int i, int row) {
    size_t count = r->p->example_tensor[i].count;
    BUG_IF(row < 0 || row >= example_weights_count(r));
    return tape_value(t, example_weights_value(r, t, i)) + (size_t)(first_of(r, i) + row) * count;
}

static int *room_for(struct numbers *x, int n) {
    GROW(x->at, x->room, (size_t)n + 1);
    return x->at;
}

/* Returns whether the tokens are those of the live rows of a cache, one each. */
static bool is_cached(const struct forward *f, const struct tape_rows *rows) {
    return f->cache && rows != &f->rows;
}

const struct row_groups *example_weights_groups(struct example_weights *r, const struct forward *f,
                                                const struct tape_rows *rows, int tokens, int i) {
    bool cached = is_cached(f, rows);
    int n = cached ? cache_sources(f->cache) : f->batch->examples, first = first_of(r, i);
    int *start = room_for(&r->start, n), *block = room_for(&r->block, n);
    for (int k = 0, at = 0; k < n; k++) {
        start[k] = cached ? at : rows->start[k];
        block[k] = first + (cached ? cache_source(f->cache, k) : k);
        at += cached ? cache_source_rows(f->cache, k) : 0;
    }
    start[n] = tokens;
    r->groups = (struct row_groups){ n, blocks_of(r, i), start, block };
    return &r->groups;
}

node example_weights_keys(struct example_weights *r, struct tape *t, int i) {
    int rows = r->p->example_tensor[i].rows, count = example_weights_count(r), first = first_of(r, i);
    node all = example_weights_value(r, t, i);
    if (blocks_of(r, i) == count) return all;
    return op_rows(t, all, first * rows, (first + count) * rows);
}

const int *example_weights_sequences(struct example_weights *r, const struct forward *f,
                                     const struct site *site) {
    bool cached = is_cached(f, site->rows), cross = site->sublayer == SUB_CROSS;
    int n = cached ? cache_sources(f->cache) : f->batch->examples, at = 0;
    int *to = room_for(&r->sequence[!cached ? SEQUENCES_ALL : cross ? SEQUENCES_CROSS : SEQUENCES_SELF],
                       cached ? cache_rows(f->cache) : n);
    for (int k = 0; k < n; k++)
        for (int j = 0; j < (cached && !cross ? cache_source_rows(f->cache, k) : 1); j++)
            to[at++] = cached ? cache_source(f->cache, k) : k;
    return to;
}

const struct tape_rows *example_weights_of_keys(struct example_weights *r, const struct forward *f,
                                                int module) {
    int count = example_weights_count(r), *start = room_for(&r->key_start[module], count);
    for (int i = 0; i <= count; i++) start[i] = i * r->p->method.module[module].size;
    r->key_rows[module] = (struct tape_rows){ count, start, f->rows.id };
    return &r->key_rows[module];
}
