/* Unigram (Kudo 2018): the segmentation of a piece into tokens with the greatest summed score, found by
 * Viterbi's algorithm over a trie of the vocabulary.
 *
 * Time is linear in the length of the piece and of the longest token.  Immutable after reading and shared by
 * any number of threads, each with its own struct unigram_work.  Private to core/text. */
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
        uint32_t child;    /* first child; children are sorted by byte */
        int32_t id;        /* of the token that ends here, or -1 */
        uint16_t children;
        unsigned char byte;
    } *node;               /* node 0: the root */
    size_t nodes;
    int32_t root[256];     /* child of the root by byte, or -1 */
    double *score;         /* by id */
    size_t tokens;
    double unknown_score;  /* for a character without token: lowest score - 10 */
    int32_t unknown;       /* id */
    bool byte_fallback;
    int32_t byte[256];     /* <0x00> … <0xFF>, or -1 */
};
/* Builds the trie and takes ownership of `score` (one for each id of v, all from the model).  ERR_INPUT when
 * the trie would be too large. */
int unigram_ready(struct unigram *u, const struct vocab *v, const char *path, double *score,
                  struct err *e);
void unigram_release(struct unigram *u);

struct unigram_work {
    struct unigram_best {
        double score;
        int32_t from; /* start of the last token; -1: not reached */
        int32_t id;
    } *best;          /* by position in the piece */
    int32_t *ids;     /* the result, `count` of them */
    size_t count, id_room, best_room;
};
void unigram_work_release(struct unigram_work *w);
/* Computes the ids of one piece of n < 2^31 bytes of UTF-8 in w->ids; returns how many are unknown.  A run of
 * characters without token is one unknown token, or the tokens of their bytes with byte_fallback. */
size_t unigram_piece(const struct unigram *u, const struct vocab *v, const char *s, size_t n,
                     struct unigram_work *w);

#endif
