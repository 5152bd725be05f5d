#include "core/engine/arena.h"

#include <stdint.h>
#include <stdlib.h>

#include "core/base/mem.h"

enum { ALIGN = 64, FIRST_BLOCK = 1 << 20 };

struct block {
    char *base;
    size_t size, low, high; /* bytes in use: low from the start, high from the end */
};

struct arena {
    struct block *block;
    size_t count, room;
    size_t keep_at, scratch_at; /* the blocks of the two ends */
    size_t used, peak, grown;
    struct arena *second, *first; /* of the second arena: the one that it belongs to */
};

struct arena *arena_new(void) { return xcalloc(1, sizeof(struct arena)); }

struct arena *arena_second(struct arena *a) {
    if (!a->second) {
        a->second = arena_new();
        a->second->first = a;
    }
    return a->second;
}

static void drop_blocks(struct arena *a) {
    for (size_t i = 0; i < a->count; i++) free(a->block[i].base);
    a->count = 0;
}

void arena_drop(struct arena *a) {
    if (a->second) arena_drop(a->second);
    drop_blocks(a);
    a->keep_at = a->scratch_at = a->used = 0;
}

void arena_free(struct arena *a) {
    if (!a) return;
    arena_free(a->second);
    drop_blocks(a);
    free(a->block);
    free(a);
}

static void add_block(struct arena *a, size_t size) {
    GROW(a->block, a->room, a->count + 1);
    char *base = mem_try(size, 1);
    if (!base) mem_lack(size);
    a->block[a->count++] = (struct block){ base, size, 0, 0 };
    a->grown++;
}

void arena_reset(struct arena *a) {
    if (a->second) arena_reset(a->second);
    a->keep_at = a->scratch_at = a->used = 0;
    if (a->count > 1) {
        size_t sum = 0;
        for (size_t i = 0; i < a->count; i++) sum += a->block[i].size;
        drop_blocks(a);
        add_block(a, sum);
    }
    if (a->count) a->block[0].low = a->block[0].high = 0;
}

/* Returns the first block from `at` on with room for `bytes`, allocated when there is none. */
static size_t find_block(struct arena *a, size_t at, size_t bytes) {
    size_t total = 0;
    for (size_t i = 0; i < a->count; i++) {
        const struct block *b = &a->block[i];
        if (i >= at && b->size - b->low - b->high >= bytes) return i;
        total += b->size;
    }
    /* Doubling keeps the number of blocks of the first step small. */
    size_t size = total / 2 > FIRST_BLOCK ? total / 2 : FIRST_BLOCK;
    add_block(a, bytes > size ? bytes : size);
    return a->count - 1;
}

static size_t round_up(size_t bytes) {
    BUG_IF(bytes > SIZE_MAX / 2);
    return bytes ? (bytes + ALIGN - 1) / ALIGN * ALIGN : ALIGN;
}

static size_t used_by_both(const struct arena *a) { return a->used + (a->second ? a->second->used : 0); }

static void count_use(struct arena *a, size_t bytes) {
    a->used += bytes;
    if (a->first) a = a->first;
    if (used_by_both(a) > a->peak) a->peak = used_by_both(a);
}

void *arena_keep(struct arena *a, size_t bytes) {
    bytes = round_up(bytes);
    a->keep_at = find_block(a, a->keep_at, bytes);
    struct block *b = &a->block[a->keep_at];
    void *p = b->base + b->low;
    b->low += bytes;
    count_use(a, bytes);
    return p;
}

void *arena_scratch(struct arena *a, size_t bytes) {
    bytes = round_up(bytes);
    a->scratch_at = find_block(a, a->scratch_at, bytes);
    struct block *b = &a->block[a->scratch_at];
    b->high += bytes;
    count_use(a, bytes);
    return b->base + (b->size - b->high);
}

struct arena_mark arena_mark(const struct arena *a) {
    if (!a->count) return (struct arena_mark){ 0, 0, 0, 0 };
    return (struct arena_mark){ a->keep_at, a->block[a->keep_at].low, a->scratch_at,
                                a->block[a->scratch_at].high };
}

/* Gives back one side of the blocks from `first` on: beyond `to` of the first, all of the others. */
static void shrink(struct arena *a, bool scratch, size_t first, size_t to) {
    for (size_t i = first; i < a->count; i++, to = 0) {
        size_t *used = scratch ? &a->block[i].high : &a->block[i].low;
        BUG_IF(*used < to);
        a->used -= *used - to;
        *used = to;
    }
}

void arena_keep_release(struct arena *a, struct arena_mark m) {
    shrink(a, false, m.keep_block, m.low);
    a->keep_at = m.keep_block;
}

void arena_scratch_release(struct arena *a, struct arena_mark m) {
    shrink(a, true, m.scratch_block, m.high);
    a->scratch_at = m.scratch_block;
}

size_t arena_peak(const struct arena *a) { return a->peak; }
void arena_peak_restart(struct arena *a) { a->peak = used_by_both(a); }
size_t arena_grown(const struct arena *a) { return a->grown; }
