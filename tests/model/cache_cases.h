/* Decoding token by token through the cache yields the logits of whole targets, or of prompts with their
 * continuations, for every family and published method, with rows that are copied, exchanged and dropped. Run in
 * 32 and in 64 bits. */
#ifndef TESTS_MODEL_CACHE_CASES_H
#define TESTS_MODEL_CACHE_CASES_H

#include "core/model/cache.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/engine/blas.h"
#include "core/method/attach.h"
#include "tests/support/test.h"

enum {
    SOURCES = 3,
    BEAMS = 3,
    ROWS = SOURCES * BEAMS,
    STEPS = 19, /* beyond the initial capacity of a cache */
    LONGEST = 7,
};
/* Largest difference relative to the row's largest logit. */
static const double allowed = sizeof(real) == sizeof(double) ? 1e-13 : 1e-4;
static const int source_length[SOURCES] = { 5, 1, LONGEST };

/* A model with a method, and the current texts. */
struct bench {
    struct model *m;
    struct plan *p; /* NULL: no method */
    real *params, *made;
    struct attach *attach;
    struct arena *arena;
    struct tape *tape;
    int32_t source[SOURCES][LONGEST];
    int32_t text[ROWS][STEPS]; /* of the live rows, the start token first */
    int source_of[ROWS], rows;
    const char *name;
};

static int32_t draw(const struct bench *b, uint64_t i) {
    int few = b->m->arch.vocabulary - 6; /* the first ones are special */
    return 6 + (int32_t)rng_below(rng_key(8, RNG_TEST, 0, 0), i, (uint64_t)few);
}

/* Returns the length of a source, limited by the positions that the rows of a prompt use. */
static int length_of(const struct bench *b, int source) {
    int longest = b->p ? method_max_length(&b->p->method, &b->m->arch) : LONGEST;
    return source_length[source] < longest ? source_length[source] : longest;
}

/* Returns false if the family has no place for the method. */
static bool give_method(struct bench *b, const char *text, struct err *e) {
    struct method m;
    struct rng_key key = rng_key(9, RNG_TEST, 0, 0);
    test_ok(method_parse(text, &m, e), e);
    b->p = plan_new(&m, &b->m->arch, 0, e);
    if (!b->p) return false;
    b->params = xcalloc(b->p->trained + 1, sizeof *b->params);
    b->made = xcalloc(b->p->generated_size + 1, sizeof *b->made);
    plan_init(b->p, b->m, 1, b->params);
    for (size_t i = 0; i < b->p->trained; i++) b->params[i] += (real)(0.1 * rng_normal(key, i));
    for (size_t i = 0; i < b->p->generated_size; i++) b->made[i] = (real)rng_normal(key, ~i);
    attach_regenerate(b->p, b->m, b->params, b->made); /* replacements of whole weights stay close to them */
    b->attach = attach_new(b->p, b->m);
    return true;
}

static void take_method(struct bench *b) {
    if (!b->p) return;
    attach_free(b->attach);
    plan_free(b->p);
    free(b->params);
    free(b->made);
    b->p = NULL;
}

/* A batch of some sources and of target tokens, on the arena. */
static struct batch pack(struct bench *b, const int *source, int rows, int tokens, int first) {
    struct arena *a = b->arena;
    size_t n = (size_t)rows, all = n * (size_t)tokens;
    struct batch x = {
        .examples = rows,
        .ids = arena_keep(a, n * LONGEST * sizeof(int32_t)),
        .types = arena_keep(a, n * LONGEST * sizeof(int32_t)),
        .positions = arena_keep(a, n * LONGEST * sizeof(int32_t)),
        .start = arena_keep(a, (n + 1) * sizeof(int)),
        .target_tokens = (int)all,
        .target_in = arena_keep(a, all * sizeof(int32_t)),
        .target_positions = arena_keep(a, all * sizeof(int32_t)),
        .target_start = arena_keep(a, (n + 1) * sizeof(int)),
    };
    for (int i = 0; i < rows; i++) {
        x.start[i] = x.tokens;
        for (int k = 0; source && k < length_of(b, source[i]); k++, x.tokens++) {
            x.ids[x.tokens] = b->source[source[i]][k];
            x.types[x.tokens] = 0;
            x.positions[x.tokens] = k;
        }
        x.target_start[i] = i * tokens;
        for (int k = 0; k < tokens; k++) {
            x.target_in[i * tokens + k] = b->text[i][first + k];
            x.target_positions[i * tokens + k] = first + k;
        }
    }
    x.start[rows] = x.tokens;
    x.target_start[rows] = (int)all;
    return x;
}

/* For a decoder-only model: the sources with the tokens first … first+tokens-1 of the texts, of which token 0 is
 * the source. */
static struct batch pack_continued(struct bench *b, int tokens, int first) {
    struct arena *a = b->arena;
    size_t n = (size_t)b->rows, all = n * (LONGEST + STEPS);
    struct batch x = { .examples = b->rows, .ids = arena_keep(a, all * sizeof(int32_t)),
                       .types = arena_keep(a, all * sizeof(int32_t)),
                       .positions = arena_keep(a, all * sizeof(int32_t)),
                       .start = arena_keep(a, (n + 1) * sizeof(int)) };
    for (int i = 0; i < b->rows; i++) {
        int length = length_of(b, b->source_of[i]);
        x.start[i] = x.tokens;
        for (int k = first ? length + first - 1 : 0; k < length + first + tokens - 1; k++, x.tokens++) {
            x.ids[x.tokens] = k < length ? b->source[b->source_of[i]][k] : b->text[i][k - length + 1];
            x.types[x.tokens] = 0;
            x.positions[x.tokens] = k;
        }
    }
    x.start[b->rows] = x.tokens;
    return x;
}

/* Returns the stored tokens of each live row. */
static const int *past_of(const struct bench *b, const struct decode_cache *c) {
    int *past = arena_keep(b->arena, (size_t)b->rows * sizeof *past), row = 0;
    for (int i = 0; i < cache_sources(c); i++)
        for (int j = 0; j < cache_source_rows(c, i); j++) past[row++] = cache_length(c, i);
    return past;
}

static node logits(struct bench *b, const struct batch *x, struct decode_cache *c, bool encode) {
    struct forward f;
    forward_init(&f, b->tape, b->m, x,
                 b->p ? attach_begin(b->attach, b->tape, b->params, b->made, NULL) : NULL);
    f.cache = c;
    if (b->m->arch.causal) return forward_logits(&f, forward_first(&f, forward_encode(&f)));
    return forward_logits(&f, forward_decode(&f, encode ? forward_encode(&f) : NODE_NONE));
}

/* Compares the logits of the step with those of whole targets. */
static void compare(struct bench *b, const real *got, int length) {
    size_t v = (size_t)b->m->arch.vocabulary;
    tape_reset(b->tape, false, 0, 0);
    bool causal = b->m->arch.causal;
    struct batch x = causal ? pack_continued(b, length, 0) : pack(b, b->source_of, b->rows, length, 0);
    const real *all = tape_value(b->tape, logits(b, &x, NULL, true));
    for (int i = 0; i < b->rows; i++) {
        const real *want = all + (causal ? (size_t)i : (size_t)(i + 1) * (size_t)length - 1) * v, *have = got + (size_t)i * v;
        double most = 1;
        for (size_t j = 0; j < v; j++) most = fmax(most, fabs((double)want[j]));
        for (size_t j = 0; j < v; j++)
            if (!(fabs((double)have[j] - (double)want[j]) <= allowed * most))
                fail_msg("%s: row %d, token %d: %.12g, not %.12g", b->name, i, length, (double)have[j],
                         (double)want[j]);
    }
}

/* Chooses the live rows after a step: the parent of each, and its next token. */
static void choose(struct bench *b, struct decode_cache *c, int step) {
    int rows[SOURCES], parent[ROWS], n = 0, source_of[ROWS], lives = 0;
    int32_t text[ROWS][STEPS];
    for (int s = 0, from = 0; s < SOURCES; s++) {
        int had = 0;
        while (from + had < b->rows && b->source_of[from + had] == s) had++;
        if (!had) continue;
        int want = s == 1 && step >= 4 ? 0 : step == 6 ? 2 : BEAMS;
        for (int j = 0; j < want; j++) {
            parent[n] = (int)rng_below(rng_key(3, RNG_TEST, (uint64_t)step, 0), (uint64_t)n, (uint64_t)had);
            source_of[n] = s;
            memcpy(text[n], b->text[from + parent[n]], sizeof text[n]);
            if (step + 1 < STEPS) text[n][step + 1] = draw(b, (uint64_t)(1000 * step + n));
            n++;
        }
        rows[lives++] = want;
        from += had;
    }
    cache_step(c, rows, parent);
    memcpy(b->text, text, (size_t)n * sizeof *text);
    memcpy(b->source_of, source_of, (size_t)n * sizeof *source_of);
    b->rows = n;
    assert_int_equal(cache_rows(c), n);
}

static void run(struct bench *b, struct decode_cache *c) {
    b->rows = SOURCES;
    for (int i = 0; i < SOURCES; i++) {
        b->source_of[i] = i;
        b->text[i][0] = b->m->arch.decoder_start >= 0 ? b->m->arch.decoder_start : 2;
        for (int k = 0; k < length_of(b, i); k++)
            b->source[i][k] = draw(b, (uint64_t)(100000 + 100 * i + k));
    }
    cache_begin(c, SOURCES, BEAMS);
    for (int step = 0; step < STEPS; step++) {
        if (!b->m->arch.causal) assert_int_equal(cache_length(c, 0), step);
        tape_reset(b->tape, false, 0, 0);
        tape_few_rows(b->tape);
        struct batch x = b->m->arch.causal ? pack_continued(b, 1, step)
                                           : pack(b, step ? NULL : b->source_of, b->rows, 1, step);
        if (b->m->arch.causal && step) x.past = past_of(b, c);
        node n = logits(b, &x, c, step == 0);
        size_t bytes = (size_t)b->rows * (size_t)b->m->arch.vocabulary * sizeof(real);
        real *got = xmalloc(bytes);
        memcpy(got, tape_value(b->tape, n), bytes);
        compare(b, got, step + 1);
        free(got);
        choose(b, c, step);
    }
}

static void test_family(const char *folders, const char *family) {
    /* Besides the presets: a combination of all, and modules at the cross-attention only. */
    static const char *const more[] = {
        "lora(r=2,s=2) + ia3 + prefix(l=3) + adapter-pfeiffer(r=3)",
        "linear(r=2; write=a.k, site=cross, s=2) + linear(r=2; write=a.v, site=cross, s=2)",
        "softmax(l=4; site=cross, comp=add)",
        "bottleneck(r=3; read=a.in, write=a.k) + bottleneck(r=3; read=a.v, write=a.v)",
    };
    struct err e = ERR_INIT;
    char *folder = xprintf("%s/tests/reference/%s/%s", test_root(), folders, family);
    struct bench b = { .m = model_load(folder, &e), .arena = arena_new() };
    if (!b.m) fail_msg("%s", e.text);
    b.tape = tape_new(b.arena);
    struct decode_cache *c = cache_new(&b.m->arch);
    b.name = family;
    run(&b, c);
    for (size_t i = 0;; i++) {
        const struct preset *known = i < COUNT_OF(more) ? NULL : preset_at(i - COUNT_OF(more));
        if (!known && i >= COUNT_OF(more)) break;
        b.name = known ? known->name : more[i];
        if (!strcmp(b.name, "head") || (b.m->arch.causal && strstr(b.name, "cross"))) continue;
        if (give_method(&b, b.name, &e)) {
            if (!b.m->arch.causal || !method_reads_whole_text(&b.p->method)) run(&b, c);
        } else if (!strstr(e.text, "V11") && !strstr(e.text, "V25") && !strstr(e.text, "V73")) {
            /* no biases to train, a width not divisible by four, gates in a decoder */
            fail_msg("%s: %s: %s", family, b.name, e.text);
        }
        take_method(&b);
    }
    cache_free(c);
    tape_free(b.tape);
    arena_free(b.arena);
    model_release(b.m);
    free(folder);
}

static void test_families(void **state) {
    (void)state;
    static const char *const names[] = { "t5-tiny", "t5-odd", "bart-tiny", "bart-odd", "mbart-odd" };
    for (size_t i = 0; i < COUNT_OF(names); i++) test_family("families", names[i]);
}

static void test_causal(void **state) {
    (void)state;
    static const char *const names[] = { "mistral", "qwen3" };
    for (size_t i = 0; i < COUNT_OF(names); i++) test_family("causal", names[i]);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_families), cmocka_unit_test(test_causal) };
    if (argc) blas_start(argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
