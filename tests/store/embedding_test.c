/* Vectors and matrices come back as they were kept, with or without a run. */
#include <math.h>

#include "core/base/mem.h"
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
    test_refused(store_embedding(s, 99, &out, &e), ERR_NOT_FOUND, &e, "set of embeddings 99 does not exist");
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
    test_refused(store_matrix(s, id + 1, &out, &e), ERR_NOT_FOUND, &e, "matrix");
    m.run = 77;
    assert_true(store_matrix_add(s, &m, &id, &e) != 0); /* there is no such run */
    close_it(s);
    free(path);
}

/* Lists hold what is meant, and a set is found again by what it is of. */
static void what_is_kept_is_listed_and_found(void **state) {
    (void)state;
    char *path = fresh_path();
    struct store *s = open_at(path, STORE_WRITE);
    struct err e = ERR_INIT;
    float data[] = { 1, 2 };
    int64_t id[3], run = new_run(s), other = new_run(s), found;
    struct store_embedding m = { .run = run, .step = 5, .model = "m", .task = "t", .split = "dev", .pool = "mean",
                                 .layer = 2, .rows = 1, .columns = 2, .items = "[{}]", .data = data,
                                 .model_sha256 = "aa", .model_fingerprint = "ff", .rows_sha256 = "bb" };
    test_ok(store_embedding_add(s, &m, &id[0], &e), &e);
    test_ok(store_embedding_find(s, &m, &found, &e), &e);
    assert_int_equal(found, id[0]);
    m.step = 6;
    test_ok(store_embedding_find(s, &m, &found, &e), &e);
    assert_int_equal(found, 0);
    m.step = 5;
    m.rows_sha256 = "cc"; /* other rows */
    test_ok(store_embedding_find(s, &m, &found, &e), &e);
    assert_int_equal(found, 0);
    m.run = 0;
    m.rows_sha256 = NULL;
    test_ok(store_embedding_add(s, &m, &id[1], &e), &e);
    test_ok(store_embedding_find(s, &m, &found, &e), &e);
    assert_int_equal(found, 0); /* what is not known is like nothing */
    m.run = other;
    test_ok(store_embedding_add(s, &m, &id[2], &e), &e);
    struct store_matrix x = { .run = other, .name = "rows", .about = "{}", .rows = 1, .columns = 2,
                              .row_names = "[]", .column_names = "[]", .data = data };
    int64_t matrix;
    test_ok(store_matrix_add(s, &x, &matrix, &e), &e);
    test_ok(store_matrix_find(s, other, "rows", "{}", &found, &e), &e);
    assert_int_equal(found, matrix);
    test_ok(store_matrix_find(s, 0, "rows", "{}", &found, &e), &e);
    assert_int_equal(found, 0);
    const struct { int64_t run; size_t sets, matrices; int64_t first; } want[] = {
        { -1, 3, 1, id[0] }, { 0, 1, 0, id[1] }, { run, 1, 0, id[0] }, { other, 1, 1, id[2] } };
    for (int trashed = 0; trashed < 2; trashed++) {
        for (size_t i = 0; i < COUNT_OF(want); i++) {
            struct store_embeddings v;
            struct store_matrices w;
            size_t gone = trashed && want[i].run == -1;
            test_ok(store_embeddings(s, want[i].run, &v, &e), &e);
            test_ok(store_matrices(s, want[i].run, &w, &e), &e);
            assert_int_equal(v.count, want[i].sets - gone);
            assert_int_equal(w.count, want[i].matrices - gone);
            assert_int_equal(v.set[0].id, want[i].first);
            assert_true(v.set[0].layer == 2 && !v.set[0].data && !v.set[0].items);
            store_embeddings_release(&v);
            store_matrices_release(&w);
        }
        if (trashed) break;
        finish(s, other);
        test_ok(store_trash(s, &other, 1, &e), &e);
    }
    close_it(s);
    free(path);
}

/* Sets told while a run trains: copied, of owned runs alone, and one a step when a resumed run tells
 * them again. */
static void sets_told_in_training_are_one_a_step(void **state) {
    (void)state;
    char *path = fresh_path();
    struct store *s = open_at(path, STORE_WRITE);
    struct err e = ERR_INIT;
    float data[] = { 1, 2, 3, 4 };
    char items[] = "[{},{}]";
    int64_t run = new_run(s);
    struct store_embedding m = { .run = run, .model = "m", .task = "t", .split = "dev", .pool = "mean", .layer = 2,
                                 .rows = 2, .columns = 2, .items = items, .data = data, .model_sha256 = "aa", .model_fingerprint = "ff",
                                 .rows_sha256 = "bb" };
    for (int turn = 0; turn < 2; turn++)
        for (m.step = 0; m.step <= 20; m.step += 10) {
            data[0] = (float)m.step;
            assert_int_equal(store_embedding_put(s, &m), 0);
            data[0] = -1; /* it was copied */
        }
    flush_it(s);
    struct store_embeddings v;
    test_ok(store_embeddings(s, run, &v, &e), &e);
    assert_int_equal(v.count, 3);
    for (size_t i = 0; i < 3; i++) {
        struct store_embedding set;
        assert_int_equal(v.set[i].step, 10 * i);
        assert_string_equal(v.set[i].model_sha256, "aa");
        assert_string_equal(v.set[i].model_fingerprint, "ff");
        assert_string_equal(v.set[i].rows_sha256, "bb");
        test_ok(store_embedding(s, v.set[i].id, &set, &e), &e);
        assert_true(set.data[0] == (float)(10 * i) && set.data[3] == 4);
        assert_string_equal(set.items, "[{},{}]");
        store_embedding_release(&set);
    }
    store_embeddings_release(&v);
    m.run = run + 1;
    assert_int_equal(store_embedding_put(s, &m), ERR_USAGE); /* not ours */
    close_it(s);
    free(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vectors_come_back),
        cmocka_unit_test(matrices_come_back),
        cmocka_unit_test(what_is_kept_is_listed_and_found),
        cmocka_unit_test(sets_told_in_training_are_one_a_step),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
