#include "core/train/meta/masking.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/model/joined.h"

struct masking {
    int32_t mask;
    int32_t tokens;  /* number of ids */
    bool *drawn;     /* by id: may be masked, and replace another token */
    bool *goes_on;   /* by id: continues the previous word; NULL: each token is a word */
    int32_t *other;  /* ids that may be sampled */
    size_t others;
};

/* Percentages. */
enum { MASKED = 15, BECOME_MASK = 80, BECOME_OTHER = 10 };

/* Returns whether petri supports a masked language modeling head on a model of this architecture. */
static bool masking_fits(const struct arch *a) { return a->family == FAMILY_BERT; }

int32_t masking_token(const struct tokenizer *t) { return t ? tokenizer_id(t, "[MASK]") : -1; }

struct masking *masking_new(const struct model *m, bool whole, struct err *e) {
    int32_t mask = masking_token(m->tokenizer), n = m->arch.vocabulary;
    if (!masking_fits(&m->arch)) {
        err_set(e, ERR_USAGE, "--form masked: not supported for %s (%s); use a BERT model", m->name,
                family_name(m->arch.family));
        return NULL;
    }
    if (mask < 0 || mask >= n) {
        err_set(e, ERR_USAGE, "--form masked: %s: the tokenizer has no [MASK] token", m->folder);
        return NULL;
    }
    struct masking *k = xcalloc(1, sizeof *k);
    k->mask = mask;
    k->tokens = tokenizer_size(m->tokenizer) < n ? tokenizer_size(m->tokenizer) : n;
    k->drawn = xcalloc((size_t)k->tokens + 1, sizeof *k->drawn);
    k->goes_on = whole ? xcalloc((size_t)k->tokens + 1, sizeof *k->goes_on) : NULL;
    k->other = xcalloc((size_t)k->tokens + 1, sizeof *k->other);
    for (int32_t i = 0; i < k->tokens; i++) {
        k->drawn[i] = tokenizer_is_word(m->tokenizer, i);
        if (whole) k->goes_on[i] = k->drawn[i] && text_starts(tokenizer_token(m->tokenizer, i), "##");
        if (k->drawn[i]) k->other[k->others++] = i;
    }
    return k;
}

void masking_free(struct masking *k) {
    if (!k) return;
    free(k->drawn);
    free(k->goes_on);
    free(k->other);
    free(k);
}

/* ---- sampling ---- */

/* Tokens that are masked together. */
struct mask_word {
    uint64_t lot; /* those with the lowest values are masked */
    uint32_t first, tokens;
};

static int by_lot(const void *a, const void *b) {
    const struct mask_word *x = a, *y = b;
    if (x->lot != y->lot) return x->lot < y->lot ? -1 : 1;
    return x->first < y->first ? -1 : 1;
}

static int masking_by_place(const void *a, const void *b) {
    const struct masked *x = a, *y = b;
    return x->at < y->at ? -1 : 1;
}

/* Three random numbers per token: priority of its word, kind of replacement, replacing token. */
enum { LOT, KIND, OTHER, LOTS };

static int32_t becomes(const struct masking *k, struct rng_key key, uint32_t at, int32_t id) {
    uint64_t kind = rng_below(key, (uint64_t)at * LOTS + KIND, 100);
    if (kind < BECOME_MASK) return k->mask;
    if (kind >= BECOME_MASK + BECOME_OTHER) return id;
    return k->other[rng_below(key, (uint64_t)at * LOTS + OTHER, k->others)];
}

static bool is_drawn(const struct masking *k, int32_t id) {
    return id >= 0 && id < k->tokens && k->drawn[id];
}

size_t masking_draw(const struct masking *k, struct rng_key key, const int32_t *ids, size_t n,
                    struct masked *out) {
    struct mask_word *word = xmalloc((n + 1) * sizeof *word);
    size_t words = 0, tokens = 0, masks = 0;
    for (size_t i = 0; i < n; i++) {
        if (!is_drawn(k, ids[i])) continue;
        tokens++;
        bool more = words && k->goes_on && k->goes_on[ids[i]] &&
                    word[words - 1].first + word[words - 1].tokens == i;
        if (more) word[words - 1].tokens++;
        else word[words++] = (struct mask_word){ rng_bits(key, i * LOTS + LOT), (uint32_t)i, 1 };
    }
    size_t most = (tokens * MASKED + 50) / 100;
    if (!most) most = 1;
    qsort(word, words, sizeof *word, by_lot);
    for (size_t w = 0; w < words && masks < most; w++) {
        if (masks && masks + word[w].tokens > most) continue; /* the next one may be smaller */
        for (uint32_t i = 0; i < word[w].tokens; i++) {
            uint32_t at = word[w].first + i;
            out[masks++] = (struct masked){ at, becomes(k, key, at, ids[at]) };
        }
    }
    free(word);
    qsort(out, masks, sizeof *out, masking_by_place);
    return masks;
}

struct rng_key masking_key(uint64_t seed, uint64_t step, uint64_t row_id) {
    return rng_key(seed, RNG_MASK, step, row_id + 1);
}

/* ---- a batch ---- */

void masking_apply(const struct masking *k, struct arena *memory, struct batch *b, uint64_t seed,
                   uint64_t step, double all) {
    size_t room = (size_t)b->tokens;
    struct masked *drawn = arena_keep(memory, (room + 1) * sizeof *drawn);
    b->masks = 0;
    b->mask_row = arena_keep(memory, (room + 1) * sizeof *b->mask_row);
    b->mask_at = arena_keep(memory, (room + 1) * sizeof *b->mask_at);
    b->mask_id = arena_keep(memory, (room + 1) * sizeof *b->mask_id);
    b->mask_weight = arena_keep(memory, (room + 1) * sizeof *b->mask_weight);
    for (int r = 0; r < b->examples; r++) {
        int32_t *ids = b->ids + b->start[r];
        size_t n = masking_draw(k, masking_key(seed, step, b->example_id[r]), ids,
                                (size_t)(b->start[r + 1] - b->start[r]), drawn);
        for (size_t i = 0; i < n; i++, b->masks++) {
            b->mask_row[b->masks] = r;
            b->mask_at[b->masks] = (int32_t)drawn[i].at;
            b->mask_id[b->masks] = ids[drawn[i].at];
            b->mask_weight[b->masks] = (real)(1 / all);
        }
        for (size_t i = 0; i < n; i++) ids[drawn[i].at] = drawn[i].put;
    }
}

node masking_rows(struct forward *f, node encoded) {
    const struct batch *b = f->batch;
    int32_t *at = tape_keep(f->tape, ((size_t)b->masks + 1) * sizeof *at);
    for (int i = 0; i < b->masks; i++) at[i] = joined_token(f, b->mask_row[i], b->mask_at[i]);
    const struct embed_table all = { encoded, at, 0 };
    tape_site(f->tape, "masked words");
    return op_embed_sum(f->tape, b->masks, &all, 1);
}
