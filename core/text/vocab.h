/* A vocabulary: token bytes to id and back.
 *
 * The hash is a polynomial modulo 2^61-1 at a random point, so that no file can be written
 * whose tokens all meet in one place, and hashes of all prefixes of a word cost one pass. */
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
        bool added;          /* not the model's: only written in a text, never a piece */
        bool special;        /* left out of decoded text on request */
        bool respelled;      /* an added token whose normalised form differs */
    } *token;                /* by id */
    size_t ids, room;        /* greatest id + 1 */
    size_t count;
    size_t longest;          /* bytes of the longest token */
    struct buf text;
    int32_t *slot;           /* open addressing: id or -1 */
    size_t slots;            /* a power of two */
    uint64_t point;          /* where the polynomial is taken */
};

void vocab_init(struct vocab *v);
void vocab_release(struct vocab *v);
/* ERR_INPUT when the id is out of range or taken, or the token has an id already; the
 * message begins with `file`. */
int vocab_add(struct vocab *v, const char *file, const char *token, size_t n, int64_t id,
              struct err *e);
/* The id, or -1. */
int32_t vocab_find(const struct vocab *v, const char *token, size_t n);

/* The hash of a text in pieces: start with 0, add bytes, look up. */
uint64_t vocab_hash_add(const struct vocab *v, uint64_t h, unsigned char byte);
/* Token that is `prefix` and then `rest`, whose bytes together hash to h; or -1. */
int32_t vocab_find_hashed(const struct vocab *v, uint64_t h, const char *prefix, size_t prefix_size,
                          const char *rest, size_t rest_size);
const char *vocab_text(const struct vocab *v, int32_t id); /* NULL when there is none */

#endif
