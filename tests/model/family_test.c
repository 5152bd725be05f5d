/* Decoders and properties of the families: independence of rows, offers to hooks, places of dropout,
 * positions and buckets. */
#include "tests/support/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/mem.h"
#include "tests/support/tuned.h"

#define FAMILIES "tests/reference/families/"

/* A model on a tape. */
struct stand {
    struct fixture fixture;
    struct arena *arena;
    struct tape *tape;
    struct forward forward;
};

static void stand_open(struct stand *x, const char *folder) {
    char *expected = xprintf("%s/expected.safetensors", folder);
    *x = (struct stand){0};
    fixture_open(&x->fixture, folder, expected);
    x->arena = arena_new();
    x->tape = tape_new(x->arena);
    free(expected);
}

static void stand_close(struct stand *x) {
    tape_free(x->tape);
    arena_free(x->arena);
    fixture_close(&x->fixture);
}

static struct forward *start(struct stand *x, const struct batch *b, const struct hooks *hooks,
                             bool training) {
    struct forward *f = &x->forward;
    tape_reset(x->tape, training, 1, 0);
    forward_init(f, x->tape, x->fixture.model, b, hooks);
    f->dropout = f->attention_dropout = f->activation_dropout = 0;
    return f;
}

static real *copy(const struct tape *t, node n, int first, int rows) {
    size_t d = (size_t)tape_cols_of(t, n), size = (size_t)rows * d * sizeof(real);
    return memcpy(xmalloc(size + 1), tape_value(t, n) + (size_t)first * d, size);
}

/* ---- rows ---- */

static struct batch row_of(const struct batch *b, int i, int start[4]) {
    struct batch one = *b;
    int from = b->start[i];
    one.examples = 1;
    one.example_id = b->example_id + i;
    one.ids = b->ids + from, one.types = b->types + from, one.positions = b->positions + from;
    one.tokens = b->start[i + 1] - from;
    start[0] = start[2] = 0;
    start[1] = one.tokens;
    one.start = start;
    if (!b->target_start) return one;
    from = b->target_start[i];
    one.target_in = b->target_in + from, one.target_positions = b->target_positions + from;
    one.target_tokens = start[3] = b->target_start[i + 1] - from;
    one.target_start = start + 2;
    return one;
}

static void assert_near(const char *what, const real *a, const real *b, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (!(fabs((double)a[i] - (double)b[i]) < 5e-6))
            fail_msg("%s: %.9g and %.9g", what, (double)a[i], (double)b[i]);
}

/* The outputs of encoder and decoder for one row alone equal those within the batch. */
static void check_rows(const char *folder) {
    struct stand x;
    stand_open(&x, folder);
    const struct batch *b = &x.fixture.batch;
    bool generates = arch_generates(&x.fixture.model->arch);
    size_t d = (size_t)x.fixture.model->arch.width;
    struct forward *f = start(&x, b, NULL, false);
    node encoded = forward_encode(f), decoded = generates ? forward_decode(f, encoded) : NODE_NONE;
    real *all = copy(x.tape, encoded, 0, b->tokens);
    real *said = generates ? copy(x.tape, decoded, 0, b->target_tokens) : NULL;
    for (int i = 0; i < b->examples; i++) {
        int starts[4];
        struct batch one = row_of(b, i, starts);
        f = start(&x, &one, NULL, false);
        encoded = forward_encode(f);
        assert_near(folder, tape_value(x.tape, encoded), all + (size_t)b->start[i] * d,
                    (size_t)one.tokens * d);
        if (!generates) continue;
        decoded = forward_decode(f, encoded);
        assert_near(folder, tape_value(x.tape, decoded), said + (size_t)b->target_start[i] * d,
                    (size_t)one.target_tokens * d);
    }
    free(all);
    free(said);
    stand_close(&x);
}

static void test_rows_alone(void **state) {
    (void)state;
    for (int i = TINY_NOT_BERT; fixture_tiny(i); i++) check_rows(fixture_tiny(i));
}

/* The decoder at token 1 must not attend to token 2. */
static void test_decoder_looks_back(void **state) {
    (void)state;
    for (int i = TINY_DECODERS; fixture_tiny(i); i++) {
        struct stand x;
        stand_open(&x, fixture_tiny(i));
        struct batch *b = &x.fixture.batch;
        assert_true(b->target_start[1] > 3);
        size_t d = (size_t)x.fixture.model->arch.width;
        struct forward *f = start(&x, b, NULL, false);
        real *before = copy(x.tape, forward_decode(f, forward_encode(f)), 0, 3);
        b->target_in[2] ^= 1;
        f = start(&x, b, NULL, false);
        const real *after = tape_value(x.tape, forward_decode(f, forward_encode(f)));
        assert_memory_equal(before, after, 2 * d * sizeof *before);
        assert_memory_not_equal(before + 2 * d, after + 2 * d, d * sizeof *before);
        free(before);
        stand_close(&x);
    }
}

/* ---- taps ---- */

/* Records the offers in order: "dec.1.cross a.q " … */
static node note(void *self, struct tape *t, const struct forward *f, struct site *s, enum tap tap,
                 enum tap_stage stage, node value) {
    static const char *const names[] = {"self", "cross", "ffn", "embed"};
    bool decoder = s->stack == STACK_DECODER, attends = s->sublayer <= SUB_CROSS;
    assert_ptr_equal(s->rows, decoder ? &f->target_rows : &f->rows);
    if (attends)
        assert_ptr_equal(s->key_rows,
                         decoder && s->sublayer == SUB_SELF ? &f->target_rows : &f->rows);
    if (tap == TAP_A_K || tap == TAP_A_V)
        assert_int_equal(tape_rows_of(t, s->source), s->key_rows->start[s->key_rows->count]);
    assert_true(s->value[tap] == value);
    if (stage == TAP_DONE)
        buf_printf(self, "%s.%d.%s %s\n", decoder ? "dec" : "enc", s->layer, names[s->sublayer],
                   tap_name(tap));
    return value;
}

static void add_attention(struct buf *b, const char *stack, int layer, const char *sublayer) {
    static const char *const taps[] = {"a.q", "a.k", "a.v", "a.head", "a.ctx", "a.out"};
    for (size_t i = 0; i < COUNT_OF(taps); i++)
        buf_printf(b, "%s.%d.%s %s\n", stack, layer, sublayer, taps[i]);
}

static void add_stack(struct buf *b, const char *stack, int layers, bool cross, bool gated) {
    static const char *const taps[] = {"f.pre", "f.up", "f.act", "f.out"};
    buf_printf(b, "%s.-1.embed embed.words\n%s.-1.embed embed\n", stack, stack);
    for (int i = 0; i < layers; i++) {
        add_attention(b, stack, i, "self");
        if (cross) add_attention(b, stack, i, "cross");
        for (size_t k = 0; k < COUNT_OF(taps); k++)
            if (gated || k != 1) buf_printf(b, "%s.%d.ffn %s\n", stack, i, taps[k]);
    }
}

static void test_taps_of_both_stacks(void **state) {
    (void)state;
    for (int i = TINY_DECODERS; fixture_tiny(i); i++) {
        struct stand x;
        stand_open(&x, fixture_tiny(i));
        const struct arch *a = &x.fixture.model->arch;
        struct buf seen = BUF_INIT, right = BUF_INIT;
        struct hooks hooks = {.self = &seen, .write = note};
        struct forward *f = start(&x, &x.fixture.batch, &hooks, false);
        forward_decode(f, forward_encode(f));
        add_stack(&right, "enc", a->encoder_layers, false, a->gated);
        add_stack(&right, "dec", a->decoder_layers, true, a->gated);
        assert_string_equal(buf_text(&seen), buf_text(&right));
        buf_release(&seen);
        buf_release(&right);
        stand_close(&x);
    }
}

/* ---- dropout ---- */

/* Counts zeros in the values offered at embed and f.act, of both stacks. */
struct zeros {
    long embed[2], act[2], embeds[2], acts[2];
};

static long count_zeros(const struct tape *t, node n) {
    size_t size = (size_t)tape_rows_of(t, n) * (size_t)tape_cols_of(t, n);
    long zeros = 0;
    for (size_t i = 0; i < size; i++) zeros += tape_value(t, n)[i] == 0;
    return zeros;
}

static long size_of(const struct tape *t, node n) {
    return (long)tape_rows_of(t, n) * tape_cols_of(t, n);
}

static node count(void *self, struct tape *t, const struct forward *f, struct site *s, enum tap tap,
                  enum tap_stage stage, node value) {
    struct zeros *z = self;
    (void)f;
    if (stage == TAP_DONE && tap == TAP_EMBED) {
        z->embed[s->stack] += count_zeros(t, value);
        z->embeds[s->stack] += size_of(t, value);
    }
    if (tap == TAP_F_ACT) { /* before and after dropout, because relu also produces zeros */
        z->act[s->stack] += stage == TAP_DONE ? count_zeros(t, value) : -count_zeros(t, value);
        if (stage == TAP_DONE) z->acts[s->stack] += size_of(t, value);
    }
    return value;
}

/* Checks a share of about one half. */
static void assert_half(long zeros, long of) {
    if (zeros < of * 3 / 8 || zeros > of * 5 / 8) fail_msg("%ld zeros of %ld", zeros, of);
}

static void test_dropout_places(void **state) {
    (void)state;
    static const char *const models[] = {FAMILIES "t5-odd", FAMILIES "bart-tiny",
                                         FAMILIES "mbart-odd"};
    for (size_t i = 0; i < COUNT_OF(models); i++) {
        struct stand x;
        stand_open(&x, models[i]);
        bool t5 = x.fixture.model->arch.family == FAMILY_T5;
        struct zeros z = {{0}, {0}, {0}, {0}}, none = z;
        struct hooks hooks = {.self = &z, .write = count};
        struct forward *f = start(&x, &x.fixture.batch, &hooks, true);
        f->dropout = 0.5;
        node encoded = forward_encode(f), decoded = forward_decode(f, encoded);
        for (int k = 0; k < 2; k++) assert_half(z.embed[k], z.embeds[k]);
        assert_int_equal(z.act[0] + z.act[1], 0);
        /* T5 also applies dropout after the final norm of each stack. */
        if (t5) assert_half(count_zeros(x.tape, encoded), size_of(x.tape, encoded));
        else assert_int_equal(count_zeros(x.tape, encoded), 0);
        if (t5) assert_half(count_zeros(x.tape, decoded), size_of(x.tape, decoded));
        z = none;
        f = start(&x, &x.fixture.batch, &hooks, true);
        f->activation_dropout = 0.5;
        encoded = forward_encode(f), decoded = forward_decode(f, encoded);
        assert_int_equal(z.embed[0] + z.embed[1], 0);
        assert_int_equal(count_zeros(x.tape, encoded) + count_zeros(x.tape, decoded), 0);
        if (t5)
            for (int k = 0; k < 2; k++) assert_half(z.act[k], z.acts[k]);
        else assert_true(z.act[0] > 0 && z.act[1] > 0);
        stand_close(&x);
    }
}

/* ---- positions and buckets ---- */

static void test_positions(void **state) {
    (void)state;
    const int32_t ids[] = {0, 7, 1, 9, 1, 1, 2};
    int32_t got[COUNT_OF(ids)];
    struct arch a = {.family = FAMILY_ROBERTA, .pad_id = 1};
    arch_positions(&a, ids, COUNT_OF(ids), got);
    assert_memory_equal(got, ((int32_t[]){0, 1, -1, 2, -1, -1, 3}), sizeof got);
    a.family = FAMILY_BART;
    arch_positions(&a, ids, COUNT_OF(ids), got);
    assert_memory_equal(got, ((int32_t[]){0, 1, 2, 3, 4, 5, 6}), sizeof got);
}

/* The distances at which transformers' buckets change: bucket first + i starts at edge[i], on one side of the
 * query. */
static void check_side(const struct arch *a, bool decoder, int sign, int first, const int *edge,
                       int edges) {
    for (int i = 0; i < edges; i++) {
        assert_int_equal(arch_bucket(a, sign * edge[i], decoder), first + i);
        if (i) assert_int_equal(arch_bucket(a, sign * (edge[i] - 1), decoder), first + i - 1);
    }
    assert_int_equal(arch_bucket(a, sign * 100000, decoder), first + edges - 1);
}

static void test_buckets(void **state) {
    (void)state;
    static const int both[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 23, 32, 46, 64, 91};
    static const int back[] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13,  14, 15,
                               16, 19, 21, 24, 27, 31, 35, 40, 46, 52, 59, 67, 77, 87, 99, 113};
    static const int odd[] = {0, 1, 2, 3, 5, 8};
    static const int odd_back[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12};
    const struct arch usual = {.buckets = 32, .bucket_distance = 128};
    const struct arch few = {.buckets = 12, .bucket_distance = 13};
    check_side(&usual, false, -1, 0, both, COUNT_OF(both));
    check_side(&usual, true, -1, 0, back, COUNT_OF(back));
    assert_int_equal(arch_bucket(&usual, 1, false), 17);
    assert_int_equal(arch_bucket(&usual, 91, false), 31);
    assert_int_equal(arch_bucket(&usual, 90, false), 30);
    assert_int_equal(arch_bucket(&usual, 5, true), 0);
    check_side(&few, false, -1, 0, odd, COUNT_OF(odd));
    check_side(&few, true, -1, 0, odd_back, COUNT_OF(odd_back));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_alone),          cmocka_unit_test(test_decoder_looks_back),
        cmocka_unit_test(test_taps_of_both_stacks), cmocka_unit_test(test_dropout_places),
        cmocka_unit_test(test_positions),           cmocka_unit_test(test_buckets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
