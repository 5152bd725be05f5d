#include "core/train/meta/corpus.h"

#include <libstemmer.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

#include "core/base/file.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/text/unicode.h"
#include "core/train/config/option.h"

enum {
    CORPUS_BYTES = 1 << 30,
    WORD_LETTERS = 3,  /* minimum length of a word */
    WORD_BYTES = 64,
    PARTS_HELD = 5,    /* one of that many is held out */
    TOO_COMMON = 10,   /* words in more than a tenth of the sentences are skipped */
    MOST_WAYS = 64,
    TRIES = 50,
};

/* An occurrence of a word. */
struct place {
    uint32_t sentence, at, bytes;
};

struct word {
    char *text;
    uint32_t stem;         /* number */
    uint32_t first, count; /* number of its occurrences: one per sentence; only in sentences of its own
                            * episodes */
    bool held;
    int cluster;
};

struct corpus {
    struct corpus_how how;
    const struct tokenizer *tokenizer;
    const char *mask;
    struct buf text;
    size_t sentences, sentence_room;
    uint32_t *start, *size;  /* size of each in bytes */
    struct word *word;       /* candidates: those of training first */
    size_t words[2], stems[2]; /* training, held-out */
    struct place *place;
    double *weight;          /* running sums, separately for training and held-out words */
    char *report;
};

/* ---- options ---- */

static int parse_ways(const char *text, void *value, struct err *e) {
    struct corpus_ways *ways = value;
    int64_t a, b;
    char *copy = xstrdup(text), *dash = strchr(copy, '-');
    if (dash) *dash = 0;
    bool good = text_to_int(copy, &a) && text_to_int(dash ? dash + 1 : copy, &b) && a >= 2 && b >= a &&
                b <= MOST_WAYS;
    free(copy);
    if (!good)
        return err_set(e, ERR_USAGE,
                       "--ways %s: must be a number of words per episode or a range, for example 3 or 2-5, "
                       "from 2 to %d", text,
                       MOST_WAYS);
    ways->least = (int)a;
    ways->most = (int)b;
    return 0;
}
const struct option_parser ways_parser = { offsetof(struct corpus_ways, text), parse_ways };

static int parse_words(const char *text, void *value, struct err *e) {
    struct corpus_words *how = value;
    int clusters, end = 0;
    if (!strcmp(text, "uniform")) how->rule = CORPUS_UNIFORM;
    else if (!strcmp(text, "frequency")) how->rule = CORPUS_FREQUENCY;
    else if (sscanf(text, "clusters(%d)%n", &clusters, &end) == 1 && !text[end] && clusters >= 2 &&
             clusters <= 1000) {
        how->rule = CORPUS_CLUSTERS;
        how->clusters = clusters;
    } else
        return err_set(e, ERR_USAGE,
                       "--words %s: must be uniform, frequency or clusters(K) with K from 2 to 1000", text);
    return 0;
}
const struct option_parser words_parser = { offsetof(struct corpus_words, text), parse_words };

/* ---- reading ---- */

/* Words by text, while the corpus is read. */
struct spellings {
    uint32_t *slot; /* number + 1, or 0 */
    size_t slots;
    struct spelling {
        char *text;
        uint32_t count, last; /* number of sentences with it; index of the last of these + 1 */
        uint32_t stem, kept;  /* its index among the candidates + 1 */
    } *entry;
    size_t count, room;
};

static uint32_t corpus_find(struct spellings *t, const char *text) {
    if (2 * t->count >= t->slots) {
        size_t slots = t->slots ? 2 * t->slots : 4096;
        free(t->slot);
        t->slot = xcalloc(slots, sizeof *t->slot);
        t->slots = slots;
        for (size_t i = 0; i < t->count; i++) {
            size_t at = rng_site(t->entry[i].text) & (slots - 1);
            while (t->slot[at]) at = (at + 1) & (slots - 1);
            t->slot[at] = (uint32_t)i + 1;
        }
    }
    size_t at = rng_site(text) & (t->slots - 1);
    for (; t->slot[at]; at = (at + 1) & (t->slots - 1))
        if (!strcmp(t->entry[t->slot[at] - 1].text, text)) return t->slot[at] - 1;
    GROW(t->entry, t->room, t->count + 1);
    t->entry[t->count] = (struct spelling){ .text = xstrdup(text) };
    t->slot[at] = (uint32_t)++t->count;
    return (uint32_t)t->count - 1;
}

static void spellings_release(struct spellings *t) {
    for (size_t i = 0; i < t->count; i++) free(t->entry[i].text);
    free(t->entry);
    free(t->slot);
}

/* Reads the next word of a sentence from *at, in lower case; returns false at its end. */
static bool next_word(const char *s, size_t n, size_t *at, size_t *begin, char out[WORD_BYTES]) {
    size_t i = *at, bytes = 0, letters = 0;
    uint32_t cp;
    while (i < n) {
        size_t step = utf8_decode(s + i, n - i, &cp);
        bool letter = unicode_is_letter(cp);
        if (letter && !letters) *begin = i;
        if (letter && bytes + 4 < WORD_BYTES) {
            bytes += utf8_encode((uint32_t)utf8proc_tolower((utf8proc_int32_t)cp), out + bytes);
            letters++;
        } else if (letters >= WORD_LETTERS && !letter) break;
        else if (!letter) bytes = letters = 0;
        i += step;
    }
    out[bytes] = 0;
    *at = i;
    return letters >= WORD_LETTERS;
}

static bool is_held(uint64_t number) {
    return rng_bits(rng_key(0, RNG_DRAW, 0, rng_site("corpus")), number) % PARTS_HELD == 0;
}

static bool entry_held(const struct spelling *x) { return is_held(x->stem + (1ull << 40)); }

static int cut_sentences(struct corpus *c, const char *path, struct err *e) {
    size_t line = 0;
    for (size_t at = 0; at < c->text.size;) {
        const char *s = c->text.data + at, *end = memchr(s, '\n', c->text.size - at);
        size_t n = end ? (size_t)(end - s) : c->text.size - at;
        line++;
        at += n + (end != NULL);
        if (n && s[n - 1] == '\r') n--;
        if (!utf8_valid(s, n)) return err_set(e, ERR_INPUT, "%s: line %zu: not valid UTF-8", path, line);
        if (!n) continue;
        if (c->sentences == UINT32_MAX - 1) return err_set(e, ERR_INPUT, "%s: too many lines", path);
        if (c->sentences + 1 > c->sentence_room) {
            c->sentence_room = c->sentence_room ? 2 * c->sentence_room : 1024;
            c->start = xrealloc(c->start, c->sentence_room, sizeof *c->start);
            c->size = xrealloc(c->size, c->sentence_room, sizeof *c->size);
        }
        c->start[c->sentences] = (uint32_t)(s - c->text.data);
        c->size[c->sentences++] = (uint32_t)n;
    }
    return 0;
}

/* Iterates over the distinct words of a sentence that are near enough to its start to be among its tokens. */
#define EACH_WORD(c, t, i, number, begin, end)                                                               \
    size_t end = 0, begin = 0, seen_ = 0;                                                                    \
    char spelt_[WORD_BYTES];                                                                                 \
    uint32_t number;                                                                                         \
    while (seen_++ < (size_t)(c)->how.max_len / 2 &&                                                         \
           next_word((c)->text.data + (c)->start[i], (c)->size[i], &end, &begin, spelt_))                    \
        if (number = corpus_find(t, spelt_),                                                                 \
            (t)->entry[number].last != (uint32_t)i + 1 && ((t)->entry[number].last = (uint32_t)i + 1))

/* Counts the sentences of each word: held-out ones, or the others. */
static void count_words(struct corpus *c, struct spellings *t) {
    struct spellings stems = { 0 };
    struct sb_stemmer *stemmer = sb_stemmer_new("english", "UTF_8");
    BUG_IF(!stemmer);
    for (size_t i = 0; i < c->sentences; i++) {
        EACH_WORD(c, t, i, w, begin, end) {
            struct spelling *x = &t->entry[w];
            if (!x->stem) {
                const sb_symbol *s = sb_stemmer_stem(stemmer, (const sb_symbol *)x->text,
                                                     (int)strlen(x->text));
                x->stem = corpus_find(&stems, (const char *)s) + 1;
            }
            x->count += entry_held(x) == is_held(i);
        }
    }
    for (size_t i = 0; i < t->count; i++) t->entry[i].last = 0;
    sb_stemmer_delete(stemmer);
    spellings_release(&stems);
}

/* Returns the maximum number of examples of a word in an episode. */
static uint32_t rows_needed(const struct corpus_how *how) {
    return (uint32_t)((how->support + how->least - 1) / how->least +
                      (how->query + how->least - 1) / how->least);
}

static void keep_words(struct corpus *c, struct spellings *t) {
    uint32_t need = rows_needed(&c->how), at = 0;
    size_t all = c->sentences, n = 0;
    bool *stem[2];
    for (int held = 0; held < 2; held++) stem[held] = xcalloc(t->count + 2, sizeof *stem[held]);
    c->word = xcalloc(t->count + 1, sizeof *c->word);
    for (int held = 0; held < 2; held++)
        for (size_t i = 0; i < t->count; i++) {
            struct spelling *x = &t->entry[i];
            if (entry_held(x) != held || x->count < need || (size_t)x->count * TOO_COMMON > all) continue;
            c->word[n++] =
                (struct word){ .text = xstrdup(x->text), .stem = x->stem, .first = at, .held = held };
            x->kept = (uint32_t)n;
            at += x->count;
            c->words[held]++;
            c->stems[held] += !stem[held][x->stem];
            stem[held][x->stem] = true;
        }
    free(stem[0]);
    free(stem[1]);
    c->place = xcalloc((size_t)at + 1, sizeof *c->place);
    for (size_t i = 0; i < c->sentences; i++) {
        EACH_WORD(c, t, i, w, begin, end) {
            struct word *x = t->entry[w].kept ? &c->word[t->entry[w].kept - 1] : NULL;
            if (x && x->held == is_held(i))
                c->place[x->first + x->count++] = (struct place){ (uint32_t)i, (uint32_t)begin,
                                                                  (uint32_t)(end - begin) };
        }
    }
}

/* ---- clusters ---- */

/* Writes the vector of a word: the normalized mean of the embeddings of its tokens. */
static void vector_of(const struct corpus *c, const struct model *m, const char *text, const real *table,
                      float *out) {
    int32_t *ids = NULL;
    size_t room = 0, n = tokenizer_ids(c->tokenizer, text, strlen(text), &ids, &room),
           d = (size_t)m->arch.width;
    double sum = 0;
    memset(out, 0, d * sizeof *out);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < d; k++) out[k] += (float)table[(size_t)ids[i] * d + k];
    for (size_t k = 0; k < d; k++) sum += (double)out[k] * (double)out[k];
    for (size_t k = 0; k < d && sum > 0; k++) out[k] = (float)((double)out[k] / sqrt(sum));
    free(ids);
}

static int corpus_nearest(const float *x, const float *center, int clusters, size_t d) {
    double best = -1e30;
    int at = 0;
    for (int k = 0; k < clusters; k++) {
        double dot = 0;
        for (size_t i = 0; i < d; i++) dot += (double)x[i] * (double)center[(size_t)k * d + i];
        if (dot > best) {
            best = dot;
            at = k;
        }
    }
    return at;
}

/* Spherical k-means over some words, initialized with words sampled by the seed. */
static void corpus_cluster(struct corpus *c, const struct model *m, size_t first, size_t n) {
    enum { ROUNDS = 20 };
    int table = arch_find(m->tensor, m->tensors, ROLE_EMBED_WORD, STACK_ENCODER, SUB_EMBED, -1);
    size_t d = (size_t)m->arch.width;
    int clusters = c->how.clusters < (int)n ? c->how.clusters : (int)n;
    if (!n || table < 0) return;
    float *x = xcalloc(n * d, sizeof *x), *center = xcalloc((size_t)clusters * d, sizeof *center);
    uint32_t *order = xcalloc(n, sizeof *order);
    const real *words = model_weight(m, table);
    for (size_t i = 0; i < n; i++) vector_of(c, m, c->word[first + i].text, words, x + i * d);
    rng_permute(rng_key(c->how.seed, RNG_DRAW, first, rng_site("clusters")), order, n);
    for (int k = 0; k < clusters; k++) memcpy(center + (size_t)k * d, x + order[k] * d, d * sizeof *center);
    for (int round = 0; round < ROUNDS; round++) {
        for (size_t i = 0; i < n; i++)
            c->word[first + i].cluster = corpus_nearest(x + i * d, center, clusters, d);
        memset(center, 0, (size_t)clusters * d * sizeof *center);
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < d; j++) center[(size_t)c->word[first + i].cluster * d + j] += x[i * d + j];
    }
    free(x);
    free(center);
    free(order);
}

/* ---- opening ---- */

static const char *mask_of(const struct tokenizer *t) {
    static const char *const names[] = { "[MASK]", "<mask>", "<extra_id_0>" };
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (tokenizer_id(t, names[i]) >= 0) return names[i];
    return NULL;
}

static void weigh(struct corpus *c) {
    size_t n = c->words[0] + c->words[1];
    double sum = 0;
    c->weight = xcalloc(n + 1, sizeof *c->weight);
    for (size_t i = 0; i < n; i++) {
        if (i == c->words[0]) sum = 0;
        sum += c->how.rule == CORPUS_FREQUENCY ? log((double)c->word[i].count) : 1;
        c->weight[i] = sum;
    }
}

/* Writes the number of combinations of words, as text. */
static void possible(const struct corpus *c, int held, char out[32]) {
    double log10s = 0;
    int n = (int)c->words[held];
    for (int k = 0; k < c->how.most && k < n; k++) log10s += log10((double)(n - k) / (k + 1));
    if (log10s < 6) snprintf(out, 32, "%.0f", floor(pow(10, log10s) + 0.5));
    else snprintf(out, 32, "10^%.0f", floor(log10s));
}

static int check_size(const struct corpus *c, const char *path, struct err *e) {
    for (int held = 0; held < 2; held++)
        if (c->stems[held] < (size_t)c->how.most)
            return err_set(
                e, ERR_INPUT,
                "%s: too small (%zu sentences): %zu distinct word stems%s occur in at least %u sentences, "
                "and an episode needs %d of them, with %d + %d examples each; use a larger "
                "corpus, fewer examples or fewer --ways",
                path, c->sentences, c->stems[held], held ? " held out for validation" : "",
                rows_needed(&c->how), c->how.most, c->how.support, c->how.query);
    return 0;
}

static void write_report(struct corpus *c, const char *path) {
    char train[32], held[32];
    possible(c, 0, train);
    possible(c, 1, held);
    c->report = xprintf("%s: %zu sentences; training: %zu words of %zu stems, %s combinations of %d words; "
                        "held out: %zu words of %zu stems, %s combinations",
                        path, c->sentences, c->words[0], c->stems[0], train, c->how.most, c->words[1],
                        c->stems[1], held);
}

struct corpus *corpus_open(const char *path, const struct corpus_how *how, const struct model *m,
                           struct err *e) {
    struct corpus *c = xcalloc(1, sizeof *c);
    struct spellings words = { 0 };
    c->how = *how;
    c->tokenizer = m->tokenizer;
    int rc = model_needs_tokenizer(m, e);
    if (!rc && !(c->mask = mask_of(m->tokenizer)))
        rc = err_set(e, ERR_INPUT,
                     "%s: the tokenizer has no mask token ([MASK], <mask>, <extra_id_0>), which masked-word "
                     "episodes need",
                     m->folder);
    if (!rc) rc = file_read(path, CORPUS_BYTES, &c->text, e);
    if (!rc) rc = cut_sentences(c, path, e);
    if (!rc) {
        count_words(c, &words);
        keep_words(c, &words);
        rc = check_size(c, path, e);
    }
    spellings_release(&words);
    if (rc) {
        corpus_free(c);
        return NULL;
    }
    if (how->rule == CORPUS_CLUSTERS) {
        corpus_cluster(c, m, 0, c->words[0]);
        corpus_cluster(c, m, c->words[0], c->words[1]);
    }
    weigh(c);
    write_report(c, path);
    return c;
}

void corpus_free(struct corpus *c) {
    if (!c) return;
    for (size_t i = 0; i < c->words[0] + c->words[1]; i++) free(c->word[i].text);
    free(c->word);
    free(c->place);
    free(c->start);
    free(c->size);
    free(c->weight);
    free(c->report);
    buf_release(&c->text);
    free(c);
}

const char *corpus_report(const struct corpus *c) { return c->report; }

/* ---- sampling ---- */

struct word_draw {
    const struct corpus *c;
    struct rng_key key;
    uint64_t count;
    bool held;
    int ways;
    const struct word *word[MOST_WAYS];
};

static uint64_t corpus_below(struct word_draw *d, uint64_t n) { return rng_below(d->key, d->count++, n); }

static const struct word *draw_word(struct word_draw *d) {
    const struct corpus *c = d->c;
    size_t first = d->held ? c->words[0] : 0, n = c->words[d->held], low = 0, high = n - 1;
    double u = rng_uniform(d->key, d->count++) * c->weight[first + n - 1];
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (c->weight[first + middle] > u) high = middle;
        else low = middle + 1;
    }
    return &c->word[first + low];
}

/* Samples words of distinct stems, from one cluster while it has enough. */
static void draw_words(struct word_draw *d) {
    bool clusters = d->c->how.rule == CORPUS_CLUSTERS;
    for (int n = 0, tries = 0; n < d->ways; tries++) {
        const struct word *w = draw_word(d);
        bool good = !(clusters && n && tries < 1000 * d->ways && w->cluster != d->word[0]->cluster);
        for (int i = 0; i < n; i++) good = good && d->word[i]->stem != w->stem;
        if (good) d->word[n++] = w;
    }
}

static bool has_word(const struct word *w, const struct corpus *c, uint32_t sentence) {
    const struct place *p = c->place + w->first;
    size_t low = 0, high = w->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (p[middle].sentence < sentence) low = middle + 1;
        else high = middle;
    }
    return low < w->count && p[low].sentence == sentence;
}

/* How strictly the sentences of an episode are separated: none contains two of its words; none is used twice;
 * or, which is always possible, none is used twice for the same word. */
enum apart { APART_WORDS, APART_ROWS, APART_OWN };

static bool corpus_fits(const struct word_draw *d, int k, const struct place *p,
                        const struct place *const *taken, int n, enum apart apart) {
    int support = d->c->how.support;
    for (int i = 0; i < n; i++) {
        bool own = (i < support ? i : i - support) % d->ways == k;
        if (taken[i]->sentence == p->sentence && (own || apart < APART_OWN)) return false;
    }
    for (int i = 0; i < d->ways && apart == APART_WORDS; i++)
        if (i != k && has_word(d->word[i], d->c, p->sentence)) return false;
    return true;
}

/* Returns another sentence of word k: a random one, else the next suitable one. */
static const struct place *draw_place(struct word_draw *d, int k, const struct place *const *taken, int n,
                                      enum apart apart) {
    const struct place *of = d->c->place + d->word[k]->first;
    uint32_t count = d->word[k]->count;
    for (int tries = 0; tries < TRIES; tries++) {
        const struct place *p = &of[corpus_below(d, count)];
        if (corpus_fits(d, k, p, taken, n, apart)) return p;
    }
    for (uint32_t i = 0; i < count; i++)
        if (corpus_fits(d, k, &of[i], taken, n, apart)) return &of[i];
    return NULL;
}

/* Selects a sentence for each example; returns false where these words have too few separate ones. */
static bool corpus_draw_places(struct word_draw *d, const struct place **row, enum apart apart) {
    int support = d->c->how.support, n = support + d->c->how.query;
    for (int i = 0; i < n; i++)
        if (!(row[i] = draw_place(d, (i < support ? i : i - support) % d->ways, row, i, apart))) return false;
    return true;
}

/* Tokenizes the sentence with its word masked. */
static void corpus_encode_row(const struct corpus *c, const struct place *p, struct encoded *out) {
    struct buf b = BUF_INIT;
    struct err e = ERR_INIT;
    const char *s = c->text.data + c->start[p->sentence];
    buf_add(&b, s, p->at);
    buf_puts(&b, c->mask);
    buf_add(&b, s + p->at + p->bytes, c->size[p->sentence] - p->at - p->bytes);
    if (tokenizer_encode(c->tokenizer, buf_text(&b), b.size, NULL, 0, (size_t)c->how.max_len, out, &e))
        BUG("%s", e.text);
    buf_release(&b);
}

int corpus_draw(const struct corpus *c, bool held, struct rng_key key, struct corpus_example *row) {
    struct word_draw d = { .c = c, .key = key, .held = held };
    int n = c->how.support + c->how.query;
    const struct place **place = xcalloc((size_t)n, sizeof *place);
    bool good = false;
    for (int tries = 0; !good; tries++) {
        d.ways = c->how.least + (int)corpus_below(&d, (uint64_t)(c->how.most - c->how.least) + 1);
        draw_words(&d);
        good = corpus_draw_places(&d, place,
                                  tries < TRIES ? APART_WORDS : tries < 2 * TRIES ? APART_ROWS : APART_OWN);
    }
    for (int i = 0; i < n; i++) {
        row[i].sentence = place[i]->sentence;
        row[i].label = (i < c->how.support ? i : i - c->how.support) % d.ways;
        corpus_encode_row(c, place[i], &row[i].tokens);
    }
    free(place);
    return d.ways;
}
