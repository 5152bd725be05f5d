#include "core/text/bpe.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/text.h"

/* ---- merges ---- */

void bpe_init(struct bpe *b, size_t merges) {
    b->places = 16;
    while (b->places < 2 * merges) b->places *= 2;
    b->merge = xmalloc(b->places * sizeof *b->merge);
    for (size_t i = 0; i < b->places; i++) b->merge[i].left = -1;
    b->prefix = xstrdup("");
    b->suffix = xstrdup("");
    b->unknown = -1;
}

void bpe_release(struct bpe *b) {
    free(b->merge);
    free(b->prefix);
    free(b->suffix);
    memset(b, 0, sizeof *b);
}

/* Returns the slot of a pair, or the free slot where it belongs. */
static struct bpe_merge *bpe_place(const struct bpe *b, int32_t left, int32_t right) {
    uint64_t h = ((uint64_t)(uint32_t)left << 32 | (uint32_t)right) * (b->point | 1);
    h = (h ^ h >> 32) * 0x9E3779B97F4A7C15u;
    for (size_t i = (size_t)(h >> 24) & (b->places - 1);; i = (i + 1) & (b->places - 1)) {
        struct bpe_merge *m = &b->merge[i];
        if (m->left < 0 || (m->left == left && m->right == right)) return m;
    }
}

static int bpe_not_there(const char *where, const char *what, const char *s, size_t n, struct err *e) {
    char *shown = text_visible(s, n > 80 ? 80 : n);
    err_set(e, ERR_INPUT, "%s: the %s \"%s\" is not in the vocabulary; it must contain both tokens of a "
                          "merge and the merged token", where, what, shown);
    free(shown);
    return e->code;
}

static int32_t token(const struct vocab *v, const char *s, size_t n) {
    int32_t id = vocab_find(v, s, n);
    return id >= 0 && !v->token[id].added ? id : -1;
}

int bpe_add(struct bpe *b, const struct vocab *v, const char *where, const char *left,
            size_t left_size, const char *right, size_t right_size, struct err *e) {
    int32_t l = token(v, left, left_size), r = token(v, right, right_size);
    if (l < 0) return bpe_not_there(where, "left token", left, left_size, e);
    if (r < 0) return bpe_not_there(where, "right token", right, right_size, e);
    size_t prefix = strlen(b->prefix);
    if (prefix > right_size) prefix = right_size;
    char *whole = xmalloc(left_size + right_size - prefix + 1);
    memcpy(whole, left, left_size);
    memcpy(whole + left_size, right + prefix, right_size - prefix);
    int32_t id = token(v, whole, left_size + right_size - prefix);
    if (id < 0) bpe_not_there(where, "merged token", whole, left_size + right_size - prefix, e);
    free(whole);
    if (id < 0) return e->code;
    /* the later of two entries for a pair wins, as in the reference */
    *bpe_place(b, l, r) = (struct bpe_merge){ l, r, (int32_t)b->count++, id };
    return 0;
}

void bpe_ready(struct bpe *b, const struct vocab *v) {
    char text[8];
    for (uint32_t cp = 0; cp < BYTES_SIGNS; cp++)
        b->single[cp] = token(v, text, utf8_encode(cp, text));
    for (unsigned byte = 0; byte < 256; byte++) {
        snprintf(text, sizeof text, "<0x%02X>", byte);
        b->byte[byte] = token(v, text, 6);
    }
}

/* ---- a word ---- */

void bpe_work_release(struct bpe_work *w) {
    free(w->symbol);
    free(w->heap);
    memset(w, 0, sizeof *w);
}

static void add_symbol(struct bpe_work *w, int32_t id) {
    GROW(w->symbol, w->symbol_room, w->symbols + 1);
    int32_t i = (int32_t)w->symbols++;
    w->symbol[i] = (struct bpe_symbol){ id, i - 1, -1, false };
    if (i) w->symbol[i - 1].next = i;
}

static int32_t character(const struct bpe *b, const struct vocab *v, const char *s, size_t n,
                         uint32_t cp, bool first, bool last) {
    const char *prefix = first ? "" : b->prefix, *suffix = last ? b->suffix : "";
    if (!*prefix && !*suffix) return cp < BYTES_SIGNS ? b->single[cp] : token(v, s, n);
    char *text = xprintf("%s%.*s%s", prefix, (int)n, s, suffix);
    int32_t id = token(v, text, strlen(text));
    free(text);
    return id;
}

static bool fall_back(const struct bpe *b, const char *s, size_t n, struct bpe_work *w) {
    if (!b->byte_fallback) return false;
    for (size_t i = 0; i < n; i++)
        if (b->byte[(unsigned char)s[i]] < 0) return false;
    for (size_t i = 0; i < n; i++) add_symbol(w, b->byte[(unsigned char)s[i]]);
    return true;
}

/* The characters of the word; an unknown one is delayed until the next known one, as in the reference, so
 * that its byte-fallback tokens come first. */
static size_t characters(const struct bpe *b, const struct vocab *v, const char *s, size_t n,
                         struct bpe_work *w) {
    size_t unknown = 0;
    bool waits = false;
    for (size_t at = 0, used; at < n; at += used) {
        uint32_t cp;
        used = utf8_decode(s + at, n - at, &cp);
        int32_t id = character(b, v, s + at, used, cp, !at, at + used == n);
        if (id >= 0) {
            if (waits) add_symbol(w, b->unknown);
            waits = false;
            add_symbol(w, id);
        } else if (!fall_back(b, s + at, used, w) && b->unknown >= 0) {
            if (waits && !b->fuse_unknown) add_symbol(w, b->unknown);
            unknown += !waits || !b->fuse_unknown;
            waits = true;
        }
    }
    if (waits) add_symbol(w, b->unknown);
    return unknown;
}

static bool bpe_before(const struct bpe_next *x, const struct bpe_next *y) {
    return x->rank != y->rank ? x->rank < y->rank : x->at < y->at;
}

static void bpe_push(const struct bpe *b, struct bpe_work *w, int32_t at) {
    if (at < 0 || w->symbol[at].next < 0) return;
    const struct bpe_merge *m = bpe_place(b, w->symbol[at].id, w->symbol[w->symbol[at].next].id);
    if (m->left < 0) return;
    GROW(w->heap, w->heap_room, w->heap_size + 1);
    struct bpe_next next = { m->rank, at, m->whole };
    size_t i = w->heap_size++;
    while (i && bpe_before(&next, &w->heap[(i - 1) / 2])) {
        w->heap[i] = w->heap[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    w->heap[i] = next;
}

static struct bpe_next bpe_pop(struct bpe_work *w) {
    struct bpe_next top = w->heap[0], last = w->heap[--w->heap_size];
    size_t i = 0, child;
    while ((child = 2 * i + 1) < w->heap_size) {
        if (child + 1 < w->heap_size && bpe_before(&w->heap[child + 1], &w->heap[child])) child++;
        if (!bpe_before(&w->heap[child], &last)) break;
        w->heap[i] = w->heap[child];
        i = child;
    }
    w->heap[i] = last;
    return top;
}

/* A queued position may refer to a pair that no longer exists.  It counts if the current pair produces the
 * same token, as in the reference. */
static void text_bpe_merge(const struct bpe *b, struct bpe_work *w, const struct bpe_next *next) {
    struct bpe_symbol *here = &w->symbol[next->at];
    if (here->gone || here->next < 0) return;
    struct bpe_symbol *right = &w->symbol[here->next];
    const struct bpe_merge *m = bpe_place(b, here->id, right->id);
    if (m->left < 0 || m->whole != next->whole) return;
    here->id = m->whole;
    here->next = right->next;
    right->gone = true;
    if (right->next >= 0) w->symbol[right->next].prev = next->at;
    bpe_push(b, w, here->prev);
    bpe_push(b, w, next->at);
}

size_t bpe_word(const struct bpe *b, const struct vocab *v, const char *s, size_t n,
                struct bpe_work *w) {
    w->symbols = w->heap_size = 0;
    if (b->ignore_merges) {
        int32_t id = token(v, s, n);
        if (id >= 0) {
            add_symbol(w, id);
            return 0;
        }
    }
    size_t unknown = characters(b, v, s, n, w), kept = 0;
    for (size_t i = 0; i + 1 < w->symbols; i++) bpe_push(b, w, (int32_t)i);
    while (w->heap_size) {
        struct bpe_next next = bpe_pop(w);
        text_bpe_merge(b, w, &next);
    }
    for (size_t i = 0; i < w->symbols; i++)
        if (!w->symbol[i].gone) w->symbol[kept++].id = w->symbol[i].id;
    w->symbols = kept;
    return unknown;
}
