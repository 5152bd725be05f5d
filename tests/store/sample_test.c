/* Texts given while training come back by step and row; a replayed set stays one. */
#include "tests/store/support.h"

static void texts_come_back(void **state) {
    (void)state;
    char *path = fresh_path();
    struct store *s = open_at(path, STORE_WRITE);
    struct err e = ERR_INIT;
    struct store_samples out;
    int64_t run = new_run(s), other = new_run(s);
    struct store_sample set[] = {
        { .row = 7, .source = "sst2 sentence: bad\n\x1b[31m", .target = "0", .generated = "1", .valid = 1 },
        { .row = 2, .source = "sst2 sentence: good", .target = NULL, .generated = "", .valid = 0 },
    };
    struct store_sample free_text = { .row = 1, .source = "a", .target = "b", .generated = "c", .valid = -1 };
    assert_int_equal(store_samples_put(s, run, 20, "dev", set, 2), 0);
    set[1].generated = "0";
    assert_int_equal(store_samples_put(s, run, 10, "dev", set, 2), 0);
    assert_int_equal(store_samples_put(s, other, 10, "dev", &free_text, 1), 0);
    set[0].generated = "one"; /* step 20 again */
    set[0].valid = 0;
    assert_int_equal(store_samples_put(s, run, 20, "dev", set, 2), 0);
    flush_it(s);
    test_ok(store_samples(s, run, &out, &e), &e);
    assert_int_equal(out.count, 4);
    assert_true(out.sample[0].step == 10 && out.sample[0].row == 2 && out.sample[0].valid == 0);
    assert_null(out.sample[0].target);
    assert_string_equal(out.sample[1].source, set[0].source);
    assert_string_equal(out.sample[1].generated, "1");
    assert_true(out.sample[3].step == 20 && out.sample[3].row == 7 && out.sample[3].valid == 0);
    assert_string_equal(out.sample[3].target, "0");
    assert_string_equal(out.sample[3].generated, "one");
    store_samples_release(&out);
    test_ok(store_samples(s, other, &out, &e), &e);
    assert_true(out.count == 1 && out.sample[0].valid == -1);
    store_samples_release(&out);
    test_ok(store_samples(s, 99, &out, &e), &e);
    assert_int_equal(out.count, 0);
    store_samples_release(&out);
    close_it(s);
    free(path);
}

static void a_run_of_another_takes_none(void **state) {
    (void)state;
    char *path = fresh_path();
    struct store *s = open_at(path, STORE_WRITE);
    struct store_sample x = { .source = "a", .generated = "b", .valid = -1 };
    assert_int_equal(store_samples_put(s, 5, 1, "dev", &x, 1), ERR_USAGE);
    close_it(s);
    free(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_come_back),
        cmocka_unit_test(a_run_of_another_takes_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
