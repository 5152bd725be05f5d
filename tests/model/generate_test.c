/* Generated texts compared with transformers (tests/reference/make_families.py), token by token, except where
 * the reference's choice depended on a difference below 1e-4. */
#include "core/model/generate.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/mem.h"
#include "core/engine/blas.h"
#include "core/method/attach.h"
#include "tests/support/fixture.h"
#include "tests/support/test.h"

#define FAMILIES "tests/reference/families"
enum { INPUTS = 200, LONGEST = 64 };
static const double GAP = 1e-4;

/* A generated.txt: its sources, then one line per output of the reference. */
struct reference {
    struct model *model;
    struct generate_sources sources;
    struct buf text;
    char *at; /* the next line */
};

static char *next_line(struct reference *r) {
    if (!*r->at) return NULL;
    char *line = r->at, *stop = strchr(line, '\n');
    assert_non_null(stop);
    *stop = '\0';
    r->at = stop + 1;
    return line;
}

/* Parses the ids of a line; returns their number. */
static int read_ids(char *line, int32_t *out) {
    int n = 0;
    for (char *end; *line && n < LONGEST; line = end) {
        out[n] = (int32_t)strtol(line, &end, 10);
        if (end == line) fail_msg("no ids in \"%s\"", line);
        n++;
    }
    return n;
}

static void reference_open(struct reference *r, const char *name) {
    struct err e = ERR_INIT;
    char *folder = xprintf("%s/%s/%s", test_root(), FAMILIES, name);
    char *path = file_join(folder, "generated.txt");
    *r = (struct reference){ 0 };
    r->model = model_load(folder, &e);
    if (!r->model) fail_msg("%s", e.text);
    test_ok(file_read(path, 1 << 20, &r->text, &e), &e);
    r->at = r->text.data;
    size_t *start = xcalloc(INPUTS + 1, sizeof *start);
    int32_t *ids = xcalloc(INPUTS * LONGEST, sizeof *ids);
    for (int i = 0; i < INPUTS; i++)
        start[i + 1] = start[i] + (size_t)read_ids(next_line(r), ids + start[i]);
    r->sources = (struct generate_sources){ INPUTS, start, ids };
    free(path);
    free(folder);
}

static void reference_close(struct reference *r) {
    free((void *)r->sources.start);
    free((void *)r->sources.ids);
    buf_release(&r->text);
    model_release(r->model);
}

/* "set NAME beams B penalty P min M max N early E"; false at the end. */
static bool next_set(struct reference *r, struct generate_options *o, char name[32]) {
    struct err e = ERR_INIT;
    char *line = next_line(r);
    int early;
    if (!line) return false;
    test_ok(generate_defaults(r->model, o, NULL, &e), &e);
    if (sscanf(line, "set %31s beams %d penalty %lf min %d max %d early %d", name, &o->beams,
               &o->length_penalty, &o->min_new, &o->max_new, &early) != 6)
        fail_msg("not the head of a set: %s", line);
    o->early = early ? EARLY_FULL : EARLY_HEURISTIC;
    test_ok(generate_check(r->model, o, &e), &e);
    return true;
}

static void run(const struct model *m, const struct generate_options *o,
                const struct generate_sources *s, int workers, struct generated *out) {
    struct generation g;
    struct err e = ERR_INIT;
    struct crew *crew = workers > 1 ? crew_new(workers, NULL) : NULL;
    generation_init(&g, m, o, s);
    test_ok(generate_rows(&g, NULL, crew, NULL, out, &e), &e);
    generation_release(&g);
    crew_free(crew);
}

/* Returns the number of rows that had to agree. */
static int compare_set(struct reference *r, const char *family, const char *set,
                       const struct generate_options *o) {
    static struct generated out[INPUTS];
    int sure = 0;
    run(r->model, o, &r->sources, 2, out);
    for (int i = 0; i < INPUTS; i++) {
        int32_t want[LONGEST];
        char *at = next_line(r);
        double gap = strtod(at, &at), score = strtod(at, &at);
        int n = read_ids(at, want);
        bool same = n == out[i].count && !memcmp(want, out[i].ids, (size_t)n * sizeof *want);
        if (gap <= GAP) continue;
        sure++;
        if (!same) fail_msg("%s, %s: row %d differs (gap %g)", family, set, i + 1, gap);
        if (o->beams > 1 && !(fabs(score - out[i].score) < 1e-4))
            fail_msg("%s, %s: row %d scores %g, not %g", family, set, i + 1, out[i].score, score);
    }
    generated_release(out, INPUTS);
    return sure;
}

static void test_families(void **state) {
    (void)state;
    static const char *const names[] = { "t5-tiny", "t5-odd", "bart-tiny", "bart-odd", "mbart-tiny",
                                         "mbart-odd" };
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        struct reference r;
        struct generate_options o;
        char set[32];
        int sets = 0;
        reference_open(&r, names[i]);
        for (; next_set(&r, &o, set); sets++) {
            int sure = compare_set(&r, names[i], set, &o);
            if (sure < INPUTS * 8 / 10) fail_msg("%s, %s: only %d rows are sure", names[i], set, sure);
        }
        assert_true(sets >= 4);
        reference_close(&r);
    }
}

/* ---- real weights ---- */

/* Returns the next field of a tab-separated line. */
static char *field(char **at) {
    char *from = *at, *tab = strchr(from, '\t');
    if (tab) *tab++ = '\0';
    *at = tab ? tab : from + strlen(from);
    return from;
}

/* Greedy outputs of flan-t5-small: lines of gap, source, its ids, text, its ids. */
static void test_real(void **state) {
    (void)state;
    enum { TEXTS = 51, NEW = 24 };
    test_needs("assets/models/flan-t5-small");
    struct err e = ERR_INIT;
    struct buf all = BUF_INIT;
    char *folder = test_path("assets/models/flan-t5-small");
    char *path = test_path("tests/reference/flan-t5-small/texts.tsv"), *text[TEXTS];
    struct model *m = model_load(folder, &e);
    if (!m) fail_msg("%s", e.text);
    test_ok(file_read(path, 1 << 20, &all, &e), &e);
    size_t start[TEXTS + 1] = { 0 }, room = 0;
    int32_t *ids = NULL, want[TEXTS][LONGEST];
    double gap[TEXTS];
    int count[TEXTS], rows = 0, sure = 0;
    for (char *line = all.data, *stop; line && *line && rows < TEXTS; line = stop + 1, rows++) {
        struct encoded x;
        stop = strchr(line, '\n');
        *stop = '\0';
        gap[rows] = strtod(field(&line), NULL);
        char *source = field(&line);
        int32_t right[LONGEST];
        int n = read_ids(field(&line), right);
        text[rows] = field(&line);
        count[rows] = read_ids(line, want[rows]);
        test_ok(tokenizer_encode(m->tokenizer, source, strlen(source), NULL, 0, 512, &x, &e), &e);
        assert_int_equal(x.n, n);
        assert_memory_equal(x.ids, right, x.n * sizeof *right);
        GROW(ids, room, start[rows] + x.n);
        memcpy(ids + start[rows], x.ids, x.n * sizeof *ids);
        start[rows + 1] = start[rows] + x.n;
        encoded_release(&x);
    }
    assert_int_equal(rows, TEXTS);
    struct generated out[TEXTS];
    struct generate_options o;
    test_ok(generate_defaults(m, &o, NULL, &e), &e);
    o.max_new = NEW;
    run(m, &o, &(struct generate_sources){ TEXTS, start, ids }, 2, out);
    for (int i = 0; i < TEXTS; i++) {
        struct buf got = BUF_INIT;
        if (gap[i] <= GAP) continue;
        sure++;
        tokenizer_decode(m->tokenizer, out[i].ids, (size_t)out[i].count, true, &got);
        if (out[i].count != count[i] || memcmp(out[i].ids, want[i], (size_t)count[i] * sizeof **want))
            fail_msg("text %d: \"%s\", not \"%s\" (gap %g)", i + 1, buf_text(&got), text[i], gap[i]);
        assert_string_equal(buf_text(&got), text[i]);
        buf_release(&got);
    }
    assert_true(sure >= 50);
    generated_release(out, TEXTS);
    free(ids);
    buf_release(&all);
    model_release(m);
    free(folder);
    free(path);
}

/* ---- decoder-only models ---- */

enum { PROMPTS = 20, NEW_TOKENS = 24 };

/* Opens a tiny model with prompts of 1 to 12 tokens. */
static void prompts_open(struct reference *r, const char *name) {
    struct err e = ERR_INIT;
    char *folder = xprintf("%s/tests/reference/causal/%s", test_root(), name);
    *r = (struct reference){ .model = model_load(folder, &e) };
    if (!r->model) fail_msg("%s", e.text);
    size_t *start = xcalloc(PROMPTS + 1, sizeof *start);
    int32_t *ids = xcalloc(PROMPTS * 12, sizeof *ids);
    for (size_t i = 0; i < PROMPTS; i++) {
        start[i + 1] = start[i] + 1 + i * 7 % 12;
        for (size_t k = start[i]; k < start[i + 1]; k++) ids[k] = (int32_t)(3 + (k * k * 7 + 3 * i) % 313);
    }
    r->sources = (struct generate_sources){ PROMPTS, start, ids };
    free(folder);
}

static bool is_end(const struct generate_options *o, int32_t id) {
    bool end = false;
    for (int i = 0; i < o->ends; i++) end |= o->end[i] == id;
    return end;
}

/* Generates greedily by a whole pass for each token. */
static int by_whole_passes(const struct model *m, const struct generate_options *o, const int32_t *prompt, size_t n,
                           int32_t *out) {
    struct arena *arena = arena_new();
    struct tape *tape = tape_new(arena);
    int32_t ids[LONGEST], types[LONGEST] = { 0 }, positions[LONGEST];
    int start[2] = { 0 }, count = 0;
    memcpy(ids, prompt, n * sizeof *ids);
    for (int i = 0; i < LONGEST; i++) positions[i] = i;
    while (count < o->max_new) {
        start[1] = (int)n + count;
        const struct batch b = { .examples = 1, .tokens = start[1], .ids = ids, .types = types,
                                 .positions = positions, .start = start };
        struct forward f;
        tape_reset(tape, false, 0, 0);
        forward_init(&f, tape, m, &b, NULL);
        const real *v = tape_value(tape, forward_logits(&f, forward_first(&f, forward_encode(&f))));
        int best = 0;
        for (int k = 1; k < m->arch.vocabulary; k++)
            if (v[k] > v[best]) best = k;
        ids[start[1]] = out[count++] = best;
        if (is_end(o, best)) break;
    }
    tape_free(tape);
    arena_free(arena);
    return count;
}

/* The cache changes no text, nor do the number of workers and the other prompts of a group. */
static void test_prompts(void **state) {
    (void)state;
    static const char *const names[] = { "llama", "mistral", "qwen3", "gpt2" };
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        struct reference r;
        struct generate_options o;
        struct generated one[PROMPTS], many[PROMPTS];
        struct err e = ERR_INIT;
        int32_t want[LONGEST];
        prompts_open(&r, names[i]);
        test_ok(generate_defaults(r.model, &o, NULL, &e), &e);
        assert_int_equal(o.max_new, 64); /* 256, but the model has 64 positions */
        o.max_new = NEW_TOKENS;
        run(r.model, &o, &r.sources, 1, one);
        run(r.model, &o, &r.sources, 3, many);
        for (int k = 0; k < PROMPTS; k++) {
            size_t from = r.sources.start[k], n = r.sources.start[k + 1] - from;
            int count = by_whole_passes(r.model, &o, r.sources.ids + from, n, want);
            if (count != one[k].count || memcmp(want, one[k].ids, (size_t)count * sizeof *want))
                fail_msg("%s: prompt %d differs from whole passes", names[i], k + 1);
            assert_int_equal(many[k].count, count);
            assert_memory_equal(many[k].ids, want, (size_t)count * sizeof *want);
            assert_int_equal(one[k].end, is_end(&o, want[count - 1]) ? GENERATED_ENDED : GENERATED_LONGEST);
        }
        generated_release(one, PROMPTS);
        generated_release(many, PROMPTS);
        reference_close(&r);
    }
}

/* A full context ends a text; a prompt beyond it is refused. */
static void test_context(void **state) {
    (void)state;
    struct reference r;
    struct generate_options o;
    struct generated out[1];
    struct err e = ERR_INIT;
    struct generation g;
    size_t start[2] = { 0, 60 };
    prompts_open(&r, "llama");
    test_ok(generate_defaults(r.model, &o, NULL, &e), &e);
    o.ends = 0;
    o.max_new = NEW_TOKENS;
    struct generate_sources s = { 1, start, r.sources.ids };
    run(r.model, &o, &s, 1, out);
    assert_int_equal(out[0].count, 5); /* the last one needs no position */
    assert_int_equal(out[0].end, GENERATED_FULL);
    generated_release(out, 1);
    start[1] = 65;
    generation_init(&g, r.model, &o, &s);
    test_refused(generate_rows(&g, NULL, NULL, NULL, out, &e), ERR_INPUT, &e,
                 "example 1: the prompt has 65 tokens, more than the context of llama (64)");
    generation_release(&g);
    reference_close(&r);
}

struct attached {
    struct plan *plan;
    struct attach *attach;
    real *params;
};

static const struct hooks *begin_attached(void *self, struct tape *t) {
    const struct attached *x = self;
    return x->attach ? attach_begin(x->attach, t, x->params, NULL, NULL) : NULL;
}

/* The largest logit of each step. */
struct tops {
    int n, vocabulary;
    real top[LONGEST];
};

static void see_logits(void *self, size_t row, int32_t id, const real *logits) {
    struct tops *x = self;
    (void)row, (void)id;
    real top = logits[0];
    for (int k = 1; k < x->vocabulary; k++)
        if (logits[k] > top) top = logits[k];
    x->top[x->n++] = top;
}

static void generate_one(const struct reference *r, const struct generate_options *o, struct attached *x, struct generate_stored *stored,
                    struct decode_cache *cache, const int32_t *ids, size_t n, struct generated *out, struct tops *tops) {
    struct generation g;
    struct err e = ERR_INIT;
    const size_t start[2] = { 0, n };
    struct generate_sources s = { 1, start, ids };
    struct arena *arena = arena_new();
    struct generate_memory memory = { .tape = tape_new(arena), .arena = arena, .cache = cache, .stored = stored,
                                      .begin = begin_attached, .self = x, .token = see_logits, .token_self = tops };
    *tops = (struct tops){ .vocabulary = r->model->arch.vocabulary };
    generation_init(&g, r->model, o, &s);
    test_ok(generation_group(&g, 0, &memory, out, &e), &e);
    generation_release(&g);
    tape_free(memory.tape);
    arena_free(arena);
}

/* A chat that goes on, or is edited, continues what is stored, and its texts are those of complete prompts. */
static void test_stored(void **state) {
    (void)state;
    static const char *const methods[] = { NULL, "prompt-tuning(l=3) + prefix(l=2) + lora(r=2)" };
    for (size_t i = 0; i < COUNT_OF(methods); i++) {
        struct reference r;
        struct generate_options o;
        struct err e = ERR_INIT;
        struct attached x = { 0 };
        struct generate_stored stored = { 0 };
        struct generated out[1], fresh[1];
        int32_t ids[LONGEST];
        size_t n = 12;
        prompts_open(&r, "llama");
        test_ok(generate_defaults(r.model, &o, NULL, &e), &e);
        o.max_new = 7;
        o.ends = 0;
        if (methods[i]) {
            struct method m;
            test_ok(method_parse(methods[i], &m, &e), &e);
            x.plan = plan_new(&m, &r.model->arch, 0, &e);
            if (!x.plan) fail_msg("%s", e.text);
            x.params = xcalloc(x.plan->trained + 1, sizeof *x.params);
            for (size_t k = 0; k < x.plan->trained; k++)
                x.params[k] = (real)(0.3 * rng_normal(rng_key(3, RNG_TEST, 0, 0), k));
            x.attach = attach_new(x.plan, r.model);
        }
        struct decode_cache *kept = cache_new(&r.model->arch), *other = cache_new(&r.model->arch);
        memcpy(ids, r.sources.ids + 20, n * sizeof *ids);
        for (int round = 0; round < 4; round++) {
            struct tops got, want;
            generate_one(&r, &o, &x, &stored, kept, ids, n, out, &got);
            generate_one(&r, &o, &x, NULL, other, ids, n, fresh, &want);
            for (int k = 0; k < want.n; k++) assert_true(fabs((double)(got.top[k] - want.top[k])) < 1e-4);
            assert_int_equal(out[0].count, fresh[0].count);
            assert_memory_equal(out[0].ids, fresh[0].ids, (size_t)out[0].count * sizeof *ids);
            assert_int_equal(stored.count, n + 6);
            if (round == 1) { /* an answer and a message */
                memcpy(ids + n, out[0].ids, 7 * sizeof *ids);
                n += 7;
                for (int k = 0; k < 5; k++) ids[n++] = 40 + k;
            } else if (round == 2) ids[6] = 99; /* an edited message */
            generated_release(out, 1);
            generated_release(fresh, 1);
        }
        cache_free(kept);
        cache_free(other);
        if (x.attach) attach_free(x.attach);
        if (x.plan) plan_free(x.plan);
        free(x.params);
        free(stored.ids);
        reference_close(&r);
    }
}

/* SmolLM2-135M-Instruct in Q4_1: the greedy answers of transformers in float32 to
 * five questions, up to the first choice that depends on less than a hundredth. */
static void test_smollm2(void **state) {
    (void)state;
    enum { QUESTIONS = 5, MOST = 40 };
    static const int32_t system[] = { 1, 9690, 198, 2683, 359, 253, 5356, 5646, 11173, 3365, 3511, 308, 34519, 28,
                                      7018, 411, 407, 19712, 8182, 2, 198, 1, 4093, 198 },
                         close[] = { 2, 198, 1, 520, 9531, 198 };
    static const struct {
        int32_t ask[12], answer[MOST];
        int asked, answered, sure;
    } question[QUESTIONS] = {
        { { 1780, 314, 260, 3575, 282, 4649, 47 }, { 504, 3575, 282, 4649, 314, 7042, 30, 2 }, 7, 8, 8 },
        { { 19161, 582, 6330, 563, 260, 3426, 30 },
          { 504, 3426, 314, 253, 4749, 284, 11965, 7815, 28, 30055, 351, 1029, 284, 551, 1719, 281, 624, 1038, 970,
            28, 253, 21651, 288, 260, 551, 1719, 6122, 282, 260, 6128, 30, 2 }, 7, 32, 19 },
        { { 1780, 314, 216, 39, 8055, 216, 37, 47 },
          { 2068, 803, 216, 39, 284, 216, 37, 28, 392, 416, 722, 260, 1909, 282, 216, 39, 284, 216, 37, 28, 527, 314,
            253, 1273, 7132, 3905, 30, 533, 6530, 28, 645, 346, 457, 253, 2028, 282, 827, 2966, 28, 346 },
          8, 40, 40 },
        { { 8241, 12837, 288, 3432, 42, 6422, 5738, 28, 957, 3289, 30 },
          { 46719, 393, 271, 14047, 24583, 28, 16718, 393, 271, 14047, 24583, 30, 2 }, 11, 13, 13 },
        { { 5820, 1296, 3003, 4683, 30 }, { 504, 3003, 4683, 359, 42, 3950, 28, 10062, 28, 284, 13581, 30, 2 },
          5, 13, 13 },
    };
    test_needs("assets/models/smollm2");
    if (!test_slow()) test_skip("generates 200 tokens with 135 million parameters; make test-slow");
    char *path = test_path("assets/models/smollm2");
    struct err e = ERR_INIT;
    struct generate_options o;
    struct generated out[QUESTIONS];
    size_t start[QUESTIONS + 1] = { 0 };
    int32_t ids[QUESTIONS * 64];
    struct model *m = model_load(path, &e);
    if (!m) fail_msg("%s", e.text);
    test_ok(generate_defaults(m, &o, NULL, &e), &e);
    assert_true(o.ends >= 1 && o.end[0] == 2);
    o.max_new = MOST;
    for (int i = 0; i < QUESTIONS; i++) {
        int32_t *to = ids + start[i];
        size_t n = (size_t)question[i].asked;
        memcpy(to, system, sizeof system);
        memcpy(to + COUNT_OF(system), question[i].ask, n * sizeof *to);
        memcpy(to + COUNT_OF(system) + n, close, sizeof close);
        start[i + 1] = start[i] + COUNT_OF(system) + n + COUNT_OF(close);
    }
    run(m, &o, &(struct generate_sources){ QUESTIONS, start, ids }, 2, out);
    for (int i = 0; i < QUESTIONS; i++) {
        int same = 0;
        while (same < out[i].count && same < question[i].answered && out[i].ids[same] == question[i].answer[same])
            same++;
        if (same < question[i].sure) fail_msg("question %d: differs at new token %d", i + 1, same);
    }
    generated_release(out, QUESTIONS);
    model_release(m);
    free(path);
}

/* ---- callbacks and memory ---- */

static void test_workers(void **state) {
    (void)state;
    struct reference r;
    struct generated one[INPUTS], many[INPUTS];
    struct err e = ERR_INIT;
    reference_open(&r, "t5-odd");
    for (int beams = 1; beams <= 4; beams += 3) {
        struct generate_options o;
        test_ok(generate_defaults(r.model, &o, NULL, &e), &e);
        o.beams = beams;
        run(r.model, &o, &r.sources, 1, one);
        run(r.model, &o, &r.sources, 3, many);
        for (int i = 0; i < INPUTS; i++) {
            assert_int_equal(one[i].count, many[i].count);
            assert_memory_equal(one[i].ids, many[i].ids, (size_t)one[i].count * sizeof(int32_t));
            assert_true(one[i].score == many[i].score);
        }
        generated_release(one, INPUTS);
        generated_release(many, INPUTS);
    }
    reference_close(&r);
}

struct seen {
    size_t rows, most;
    atomic_int asked;
    int patience;
};

static void see_row(void *self, size_t row, const struct generated *g) {
    struct seen *s = self;
    assert_int_equal(row, s->rows);
    assert_true(g->count > 0);
    s->rows++;
}

static bool see_stop(void *self) {
    struct seen *s = self;
    return atomic_fetch_add(&s->asked, 1) >= s->patience;
}

/* Rows are reported in order, each once; after a stop only reported rows have texts. */
static void test_watch(void **state) {
    (void)state;
    struct reference r;
    struct generate_options o;
    struct generation g;
    struct err e = ERR_INIT;
    static struct generated out[INPUTS];
    reference_open(&r, "bart-tiny");
    test_ok(generate_defaults(r.model, &o, NULL, &e), &e);
    generation_init(&g, r.model, &o, &r.sources);
    struct crew *crew = crew_new(3, NULL);
    struct seen all = { .patience = 1 << 20 }, some = { .patience = 40 };
    test_ok(generate_rows(&g, NULL, crew, &(struct generate_watch){ &all, see_row, see_stop }, out, &e), &e);
    assert_int_equal(all.rows, INPUTS);
    generated_release(out, INPUTS);
    int rc = generate_rows(&g, NULL, crew, &(struct generate_watch){ &some, see_row, see_stop }, out, &e);
    crew_free(crew);
    test_refused(rc, ERR_INTERRUPTED, &e, "stopped");
    assert_true(some.rows < INPUTS);
    for (size_t i = 0; i < some.rows; i++) assert_non_null(out[i].ids);
    generated_release(out, INPUTS);
    generation_release(&g);
    reference_close(&r);
}

/* The steps of a group like an earlier one allocate no memory. */
static void test_memory(void **state) {
    (void)state;
    struct reference r;
    struct generate_options o;
    struct generation g;
    struct err e = ERR_INIT;
    static struct generated out[INPUTS];
    reference_open(&r, "t5-tiny");
    test_ok(generate_defaults(r.model, &o, NULL, &e), &e);
    o.beams = 3;
    o.max_new = 40;
    o.min_new = 39;
    generation_init(&g, r.model, &o, &r.sources);
    struct arena *arena = arena_new();
    struct generate_memory memory = { .tape = tape_new(arena), .arena = arena,
                                  .cache = cache_new(&r.model->arch) };
    size_t grown = 0;
    for (int round = 0; round < 4; round++) {
        test_ok(generation_group(&g, 1, &memory, out, &e), &e);
        assert_int_equal(out[g.first[1]].count, 40);
        generated_release(out, INPUTS);
        if (round == 1) grown = arena_grown(arena) + tape_grown(memory.tape);
        if (round > 1) assert_int_equal(arena_grown(arena) + tape_grown(memory.tape), grown);
    }
    cache_free(memory.cache);
    tape_free(memory.tape);
    arena_free(arena);
    generation_release(&g);
    reference_close(&r);
}

static void test_not_finite(void **state) {
    (void)state;
    struct reference r;
    struct generate_options o;
    struct generation g;
    struct err e = ERR_INIT;
    static struct generated out[INPUTS];
    reference_open(&r, "t5-tiny");
    test_ok(generate_defaults(r.model, &o, NULL, &e), &e);
    int word = arch_find(r.model->tensor, r.model->tensors, ROLE_EMBED_WORD, STACK_ENCODER, SUB_EMBED, -1);
    int32_t id = r.sources.ids[r.sources.start[20]]; /* of row 21 */
    real *row = r.model->weight[word] + (size_t)id * (size_t)r.model->tensor[word].cols;
    size_t first = 0;
    while (r.sources.ids[first] != id) first++;
    for (int i = 0; i < r.model->tensor[word].cols; i++) row[i] = (real)NAN;
    generation_init(&g, r.model, &o, &r.sources);
    struct crew *crew = crew_new(2, NULL);
    test_refused(generate_rows(&g, NULL, crew, NULL, out, &e), ERR_FAILED, &e, "NaN or infinite");
    crew_free(crew);
    generated_release(out, INPUTS);
    generation_release(&g);
    reference_close(&r);
}

static void test_options(void **state) {
    (void)state;
    struct reference r;
    struct generate_options o;
    struct err e = ERR_INIT;
    reference_open(&r, "bart-tiny");
    char *folder = test_folder(), *bert = test_path("tests/reference/bert-tiny"), *given = r.model->folder;
    static const char config[] =
        "{\"num_beams\": 4, \"max_length\": 9, \"min_length\": 3, \"length_penalty\": 2, "
        "\"early_stopping\": \"never\", \"no_repeat_ngram_size\": 3, \"eos_token_id\": [2, 7], "
        "\"decoder_start_token_id\": 5, \"forced_bos_token_id\": 0, \"do_sample\": true, "
        "\"repetition_penalty\": 1.1, \"temperature\": 0.6, \"top_k\": 20, \"top_p\": 0.95, \"min_p\": 0.1}";
    struct buf report = BUF_INIT;
    free(test_file(folder, "generation_config.json", config, sizeof config - 1));
    r.model->folder = folder;
    test_ok(generate_defaults(r.model, &o, &report, &e), &e);
    assert_int_equal(o.beams, 4);
    assert_int_equal(o.max_new, 8); /* includes the start token */
    assert_int_equal(o.min_new, 2);
    assert_true(o.length_penalty == 2 && o.early == EARLY_NEVER && o.no_repeat == 3);
    assert_true(o.ends == 2 && o.end[0] == 2 && o.end[1] == 7 && o.start == 5);
    assert_true(o.forced_first == 0 && o.forced_last == -1);
    assert_true(!o.sampling.on && o.sampling.temperature == 0.6 && o.sampling.top_k == 20);
    assert_true(o.sampling.top_p == 0.95 && o.sampling.min_p == 0.1 && o.repetition == 1.1);
    assert_non_null(strstr(buf_text(&report), "\"do_sample\" is ignored"));
    assert_null(strstr(buf_text(&report), "repetition_penalty"));
    static const char *const wrong[] = {
        "[]", "{\"num_beams\": 0}", "{\"num_beams\": \"4\"}", "{\"early_stopping\": \"soon\"}",
        "{\"eos_token_id\": 100000}", "{\"eos_token_id\": [1,2,3,4,5,6,7,8,9]}", "{\"max_length\": -1}",
        "{\"length_penalty\": \"x\"}", "{", "{\"top_p\": 1.5}", "{\"temperature\": -1}",
        "{\"repetition_penalty\": 0}", "{\"top_k\": -1}",
    };
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        free(test_file(folder, "generation_config.json", wrong[i], strlen(wrong[i])));
        test_refused(generate_defaults(r.model, &o, NULL, &e), ERR_INPUT, &e, "generation_config.json");
    }
    r.model->folder = given;
    test_ok(generate_defaults(r.model, &o, NULL, &e), &e);
    o.beams = 0;
    test_refused(generate_check(r.model, &o, &e), ERR_USAGE, &e, "beams");
    o.beams = 1, o.max_new = 1 << 20;
    test_refused(generate_check(r.model, &o, &e), ERR_USAGE, &e, "can generate 1 to");
    o.max_new = 5, o.min_new = 6;
    test_refused(generate_check(r.model, &o, &e), ERR_USAGE, &e, "--min-new 6: exceeds the maximum of 5 new tokens");
    o.min_new = -1;
    test_refused(generate_check(r.model, &o, &e), ERR_USAGE, &e, "--min-new -1: must be at least 0");
    /* tokens spelled like an end, beside that of config.json */
    char *llama = test_path("tests/reference/causal/llama");
    struct model *m = model_load(llama, &e);
    test_ok(generate_defaults(m, &o, NULL, &e), &e);
    assert_true(o.ends == 2 && o.end[0] == 2 && o.end[1] == tokenizer_id(m->tokenizer, "<|endoftext|>"));
    model_release(m);
    free(llama);
    m = model_load(bert, &e);
    test_refused(generate_defaults(m, &o, NULL, &e), ERR_USAGE, &e, "petri predict");
    model_release(m);
    buf_release(&report);
    free(folder);
    free(bert);
    reference_close(&r);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_families),   cmocka_unit_test(test_real), cmocka_unit_test(test_workers),
        cmocka_unit_test(test_prompts),    cmocka_unit_test(test_context),  cmocka_unit_test(test_stored), cmocka_unit_test(test_smollm2),
        cmocka_unit_test(test_watch),      cmocka_unit_test(test_memory),
        cmocka_unit_test(test_not_finite), cmocka_unit_test(test_options),
    };
    if (argc) blas_start(argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
