#include "core/text/unigram.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/text.h"

#define UNKNOWN_PENALTY 10.0

/* ---- the trie ---- */

struct trie_spelling {
    const char *s;
    uint32_t size;
    int32_t id;
};

static int unigram_by_bytes(const void *a, const void *b) {
    const struct trie_spelling *x = a, *y = b;
    int c = memcmp(x->s, y->s, x->size < y->size ? x->size : y->size);
    return c ? c : x->size < y->size ? -1 : x->size > y->size;
}

/* During construction, `child` of a node is the start of its spellings, which end at or before the start of
 * those of the next node of the same depth: `end` stores that. */
struct growth {
    struct unigram *u;
    const struct trie_spelling *spelling;
    uint32_t *end;
    size_t room, end_room;
};

static bool add_node(struct growth *g, size_t from, size_t to, unsigned char byte) {
    if (g->u->nodes == UNIGRAM_NODES) return false;
    GROW(g->u->node, g->room, g->u->nodes + 1);
    GROW(g->end, g->end_room, g->u->nodes + 1);
    g->u->node[g->u->nodes] = (struct unigram_node){ (uint32_t)from, -1, 0, byte };
    g->end[g->u->nodes++] = (uint32_t)to;
    return true;
}

/* Creates the children of a node at `depth`; its spellings share all bytes before it. */
static bool branch(struct growth *g, size_t at, size_t depth) {
    size_t from = g->u->node[at].child, to = g->end[at];
    if (from < to && g->spelling[from].size == depth) g->u->node[at].id = g->spelling[from++].id;
    g->u->node[at].child = (uint32_t)g->u->nodes;
    while (from < to) {
        size_t next = from;
        char byte = g->spelling[from].s[depth];
        while (next < to && g->spelling[next].s[depth] == byte) next++;
        if (!add_node(g, from, next, (unsigned char)byte)) return false;
        g->u->node[at].children++;
        from = next;
    }
    return true;
}

static bool unigram_build(struct unigram *u, const struct trie_spelling *spelling, size_t count) {
    struct growth g = { .u = u, .spelling = spelling };
    bool fits = add_node(&g, 0, count, 0);
    size_t depth = 0, level = 1; /* nodes before `level` are at `depth` or above */
    for (size_t at = 0; fits && at < u->nodes; at++) {
        if (at == level) {
            depth++;
            level = u->nodes;
        }
        fits = branch(&g, at, depth);
    }
    free(g.end);
    return fits;
}

int unigram_ready(struct unigram *u, const struct vocab *v, const char *path, double *score,
                  struct err *e) {
    u->score = score;
    u->tokens = v->ids;
    double least = INFINITY;
    struct trie_spelling *spelling = xmalloc((v->ids ? v->ids : 1) * sizeof *spelling);
    size_t count = 0;
    for (size_t i = 0; i < v->ids; i++) {
        if (score[i] < least) least = score[i];
        if (v->token[i].size)
            spelling[count++] = (struct trie_spelling){ vocab_text(v, (int32_t)i), v->token[i].size,
                                                  (int32_t)i };
    }
    u->unknown_score = least - UNKNOWN_PENALTY;
    if (count) qsort(spelling, count, sizeof *spelling, unigram_by_bytes);
    bool fits = unigram_build(u, spelling, count);
    free(spelling);
    if (!fits)
        return err_set(e, ERR_INPUT, "%s: the tokens have more than %d distinct prefixes",
                       path, UNIGRAM_NODES);
    for (int i = 0; i < 256; i++) u->root[i] = u->byte[i] = -1;
    for (size_t i = 0; i < u->node[0].children; i++)
        u->root[u->node[u->node[0].child + i].byte] = (int32_t)(u->node[0].child + i);
    for (unsigned byte = 0; byte < 256; byte++) {
        char text[8];
        snprintf(text, sizeof text, "<0x%02X>", byte);
        u->byte[byte] = vocab_find(v, text, 6);
    }
    return 0;
}

void unigram_release(struct unigram *u) {
    free(u->node);
    free(u->score);
    memset(u, 0, sizeof *u);
}

static int32_t child(const struct unigram *u, int32_t at, unsigned char byte) {
    if (!at) return u->root[byte];
    size_t low = u->node[at].child, high = low + u->node[at].children, end = high;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (u->node[middle].byte < byte) low = middle + 1;
        else high = middle;
    }
    return low < end && u->node[low].byte == byte ? (int32_t)low : -1;
}

/* ---- a piece ---- */

void unigram_work_release(struct unigram_work *w) {
    free(w->best);
    free(w->ids);
    memset(w, 0, sizeof *w);
}

static void reach(struct unigram_best *to, double score, size_t from, int32_t id) {
    if (to->from >= 0 && !(score > to->score)) return;
    *to = (struct unigram_best){ score, (int32_t)from, id };
}

/* Kudo 2018, section 3.2: the best path to every position, from left to right. */
static void forward(const struct unigram *u, const char *s, size_t n, struct unigram_best *best) {
    for (size_t i = 0; i <= n; i++) best[i] = (struct unigram_best){ 0, -1, -1 };
    for (size_t at = 0, used; at < n; at += used) {
        uint32_t cp;
        bool covered = false;
        int32_t node = 0;
        used = utf8_decode(s + at, n - at, &cp);
        for (size_t end = at; end < n;) {
            node = child(u, node, (unsigned char)s[end++]);
            if (node < 0) break;
            int32_t id = u->node[node].id;
            if (id < 0) continue;
            reach(&best[end], u->score[id] + best[at].score, at, id);
            if (end == at + used) covered = true;
        }
        if (!covered) reach(&best[at + used], u->unknown_score + best[at].score, at, u->unknown);
    }
}

static void unigram_add(struct unigram_work *w, int32_t id) {
    GROW(w->ids, w->id_room, w->count + 1);
    w->ids[w->count++] = id;
}

/* Ids of a run of unknown characters, last first; returns how many remain unknown. */
static size_t unknown_run(const struct unigram *u, const struct vocab *v, const char *s, size_t n,
                          struct unigram_work *w) {
    int32_t id = vocab_find(v, s, n);
    bool bytes = u->byte_fallback;
    if (id >= 0 && (size_t)id < u->tokens) {
        unigram_add(w, id);
        return id == u->unknown;
    }
    for (size_t i = 0; bytes && i < n; i++) bytes = u->byte[(unsigned char)s[i]] >= 0;
    if (!bytes) {
        unigram_add(w, u->unknown);
        return 1;
    }
    while (n--) unigram_add(w, u->byte[(unsigned char)s[n]]);
    return 0;
}

size_t unigram_piece(const struct unigram *u, const struct vocab *v, const char *s, size_t n,
                     struct unigram_work *w) {
    size_t unknown = 0, end = n;
    w->count = 0;
    GROW(w->best, w->best_room, n + 1);
    forward(u, s, n, w->best);
    while (end) {
        size_t from = (size_t)w->best[end].from;
        if (w->best[end].id != u->unknown) {
            unigram_add(w, w->best[end].id);
        } else {
            while (from && w->best[from].id == u->unknown) from = (size_t)w->best[from].from;
            unknown += unknown_run(u, v, s + from, end - from, w);
        }
        end = from;
    }
    for (size_t i = 0; i < w->count / 2; i++) {
        int32_t swap = w->ids[i];
        w->ids[i] = w->ids[w->count - 1 - i];
        w->ids[w->count - 1 - i] = swap;
    }
    return unknown;
}
