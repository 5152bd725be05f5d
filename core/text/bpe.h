/* Byte-pair encoding (Sennrich et al. 2016): a word's characters, joined pair by pair in the
 * order of the merges.
 *
 * Time is n log n in a word's length.  Read once, then only read by any number of threads,
 * each with a struct bpe_work of its own.  Private to core/text. */
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
        int32_t left, right; /* ids; left is -1 in a free place */
        int32_t rank, whole; /* whole: the id of both together */
    } *merge;                /* open addressing */
    size_t places;           /* a power of two */
    size_t count;
    uint64_t point;          /* odd: where the hash is taken */
    int32_t single[BYTES_SIGNS]; /* the id of a word that is one character, or -1 */
    int32_t byte[256];       /* <0x00> … <0xFF>, or -1 */
    int32_t unknown;         /* id, or -1: characters without a token are dropped */
    bool fuse_unknown, byte_fallback, ignore_merges;
    char *prefix, *suffix;   /* "": none; owned */
};
/* Sizes the table for `merges`. */
void bpe_init(struct bpe *b, size_t merges);
void bpe_release(struct bpe *b);
/* The next merge, in order of rank.  ERR_INPUT when a token of it is not in v; `where` says
 * which merge it is ("FILE: merge 7"). */
int bpe_add(struct bpe *b, const struct vocab *v, const char *where, const char *left,
            size_t left_size, const char *right, size_t right_size, struct err *e);
/* After the last merge: looks up the single characters. */
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
/* The ids of one word, in w->symbol[0 … w->symbols); returns how many are unknown. */
size_t bpe_word(const struct bpe *b, const struct vocab *v, const char *s, size_t n,
                struct bpe_work *w);

#endif
