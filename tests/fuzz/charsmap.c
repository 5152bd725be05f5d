/* The size of a blob (two bytes, little-endian), the blob, a text: a map that is refused, or
 * one that leaves a text valid UTF-8. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/text.h"
#include "core/text/charsmap.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n) {
    if (n < 2) return 0;
    size_t size = bytes[0] + 256u * bytes[1];
    if (size > n - 2) size = n - 2;
    struct charsmap m;
    struct err e = ERR_INIT;
    if (charsmap_take(&m, "map", bytes + 2, size, &e)) {
        if (e.code != ERR_INPUT || !e.text[0]) abort();
    } else {
        struct buf out = BUF_INIT;
        const char *text = (const char *)bytes + 2 + size;
        charsmap_run(&m, text, n - 2 - size, &out);
        if (utf8_valid(text, n - 2 - size) && !utf8_valid(buf_text(&out), out.size)) abort();
        buf_release(&out);
    }
    charsmap_release(&m);
    return 0;
}
