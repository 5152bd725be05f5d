/* The compiled normalization map of SentencePiece: a double-array trie (Aoe 1989) whose leaves are offsets
 * into a pool of NUL-terminated texts.
 *
 * The blob comes from a file: every access is checked, and invalid entries are ignored.  Immutable after
 * reading. */
#ifndef CORE_TEXT_CHARSMAP_H
#define CORE_TEXT_CHARSMAP_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/err.h"

struct charsmap {
    uint32_t *unit; /* owned, as are the texts */
    size_t units;
    char *pool;     /* valid UTF-8 */
    size_t pool_size;
    size_t longest; /* bytes of the longest text that one character can become */
};
/* Reads the blob: size of the trie in bytes (32-bit little-endian), trie, pool.  ERR_INPUT when they do not
 * fit or the pool is not UTF-8. */
int charsmap_take(struct charsmap *m, const char *path, const void *blob, size_t n, struct err *e);
/* Reads the blob in base64, as stored in tokenizer.json. */
int charsmap_read(struct charsmap *m, const char *path, const json_t *value, struct err *e);
void charsmap_release(struct charsmap *m);
/* Appends n bytes of UTF-8 with all entries of the map replaced: a grapheme cluster of at most 5 bytes as a
 * whole, otherwise character by character, as in the reference. */
void charsmap_run(const struct charsmap *m, const char *s, size_t n, struct buf *out);

#endif
