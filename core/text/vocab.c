#include "core/text/vocab.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "core/base/mem.h"
#include "core/base/text.h"

#define PRIME (((uint64_t)1 << 61) - 1)

void vocab_init(struct vocab *v) {
    memset(v, 0, sizeof *v);
    /* affects only positions in the table, never a result */
    if (getrandom(&v->point, sizeof v->point, GRND_NONBLOCK) != sizeof v->point)
        v->point = (uint64_t)time(NULL) * 0x9E3779B97F4A7C15u ^ (uintptr_t)v;
    v->point = v->point % (PRIME - 1024) + 512;
}

void vocab_release(struct vocab *v) {
    free(v->token);
    free(v->slot);
    buf_release(&v->text);
    memset(v, 0, sizeof *v);
}

uint64_t vocab_hash_add(const struct vocab *v, uint64_t h, unsigned char byte) {
    unsigned __int128 product = (unsigned __int128)h * v->point + byte + 1;
    uint64_t folded = (uint64_t)(product & PRIME) + (uint64_t)(product >> 61);
    return folded >= PRIME ? folded - PRIME : folded;
}

static uint64_t vocab_hash_of(const struct vocab *v, const char *s, size_t n) {
    uint64_t h = 0;
    for (size_t i = 0; i < n; i++) h = vocab_hash_add(v, h, (unsigned char)s[i]);
    return h;
}

static size_t vocab_slot_of(const struct vocab *v, uint64_t h) {
    return (size_t)((h ^ h >> 29) * 0x9E3779B97F4A7C15u >> 20) & (v->slots - 1);
}

int32_t vocab_find_hashed(const struct vocab *v, uint64_t h, const char *prefix, size_t prefix_size,
                          const char *rest, size_t rest_size) {
    if (!v->slots) return -1;
    for (size_t s = vocab_slot_of(v, h);; s = (s + 1) & (v->slots - 1)) {
        int32_t id = v->slot[s];
        if (id < 0) return -1;
        const struct vocab_token *t = &v->token[id];
        const char *text = v->text.data + t->at;
        if (t->size == prefix_size + rest_size && !memcmp(text, prefix, prefix_size) &&
            !memcmp(text + prefix_size, rest, rest_size))
            return id;
    }
}

int32_t vocab_find(const struct vocab *v, const char *token, size_t n) {
    return vocab_find_hashed(v, vocab_hash_of(v, token, n), "", 0, token, n);
}

static void vocab_place(struct vocab *v, int32_t id) {
    const struct vocab_token *t = &v->token[id];
    size_t s = vocab_slot_of(v, vocab_hash_of(v, v->text.data + t->at, t->size));
    while (v->slot[s] >= 0) s = (s + 1) & (v->slots - 1);
    v->slot[s] = id;
}

static void grow_slots(struct vocab *v) {
    if (2 * (v->count + 1) <= v->slots) return;
    v->slots = v->slots ? 2 * v->slots : 1024;
    v->slot = xrealloc(v->slot, v->slots, sizeof *v->slot);
    memset(v->slot, 0xFF, v->slots * sizeof *v->slot);
    for (size_t i = 0; i < v->ids; i++)
        if (v->token[i].used) vocab_place(v, (int32_t)i);
}

static int vocab_refuse(const char *file, const char *token, size_t n, struct err *e, const char *why,
                        long long id) {
    char *shown = text_visible(token, n > 80 ? 80 : n);
    err_set(e, ERR_INPUT, "%s: token \"%s\" with id %lld: %s", file, shown, id, why);
    free(shown);
    return ERR_INPUT;
}

int vocab_add(struct vocab *v, const char *file, const char *token, size_t n, int64_t id,
              struct err *e) {
    if (id < 0 || id >= VOCAB_IDS)
        return vocab_refuse(file, token, n, e, "ids must be between 0 and 4194303", id);
    if (n >= VOCAB_TOKEN) return vocab_refuse(file, token, n, e, "longer than 65535 bytes", id);
    if ((size_t)id < v->ids && v->token[id].used) {
        char *other = text_visible(vocab_text(v, (int32_t)id), v->token[id].size);
        char *why = xprintf("the id already belongs to \"%.80s\"", other);
        vocab_refuse(file, token, n, e, why, id);
        free(why);
        free(other);
        return ERR_INPUT;
    }
    if (vocab_find(v, token, n) >= 0)
        return vocab_refuse(file, token, n, e, "the token already has an id", id);
    if ((size_t)id >= v->ids) {
        GROW(v->token, v->room, (size_t)id + 1);
        memset(v->token + v->ids, 0, ((size_t)id + 1 - v->ids) * sizeof *v->token);
        v->ids = (size_t)id + 1;
    }
    grow_slots(v);
    v->token[id] = (struct vocab_token){ .at = v->text.size, .size = (uint32_t)n, .used = true };
    buf_add(&v->text, token, n);
    buf_putc(&v->text, '\0');
    v->count++;
    if (n > v->longest) v->longest = n;
    vocab_place(v, (int32_t)id);
    return 0;
}

const char *vocab_text(const struct vocab *v, int32_t id) {
    return id >= 0 && (size_t)id < v->ids && v->token[id].used ? v->text.data + v->token[id].at
                                                               : NULL;
}
