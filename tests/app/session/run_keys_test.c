/* Keys of evidence for the rows of Runs: of those alone that may repeat another, and the same once more. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "app/session/run_keys.h"
#include "core/base/mem.h"
#include "tests/store/support.h"

static int64_t finished(struct store *s, const char *config, uint64_t seed, int64_t steps) {
    struct store_new_run n = plain_run();
    struct err e = ERR_INIT;
    int64_t id;
    n.config = config, n.seed = seed, n.steps = steps;
    test_ok(store_create_run(s, &n, &id, &e), &e);
    change(s, id, STORE_RUNNING, NULL);
    evaluate(s, id, 10, "accuracy", 0.5, 1);
    change(s, id, STORE_FINISHED, NULL);
    return id;
}

static void repeats_share_a_key(void **state) {
    (void)state;
    char *path = fresh_path();
    struct store *s = open_at(path, STORE_WRITE);
    struct run_keys keys = { 0 };
    struct err e = ERR_INIT;
    int64_t one = finished(s, "{\"seed\":1}", 1, 100), two = finished(s, "{\"seed\":2}", 2, 100);
    int64_t again = finished(s, "{\"seed\":1,\"train_file\":\"moved.tsv\"}", 1, 100);
    int64_t other = finished(s, "{\"seed\":1,\"dropout\":0.2}", 1, 100), longer = finished(s, "{\"seed\":1,\"steps\":200}", 1, 200);
    flush_it(s);
    for (int turn = 0; turn < 2; turn++) {
        struct store_runs runs;
        struct run_row row[5] = { { 0 } };
        char(*text)[65];
        const char *of[6] = { NULL };
        test_ok(store_list(s, &(struct store_list){ .filter = NULL }, &runs, &e), &e);
        assert_int_equal(runs.count, 5);
        test_ok(run_keys_fill(&keys, s, &runs, row, &text, &e), &e);
        for (size_t i = 0; i < 5; i++) of[runs.run[i].id] = row[i].evidence;
        assert_string_equal(of[one], of[again]);
        assert_string_not_equal(of[one], of[other]);
        assert_null(of[two]);
        assert_null(of[longer]);
        assert_int_equal(keys.count, 3);
        free(text);
        store_runs_release(&runs);
    }
    run_keys_release(&keys);
    close_it(s);
    free(path);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(repeats_share_a_key) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
