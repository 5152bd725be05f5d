#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/data/import.h"

static uint64_t repeats_mix(uint64_t h, uint64_t v, uint64_t by) {
    unsigned __int128 p = (unsigned __int128)(h ^ v) * by;
    return (uint64_t)p ^ (uint64_t)(p >> 64);
}

static void digest_add(struct digest *x, const char *s, size_t n) {
    /* the length is included, so that "a" "bc" and "ab" "c" differ */
    for (size_t left = n, first = 1; first || left; first = 0) {
        uint64_t v = 0;
        if (first) v = n;
        else {
            size_t part = left < 8 ? left : 8;
            memcpy(&v, s, part);
            s += part;
            left -= part;
        }
        x->a = repeats_mix(x->a, v, 0x9FB21C651E98DF25u) + 0x9E3779B97F4A7C15u;
        x->b = repeats_mix(x->b, v, 0xC2B2AE3D27D4EB4Fu) + 0x165667B19E3779F9u;
    }
}

/* Lower case, each run of blanks as one space, none at the ends. */
static void folded(const char *s, size_t n, struct buf *out) {
    bool gap = false;
    buf_clear(out);
    while (n) {
        unsigned char c = (unsigned char)*s;
        if (c < 0x80) {
            s++;
            n--;
            if (c == ' ' || (c >= 9 && c <= 13)) {
                gap = out->size > 0;
                continue;
            }
            if (gap) buf_putc(out, ' ');
            gap = false;
            buf_putc(out, (char)(c >= 'A' && c <= 'Z' ? c + 32 : c));
            continue;
        }
        uint32_t cp;
        size_t used = utf8_decode(s, n, &cp);
        s += used;
        n -= used;
        if (utf8proc_category((utf8proc_int32_t)cp) == UTF8PROC_CATEGORY_ZS) {
            gap = out->size > 0;
            continue;
        }
        if (gap) buf_putc(out, ' ');
        gap = false;
        char bytes[4];
        buf_add(out, bytes, utf8_encode((uint32_t)utf8proc_tolower((utf8proc_int32_t)cp), bytes));
    }
}

static void digests(struct dataset *d, size_t i, struct buf *scratch) {
    const struct example *r = &d->example[i];
    struct digest exact = { 1, 2 }, near = { 1, 2 };
    const char *text[2] = { r->a, r->b };
    size_t size[2] = { r->a_size, r->b_size };
    for (int k = 0; k < (d->pair ? 2 : 1); k++) {
        digest_add(&exact, text[k], size[k]);
        folded(text[k], size[k], scratch);
        digest_add(&near, buf_text(scratch), scratch->size);
    }
    d->memory->exact[i] = exact;
    d->memory->folded[i] = near;
}

/* A hash table of digests with their first example. */
struct seen {
    const struct digest *of;
    uint32_t *slot; /* index + 1, or 0 */
    size_t slots;
};

static void seen_init(struct seen *t, const struct digest *of, size_t n) {
    t->of = of;
    t->slots = 16;
    while (t->slots < 2 * n) t->slots *= 2;
    t->slot = xcalloc(t->slots, sizeof *t->slot);
}

static uint32_t *seen_find(const struct seen *t, const struct digest *x) {
    for (size_t s = x->a & (t->slots - 1);; s = (s + 1) & (t->slots - 1)) {
        uint32_t row = t->slot[s];
        if (!row || (t->of[row - 1].a == x->a && t->of[row - 1].b == x->b)) return &t->slot[s];
    }
}

static bool same_label(const struct example *a, const struct example *b) {
    return a->label == b->label && a->target == b->target && a->target_size == b->target_size &&
           (!a->target_size || !memcmp(a->target_text, b->target_text, a->target_size));
}

void repeats_digest(struct dataset *d) {
    struct dataset_memory *m = d->memory;
    struct buf scratch = BUF_INIT;
    m->exact = xmalloc((d->examples + 1) * sizeof *m->exact);
    m->folded = xmalloc((d->examples + 1) * sizeof *m->folded);
    for (size_t i = 0; i < d->examples; i++) digests(d, i, &scratch);
    buf_release(&scratch);
}

void repeats_count(struct dataset *d) {
    struct dataset_memory *m = d->memory;
    struct seen exact, near;
    d->report.same = d->report.near = d->report.same_other_label = 0;
    d->report.repeat_at.examples = d->report.other_label_at.examples = 0;
    seen_init(&exact, m->exact, d->examples);
    seen_init(&near, m->folded, d->examples);
    for (size_t i = 0; i < d->examples; i++) {
        uint32_t *first = seen_find(&exact, &m->exact[i]), *like = seen_find(&near, &m->folded[i]);
        if (*first) {
            const struct example *was = &d->example[*first - 1], *is = &d->example[i];
            d->report.same++;
            report_line(&d->report.repeat_at, is->line);
            if (was->labeled && is->labeled && !same_label(was, is)) {
                d->report.same_other_label++;
                report_line(&d->report.other_label_at, is->line);
            }
        } else if (*like) {
            d->report.near++;
            report_line(&d->report.repeat_at, d->example[i].line);
        }
        if (!*first) *first = (uint32_t)i + 1;
        if (!*like) *like = (uint32_t)i + 1;
    }
    free(exact.slot);
    free(near.slot);
}

void dataset_compare(struct dataset *d, const struct dataset *other) {
    struct seen exact, near;
    seen_init(&exact, other->memory->exact, other->examples);
    seen_init(&near, other->memory->folded, other->examples);
    for (size_t i = 0; i < other->examples; i++) {
        *seen_find(&exact, &other->memory->exact[i]) = (uint32_t)i + 1;
        *seen_find(&near, &other->memory->folded[i]) = (uint32_t)i + 1;
    }
    free(d->report.across);
    d->report.across = xstrdup(other->path);
    d->report.across_same = d->report.across_near = 0;
    d->report.across_at.examples = 0;
    for (size_t i = 0; i < d->examples; i++) {
        bool same = *seen_find(&exact, &d->memory->exact[i]) != 0;
        bool like = !same && *seen_find(&near, &d->memory->folded[i]) != 0;
        d->report.across_same += same;
        d->report.across_near += like;
        if (same || like) report_line(&d->report.across_at, d->example[i].line);
    }
    free(exact.slot);
    free(near.slot);
}
