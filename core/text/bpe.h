/* Byte-pair encoding (Sennrich et al. 2016): the characters of a word, merged pair by pair in the order of
 * the merges.
 *
 * Time is O(n log n) in the length of a word.  Immutable after reading and shared by any number of threads,
 * each with its own struct bpe_work.  Private to core/text. */
#ifndef CORE_TEXT_BPE_H
#define CORE_TEXT_BPE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/text/bytes.h"
#include "core/text/vocab.h"

struct bpe {
    struct bpe_merge {
        int32_t left, right; /* ids; left is -1 in a free slot */
        int32_t rank, whole; /* whole: the id of the merged token */
    } *merge;                /* open addressing */
    size_t places;           /* a power of two */
    size_t count;
    uint64_t point;          /* odd: the multiplier of the hash */
    int32_t single[BYTES_SIGNS]; /* the id of a word of one character, or -1 */
    int32_t byte[256];       /* <0x00> … <0xFF>, or -1 */
    int32_t unknown;         /* id, or -1: characters without a token are dropped */
    bool fuse_unknown, byte_fallback, ignore_merges;
    char *prefix, *suffix;   /* "": none; owned */
};
/* Allocates the table for `merges`. */
void bpe_init(struct bpe *b, size_t merges);
void bpe_release(struct bpe *b);
/* Adds the next merge, in order of rank.  ERR_INPUT when one of its tokens is not in v; `where` identifies
 * the merge ("FILE: merge 7"). */
int bpe_add(struct bpe *b, const struct vocab *v, const char *where, const char *left,
            size_t left_size, const char *right, size_t right_size, struct err *e);
/* Looks up the single characters; called after the last merge. */
void bpe_ready(struct bpe *b, const struct vocab *v);

struct bpe_work {
    struct bpe_symbol {
        int32_t id, prev, next; /* -1: none */
        bool gone;
    } *symbol;
    struct bpe_next {
        int32_t rank, at, whole;
    } *heap;
    size_t symbols, symbol_room, heap_size, heap_room;
};
void bpe_work_release(struct bpe_work *w);
/* Computes the ids of one word, in w->symbol[0 … w->symbols); returns how many are unknown. */
size_t bpe_word(const struct bpe *b, const struct vocab *v, const char *s, size_t n,
                struct bpe_work *w);

#endif
