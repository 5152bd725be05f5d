#include "core/model/cache.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"

enum { FIRST_ROOM = 16 }; /* initial tokens per row beyond the first step */

/* Keys and values of one attention, rows × cols each. */
struct kv_pair {
    real *k, *v;
    size_t size; /* capacity of each, in reals */
};

/* A source with live rows, each of which has a slot of the self store. */
struct live {
    int source;       /* its initial index */
    int rows;
    int length;       /* stored tokens of each row */
    int adding;       /* those of the current step */
    int first, room;  /* slot j is the tokens first + j·room … first + (j+1)·room - 1 of the store */
    int slot[CACHE_BEAMS];
};

struct decode_cache {
    int layers, cols;
    int sources, beams;
    int spare_room;        /* room of a slot beyond the tokens for which it was reserved */
    int tokens;            /* of the self store */
    struct kv_pair *self;  /* layers */
    struct kv_pair *cross; /* layers: the source tokens */
    struct kv_pair spare;  /* destination of a layer when its slots grow */
    bool *crossed;         /* layers */
    int *source_start;     /* sources+1 */
    struct live *live, *wide; /* wide: the next slots of live, while they grow */
    int lives, rows;
    /* attention descriptions, created by cache_describe() */
    int *slot_start, *slot_length;
    int *cross_query, *cross_start, *cross_length;
    struct tape_rows self_keys, cross_queries, cross_keys;
    size_t example_room, source_room;
};

struct decode_cache *cache_new(const struct arch *a) {
    struct decode_cache *c = xcalloc(1, sizeof *c);
    c->layers = a->causal ? a->encoder_layers : a->decoder_layers;
    c->cols = arch_key_width(a);
    c->self = xcalloc((size_t)c->layers + 1, sizeof *c->self);
    c->cross = xcalloc((size_t)c->layers + 1, sizeof *c->cross);
    c->crossed = xcalloc((size_t)c->layers + 1, sizeof *c->crossed);
    return c;
}

void cache_free(struct decode_cache *c) {
    if (!c) return;
    for (int i = 0; i < c->layers; i++) {
        free(c->self[i].k), free(c->self[i].v);
        free(c->cross[i].k), free(c->cross[i].v);
    }
    free(c->spare.k), free(c->spare.v);
    free(c->self);
    free(c->cross);
    free(c->crossed);
    free(c->source_start);
    free(c->live);
    free(c->wide);
    free(c->slot_start);
    free(c->slot_length);
    free(c->cross_query);
    free(c->cross_start);
    free(c->cross_length);
    free(c);
}

int cache_rows(const struct decode_cache *c) { return c->rows; }
int cache_sources(const struct decode_cache *c) { return c->lives; }
int cache_source(const struct decode_cache *c, int i) { return c->live[i].source; }
int cache_source_rows(const struct decode_cache *c, int i) { return c->live[i].rows; }
int cache_length(const struct decode_cache *c, int i) { return c->live[i].length; }

/* ---- live rows ---- */

/* Sets up the rows of the attentions of the step. */
static void cache_describe(struct decode_cache *c) {
    int row = 0;
    for (int i = 0; i < c->lives; i++) {
        const struct live *l = &c->live[i];
        c->cross_query[i] = row;
        c->cross_start[i] = c->source_start[l->source];
        c->cross_length[i] = c->source_start[l->source + 1] - c->source_start[l->source];
        for (int j = 0; j < l->rows; j++, row++) {
            c->slot_start[row] = l->first + l->slot[j] * l->room;
            c->slot_length[row] = l->length + l->adding;
        }
    }
    c->cross_query[c->lives] = row;
    c->rows = row;
    c->self_keys = (struct tape_rows){ .count = row, .start = c->slot_start };
    c->cross_queries = (struct tape_rows){ .count = c->lives, .start = c->cross_query };
    c->cross_keys = (struct tape_rows){ .count = c->lives, .start = c->cross_start };
}

void cache_begin(struct decode_cache *c, int sources, int beams) {
    BUG_IF(sources < 1 || beams < 1 || beams > (int)COUNT_OF(c->live->slot));
    size_t n = (size_t)sources, rows = n * (size_t)beams;
    if (n > c->source_room) {
        c->live = xrealloc(c->live, n, sizeof *c->live);
        c->wide = xrealloc(c->wide, n, sizeof *c->wide);
        c->source_start = xrealloc(c->source_start, n + 1, sizeof(int));
        c->cross_query = xrealloc(c->cross_query, n + 1, sizeof(int));
        c->cross_start = xrealloc(c->cross_start, n, sizeof(int));
        c->cross_length = xrealloc(c->cross_length, n, sizeof(int));
        c->source_room = n;
    }
    if (rows > c->example_room) {
        c->slot_start = xrealloc(c->slot_start, rows, sizeof(int));
        c->slot_length = xrealloc(c->slot_length, rows, sizeof(int));
        c->example_room = rows;
    }
    c->sources = c->lives = sources;
    c->beams = beams;
    c->tokens = 0;
    c->spare_room = FIRST_ROOM;
    memset(c->source_start, 0, (n + 1) * sizeof(int));
    memset(c->crossed, 0, (size_t)c->layers * sizeof *c->crossed);
    for (int i = 0; i < sources; i++)
        c->live[i] = (struct live){ .source = i, .rows = 1 };
    cache_describe(c);
}

void cache_keep(struct decode_cache *c, int length) {
    struct live *l = &c->live[0];
    BUG_IF(c->sources != 1 || c->beams != 1 || !c->tokens || length > l->room);
    *l = (struct live){ .rows = 1, .length = length, .first = l->first, .room = l->room };
    c->lives = 1;
    cache_describe(c);
}

/* ---- memory ---- */

/* Allocates at least `size` reals in each of k and v; the contents are lost. */
static void take_room(struct kv_pair *s, size_t size) {
    if (size <= s->size) return;
    free(s->k);
    free(s->v);
    s->k = mem_try(size, sizeof *s->k);
    s->v = mem_try(size, sizeof *s->v);
    s->size = s->k && s->v ? size : 0;
    if (!s->size) mem_lack(size * sizeof *s->k);
}

/* Moves the live rows of a layer to their slots in `wide`, in the spare pair of blocks. */
static void widen(struct decode_cache *c, int layer, size_t size, const struct live *wide) {
    struct kv_pair *to = &c->spare, *from = &c->self[layer], was = *from;
    take_room(to, size);
    size_t cols = (size_t)c->cols;
    for (int i = 0; i < c->lives; i++) {
        const struct live *l = &c->live[i], *w = &wide[i];
        for (int j = 0; l->length && j < l->rows; j++) {
            size_t old = (size_t)(l->first + l->slot[j] * l->room) * cols;
            size_t new = (size_t)(w->first + l->slot[j] * w->room) * cols;
            memcpy(to->k + new, from->k + old, (size_t)l->length * cols * sizeof(real));
            memcpy(to->v + new, from->v + old, (size_t)l->length * cols * sizeof(real));
        }
    }
    *from = *to;
    *to = was;
}

/* Places the slots of the live sources, `spare` tokens beyond those of the step; returns the number of tokens.
 */
static size_t place_slots(const struct decode_cache *c, struct live *live, int spare) {
    size_t tokens = 0;
    for (int i = 0; i < c->lives; i++) {
        struct live *l = &live[i];
        l->first = (int)tokens;
        l->room = l->length + l->adding + spare;
        tokens += (size_t)c->beams * (size_t)l->room;
        if (tokens > INT32_MAX) mem_lack(SIZE_MAX);
    }
    return tokens;
}

static void cache_grow(struct decode_cache *c) {
    size_t size, n = (size_t)c->lives, slots = n * (size_t)c->beams;
    struct live *wide = c->wide;
    memcpy(wide, c->live, n * sizeof *wide);
    size_t have = c->layers && !c->tokens ? c->self[0].size / (size_t)c->cols : 0; /* from earlier texts */
    size_t tokens = place_slots(c, wide, c->spare_room);
    if (have > tokens && have <= INT32_MAX) {
        tokens = place_slots(c, wide, c->spare_room + (int)((have - tokens) / slots));
    }
    if (!mem_mul(tokens, (size_t)c->cols, &size)) mem_lack(SIZE_MAX);
    for (int layer = 0; layer < c->layers; layer++) {
        if (c->tokens) widen(c, layer, size, wide);
        else take_room(&c->self[layer], size);
    }
    memcpy(c->live, wide, n * sizeof *wide);
    c->tokens = (int)tokens;
    if (c->spare_room < INT32_MAX / 2) c->spare_room *= 2;
}

void cache_open(struct decode_cache *c, const struct tape_rows *tokens) {
    bool fits = c->tokens > 0;
    int row = 0;
    BUG_IF(tokens->count != c->rows);
    for (int i = 0; i < c->lives; i++) {
        struct live *l = &c->live[i];
        l->adding = tokens->start[row + 1] - tokens->start[row];
        fits &= l->length + l->adding <= l->room;
        row += l->rows;
    }
    if (!fits) cache_grow(c);
    cache_describe(c);
}

/* ---- between steps ---- */

static void copy_slot(const struct decode_cache *c, const struct live *l, int from, int to) {
    size_t cols = (size_t)c->cols, bytes = (size_t)l->length * cols * sizeof(real);
    size_t old = (size_t)(l->first + from * l->room) * cols, new = (size_t)(l->first + to * l->room) * cols;
    for (int i = 0; i < c->layers; i++) {
        const struct kv_pair *s = &c->self[i];
        memcpy(s->k + new, s->k + old, bytes);
        memcpy(s->v + new, s->v + old, bytes);
    }
}

/* The first child of a parent takes its slot; further children get copies in free slots. */
static void reorder(const struct decode_cache *c, struct live *l, int rows, const int *parent) {
    int slot[COUNT_OF(l->slot)], used = 0;
    bool taken[COUNT_OF(l->slot)] = { false };
    BUG_IF(rows > c->beams);
    for (int j = 0; j < rows; j++) {
        BUG_IF(parent[j] < 0 || parent[j] >= l->rows);
        int own = l->slot[parent[j]];
        slot[j] = taken[own] ? -1 : own;
        taken[own] = true;
    }
    for (int j = 0; j < rows; j++) {
        if (slot[j] >= 0) continue;
        while (taken[used]) used++;
        taken[used] = true;
        slot[j] = used;
        copy_slot(c, l, l->slot[parent[j]], used);
    }
    l->rows = rows;
    for (int j = 0; j < rows; j++) l->slot[j] = slot[j];
}

void cache_step(struct decode_cache *c, const int *rows, const int *parent) {
    int kept = 0;
    for (int i = 0; i < c->lives; i++) {
        if (!rows[i]) continue;
        struct live l = c->live[i];
        l.length += l.adding;
        l.adding = 0;
        reorder(c, &l, rows[i], parent);
        parent += rows[i];
        c->live[kept++] = l;
    }
    c->lives = kept;
    cache_describe(c);
}

/* ---- attention ---- */

void cache_self(struct decode_cache *c, struct tape *t, int layer, node *k, node *v,
                struct attention *how) {
    const struct kv_pair *s = &c->self[layer];
    size_t cols = (size_t)c->cols;
    int row = 0;
    BUG_IF(layer < 0 || layer >= c->layers || how->query_rows->count != c->rows);
    BUG_IF(tape_rows_of(t, *k) != how->query_rows->start[c->rows] || tape_cols_of(t, *k) != c->cols);
    for (int i = 0; i < c->lives; i++) {
        const struct live *l = &c->live[i];
        size_t count = (size_t)l->adding * cols;
        for (int j = 0; j < l->rows; j++, row++) {
            size_t to = (size_t)(c->slot_start[row] + l->length) * cols;
            size_t from = (size_t)how->query_rows->start[row] * cols;
            memcpy(s->k + to, tape_value(t, *k) + from, count * sizeof(real));
            memcpy(s->v + to, tape_value(t, *v) + from, count * sizeof(real));
        }
    }
    *k = tape_frozen(t, c->tokens, c->cols, s->k);
    *v = tape_frozen(t, c->tokens, c->cols, s->v);
    how->key_rows = &c->self_keys;
    how->key_length = c->slot_length;
}

bool cache_has_cross(const struct decode_cache *c, int layer) { return c->crossed[layer]; }

/* Copies k and v, because their memory on the tape is reused. */
static void store_cross(struct decode_cache *c, const struct tape *t, int layer,
                        const struct tape_rows *sources, node k, node v) {
    struct kv_pair *s = &c->cross[layer];
    size_t size = (size_t)tape_rows_of(t, k) * (size_t)c->cols;
    BUG_IF(sources->count != c->sources || tape_cols_of(t, k) != c->cols);
    take_room(s, size);
    memcpy(s->k, tape_value(t, k), size * sizeof *s->k);
    memcpy(s->v, tape_value(t, v), size * sizeof *s->v);
    memcpy(c->source_start, sources->start, ((size_t)c->sources + 1) * sizeof(int));
    c->crossed[layer] = true;
    cache_describe(c);
}

void cache_cross(struct decode_cache *c, struct tape *t, int layer, const struct tape_rows *sources,
                 node *k, node *v, struct attention *how) {
    BUG_IF(layer < 0 || layer >= c->layers || c->crossed[layer] != (*k == NODE_NONE));
    if (*k != NODE_NONE) store_cross(c, t, layer, sources, *k, *v);
    *k = tape_frozen(t, c->source_start[c->sources], c->cols, c->cross[layer].k);
    *v = tape_frozen(t, c->source_start[c->sources], c->cols, c->cross[layer].v);
    how->query_rows = &c->cross_queries;
    how->key_rows = &c->cross_keys;
    how->key_length = c->cross_length;
}
