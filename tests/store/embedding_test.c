/* Vectors and matrices come back as they were kept, with or without a run. */
#include <math.h>

#include "tests/store/support.h"

static void vectors_come_back(void **state) {
    (void)state;
    char *path = fresh_path();
    struct store *s = open_at(path, STORE_WRITE);
    struct err e = ERR_INIT;
    float data[] = { 1, -2.5f, 1e-30f, 0, 3, 4 };
    struct store_embedding m = { .model = "MiniLM", .task = "reviews", .split = "dev", .pool = "mean", .layer = 6,
                                 .seed = UINT64_MAX, .rows = 2, .columns = 3, .items = "[{\"row\":1},{\"row\":9}]",
                                 .data = data },
                           out;
    int64_t first, second, run = new_run(s);
    test_ok(store_embedding_add(s, &m, &first, &e), &e);
    m.run = run;
    m.step = 40;
    test_ok(store_embedding_add(s, &m, &second, &e), &e);
    assert_true(second > first);
    close_it(s);
    s = open_at(path, STORE_READ);
    test_ok(store_embedding(s, second, &out, &e), &e);
    assert_true(out.run == run && out.step == 40 && out.layer == 6 && out.seed == UINT64_MAX && out.created > 0);
    assert_true(out.rows == 2 && out.columns == 3);
    assert_string_equal(out.model, "MiniLM");
    assert_string_equal(out.task, "reviews");
    assert_string_equal(out.split, "dev");
    assert_string_equal(out.pool, "mean");
    assert_string_equal(out.items, m.items);
    assert_memory_equal(out.data, data, sizeof data);
    store_embedding_release(&out);
    test_ok(store_embedding(s, first, &out, &e), &e);
    assert_true(out.run == 0);
    store_embedding_release(&out);
    test_refused(store_embedding(s, 99, &out, &e), ERR_NOT_FOUND, &e, "no set of vectors 99");
    close_it(s);
    free(path);
}

static void matrices_come_back(void **state) {
    (void)state;
    char *path = fresh_path();
    struct store *s = open_at(path, STORE_WRITE);
    struct err e = ERR_INIT;
    float data[] = { 1, NAN, -0.5f, 1 };
    struct store_matrix m = { .name = "classes", .about = "{\"measure\":\"cosine\"}", .rows = 2, .columns = 2,
                              .row_names = "[\"a\",\"b\"]", .column_names = "[\"a\",\"c\"]", .data = data },
                        out;
    int64_t id;
    test_ok(store_matrix_add(s, &m, &id, &e), &e);
    test_ok(store_matrix(s, id, &out, &e), &e);
    assert_string_equal(out.name, "classes");
    assert_string_equal(out.about, m.about);
    assert_string_equal(out.row_names, m.row_names);
    assert_string_equal(out.column_names, m.column_names);
    assert_memory_equal(out.data, data, sizeof data);
    store_matrix_release(&out);
    test_refused(store_matrix(s, id + 1, &out, &e), ERR_NOT_FOUND, &e, "no matrix");
    m.run = 77;
    assert_true(store_matrix_add(s, &m, &id, &e) != 0); /* there is no such run */
    close_it(s);
    free(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vectors_come_back),
        cmocka_unit_test(matrices_come_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
