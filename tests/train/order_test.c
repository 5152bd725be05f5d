/* The order of rows, the cutting of steps, and which evaluation is best. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/rng.h"
#include "core/train/run/order.h"
#include "core/train/run/state.h"
#include "tests/support/test.h"

static void every_epoch_has_an_order_of_its_own(void **state) {
    (void)state;
    enum { ROWS = 50 };
    uint32_t first[ROWS], again[ROWS], second[ROWS], other[ROWS], seen[ROWS] = { 0 };
    order_epoch(1, 0, first, ROWS);
    order_epoch(1, 1, second, ROWS);
    order_epoch(1, 0, again, ROWS);
    order_epoch(2, 0, other, ROWS);
    assert_memory_equal(first, again, sizeof first);
    assert_memory_not_equal(first, second, sizeof first);
    assert_memory_not_equal(first, other, sizeof first);
    for (int i = 0; i < ROWS; i++) seen[second[i]]++;
    for (int i = 0; i < ROWS; i++) assert_int_equal(seen[i], 1);
}

enum { MOST = 64 };

static void random_lengths(uint64_t seed, uint32_t *length, int rows) {
    struct rng_key key = rng_key(seed, RNG_TEST, 0, 0);
    for (int i = 0; i < rows; i++) length[i] = 2 + (uint32_t)rng_below(key, (uint64_t)i, 100);
}

/* Lengths in the order of rows. */
static const uint32_t *lengths_of(const uint32_t *rows, int n, const uint32_t *length) {
    static uint32_t all[512];
    for (int i = 0; i < n; i++) all[i] = length[rows[i]];
    return all;
}

/* Every row once, no part empty, and no part heavier than the lightest by more than a row. */
static void parts_are_whole_and_balanced(void **state) {
    (void)state;
    uint32_t length[MOST];
    uint32_t rows[MOST], row[MOST];
    uint64_t scratch[MOST];
    int start[MOST * 8 + 1];
    struct row_parts c = { .start = start, .row = row, .scratch = scratch };
    for (int n = 1; n <= MOST; n++) {
        random_lengths((uint64_t)n, length, n);
        order_epoch(3, n, rows, (size_t)n);
        for (int shards = 1; shards <= 8; shards += 3) {
            int seen[MOST] = { 0 };
            size_t least = SIZE_MAX, most = 0;
            order_cut(&c, rows, lengths_of(rows, n, length), n, 1, shards);
            assert_int_equal(c.parts, n < shards ? n : shards);
            assert_int_equal(c.start[c.parts], n);
            for (int p = 0; p < c.parts; p++) {
                size_t tokens = 0;
                assert_true(c.start[p + 1] > c.start[p]);
                for (int i = c.start[p]; i < c.start[p + 1]; i++) {
                    seen[c.row[i]]++;
                    tokens += length[c.row[i]];
                }
                least = tokens < least ? tokens : least;
                most = tokens > most ? tokens : most;
            }
            for (int i = 0; i < n; i++) assert_int_equal(seen[i], 1);
            assert_true(most - least <= 101);
        }
    }
}

static void micro_batches_are_runs_of_rows(void **state) {
    (void)state;
    enum { ROWS = 7 };
    uint32_t length[ROWS];
    uint32_t rows[ROWS], row[ROWS];
    uint64_t scratch[ROWS];
    int start[ROWS + 1];
    struct row_parts c = { .start = start, .row = row, .scratch = scratch };
    random_lengths(9, length, ROWS);
    order_epoch(1, 0, rows, ROWS);
    order_cut(&c, rows, lengths_of(rows, ROWS, length), ROWS, 3, 1);
    assert_int_equal(c.parts, 3);
    static const int from[] = { 0, 2, 4, 7 };
    for (int p = 0; p < 3; p++) {
        assert_int_equal(c.start[p], from[p]);
        for (int i = from[p]; i < from[p + 1]; i++) {
            bool there = false;
            for (int j = from[p]; j < from[p + 1]; j++) there |= c.row[i] == rows[j];
            assert_true(there);
        }
    }
    order_cut(&c, rows, lengths_of(rows, ROWS, length), ROWS, 100, 1);
    assert_int_equal(c.parts, ROWS);
}

static void rows_by_length(void **state) {
    (void)state;
    const size_t start_of[] = { 0, 3, 8, 10, 15 };
    const uint32_t right[] = { 1, 3, 0, 2 };
    uint32_t order[4];
    order_by_length(order, 4, start_of, NULL);
    assert_memory_equal(order, right, sizeof right);
}

static struct metric_value value(double v) {
    return (struct metric_value){ .value = v, .defined = true };
}

static int64_t best_of(enum metric_id id, const double *v, int n) {
    struct best b = { 0 };
    for (int i = 0; i < n; i++) best_offer(&b, id, value(v[i]), i + 1);
    return b.has ? b.step : -1;
}

/* The direction is the metric's, NaN is never better, a tie goes to the earlier step. */
static void the_best_is_the_metrics_own(void **state) {
    (void)state;
    const double loss[] = { 0.9, 0.5, 0.7, NAN }, accuracy[] = { 0.6, 0.7, 0.7, 0.7 };
    const double other[] = { 0.4, 0.3, 0.5, 0.6 }, none[] = { NAN, INFINITY };
    assert_int_equal(best_of(METRIC_LOSS, loss, 4), 2);
    assert_int_equal(best_of(METRIC_ACCURACY, accuracy, 4), 2);
    assert_int_equal(best_of(METRIC_LOSS, other, 4), 2);
    assert_int_equal(best_of(METRIC_LOSS, none, 2), -1);
    struct best b = { 0 };
    struct metric_value undefined = { .value = 0, .defined = false, .why = "only one class is predicted" };
    assert_false(best_offer(&b, METRIC_MATTHEWS, undefined, 1));
    assert_true(best_offer(&b, METRIC_MATTHEWS, value(-0.2), 2));
    assert_false(best_offer(&b, METRIC_MATTHEWS, undefined, 3));
    assert_int_equal(b.step, 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_epoch_has_an_order_of_its_own),
        cmocka_unit_test(parts_are_whole_and_balanced),
        cmocka_unit_test(micro_batches_are_runs_of_rows),
        cmocka_unit_test(rows_by_length),
        cmocka_unit_test(the_best_is_the_metrics_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
