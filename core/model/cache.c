#include "core/model/cache.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"

enum { FIRST_ROOM = 16 }; /* initial tokens per row */

/* Keys and values of one attention, rows × cols each. */
struct kv_pair {
    real *k, *v;
    size_t size; /* capacity of each, in reals */
};

/* A source with live rows. */
struct live {
    int source; /* its initial index */
    int rows;
    int slot[CACHE_BEAMS]; /* of each row: the slot of its tokens in the self store */
};

struct decode_cache {
    int layers, cols;
    int sources, beams, length;
    int room;              /* capacity of a slot in tokens */
    struct kv_pair *self;      /* layers: slots × room */
    struct kv_pair *cross;     /* layers: the source tokens */
    struct kv_pair spare;      /* destination of a layer when its slots grow */
    bool *crossed;         /* layers */
    int cross_tokens;
    int *source_start;     /* sources+1 */
    struct live *live;
    int lives, rows;
    /* attention descriptions, created by describe() */
    int *one;              /* 0 … rows: one query token per row */
    int *slot_start, *slot_length;
    int *cross_query, *cross_start, *cross_length;
    struct tape_rows self_query, self_keys, cross_queries, cross_keys;
    size_t live_room, example_room, source_room;
};

struct decode_cache *cache_new(const struct arch *a) {
    struct decode_cache *c = xcalloc(1, sizeof *c);
    c->layers = a->decoder_layers;
    c->cols = a->heads * a->head_width;
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
    free(c->one);
    free(c->slot_start);
    free(c->slot_length);
    free(c->cross_query);
    free(c->cross_start);
    free(c->cross_length);
    free(c);
}

int cache_length(const struct decode_cache *c) { return c->length; }
int cache_rows(const struct decode_cache *c) { return c->rows; }
int cache_sources(const struct decode_cache *c) { return c->lives; }
int cache_source(const struct decode_cache *c, int i) { return c->live[i].source; }
int cache_source_rows(const struct decode_cache *c, int i) { return c->live[i].rows; }

/* ---- live rows ---- */

static int cache_slots(const struct decode_cache *c) { return c->sources * c->beams; }

/* Sets up the rows of the attentions of the next step. */
static void cache_describe(struct decode_cache *c) {
    int row = 0;
    for (int i = 0; i < c->lives; i++) {
        const struct live *l = &c->live[i];
        c->cross_query[i] = row;
        c->cross_start[i] = c->source_start[l->source];
        c->cross_length[i] = c->source_start[l->source + 1] - c->source_start[l->source];
        for (int j = 0; j < l->rows; j++, row++) {
            c->one[row] = row;
            c->slot_start[row] = l->slot[j] * c->room;
            c->slot_length[row] = c->length + 1;
        }
    }
    c->cross_query[c->lives] = c->one[row] = row;
    c->rows = row;
    c->self_query = (struct tape_rows){ .count = row, .start = c->one };
    c->self_keys = (struct tape_rows){ .count = row, .start = c->slot_start };
    c->cross_queries = (struct tape_rows){ .count = c->lives, .start = c->cross_query };
    c->cross_keys = (struct tape_rows){ .count = c->lives, .start = c->cross_start };
}

void cache_begin(struct decode_cache *c, int sources, int beams) {
    BUG_IF(sources < 1 || beams < 1 || beams > (int)COUNT_OF(c->live->slot));
    size_t n = (size_t)sources, rows = n * (size_t)beams;
    if (n > c->source_room) {
        c->live = xrealloc(c->live, n, sizeof *c->live);
        c->source_start = xrealloc(c->source_start, n + 1, sizeof(int));
        c->cross_query = xrealloc(c->cross_query, n + 1, sizeof(int));
        c->cross_start = xrealloc(c->cross_start, n, sizeof(int));
        c->cross_length = xrealloc(c->cross_length, n, sizeof(int));
        c->source_room = n;
    }
    if (rows > c->example_room) {
        c->one = xrealloc(c->one, rows + 1, sizeof(int));
        c->slot_start = xrealloc(c->slot_start, rows, sizeof(int));
        c->slot_length = xrealloc(c->slot_length, rows, sizeof(int));
        c->example_room = rows;
    }
    c->sources = c->lives = sources;
    c->beams = beams;
    c->length = c->room = 0;
    memset(c->source_start, 0, (n + 1) * sizeof(int));
    memset(c->crossed, 0, (size_t)c->layers * sizeof *c->crossed);
    for (int i = 0; i < sources; i++)
        c->live[i] = (struct live){ .source = i, .rows = 1, .slot = { i * beams } };
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

/* Moves the live rows of a layer to slots of `room` tokens, in the spare pair of blocks. */
static void widen(struct decode_cache *c, int layer, size_t size, int room) {
    struct kv_pair *wide = &c->spare, *old = &c->self[layer], was = *old;
    take_room(wide, size);
    size_t cols = (size_t)c->cols, bytes = (size_t)c->length * cols * sizeof(real);
    for (int i = 0; bytes && i < c->lives; i++)
        for (int j = 0; j < c->live[i].rows; j++) {
            size_t slot = (size_t)c->live[i].slot[j];
            memcpy(wide->k + slot * (size_t)room * cols, old->k + slot * (size_t)c->room * cols, bytes);
            memcpy(wide->v + slot * (size_t)room * cols, old->v + slot * (size_t)c->room * cols, bytes);
        }
    *old = *wide;
    *wide = was;
}

void cache_room(struct decode_cache *c) {
    if (c->length < c->room) return;
    size_t size, have = c->layers ? c->self[0].size / (size_t)c->cols / (size_t)cache_slots(c) : 0;
    int room = c->room ? 2 * c->room : FIRST_ROOM;
    if (!c->room && have > (size_t)room && have < INT32_MAX) room = (int)have; /* from earlier texts */
    if (!mem_mul((size_t)cache_slots(c), (size_t)room, &size) || size > INT32_MAX ||
        !mem_mul(size, (size_t)c->cols, &size))
        mem_lack(SIZE_MAX);
    for (int layer = 0; layer < c->layers; layer++) {
        if (c->length) widen(c, layer, size, room);
        else take_room(&c->self[layer], size);
    }
    c->room = room;
    cache_describe(c);
}

/* ---- between steps ---- */

static void copy_slot(const struct decode_cache *c, int from, int to) {
    size_t slot = (size_t)c->room * (size_t)c->cols;
    size_t bytes = (size_t)c->length * (size_t)c->cols * sizeof(real);
    for (int i = 0; i < c->layers; i++) {
        const struct kv_pair *s = &c->self[i];
        memcpy(s->k + (size_t)to * slot, s->k + (size_t)from * slot, bytes);
        memcpy(s->v + (size_t)to * slot, s->v + (size_t)from * slot, bytes);
    }
}

/* The first child of a parent takes its slot; further children get copies in free slots. */
static void reorder(const struct decode_cache *c, struct live *l, int rows, const int *parent) {
    int slot[COUNT_OF(l->slot)], used = 0;
    bool taken[COUNT_OF(l->slot)] = { false };
    BUG_IF(rows > c->beams);
    for (int j = 0; j < rows; j++) {
        BUG_IF(parent[j] < 0 || parent[j] >= l->rows);
        int own = l->slot[parent[j]] - l->source * c->beams;
        slot[j] = taken[own] ? -1 : own;
        taken[own] = true;
    }
    for (int j = 0; j < rows; j++) {
        if (slot[j] >= 0) continue;
        while (taken[used]) used++;
        taken[used] = true;
        slot[j] = used;
        copy_slot(c, l->slot[parent[j]], l->source * c->beams + used);
    }
    l->rows = rows;
    for (int j = 0; j < rows; j++) l->slot[j] = l->source * c->beams + slot[j];
}

void cache_step(struct decode_cache *c, const int *rows, const int *parent) {
    int kept = 0;
    c->length++;
    for (int i = 0; i < c->lives; i++) {
        if (!rows[i]) continue;
        struct live l = c->live[i];
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
    size_t cols = (size_t)c->cols, bytes = cols * sizeof(real);
    BUG_IF(layer < 0 || layer >= c->layers || c->length >= c->room);
    BUG_IF(tape_rows_of(t, *k) != c->rows || tape_cols_of(t, *k) != c->cols);
    for (int i = 0; i < c->rows; i++) {
        size_t to = ((size_t)c->slot_start[i] + (size_t)c->length) * cols;
        memcpy(s->k + to, tape_value(t, *k) + (size_t)i * cols, bytes);
        memcpy(s->v + to, tape_value(t, *v) + (size_t)i * cols, bytes);
    }
    *k = tape_frozen(t, cache_slots(c) * c->room, c->cols, s->k);
    *v = tape_frozen(t, cache_slots(c) * c->room, c->cols, s->v);
    how->query_rows = &c->self_query;
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
