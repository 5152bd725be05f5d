#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/text/parts.h"

void id_list_add(struct id_list *l, int32_t id) {
    GROW(l->ids, l->room, l->n + 1);
    l->ids[l->n++] = id;
}

static bool more_chars_than(const char *s, size_t n, size_t most) {
    size_t chars = 0;
    for (size_t i = 0; i < n; i++)
        if (((unsigned char)s[i] & 0xC0) != 0x80 && ++chars > most) return true;
    return false;
}

/* Finds the longest token at the start of s (after the prefix, when `continuing`): returns its id, with its
 * bytes of s in *size; or -1. */
static int32_t wordpiece_longest(const struct wordpiece *w, const struct vocab *v, bool continuing,
                                 const char *s, size_t n, size_t *size) {
    enum { ENDS = 512 };
    struct {
        uint64_t hash;
        size_t end;
    } end[ENDS];
    size_t prefix = continuing ? w->prefix_size : 0, ends = 0;
    uint64_t h = 0;
    for (size_t i = 0; i < prefix; i++) h = vocab_hash_add(v, h, (unsigned char)w->prefix[i]);
    for (size_t i = 0; i < n && prefix + i < v->longest && ends < ENDS; i++) {
        h = vocab_hash_add(v, h, (unsigned char)s[i]);
        bool boundary = i + 1 == n || ((unsigned char)s[i + 1] & 0xC0) != 0x80;
        if (boundary) {
            end[ends].hash = h;
            end[ends++].end = i + 1;
        }
    }
    while (ends--) {
        int32_t id = vocab_find_hashed(v, end[ends].hash, w->prefix, prefix, s, end[ends].end);
        if (id >= 0 && !v->token[id].added) {
            *size = end[ends].end;
            return id;
        }
    }
    return -1;
}

size_t wordpiece_word(const struct wordpiece *w, const struct vocab *v, const char *s, size_t n,
                      struct id_list *out) {
    size_t before = out->n, at = 0;
    bool bad = more_chars_than(s, n, w->most_chars);
    while (!bad && at < n) {
        size_t size = 0;
        int32_t id = wordpiece_longest(w, v, at > 0, s + at, n - at, &size);
        if (id < 0) bad = true;
        else id_list_add(out, id);
        at += size;
    }
    if (!bad) return 0;
    out->n = before;
    id_list_add(out, w->unknown);
    return 1;
}
