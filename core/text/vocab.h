/* A vocabulary: token bytes to id and back.
 *
 * The hash is a polynomial modulo 2^61-1 at a random point, so that no file can be crafted whose tokens all
 * collide, and the hashes of all prefixes of a word are computed in one pass. */
#ifndef CORE_TEXT_VOCAB_H
#define CORE_TEXT_VOCAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/err.h"

enum {
    VOCAB_IDS = 1 << 22,     /* ids are below this */
    VOCAB_TOKEN = 1 << 16,   /* longest token, bytes */
};

struct vocab {
    struct vocab_token {
        size_t at;           /* offset of its bytes in `text`, NUL-terminated there */
        uint32_t size;       /* bytes */
        bool used;           /* false: no token has this id */
        bool added;          /* not of the model: only written in a text, never a piece */
        bool special;        /* omitted from decoded text on request */
        bool respelled;      /* an added token whose normalized form differs */
    } *token;                /* by id */
    size_t ids, room;        /* greatest id + 1 */
    size_t count;
    size_t longest;          /* bytes of the longest token */
    struct buf text;
    int32_t *slot;           /* open addressing: id or -1 */
    size_t slots;            /* a power of two */
    uint64_t point;          /* the random point of the polynomial */
};

void vocab_init(struct vocab *v);
void vocab_release(struct vocab *v);
/* Adds a token.  ERR_INPUT when the id is out of range or in use, or the token already has an id; the message
 * starts with `file`. */
int vocab_add(struct vocab *v, const char *file, const char *token, size_t n, int64_t id,
              struct err *e);
/* Returns the id, or -1. */
int32_t vocab_find(const struct vocab *v, const char *token, size_t n);

/* Hashes a text in pieces: start with 0, add bytes, look up. */
uint64_t vocab_hash_add(const struct vocab *v, uint64_t h, unsigned char byte);
/* Returns the token `prefix` + `rest`, whose bytes together hash to h; or -1. */
int32_t vocab_find_hashed(const struct vocab *v, uint64_t h, const char *prefix, size_t prefix_size,
                          const char *rest, size_t rest_size);
const char *vocab_text(const struct vocab *v, int32_t id); /* NULL when there is none */

#endif
