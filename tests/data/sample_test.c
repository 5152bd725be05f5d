/* Rows drawn evenly, and a part of an encoded split as one of its own. */
#include <string.h>

#include "core/base/mem.h"
#include "core/data/sample.h"
#include "tests/support/test.h"

enum { ROWS = 40 };

static struct example row[ROWS];

/* Labels 0, 1, 2 by turns; every fourth row has none. */
static struct dataset split(bool labels) {
    for (int i = 0; i < ROWS; i++) {
        bool gold = labels && i % 4 != 3;
        row[i] = (struct example){ .a = "text", .a_size = 4, .id = (uint64_t)i, .labeled = gold,
                                       .label = gold ? i % 3 : -1 };
    }
    return (struct dataset){ .examples = ROWS, .example = row, .classes = labels ? 3 : 0 };
}

static void rows_without_label_are_drawn_only_where_none_has_one(void **state) {
    (void)state;
    int pick[ROWS], again[ROWS], other[ROWS], count[3] = { 0 };
    struct dataset d = split(true);
    assert_int_equal(dataset_pick(&d, 9, 5, pick), 9);
    for (int i = 0; i < 9; i++) {
        assert_true(row[pick[i]].labeled && (!i || pick[i] > pick[i - 1]));
        count[row[pick[i]].label]++;
    }
    for (int k = 0; k < 3; k++) assert_int_equal(count[k], 3);
    assert_int_equal(dataset_pick(&d, 9, 5, again), 9);
    assert_memory_equal(pick, again, 9 * sizeof *pick);
    assert_int_equal(dataset_pick(&d, 9, 6, other), 9);
    assert_true(memcmp(pick, other, 9 * sizeof *pick) != 0);
    assert_int_equal(dataset_pick(&d, ROWS, 5, pick), 30); /* all that have one */
    d = split(false);
    assert_int_equal(dataset_pick(&d, ROWS, 5, pick), ROWS);
    assert_int_equal(dataset_pick(&d, 7, 5, pick), 7);
    dataset_keep(&d, pick, 7);
    assert_int_equal(d.examples, 7);
    for (int i = 0; i < 7; i++) assert_int_equal(d.example[i].id, pick[i]);
}

static void a_view_has_ids_and_targets_of_its_own(void **state) {
    (void)state;
    int32_t ids[2 * ROWS], target_ids[3 * ROWS];
    uint8_t types[2 * ROWS] = { 0 };
    size_t start[ROWS + 1], target_start[ROWS + 1];
    static const int pick[] = { 3, 8, 39 };
    struct dataset d = split(true), v;
    for (int i = 0; i <= ROWS; i++) {
        start[i] = 2 * (size_t)i;
        target_start[i] = 3 * (size_t)i;
    }
    for (int i = 0; i < 2 * ROWS; i++) ids[i] = 100 + i;
    for (int i = 0; i < 3 * ROWS; i++) target_ids[i] = 1000 + i;
    d.max_len = 2;
    d.max_target = 3;
    d.ids = ids;
    d.types = types;
    d.start = start;
    d.target_start = target_start;
    d.target_ids = target_ids;
    dataset_view(&v, &d, pick, 3);
    assert_int_equal(v.examples, 3);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(v.example[i].id, pick[i]);
        assert_int_equal(v.start[i + 1] - v.start[i], 2);
        assert_memory_equal(v.ids + v.start[i], ids + 2 * pick[i], 2 * sizeof *ids);
        assert_memory_equal(v.target_ids + v.target_start[i], target_ids + 3 * pick[i], 3 * sizeof *target_ids);
    }
    assert_int_equal(v.target_start[3], 9);
    assert_int_equal(v.max_target, 3);
    dataset_view_release(&v);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_without_label_are_drawn_only_where_none_has_one),
        cmocka_unit_test(a_view_has_ids_and_targets_of_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
