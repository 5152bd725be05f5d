#include "core/text/bert.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/text/unicode.h"

/* Code points waiting for canonical ordering: a run without a starter in between. */
struct pending {
    struct unicode_point *item;
    size_t n, room;
};

static void put_code_point(const struct bert_normalizer *z, uint32_t cp, struct buf *out) {
    uint32_t lower[2] = { cp, 0 };
    size_t n = z->lowercase ? unicode_lower(cp, lower) : 1;
    for (size_t i = 0; i < n; i++) utf8_add(out, lower[i]);
}

static void flush(const struct bert_normalizer *z, struct pending *p, struct buf *out) {
    unicode_order(p->item, p->n);
    for (size_t i = 0; i < p->n; i++) put_code_point(z, p->item[i].cp, out);
    p->n = 0;
}

/* Decomposes, orders and drops nonspacing marks.  A dropped mark that is a starter still ends a run, as
 * ordering precedes dropping. */
static void bert_strip(const struct bert_normalizer *z, uint32_t cp, struct pending *p, struct buf *out) {
    uint32_t part[UNICODE_PARTS];
    size_t n = unicode_decompose(cp, part);
    for (size_t i = 0; i < n; i++) {
        int combining = unicode_combining(part[i]);
        if (!combining) flush(z, p, out);
        if (unicode_is_mark(part[i])) continue;
        if (!combining) {
            put_code_point(z, part[i], out);
            continue;
        }
        GROW(p->item, p->room, p->n + 1);
        p->item[p->n] = (struct unicode_point){ part[i], combining, p->n };
        p->n++;
    }
}

void bert_normalize(const struct bert_normalizer *z, const char *s, size_t n, struct buf *out) {
    struct pending wait = { 0 };
    while (n) {
        uint32_t cp;
        size_t used = utf8_decode(s, n, &cp);
        s += used;
        n -= used;
        if (z->clean) {
            if (cp == 0 || cp == 0xFFFD || unicode_is_control(cp)) continue;
            if (unicode_is_space(cp)) cp = ' ';
        }
        if (cp < 0x80) {
            flush(z, &wait, out);
            buf_putc(out, (char)(z->lowercase && cp >= 'A' && cp <= 'Z' ? cp + 32 : cp));
            continue;
        }
        bool alone = z->ideographs && unicode_is_ideograph(cp);
        if (alone) {
            flush(z, &wait, out);
            buf_putc(out, ' ');
        }
        if (z->strip_accents) bert_strip(z, cp, &wait, out);
        else put_code_point(z, cp, out);
        if (alone) {
            flush(z, &wait, out);
            buf_putc(out, ' ');
        }
    }
    flush(z, &wait, out);
    free(wait.item);
}

bool bert_next_word(const char *s, size_t n, size_t *at, size_t *from, size_t *to) {
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
