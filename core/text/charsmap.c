#include "core/text/charsmap.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/text/unicode.h"

enum { CLUSTER_BYTES = 5 }; /* a longer cluster is not looked up as a whole */

/* ---- reading ---- */

static int charsmap_digit(char c) {
    return c >= 'A' && c <= 'Z' ? c - 'A' : c >= 'a' && c <= 'z' ? c - 'a' + 26
         : c >= '0' && c <= '9' ? c - '0' + 52 : c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* Base64 with padding; returns the position of the first invalid character, or n if there is none. */
static size_t from_base64(const char *s, size_t n, struct buf *out) {
    size_t end = n;
    if (n % 4) return n ? n - 1 : 0;
    while (end && n - end < 2 && s[end - 1] == '=') end--;
    uint32_t bits = 0;
    int have = 0;
    for (size_t i = 0; i < end; i++) {
        int v = charsmap_digit(s[i]);
        if (v < 0) return i;
        bits = bits << 6 | (uint32_t)v;
        have += 6;
        if (have >= 8) {
            have -= 8;
            buf_putc(out, (char)(bits >> have & 0xFF));
        }
    }
    return n;
}

static uint32_t little_endian(const unsigned char *b) {
    return b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

int charsmap_take(struct charsmap *m, const char *path, const void *blob, size_t n,
                  struct err *e) {
    const unsigned char *b = blob;
    size_t size = n >= 4 ? little_endian(b) : 0;
    memset(m, 0, sizeof *m);
    if (!size || size % 4 || size > n - 4)
        return err_set(
            e, ERR_INPUT,
            "%s: \"precompiled_charsmap\": invalid trie size: %zu; must be a positive multiple of 4 "
            "and at most %zu",
            path, size, n >= 4 ? n - 4 : 0);
    m->units = size / 4;
    m->unit = xmalloc(size);
    for (size_t i = 0; i < m->units; i++) m->unit[i] = little_endian(b + 4 + 4 * i);
    m->pool_size = n - 4 - size;
    m->pool = xmalloc(m->pool_size + 1);
    memcpy(m->pool, b + 4 + size, m->pool_size);
    m->pool[m->pool_size] = '\0';
    for (size_t at = 0; at <= m->pool_size; at += strlen(m->pool + at) + 1)
        if (strlen(m->pool + at) > m->longest) m->longest = strlen(m->pool + at);
    if (!utf8_valid(m->pool, m->pool_size))
        return err_set(e, ERR_INPUT,
                       "%s: \"precompiled_charsmap\": the replacement strings are not valid UTF-8", path);
    return 0;
}

int charsmap_read(struct charsmap *m, const char *path, const json_t *value, struct err *e) {
    memset(m, 0, sizeof *m);
    if (!json_is_string(value))
        return err_set(e, ERR_INPUT,
                       "%s: normalizer Precompiled: \"precompiled_charsmap\" (base64) is missing",
                       path);
    struct buf blob = BUF_INIT;
    size_t n = json_string_length(value), right = from_base64(json_string_value(value), n, &blob);
    int rc = right == n ? charsmap_take(m, path, buf_text(&blob), blob.size, e)
                        : err_set(e, ERR_INPUT,
                                  "%s: \"precompiled_charsmap\": invalid base64 at character %zu",
                                  path, right);
    buf_release(&blob);
    return rc;
}

void charsmap_release(struct charsmap *m) {
    free(m->unit);
    free(m->pool);
    memset(m, 0, sizeof *m);
}

/* ---- looking up ---- */

static uint32_t offset_of(uint32_t unit) { return unit >> 10 << ((unit & 1u << 9) >> 6); }

/* Returns the replacement of the shortest prefix of s that is in the map, or NULL. */
static const char *charsmap_look_up(const struct charsmap *m, const char *s, size_t n) {
    size_t at = offset_of(m->unit[0]);
    for (size_t i = 0; i < n && s[i]; i++) {
        unsigned char byte = (unsigned char)s[i];
        at ^= byte;
        if (at >= m->units) return NULL;
        uint32_t unit = m->unit[at];
        if ((unit & (1u << 31 | 0xFF)) != byte) return NULL;
        at ^= offset_of(unit);
        if (!(unit >> 8 & 1)) continue;
        if (at >= m->units) return NULL;
        size_t place = m->unit[at] & 0x7FFFFFFF;
        /* an offset within a character or outside the pool is damage */
        if (place > m->pool_size || ((unsigned char)m->pool[place] & 0xC0) == 0x80) return NULL;
        return m->pool + place;
    }
    return NULL;
}

/* Returns the bytes of the first grapheme cluster of s. */
static size_t charsmap_cluster(const char *s, size_t n) {
    uint32_t last, cp;
    size_t at = utf8_decode(s, n, &last);
    struct unicode_cluster c = { 0 };
    while (at < n) {
        size_t used = utf8_decode(s + at, n - at, &cp);
        if (unicode_breaks(&c, last, cp)) break;
        last = cp;
        at += used;
    }
    return at;
}

void charsmap_run(const struct charsmap *m, const char *s, size_t n, struct buf *out) {
    size_t at = 0;
    while (at < n) {
        bool alone = (unsigned char)s[at] >= ' ' && (unsigned char)s[at] < 0x7F &&
                     (at + 1 == n || (unsigned char)s[at + 1] < 0x80);
        size_t size = alone ? 1 : charsmap_cluster(s + at, n - at), end = at + size;
        const char *whole = size <= CLUSTER_BYTES ? charsmap_look_up(m, s + at, size) : NULL;
        if (whole) {
            buf_puts(out, whole);
            at = end;
        }
        while (at < end) {
            uint32_t cp;
            size_t used = utf8_decode(s + at, end - at, &cp);
            const char *one = charsmap_look_up(m, s + at, used);
            if (one) buf_puts(out, one);
            else buf_add(out, s + at, used);
            at += used;
        }
    }
}
