#include "core/text/bytes.h"

#include "core/base/text.h"

static bool stands_for_itself(unsigned byte) {
    return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte != 0xAD);
}

/* The others in order: 0x00-0x20, 0x7F-0xA0, 0xAD. */
static uint32_t bytes_sign(unsigned char byte) {
    if (stands_for_itself(byte)) return byte;
    return 0x100u + (byte <= 0x20 ? byte : byte <= 0xA0 ? byte - 0x7Fu + 33 : 67);
}

static int bytes_byte_of(uint32_t cp) {
    if (cp < 0x100) return stands_for_itself(cp) ? (int)cp : -1;
    if (cp >= BYTES_SIGNS) return -1;
    int i = (int)cp - 0x100;
    return i <= 0x20 ? i : i < 67 ? i - 33 + 0x7F : 0xAD;
}

void bytes_to_signs(const char *s, size_t n, struct buf *out) {
    for (size_t i = 0; i < n; i++) {
        unsigned char byte = (unsigned char)s[i];
        if (byte >= 0x21 && byte <= 0x7E) buf_putc(out, (char)byte);
        else utf8_add(out, bytes_sign(byte));
    }
}

bool bytes_from_signs(const char *s, size_t n, struct buf *out) {
    while (n) {
        uint32_t cp;
        size_t used = utf8_decode(s, n, &cp);
        int byte = bytes_byte_of(cp);
        if (byte < 0) return false;
        buf_putc(out, (char)byte);
        s += used;
        n -= used;
    }
    return true;
}

/* Returns how many bytes of s belong to an unfinished character; at least 1. */
static size_t beginning(const unsigned char *s, size_t n) {
    unsigned first = s[0], low = 0x80, high = 0xBF;
    size_t size = first >= 0xC2 && first <= 0xDF ? 2 : first >= 0xE0 && first <= 0xEF ? 3
                : first >= 0xF0 && first <= 0xF4 ? 4 : 1, i = 1;
    if (first == 0xE0) low = 0xA0;
    if (first == 0xED) high = 0x9F;
    if (first == 0xF0) low = 0x90;
    if (first == 0xF4) high = 0x8F;
    for (; i < size && i < n && s[i] >= low && s[i] <= high; i++) low = 0x80, high = 0xBF;
    return i;
}

void bytes_to_utf8(const char *s, size_t n, struct buf *out) {
    while (n) {
        uint32_t cp;
        size_t used = utf8_decode(s, n, &cp);
        if (used == 1 && (unsigned char)s[0] >= 0x80) {
            used = beginning((const unsigned char *)s, n);
            buf_puts(out, "\uFFFD");
        } else {
            buf_add(out, s, used);
        }
        s += used;
        n -= used;
    }
}
