/* Unigram (Kudo 2018): of all ways to cut a piece into tokens the one of greatest summed
 * score, found by Viterbi's algorithm over a trie of the vocabulary.
 *
 * Time is linear in the piece and in the longest token.  Read once, then only read by any
 * number of threads, each with a struct unigram_work of its own.  Private to core/text. */
#ifndef CORE_TEXT_UNIGRAM_H
#define CORE_TEXT_UNIGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/text/vocab.h"

enum { UNIGRAM_TOKEN = 512, UNIGRAM_NODES = 1 << 24 }; /* longest token, bytes; most nodes */

struct unigram {
    struct unigram_node {
        uint32_t child;    /* the first of its children, which are sorted by byte */
        int32_t id;        /* of the token that ends here, or -1 */
        uint16_t children;
        unsigned char byte;
    } *node;               /* node 0: the root */
    size_t nodes;
    int32_t root[256];     /* the root's child by its byte, or -1 */
    double *score;         /* by id */
    size_t tokens;
    double unknown_score;  /* of a character that no token covers: least score - 10 */
    int32_t unknown;       /* id */
    bool byte_fallback;
    int32_t byte[256];     /* <0x00> … <0xFF>, or -1 */
};
/* Takes over `score` (as many as v has ids, all of them the model's).  ERR_INPUT when the trie
 * would be too large. */
int unigram_ready(struct unigram *u, const struct vocab *v, const char *path, double *score,
                  struct err *e);
void unigram_release(struct unigram *u);

struct unigram_work {
    struct unigram_best {
        double score;
        int32_t from; /* where the last token begins; -1: not reached */
        int32_t id;
    } *best;          /* by bytes of the piece */
    int32_t *ids;     /* the result, `count` of them */
    size_t count, id_room, best_room;
};
void unigram_work_release(struct unigram_work *w);
/* The ids of one piece of n < 2^31 bytes of UTF-8 in w->ids; returns how many are unknown.
 * Characters without a token that follow each other are one unknown token, or their bytes'
 * tokens with byte_fallback. */
size_t unigram_piece(const struct unigram *u, const struct vocab *v, const char *s, size_t n,
                     struct unigram_work *w);

#endif
