#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/text/parts.h"
#include "core/text/unicode.h"

void added_add(struct added_set *a, const struct added_token *t) {
    GROW(a->token, a->room, a->count + 1);
    a->token[a->count++] = *t;
}

static int added_by_bytes(const void *x, const void *y) {
    const struct added_token *a = x, *b = y;
    int c = memcmp(a->text, b->text, a->size < b->size ? a->size : b->size);
    if (c) return c;
    if (a->size != b->size) return a->size < b->size ? -1 : 1;
    return a->id < b->id ? -1 : a->id > b->id;
}

void added_sort(struct added_set *a) {
    if (a->count) qsort(a->token, a->count, sizeof *a->token, added_by_bytes);
    for (size_t i = 0; i < a->count; i++) a->first[(unsigned char)a->token[i].text[0]] = true;
}

void added_release(struct added_set *a) {
    for (size_t i = 0; i < a->count; i++) free(a->token[i].text);
    free(a->token);
    memset(a, 0, sizeof *a);
}

/* Returns the first token of [low, high) whose byte at `depth` is at least `byte`; all of them share the
 * bytes before it, and those that end there come first. */
static size_t bound(const struct added_set *a, size_t low, size_t high, size_t depth, int byte) {
    while (low < high) {
        size_t middle = (low + high) / 2;
        const struct added_token *t = &a->token[middle];
        int here = t->size > depth ? (unsigned char)t->text[depth] : -1;
        if (here < byte) low = middle + 1;
        else high = middle;
    }
    return low;
}

bool added_is_off(const struct added_off *off, int32_t id, bool special) {
    if (!off) return false;
    for (size_t i = 0; !special && i < off->n; i++) special = off->id[i] == id;
    return special;
}

static const struct added_token *longest_at(const struct added_set *a, struct added_off *off, const char *s,
                                            size_t n) {
    const struct added_token *best = NULL;
    size_t low = 0, high = a->count;
    for (size_t depth = 0; depth < n; depth++) {
        int byte = (unsigned char)s[depth];
        low = bound(a, low, high, depth, byte);
        high = bound(a, low, high, depth, byte + 1);
        if (low == high) break;
        if (a->token[low].size != depth + 1) continue;
        if (added_is_off(off, a->token[low].id, a->token[low].special)) off->found++;
        else best = &a->token[low];
    }
    return best;
}

static bool added_word_before(const char *s, size_t at) {
    if (!at) return false;
    size_t i = at - 1;
    while (i && at - i < 4 && ((unsigned char)s[i] & 0xC0) == 0x80) i--;
    uint32_t cp;
    return utf8_decode(s + i, at - i, &cp) == at - i && unicode_is_word(cp);
}

static bool word_after(const char *s, size_t n, size_t at) {
    uint32_t cp;
    if (at >= n) return false;
    utf8_decode(s + at, n - at, &cp);
    return unicode_is_word(cp);
}

static size_t blanks_before(const char *s, size_t at, size_t floor) {
    while (at > floor) {
        size_t i = at - 1;
        while (i > floor && at - i < 4 && ((unsigned char)s[i] & 0xC0) == 0x80) i--;
        uint32_t cp;
        if (utf8_decode(s + i, at - i, &cp) != at - i || !unicode_is_space(cp)) break;
        at = i;
    }
    return at;
}

static size_t blanks_after(const char *s, size_t n, size_t at) {
    while (at < n) {
        uint32_t cp;
        size_t used = utf8_decode(s + at, n - at, &cp);
        if (!unicode_is_space(cp)) break;
        at += used;
    }
    return at;
}

bool added_next(const struct added_set *a, struct added_off *off, const char *s, size_t n, size_t at,
                size_t floor, size_t *from, size_t *to, const struct added_token **token) {
    while (at < n) {
        const struct added_token *t = NULL;
        if (a->first[(unsigned char)s[at]]) t = longest_at(a, off, s + at, n - at);
        if (!t) {
            at++;
            continue;
        }
        size_t end = at + t->size;
        if (t->single_word && (added_word_before(s, at) || word_after(s, n, end))) {
            at = end;
            continue;
        }
        *from = t->lstrip ? blanks_before(s, at, floor) : at;
        *to = t->rstrip ? blanks_after(s, n, end) : end;
        *token = t;
        return true;
    }
    return false;
}
