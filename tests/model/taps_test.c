/* Hooks: which taps are offered, in which order, the values in the site, and the independence of rows. */
#include "tests/support/test.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/mem.h"
#include "core/model/model.h"
#include "tests/support/fixture.h"

#define TINY "tests/reference/bert-tiny"

static struct fixture fx;

static int set_up(void **state) {
    (void)state;
    fixture_open(&fx, TINY, TINY "/expected.safetensors");
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    fixture_close(&fx);
    return 0;
}

/* The last layer of a batch; caller frees. */
static real *encode(const struct batch *b, const struct hooks *hooks, bool training, uint64_t seed,
                    size_t *peak) {
    struct arena *arena = arena_new();
    struct tape *t = tape_new(arena);
    struct forward f;
    tape_reset(t, training, seed, 0);
    forward_init(&f, t, fx.model, b, hooks);
    node last = forward_encode(&f);
    size_t bytes = (size_t)b->tokens * (size_t)fx.model->arch.width * sizeof(real);
    real *out = memcpy(xmalloc(bytes), tape_value(t, last), bytes);
    if (peak) *peak = arena_peak(arena);
    tape_free(t);
    arena_free(arena);
    return out;
}

static size_t values(const struct batch *b) {
    return (size_t)b->tokens * (size_t)fx.model->arch.width;
}

static double apart(const real *a, const real *b, size_t n) {
    double most = 0;
    for (size_t i = 0; i < n; i++) most = fmax(most, fabs((double)a[i] - (double)b[i]));
    return most;
}

/* ---- order of offers ---- */

struct log {
    struct buf text;
    enum tap skipped;
};

static bool log_wants(void *self, const struct site *s, enum tap tap) {
    (void)s;
    return ((struct log *)self)->skipped != tap;
}

static node log_write(void *self, struct tape *t, const struct forward *f, struct site *s,
                      enum tap tap, enum tap_stage stage, node value) {
    struct log *log = self;
    (void)t;
    assert_ptr_equal(f->model, fx.model);
    assert_int_equal(s->value[tap], value);
    assert_ptr_equal(s->rows, &f->rows);
    buf_printf(&log->text, "%d %s %s\n", s->layer, tap_name(tap),
               stage == TAP_RAW ? "raw" : "done");
    return value;
}

static int log_keys(void *self, struct tape *t, const struct forward *f, struct site *s,
                    struct kv_set *set, int room) {
    struct log *log = self;
    (void)t, (void)f, (void)set;
    assert_int_equal(room, HOOK_SETS);
    assert_true(s->value[TAP_A_Q] && s->value[TAP_A_K] && s->value[TAP_A_V] &&
                !s->value[TAP_A_HEAD]);
    buf_printf(&log->text, "%d keys\n", s->layer);
    return 0;
}

static void expect_both(struct buf *b, int layer, enum tap tap) {
    buf_printf(b, "%d %s raw\n%d %s done\n", layer, tap_name(tap), layer, tap_name(tap));
}

static void test_order(void **state) {
    (void)state;
    static const enum tap before[] = {TAP_A_Q, TAP_A_K, TAP_A_V};
    static const enum tap after[] = {TAP_A_HEAD, TAP_A_CTX, TAP_A_OUT,
                                     TAP_F_PRE,  TAP_F_ACT, TAP_F_OUT};
    for (int skip_pre = 0; skip_pre < 2; skip_pre++) {
        struct log log = {BUF_INIT, skip_pre ? TAP_F_PRE : TAP_NONE};
        struct hooks hooks = {
            .self = &log, .wants = log_wants, .write = log_write, .keys = log_keys};
        real *plain = encode(&fx.batch, NULL, false, 1, NULL);
        real *seen = encode(&fx.batch, &hooks, false, 1, NULL);
        /* Offered values are rounded where fused layers keep a sum: a few units in the last place of the
         * largest value, depending on the kernels of the processor. */
        double largest = 0;
        for (size_t i = 0; i < values(&fx.batch); i++) largest = fmax(largest, fabs((double)plain[i]));
        assert_true(apart(seen, plain, values(&fx.batch)) < 8 * FLT_EPSILON * largest);
        struct buf right = BUF_INIT;
        /* nothing replaces the word embeddings */
        buf_printf(&right, "-1 %s done\n", tap_name(TAP_EMBED_WORDS));
        expect_both(&right, -1, TAP_EMBED);
        for (int layer = 0; layer < 3; layer++) {
            for (size_t i = 0; i < COUNT_OF(before); i++) expect_both(&right, layer, before[i]);
            buf_printf(&right, "%d keys\n", layer);
            for (size_t i = 0; i < COUNT_OF(after); i++)
                if (after[i] != log.skipped) expect_both(&right, layer, after[i]);
        }
        assert_string_equal(buf_text(&log.text), buf_text(&right));
        buf_release(&log.text);
        buf_release(&right);
        free(plain);
        free(seen);
    }
}

/* ---- what the site holds ---- */

/* Records f.norm of the last layer, and f.end of the layer before it. */
struct probe {
    real *norm, *end;
    int layer;
};

static node probe_write(void *self, struct tape *t, const struct forward *f, struct site *s,
                        enum tap tap, enum tap_stage stage, node value) {
    struct probe *p = self;
    size_t bytes = values(f->batch) * sizeof(real);
    if (s->layer == p->layer && tap == TAP_F_OUT && stage == TAP_DONE) {
        assert_int_equal(s->value[TAP_F_IN], s->value[TAP_A_END]);
        assert_int_equal(s->value[TAP_F_RES], s->value[TAP_F_IN]);
        node norm = site_norm(f, s);
        assert_int_equal(site_norm(f, s), norm);
        memcpy(p->norm, tape_value(t, norm), bytes);
        return op_scale(t, value, 2);
    }
    /* The residual stream that enters the next layer is the end of this one. */
    if (s->layer == p->layer + 1 && tap == TAP_A_Q && stage == TAP_RAW)
        memcpy(p->end, tape_value(t, s->value[TAP_A_IN]), bytes);
    return value;
}

struct keep {
    struct tape *tape;
    real *layer;
    int wanted;
};

static void keep_layer(void *self, int layer, node output) {
    struct keep *k = self;
    if (layer == k->wanted)
        memcpy(k->layer, tape_value(k->tape, output), values(&fx.batch) * sizeof(real));
}

/* f.norm is LN(f.out + f.res) of the unadapted model, whatever is written then. */
static void test_norm(void **state) {
    (void)state;
    size_t n = values(&fx.batch);
    struct probe p = {xcalloc(n, sizeof(real)), xcalloc(n, sizeof(real)), 1};
    struct hooks hooks = {.self = &p, .write = probe_write};
    free(encode(&fx.batch, &hooks, false, 1, NULL));
    struct arena *arena = arena_new();
    struct tape *t = tape_new(arena);
    struct forward f;
    struct keep k = {t, xcalloc(n, sizeof(real)), 2};
    tape_reset(t, false, 1, 0);
    forward_init(&f, t, fx.model, &fx.batch, NULL);
    f.layer_done = keep_layer;
    f.layer_self = &k;
    forward_encode(&f);
    assert_true(apart(p.norm, k.layer, n) < 1e-5);
    assert_true(apart(p.end, k.layer, n) > 1e-2);
    tape_free(t);
    arena_free(arena);
    free(k.layer);
    free(p.norm);
    free(p.end);
}

/* ---- independence of rows ---- */

/* Returns row `i` of the fixture's batch alone, with its example id. */
static struct batch row_of(int i, int start[2]) {
    struct batch b = fx.batch;
    int at = fx.batch.start[i];
    start[0] = 0;
    start[1] = fx.batch.start[i + 1] - at;
    b.examples = 1;
    b.tokens = start[1];
    b.start = start;
    b.ids += at;
    b.types += at;
    b.positions += at;
    b.example_id += i;
    b.label += i;
    b.weight += i;
    return b;
}

/* Also with dropout: random numbers depend on the example id, not on its place in the batch. */
static void test_rows_alone(void **state) {
    (void)state;
    for (int training = 0; training < 2; training++) {
        real *all = encode(&fx.batch, NULL, training, 7, NULL);
        for (int i = 0; i < fx.batch.examples; i++) {
            int start[2];
            struct batch b = row_of(i, start);
            real *alone = encode(&b, NULL, training, 7, NULL);
            size_t at = (size_t)fx.batch.start[i] * (size_t)fx.model->arch.width;
            assert_true(apart(alone, all + at, values(&b)) < 1e-5);
            free(alone);
        }
        free(all);
    }
}

static void test_dropout(void **state) {
    (void)state;
    size_t n = values(&fx.batch);
    real *still = encode(&fx.batch, NULL, false, 7, NULL),
         *other_still = encode(&fx.batch, NULL, false, 8, NULL);
    real *a = encode(&fx.batch, NULL, true, 7, NULL),
         *again = encode(&fx.batch, NULL, true, 7, NULL);
    real *b = encode(&fx.batch, NULL, true, 8, NULL);
    assert_memory_equal(still, other_still, n * sizeof *still);
    assert_memory_equal(a, again, n * sizeof *a);
    assert_true(apart(a, b, n) > 1e-2);
    assert_true(apart(a, still, n) > 1e-2);
    free(still);
    free(other_still);
    free(a);
    free(again);
    free(b);
}

/* The taps with dropout between RAW and DONE. */
struct between {
    real *raw;
    int same[TAP_COUNT], changed[TAP_COUNT];
};

static node between_write(void *self, struct tape *t, const struct forward *f, struct site *s,
                          enum tap tap, enum tap_stage stage, node value) {
    struct between *b = self;
    size_t n = (size_t)tape_rows_of(t, value) * (size_t)tape_cols_of(t, value);
    (void)f, (void)s;
    if (stage == TAP_RAW) memcpy(b->raw, tape_value(t, value), n * sizeof(real));
    else if (memcmp(b->raw, tape_value(t, value), n * sizeof(real))) b->changed[tap]++;
    else b->same[tap]++;
    return value;
}

static void test_dropout_places(void **state) {
    (void)state;
    struct between b = {.raw = xcalloc(values(&fx.batch) * 4, sizeof(real))};
    struct hooks hooks = {.self = &b, .write = between_write};
    free(encode(&fx.batch, &hooks, true, 7, NULL));
    assert_int_equal(b.changed[TAP_EMBED], 1);
    assert_int_equal(b.changed[TAP_A_OUT], 3);
    assert_int_equal(b.changed[TAP_F_OUT], 3);
    static const enum tap plain[] = {TAP_A_Q,   TAP_A_K,   TAP_A_V,  TAP_A_HEAD,
                                     TAP_A_CTX, TAP_F_PRE, TAP_F_ACT};
    for (size_t i = 0; i < COUNT_OF(plain); i++) {
        assert_int_equal(b.changed[plain[i]], 0);
        assert_int_equal(b.same[plain[i]], 3);
    }
    free(b.raw);
}

/* The attention probabilities have a separate dropout rate. */
static void test_attention_dropout(void **state) {
    (void)state;
    size_t n = values(&fx.batch);
    real *still = encode(&fx.batch, NULL, false, 7, NULL);
    for (int attention = 0; attention < 2; attention++) {
        struct arena *arena = arena_new();
        struct tape *t = tape_new(arena);
        struct forward f;
        tape_reset(t, true, 7, 0);
        forward_init(&f, t, fx.model, &fx.batch, NULL);
        f.dropout = 0;
        f.attention_dropout = attention ? 0.5 : 0;
        const real *last = tape_value(t, forward_encode(&f));
        assert_true(attention ? apart(last, still, n) > 1e-2 : apart(last, still, n) < 1e-6);
        tape_free(t);
        arena_free(arena);
    }
    free(still);
}

/* ---- memory ---- */

/* A trained bias at the last layer's f.out, or at the first layer's. */
struct late {
    int layer;
    real value[20], grad[20];
};

static node late_write(void *self, struct tape *t, const struct forward *f, struct site *s,
                       enum tap tap, enum tap_stage stage, node value) {
    struct late *l = self;
    (void)f;
    if (s->layer != l->layer || tap != TAP_F_OUT || stage != TAP_RAW) return value;
    return op_bias(t, value, tape_trained(t, 1, 20, l->value, l->grad));
}

static void test_memory_of_frozen_layers(void **state) {
    (void)state;
    size_t frozen, last, first;
    struct late late = {.layer = 2};
    struct hooks hooks = {.self = &late, .write = late_write};
    assert_int_equal(fx.model->arch.width, COUNT_OF(late.value));
    free(encode(&fx.batch, NULL, true, 1, &frozen));
    free(encode(&fx.batch, &hooks, true, 1, &last));
    late.layer = 0;
    free(encode(&fx.batch, &hooks, true, 1, &first));
    assert_true(frozen <= last);
    assert_true(last < first);
    assert_true(first > frozen + frozen / 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),      cmocka_unit_test(test_norm),
        cmocka_unit_test(test_rows_alone), cmocka_unit_test(test_dropout),
        cmocka_unit_test(test_dropout_places),
        cmocka_unit_test(test_attention_dropout),
        cmocka_unit_test(test_memory_of_frozen_layers),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
