/* Byte-level tokens: every byte has a printable sign (Radford et al. 2019).
 *
 * Printable bytes of Latin-1 map to themselves, the others to U+0100 and above.  Pure functions. */
#ifndef CORE_TEXT_BYTES_H
#define CORE_TEXT_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"

enum { BYTES_SIGNS = 0x144 }; /* every sign is a code point below this */

/* Appends the signs of n bytes, as UTF-8. */
void bytes_to_signs(const char *s, size_t n, struct buf *out);
/* Appends the bytes of n bytes of signs; false (and *out incomplete) when s contains anything else. */
bool bytes_from_signs(const char *s, size_t n, struct buf *out);
/* Appends bytes as UTF-8: each maximal truncated character, and each byte that starts none, becomes one
 * U+FFFD. */
void bytes_to_utf8(const char *s, size_t n, struct buf *out);

#endif
