#include "core/base/text.h"
#include "core/text/parts.h"
#include "core/text/unicode.h"

bool pretokenizer_next(const char *s, size_t n, size_t *at, size_t *from, size_t *to) {
    size_t i = *at;
    bool inside = false;
    while (i < n) {
        uint32_t cp;
        size_t used = utf8_decode(s + i, n - i, &cp);
        bool space = unicode_is_space(cp);
        if (space || unicode_is_punctuation(cp)) {
            if (inside) break;
            if (!space) {
                *from = i;
                *to = *at = i + used;
                return true;
            }
        } else if (!inside) {
            inside = true;
            *from = i;
        }
        i += used;
    }
    *at = *to = i;
    return inside;
}
