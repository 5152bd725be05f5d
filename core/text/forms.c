#include <stdlib.h>

#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/text/normalizer.h"
#include "core/text/unicode.h"

/* A text as code points with their combining classes. */
struct points {
    struct unicode_point *item;
    size_t n, room;
};

static void forms_decompose(bool compatible, const char *s, size_t n, struct points *p) {
    while (n) {
        uint32_t cp, part[UNICODE_PARTS];
        size_t used = utf8_decode(s, n, &cp);
        size_t parts = compatible ? unicode_decompose_compatible(cp, part)
                                  : unicode_decompose(cp, part);
        for (size_t i = 0; i < parts; i++) {
            GROW(p->item, p->room, p->n + 1);
            p->item[p->n] = (struct unicode_point){ part[i], unicode_combining(part[i]), p->n };
            p->n++;
        }
        s += used;
        n -= used;
    }
}

/* Canonical order: every run without a starter is sorted by class. */
static void forms_order(struct points *p) {
    for (size_t i = 0; i < p->n;) {
        size_t from = i;
        while (i < p->n && p->item[i].combining) i++;
        if (i > from) unicode_order(p->item + from, i - from);
        if (i == from) i++;
    }
}

/* Canonical composition: a point combines with the last starter unless a point between them is a starter or
 * has an equal or higher class. */
static void compose(struct points *p) {
    size_t kept = 0, starter = 0;
    bool open = false; /* there is a starter */
    for (size_t i = 0; i < p->n; i++) {
        struct unicode_point x = p->item[i];
        bool next = open && kept == starter + 1;
        if (open && (next || (x.combining && p->item[kept - 1].combining < x.combining))) {
            uint32_t whole = unicode_compose(p->item[starter].cp, x.cp);
            if (whole) {
                p->item[starter].cp = whole;
                continue;
            }
        }
        if (!x.combining) {
            starter = kept;
            open = true;
        }
        p->item[kept++] = x;
    }
    p->n = kept;
}

void normalizer_form(bool compatible, bool composed, const char *s, size_t n, struct buf *out) {
    size_t plain = 0;
    while (plain < n && (unsigned char)s[plain] < 0x80) plain++;
    if (plain == n) {
        buf_add(out, s, n);
        return;
    }
    struct points p = { 0 };
    forms_decompose(compatible, s, n, &p);
    forms_order(&p);
    if (composed) compose(&p);
    for (size_t i = 0; i < p.n; i++) utf8_add(out, p.item[i].cp);
    free(p.item);
}
