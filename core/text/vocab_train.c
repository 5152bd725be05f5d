#include "core/text/vocab_train.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/rng.h"
#include "core/base/text.h"
#include "core/text/bert.h"
#include "core/text/vocab.h"

enum { RARE_PART = 2000, NO_SIGN = -1 };

const char *const vocab_train_special[VOCAB_TRAIN_SPECIAL] = { "[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]" };

/* A word as its current signs. */
struct trained_word {
    uint64_t count;
    uint32_t first, length; /* of its signs, which only become fewer, in one block */
};

/* Two adjacent signs. */
struct pair {
    int32_t a, b;
    uint64_t count;
    uint32_t *word; /* words that contain it */
    size_t words, room;
    bool touched;   /* must be pushed to the heap again */
};

struct heap_entry {
    uint64_t count; /* its count when it was pushed */
    uint32_t pair;
};

struct vocab_trainer {
    struct vocab spelled;   /* indices of words */
    uint64_t *count;        /* of each */
    size_t room;
    uint64_t words;
    struct buf normal;

    /* State of training. */
    struct vocab sign;      /* tokens by index, with "##" for continuations */
    struct trained_word *word;
    size_t word_count;
    int32_t *signs;
    struct pair *pair;
    size_t pairs, pair_room;
    uint32_t *slot;         /* pair + 1; open addressing */
    size_t slots;
    struct heap_entry *heap;
    size_t heap_size, heap_room;
    uint32_t *touched;
    size_t touched_count, touched_room;
};

struct vocab_trainer *vocab_trainer_new(void) {
    struct vocab_trainer *t = xcalloc(1, sizeof *t);
    vocab_init(&t->spelled);
    vocab_init(&t->sign);
    return t;
}

void vocab_trainer_free(struct vocab_trainer *t) {
    if (!t) return;
    for (size_t i = 0; i < t->pairs; i++) free(t->pair[i].word);
    vocab_release(&t->spelled);
    vocab_release(&t->sign);
    buf_release(&t->normal);
    free(t->count);
    free(t->word);
    free(t->signs);
    free(t->pair);
    free(t->slot);
    free(t->heap);
    free(t->touched);
    free(t);
}

/* ---- words ---- */

static bool is_long(const char *s, size_t n) {
    size_t chars = 0;
    for (size_t i = 0; i < n; i++) chars += ((unsigned char)s[i] & 0xC0) != 0x80;
    return chars > VOCAB_TRAIN_WORD;
}

int vocab_trainer_add(struct vocab_trainer *t, const char *text, size_t n, struct err *e) {
    static const struct bert_normalizer how = { true, true, true, true };
    size_t at = 0, from, to;
    buf_clear(&t->normal);
    bert_normalize(&how, text, n, &t->normal);
    const char *s = buf_text(&t->normal);
    while (bert_next_word(s, t->normal.size, &at, &from, &to)) {
        if (is_long(s + from, to - from)) continue;
        int32_t id = vocab_find(&t->spelled, s + from, to - from);
        if (id < 0) {
            if (t->spelled.count >= VOCAB_IDS)
                return err_set(e, ERR_INPUT, "more than %d distinct words; use less text", VOCAB_IDS);
            id = (int32_t)t->spelled.count;
            GROW(t->count, t->room, (size_t)id + 1);
            t->count[id] = 0;
            int rc = vocab_add(&t->spelled, "text", s + from, to - from, id, e);
            if (rc) return rc;
        }
        t->count[id]++;
        t->words++;
    }
    return 0;
}

/* ---- signs ---- */

static const char *token_text(const struct vocab *v, int32_t id, size_t *size) {
    *size = v->token[id].size;
    return vocab_text(v, id);
}

/* Returns the index of a token, added if new. */
static int32_t vocab_token_of(struct vocab *v, const char *s, size_t n, struct err *e) {
    int32_t id = vocab_find(v, s, n);
    if (id >= 0) return id;
    id = (int32_t)v->count;
    return vocab_add(v, "text", s, n, id, e) ? NO_SIGN : id;
}

/* Returns the bytes of the character at s. */
static size_t char_size(const char *s, size_t n) {
    uint32_t cp;
    return utf8_decode(s, n, &cp);
}

/* Returns the sign of the character of a word at `at`, "##x" inside it. */
static size_t sign_text(const char *s, size_t n, size_t at, char out[8]) {
    size_t size = char_size(s + at, n - at), before = at ? 2 : 0;
    if (at) memcpy(out, "##", 2);
    memcpy(out + before, s + at, size);
    return before + size;
}

struct sign_count {
    int32_t id;
    uint64_t count;
    const char *text;
};

static int rarer_first(const void *a, const void *b) {
    const struct sign_count *x = a, *y = b;
    if (x->count != y->count) return x->count < y->count ? -1 : 1;
    return -strcmp(x->text, y->text);
}

static int by_text(const void *a, const void *b) {
    const struct sign_count *x = a, *y = b;
    return strcmp(x->text, y->text);
}

/* Returns all signs with their frequencies; caller frees. */
static struct sign_count *count_signs(const struct vocab_trainer *t, struct vocab *all, uint64_t *sum,
                                      struct err *e) {
    struct sign_count *list = NULL;
    size_t room = 0;
    *sum = 0;
    for (size_t w = 0; w < t->spelled.count; w++) {
        size_t n;
        const char *s = token_text(&t->spelled, (int32_t)w, &n);
        for (size_t at = 0; at < n; at += char_size(s + at, n - at)) {
            char text[8];
            size_t size = sign_text(s, n, at, text), before = all->count;
            int32_t id = vocab_token_of(all, text, size, e);
            if (id < 0) {
                free(list);
                return NULL;
            }
            GROW(list, room, all->count);
            if (all->count > before) list[id] = (struct sign_count){ .id = id };
            list[id].count += t->count[w];
            *sum += t->count[w];
        }
    }
    for (size_t i = 0; i < all->count; i++) list[i].text = vocab_text(all, list[i].id);
    return list;
}

/* Fills t->sign with the special tokens and the selected signs, in the order of their bytes; *rare is the
 * number of dropped ones. */
static int take_signs(struct vocab_trainer *t, int size, size_t *rare, struct err *e) {
    struct vocab all;
    uint64_t sum, left = 0;
    vocab_init(&all);
    struct sign_count *list = count_signs(t, &all, &sum, e);
    int rc = list ? 0 : e->code;
    size_t n = all.count;
    *rare = 0;
    if (!rc) qsort(list, n, sizeof *list, rarer_first);
    while (!rc && *rare < n && (left + list[*rare].count) * RARE_PART < sum) left += list[(*rare)++].count;
    if (!rc && n - *rare + VOCAB_TRAIN_SPECIAL > (size_t)size)
        rc = err_set(e, ERR_USAGE,
                     "--vocab %d: too small for the %zu symbols of the text and the %d special tokens; use "
                     "at least %zu",
                     size, n - *rare, VOCAB_TRAIN_SPECIAL, n - *rare + VOCAB_TRAIN_SPECIAL);
    if (!rc) qsort(list + *rare, n - *rare, sizeof *list, by_text);
    for (int i = 0; !rc && i < VOCAB_TRAIN_SPECIAL; i++)
        rc = vocab_token_of(&t->sign, vocab_train_special[i], strlen(vocab_train_special[i]), e) < 0 ? e->code
                                                                                                     : 0;
    for (size_t i = *rare; !rc && i < n; i++)
        rc = vocab_token_of(&t->sign, list[i].text, strlen(list[i].text), e) < 0 ? e->code : 0;
    free(list);
    vocab_release(&all);
    return rc;
}

/* Splits every word into its signs; a word with a dropped sign is ignored. */
static void cut_words(struct vocab_trainer *t) {
    size_t at = 0, room = 0;
    t->word = xcalloc(t->spelled.count + 1, sizeof *t->word);
    for (size_t w = 0; w < t->spelled.count; w++) {
        size_t n, first = at;
        const char *s = token_text(&t->spelled, (int32_t)w, &n);
        bool known = true;
        for (size_t i = 0; known && i < n; i += char_size(s + i, n - i)) {
            char text[8];
            int32_t id = vocab_find(&t->sign, text, sign_text(s, n, i, text));
            known = id >= 0;
            GROW(t->signs, room, at + 1);
            t->signs[at++] = id;
        }
        if (known)
            t->word[t->word_count++] = (struct trained_word){ t->count[w], (uint32_t)first,
                                                              (uint32_t)(at - first) };
        else at = first;
    }
}

/* ---- pairs ---- */

static size_t slot_of(const struct vocab_trainer *t, int32_t a, int32_t b) {
    uint64_t key = (uint64_t)(uint32_t)a << 32 | (uint32_t)b;
    size_t at = rng_bits(rng_key(0, RNG_DRAW, 0, 0), key) & (t->slots - 1);
    while (t->slot[at] && (t->pair[t->slot[at] - 1].a != a || t->pair[t->slot[at] - 1].b != b))
        at = (at + 1) & (t->slots - 1);
    return at;
}

static struct pair *vocab_pair_of(struct vocab_trainer *t, int32_t a, int32_t b) {
    if (2 * (t->pairs + 1) > t->slots) {
        t->slots = t->slots ? 2 * t->slots : 1 << 12;
        free(t->slot);
        t->slot = xcalloc(t->slots, sizeof *t->slot);
        for (size_t i = 0; i < t->pairs; i++)
            t->slot[slot_of(t, t->pair[i].a, t->pair[i].b)] = (uint32_t)i + 1;
    }
    size_t at = slot_of(t, a, b);
    if (!t->slot[at]) {
        GROW(t->pair, t->pair_room, t->pairs + 1);
        t->pair[t->pairs] = (struct pair){ .a = a, .b = b };
        t->slot[at] = (uint32_t)++t->pairs;
    }
    return &t->pair[t->slot[at] - 1];
}

/* Returns the text of the merged token of a pair. */
static size_t vocab_pair_text(const struct vocab_trainer *t, const struct pair *p, char *out) {
    size_t a, b;
    const char *first = token_text(&t->sign, p->a, &a), *second = token_text(&t->sign, p->b, &b);
    memcpy(out, first, a);
    memcpy(out + a, second + 2, b - 2); /* a continuation, which has a "##" prefix */
    out[a + b - 2] = 0;
    return a + b - 2;
}

enum { TOKEN_ROOM = 4 * VOCAB_TRAIN_WORD + 8 };

/* Returns whether x is merged before y. */
static bool goes_before(const struct vocab_trainer *t, const struct heap_entry *x,
                        const struct heap_entry *y) {
    char a[TOKEN_ROOM], b[TOKEN_ROOM];
    if (x->count != y->count) return x->count > y->count;
    if (x->pair == y->pair) return false;
    vocab_pair_text(t, &t->pair[x->pair], a);
    vocab_pair_text(t, &t->pair[y->pair], b);
    int order = strcmp(a, b);
    if (order) return order < 0;
    return t->pair[x->pair].a < t->pair[y->pair].a; /* equal tokens from different halves */
}

static void heap_add(struct vocab_trainer *t, uint32_t pair) {
    GROW(t->heap, t->heap_room, t->heap_size + 1);
    size_t at = t->heap_size++;
    t->heap[at] = (struct heap_entry){ t->pair[pair].count, pair };
    while (at && goes_before(t, &t->heap[at], &t->heap[(at - 1) / 2])) {
        struct heap_entry x = t->heap[at];
        t->heap[at] = t->heap[(at - 1) / 2];
        t->heap[at = (at - 1) / 2] = x;
    }
}

static struct heap_entry heap_take(struct vocab_trainer *t) {
    struct heap_entry top = t->heap[0];
    t->heap[0] = t->heap[--t->heap_size];
    for (size_t at = 0, down; (down = 2 * at + 1) < t->heap_size; at = down) {
        if (down + 1 < t->heap_size && goes_before(t, &t->heap[down + 1], &t->heap[down])) down++;
        if (!goes_before(t, &t->heap[down], &t->heap[at])) break;
        struct heap_entry x = t->heap[at];
        t->heap[at] = t->heap[down];
        t->heap[down] = x;
    }
    return top;
}

/* Counts the pairs of a word; those with the token `fresh` (-1: all) record it. */
static void count_in(struct vocab_trainer *t, uint32_t w, int32_t fresh) {
    const struct trained_word *x = &t->word[w];
    const int32_t *s = t->signs + x->first;
    for (uint32_t i = 0; i + 1 < x->length; i++) {
        struct pair *p = vocab_pair_of(t, s[i], s[i + 1]);
        p->count += x->count;
        if (fresh >= 0 && p->a != fresh && p->b != fresh) continue;
        GROW(p->word, p->room, p->words + 1);
        p->word[p->words++] = w;
        if (p->touched) continue;
        p->touched = true;
        GROW(t->touched, t->touched_room, t->touched_count + 1);
        t->touched[t->touched_count++] = (uint32_t)(p - t->pair);
    }
}

static void count_out(struct vocab_trainer *t, uint32_t w) {
    const struct trained_word *x = &t->word[w];
    const int32_t *s = t->signs + x->first;
    for (uint32_t i = 0; i + 1 < x->length; i++) vocab_pair_of(t, s[i], s[i + 1])->count -= x->count;
}

static bool has_pair(const struct vocab_trainer *t, uint32_t w, int32_t a, int32_t b) {
    const int32_t *s = t->signs + t->word[w].first;
    for (uint32_t i = 0; i + 1 < t->word[w].length; i++)
        if (s[i] == a && s[i + 1] == b) return true;
    return false;
}

static void heap_touched(struct vocab_trainer *t) {
    for (size_t i = 0; i < t->touched_count; i++) {
        t->pair[t->touched[i]].touched = false;
        heap_add(t, t->touched[i]);
    }
    t->touched_count = 0;
}

/* Merges a pair everywhere. */
static void vocab_join(struct vocab_trainer *t, uint32_t which, int32_t token) {
    int32_t a = t->pair[which].a, b = t->pair[which].b;
    uint32_t *word = t->pair[which].word;
    size_t words = t->pair[which].words;
    t->pair[which].word = NULL;
    t->pair[which].words = t->pair[which].room = 0;
    for (size_t i = 0; i < words; i++) {
        uint32_t w = word[i], to = 0;
        struct trained_word *x = &t->word[w];
        int32_t *s = t->signs + x->first;
        if (!has_pair(t, w, a, b)) continue; /* handled before, or no longer present */
        count_out(t, w);
        for (uint32_t from = 0; from < x->length; to++) {
            bool both = from + 1 < x->length && s[from] == a && s[from + 1] == b;
            s[to] = both ? token : s[from];
            from += both ? 2 : 1;
        }
        x->length = to;
        count_in(t, w, token);
    }
    free(word);
    heap_touched(t);
}

int vocab_trainer_run(struct vocab_trainer *t, int size, struct buf *out, struct buf *report, struct err *e) {
    size_t rare;
    if (!t->words) return err_set(e, ERR_INPUT, "the text contains no words");
    int rc = take_signs(t, size, &rare, e);
    if (rc) return rc;
    size_t signs = t->sign.count - VOCAB_TRAIN_SPECIAL;
    cut_words(t);
    for (size_t w = 0; w < t->word_count; w++) count_in(t, (uint32_t)w, -1);
    heap_touched(t);
    while (!rc && t->sign.count < (size_t)size && t->heap_size) {
        struct heap_entry top = heap_take(t);
        const struct pair *p = &t->pair[top.pair];
        char text[TOKEN_ROOM];
        if (p->count < 2) continue;
        if (p->count != top.count) { /* its count has decreased since */
            heap_add(t, top.pair);
            continue;
        }
        int32_t token = vocab_token_of(&t->sign, text, vocab_pair_text(t, p, text), e);
        if (token < 0) rc = e->code;
        else vocab_join(t, top.pair, token);
    }
    for (size_t i = 0; !rc && i < t->sign.count; i++)
        buf_printf(out, "%s\n", vocab_text(&t->sign, (int32_t)i));
    text_line(report,
              "vocabulary: %zu tokens (%zu symbols; %zu rare symbols dropped) from %llu words (%zu distinct)",
              t->sign.count, signs, rare, (unsigned long long)t->words, t->spelled.count);
    return rc;
}
