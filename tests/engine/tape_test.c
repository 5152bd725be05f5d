#include <math.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/engine/ops.h"
#include "tests/support/test.h"

enum { N = 7, D = 16 };

static real x_value[N * D], w_value[D * D], w2_value[D * D], b_value[D];
static real w_grad[D * D], w2_grad[D * D], b_grad[D];

static int fill(void **state) {
    (void)state;
    struct rng_key key = rng_key(1, RNG_TEST, 0, 0);
    for (int i = 0; i < N * D; i++) x_value[i] = (real)rng_normal(key, (uint64_t)i);
    for (int i = 0; i < D * D; i++) {
        w_value[i] = (real)(0.3 * rng_normal(key, 1000 + (uint64_t)i));
        w2_value[i] = (real)(0.3 * rng_normal(key, 2000 + (uint64_t)i));
    }
    for (int i = 0; i < D; i++) b_value[i] = (real)rng_normal(key, 3000 + (uint64_t)i);
    return 0;
}

static void test_arena_ends(void **state) {
    (void)state;
    struct arena *a = arena_new();
    char *first = arena_keep(a, 100);
    memset(first, 1, 100);
    struct arena_mark m = arena_mark(a);
    for (int i = 0; i < 50; i++) {
        char *kept = arena_keep(a, 100000), *scratch = arena_scratch(a, 70000);
        assert_int_equal((uintptr_t)kept % 64, 0);
        assert_int_equal((uintptr_t)scratch % 64, 0);
        memset(kept, 2, 100000);
        memset(scratch, 3, 70000);
        for (int j = 0; j < 100; j++) assert_int_equal(first[j], 1);
        assert_int_equal(kept[99999], 2);
    }
    assert_true(arena_grown(a) > 1);
    arena_scratch_release(a, m);
    arena_keep_release(a, m);
    char *again = arena_keep(a, 100);
    assert_true(again == first + 128); /* 100 bytes take two lines of 64 */
    arena_reset(a);
    size_t grown = arena_grown(a);
    for (int i = 0; i < 50; i++) {
        arena_keep(a, 100000);
        arena_scratch(a, 70000);
    }
    arena_reset(a);
    assert_int_equal(arena_grown(a), grown);
    assert_true(arena_peak(a) >= 50 * 170000);
    arena_free(a);
}

/* One weight used by two layers and a residual path around each. */
static node twice(struct tape *t, node w, node b) {
    node x = tape_frozen(t, N, D, x_value);
    node h = op_add(t, x, op_linear_act(t, x, w, b, ACT_GELU));
    return op_add(t, h, op_linear_act(t, h, w, b, ACT_GELU));
}

static void test_shared_leaf(void **state) {
    (void)state;
    struct arena *a = arena_new();
    struct tape *t = tape_new(a);
    tape_reset(t, true, 0, 0);
    node w = tape_trained(t, D, D, w_value, w_grad), b = tape_trained(t, 1, D, b_value, b_grad);
    assert_int_equal(tape_trained(t, D, D, w_value, w_grad), w);
    node unused = tape_trained(t, D, D, w2_value, w2_grad);
    memset(w2_grad, 0xFF, sizeof w2_grad);
    node y = twice(t, w, b);
    tape_backward(t, 1, &y, NULL);
    for (int i = 0; i < D * D; i++) assert_true(w2_grad[i] == 0);
    assert_true(tape_grad(t, unused) == w2_grad);
    /* central differences of the sum, at one element of each */
    for (int k = 0; k < 2; k++) {
        real *p = k ? &b_value[5] : &w_value[37], was = *p;
        double sum[2] = { 0, 0 }, got = k ? (double)b_grad[5] : (double)w_grad[37];
        for (int s = 0; s < 2; s++) {
            *p = was + (s ? (real)0.01 : (real)-0.01);
            tape_reset(t, true, 0, 0);
            node z = twice(t, tape_frozen(t, D, D, w_value), tape_frozen(t, 1, D, b_value));
            assert_false(tape_needs_grad(t, z));
            for (int i = 0; i < N * D; i++) sum[s] += (double)tape_value(t, z)[i];
        }
        *p = was;
        double slope = (sum[1] - sum[0]) / 0.02;
        assert_true(fabs(slope - got) <= 2e-3 * (1 + fabs(slope)));
    }
    tape_free(t);
    arena_free(a);
}

/* An operand used twice; a value with several seeds; a leaf as seed; watched values. */
static void test_contributions(void **state) {
    (void)state;
    struct arena *a = arena_new();
    struct tape *t = tape_new(a);
    tape_reset(t, true, 0, 0);
    node w = tape_trained(t, D, D, w_value, w_grad);
    node d = op_scale(t, op_add(t, w, w), 3);
    node e = op_mul(t, d, d);
    tape_watch(t, d);
    node seeds[] = { e, e, d, w };
    tape_backward(t, 4, seeds, NULL);
    for (int i = 0; i < D * D; i++) {
        double v = (double)w_value[i], want = 2 * 2 * 36 * v + 6 + 1;
        assert_true(fabs((double)w_grad[i] - want) <= 1e-5 * (1 + fabs(want)));
        double at_d = 2 * 2 * 6 * v + 1;
        assert_true(fabs((double)tape_grad(t, d)[i] - at_d) <= 1e-5 * (1 + fabs(at_d)));
    }
    assert_null(tape_grad(t, e));
    tape_free(t);
    arena_free(a);
}

static void test_not_training(void **state) {
    (void)state;
    struct arena *a = arena_new();
    struct tape *t = tape_new(a);
    int start[] = { 0, N };
    uint64_t id[] = { 4 };
    struct tape_rows rows = { 1, start, id };
    tape_reset(t, false, 0, 0);
    w_grad[0] = 42;
    node y = twice(t, tape_trained(t, D, D, w_value, w_grad), NODE_NONE);
    assert_false(tape_needs_grad(t, y));
    assert_int_equal(op_dropout(t, y, &rows, 0.5, 1), y);
    assert_true(w_grad[0] == 42);
    tape_free(t);
    arena_free(a);
}

static void test_recycle(void **state) {
    (void)state;
    struct arena *a = arena_new();
    struct tape *t = tape_new(a);
    real plain[N * D];
    size_t peak[2];
    for (int recycle = 0; recycle < 2; recycle++) {
        tape_reset(t, true, 0, 0);
        node w = tape_frozen(t, D, D, w_value), h = tape_frozen(t, N, D, x_value);
        struct tape_mark below = tape_mark(t);
        for (int layer = 0; layer < 40; layer++) {
            tape_site(t, "layer %d", layer);
            h = op_linear_act(t, op_linear_act(t, h, w, NODE_NONE, ACT_TANH), w, NODE_NONE, ACT_TANH);
            if (recycle) tape_recycle(t, below, &h);
            peak[recycle] = arena_mark(a).low;
        }
        if (!recycle) memcpy(plain, tape_value(t, h), sizeof plain);
        assert_memory_equal(plain, tape_value(t, h), sizeof plain);
        /* values that need a gradient remain */
        node v = tape_trained(t, D, D, w2_value, w2_grad);
        struct tape_mark m = tape_mark(t);
        node y = op_linear(t, h, v, NODE_NONE), same = y;
        tape_recycle(t, m, &y);
        assert_int_equal(y, same);
        tape_backward(t, 1, &y, NULL);
        for (int i = 0; i < D; i++) {
            double sum = 0;
            for (int r = 0; r < N; r++) sum += (double)plain[r * D + i];
            assert_true(fabs((double)w2_grad[i] - sum) < 1e-5);
        }
    }
    assert_true(peak[1] * 10 < peak[0]);
    /* a value from before the mark is not moved */
    tape_reset(t, true, 0, 0);
    node before = tape_frozen(t, N, D, x_value), keep = before;
    struct tape_mark m = tape_mark(t);
    op_scale(t, before, 2);
    tape_recycle(t, m, &keep);
    assert_int_equal(keep, before);
    tape_free(t);
    arena_free(a);
}

static void test_first_bad(void **state) {
    (void)state;
    struct arena *a = arena_new();
    struct tape *t = tape_new(a);
    char site[64];
    tape_reset(t, true, 0, 0);
    node w = tape_frozen(t, D, D, w_value), h = tape_frozen(t, N, D, x_value);
    for (int layer = 0; layer < 3; layer++) {
        tape_site(t, "layer %d", layer);
        h = op_linear(t, h, w, NODE_NONE);
        if (layer == 1) {
            assert_null(tape_first_bad(t, site));
            for (int i = 0; i < 4; i++) h = op_scale(t, h, 1e30);
        }
    }
    assert_string_equal(tape_first_bad(t, site), "scale");
    assert_string_equal(site, "layer 1");
    tape_free(t);
    arena_free(a);
}

enum { LAYERS = 24, LONG = 64 };
static real long_value[LONG * D];

/* Layers of which the first two need no gradient; every later one shares a weight. */
static node segments(struct tape *t, bool recompute, int overflow, const struct tape_rows *rows) {
    tape_reset(t, true, 7, 3);
    if (recompute) tape_recompute(t);
    node frozen = tape_frozen(t, D, D, w_value), h = tape_frozen(t, LONG, D, long_value);
    node w = tape_trained(t, D, D, w2_value, w2_grad), b = tape_trained(t, 1, D, b_value, b_grad);
    struct tape_mark below = tape_mark(t);
    for (int layer = 0; layer < LAYERS; layer++) {
        tape_site(t, "layer %d", layer);
        tape_segment_begin(t);
        node z = op_dropout(t, op_linear_act(t, h, frozen, NODE_NONE, ACT_TANH), rows, 0.3, (uint64_t)layer);
        if (layer == overflow) z = op_scale(t, op_scale(t, z, 1e30), 1e30);
        if (layer >= 2) z = op_mul(t, op_linear_act(t, z, w, b, ACT_GELU), z);
        h = op_add(t, op_linear(t, z, frozen, NODE_NONE), h);
        tape_segment_end(t, h);
        tape_recycle(t, below, &h);
    }
    return h;
}

/* The same bits in less memory; the first bad value within a layer is found. */
static void test_segments(void **state) {
    (void)state;
    const struct tape_rows rows = { 1, (const int[]){ 0, LONG }, (const uint64_t[]){ 4 } };
    real value[LONG * D], plain[D * D], plain_b[D];
    size_t peak[2];
    char site[64];
    for (int i = 0; i < LONG * D; i++) long_value[i] = x_value[i % (N * D)];
    for (int k = 0; k < 2; k++) {
        struct arena *a = arena_new();
        struct tape *t = tape_new(a);
        node y = segments(t, k, -1, &rows);
        if (k) assert_memory_equal(value, tape_value(t, y), sizeof value);
        memcpy(value, tape_value(t, y), sizeof value);
        if (k) assert_null(tape_first_bad(t, site));
        tape_backward(t, 1, &y, NULL);
        if (k) assert_memory_equal(plain, w2_grad, sizeof plain);
        if (k) assert_memory_equal(plain_b, b_grad, sizeof plain_b);
        memcpy(plain, w2_grad, sizeof plain);
        memcpy(plain_b, b_grad, sizeof plain_b);
        peak[k] = arena_peak(a);
        segments(t, k, 3, &rows);
        assert_string_equal(tape_first_bad(t, site), "scale");
        assert_string_equal(site, "layer 3");
        tape_free(t);
        arena_free(a);
    }
    assert_true(peak[1] < 0.5 * (double)peak[0]);
}

/* A NaN or infinity in an operand reaches the result of every op on the path to a loss. */
static void test_bad_numbers_survive(void **state) {
    (void)state;
    struct arena *a = arena_new();
    struct tape *t = tape_new(a);
    int start[] = { 0, N };
    uint64_t id[] = { 4 };
    struct tape_rows rows = { 1, start, id };
    real bad[] = { (real)NAN, (real)INFINITY, (real)-INFINITY };
    for (int k = 0; k < 3; k++) {
        real was = x_value[2 * D + 3];
        x_value[2 * D + 3] = bad[k];
        tape_reset(t, true, 0, 0);
        node x = tape_frozen(t, N, D, x_value), g = tape_frozen(t, 1, D, b_value);
        struct attention at = { .heads = 2, .score_scale = 1, .query_rows = &rows, .key_rows = &rows };
        node y[] = {
            op_layernorm(t, x, NODE_NONE, g, NODE_NONE, 1e-5),
            op_rmsnorm(t, x, NODE_NONE, g, 1e-5),
            op_attention(t, x, x, x, &at),
            op_linear(t, x, tape_frozen(t, D, D, w_value), g),
            k ? x : op_act(t, x, ACT_RELU),
            k ? x : op_act(t, x, ACT_GELU),
            k ? x : op_act(t, x, ACT_GELU_TANH),
            k ? x : op_act(t, x, ACT_SILU),
            k ? x : op_act(t, x, ACT_TANH),
            k ? x : op_act(t, x, ACT_SIGMOID),
        };
        for (size_t i = 0; i < COUNT_OF(y); i++) {
            bool found = false;
            for (int j = 0; j < N * D; j++)
                if (!isfinite((double)tape_value(t, y[i])[j])) found = true;
            if (!found) fail_msg("number %d was lost by op %zu", k, i);
        }
        x_value[2 * D + 3] = was;
    }
    tape_free(t);
    arena_free(a);
}

static void one_step(struct tape *t, uint64_t step) {
    static const int start[] = { 0, 3, N };
    static const uint64_t id[] = { 4, 9 };
    static const struct tape_rows rows = { 2, start, id };
    static const int32_t labels[] = { 1, 2 };
    tape_reset(t, true, 5, step);
    node w = tape_trained(t, D, D, w_value, w_grad), b = tape_trained(t, 1, D, b_value, b_grad);
    node h = tape_frozen(t, N, D, x_value);
    for (int layer = 0; layer < 12; layer++) {
        tape_site(t, "layer %d", layer);
        struct attention at = { .heads = 2, .score_scale = 1, .query_rows = &rows, .key_rows = &rows,
                                .dropout = 0.1, .site = 3 };
        node q = op_linear(t, h, w, b), c = op_attention(t, q, q, q, &at);
        h = op_layernorm(t, op_dropout(t, c, &rows, 0.1, 5), h, b, b, 1e-5);
    }
    node loss = op_cross_entropy(t, op_pool_first(t, h, &rows), labels, NULL);
    tape_backward(t, 1, &loss, NULL);
}

static void test_steady(void **state) {
    (void)state;
    struct arena *a = arena_new();
    struct tape *t = tape_new(a);
    size_t arena_at = 0, tape_at = 0;
    for (uint64_t step = 0; step < 10; step++) {
        one_step(t, step);
        if (step != 2) continue;
        arena_at = arena_grown(a);
        tape_at = tape_grown(t);
    }
    assert_int_equal(arena_grown(a), arena_at);
    assert_int_equal(tape_grown(t), tape_at);
    real first[D * D];
    one_step(t, 3);
    memcpy(first, w_grad, sizeof first);
    one_step(t, 3);
    assert_memory_equal(first, w_grad, sizeof first);
    tape_free(t);
    arena_free(a);
}

/* A table by rows has the gradient of one as a whole in the rows it wrote; others keep what they hold, unless a
 * product with the table writes all. */
static void test_table_by_rows(void **state) {
    (void)state;
    enum { ROWS = 12 };
    static const int32_t ids[N] = { 3, 8, 3, 0, 8, 8, 5 }, more[N] = { 1, 1, 3, 1, 1, 1, 1 };
    static const bool used[ROWS] = { [0] = true, [1] = true, [3] = true, [5] = true, [8] = true };
    struct arena *a = arena_new();
    struct tape *t = tape_new(a);
    real whole[ROWS * D], by_rows[ROWS * D];
    for (int way = 0; way < 3; way++) { /* none, before the look-ups in backward, after them */
        for (int rows = 0; rows < 2; rows++) {
            real *grad = rows ? by_rows : whole;
            for (int i = 0; i < ROWS * D; i++) grad[i] = 77;
            tape_reset(t, true, 5, 1);
            node w = rows ? tape_trained_rows(t, ROWS, D, w_value, grad) : tape_trained(t, ROWS, D, w_value, grad);
            node x = tape_frozen(t, N, D, x_value), y[3];
            const struct embed_table one = { w, (int32_t *)(uintptr_t)ids, 0 };
            const struct embed_table two = { w, (int32_t *)(uintptr_t)more, 0 };
            if (way == 2) y[2] = op_linear(t, x, w, NODE_NONE);
            y[0] = op_embed_sum(t, N, &one, 1);
            y[1] = op_embed_sum(t, N, &two, 1);
            if (way == 1) y[2] = op_linear(t, x, w, NODE_NONE);
            tape_backward(t, way ? 3 : 2, y, NULL);
        }
        const int32_t *row;
        int written = tape_rows_written(t, by_rows, &row);
        assert_int_equal(written, way ? -1 : 5);
        for (int i = 0; i < ROWS; i++) {
            if (way || used[i]) assert_memory_equal(by_rows + i * D, whole + i * D, D * sizeof(real));
            else assert_true(by_rows[i * D] == 77 && whole[i * D] == 0);
        }
        for (int i = 0; i < written; i++) assert_true(used[row[i]]);
    }
    tape_free(t);
    arena_free(a);
}

/* The values of a row do not depend on its neighbors or on its position in the batch. */
static void test_row_alone(void **state) {
    (void)state;
    struct arena *a = arena_new();
    struct tape *t = tape_new(a);
    real both[4 * D];
    for (int alone = 0; alone < 2; alone++) {
        int start[] = { 0, alone ? 4 : 3, N };
        uint64_t id[] = { alone ? 9 : 4, 9 };
        struct tape_rows rows = { alone ? 1 : 2, start, id };
        tape_reset(t, true, 5, 1);
        node x = tape_frozen(t, alone ? 4 : N, D, alone ? x_value + 3 * D : x_value);
        struct attention at = { .heads = 2, .score_scale = 1, .query_rows = &rows, .key_rows = &rows,
                                .dropout = 0.3, .site = 3 };
        node y = op_dropout(t, op_attention(t, x, x, x, &at), &rows, 0.3, 8);
        if (!alone) memcpy(both, tape_value(t, y) + 3 * D, sizeof both);
        else assert_memory_equal(both, tape_value(t, y), sizeof both);
    }
    tape_free(t);
    arena_free(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arena_ends),
        cmocka_unit_test(test_shared_leaf),
        cmocka_unit_test(test_contributions),
        cmocka_unit_test(test_not_training),
        cmocka_unit_test(test_recycle),
        cmocka_unit_test(test_first_bad),
        cmocka_unit_test(test_segments),
        cmocka_unit_test(test_bad_numbers_survive),
        cmocka_unit_test(test_steady),
        cmocka_unit_test(test_table_by_rows),
        cmocka_unit_test(test_row_alone),
    };
    return cmocka_run_group_tests(tests, fill, NULL);
}
