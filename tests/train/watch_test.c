/* Vectors kept while a run trains: when they come, which they are, and that training does not
 * feel them. */
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/data/sample.h"
#include "tests/support/mixed.h"
#include "tests/support/test.h"
#include "tests/support/trained.h"

static struct ground ground;

static int open_ground(void **state) {
    (void)state;
    ground_open_toy(&ground, true);
    return 0;
}

static int close_ground(void **state) {
    (void)state;
    ground_release(&ground);
    return 0;
}

static struct run_config config(const char *method, int every) {
    struct run_config c = ground_config(&ground, method, 4, 10);
    c.dropout = 0.3;
    c.lr = 1e-2;
    c.eval_every = 3;
    c.embed_every = every;
    c.embed_rows = 7;
    return c;
}

static void training_does_not_feel_it(void **state) {
    (void)state;
    static const int64_t steps[] = { 0, 4, 8, 10 };
    static const char *const methods[] = { "lora(r=2)", "prefix(l=3)" };
    for (size_t m = 0; m < COUNT_OF(methods); m++) {
        struct run_config with = config(methods[m], 4), without = config(methods[m], 0);
        struct trained a, b, one;
        train(&ground, &with, NULL, 2, &a);
        train(&ground, &with, NULL, 1, &one);
        train(&ground, &without, NULL, 2, &b);
        assert_string_equal(a.sha256, b.sha256);
        assert_memory_equal(a.loss, b.loss, 10 * sizeof a.loss[0]);
        assert_int_equal(a.evaluations, b.evaluations);
        for (int i = 0; i < a.evaluations; i++)
            assert_true(a.evaluation[i].loss == b.evaluation[i].loss);
        assert_int_equal(b.embeddings, 0);
        assert_int_equal(a.embeddings, 4);
        for (int i = 0; i < 4; i++) {
            assert_int_equal(a.embedding[i].step, steps[i]);
            assert_int_equal(a.embedding[i].rows, 7);
            assert_int_equal(a.embedding[i].columns, ground.model->arch.width);
            assert_true(a.embedding[i].sum == one.embedding[i].sum);
            assert_true(!i || a.embedding[i].sum != a.embedding[i - 1].sum);
        }
        trained_release(&a);
        trained_release(&b);
        trained_release(&one);
        config_release(&with);
        config_release(&without);
    }
}

static void a_resumed_run_keeps_the_same(void **state) {
    (void)state;
    struct run_config c = config("lora(r=2)", 2);
    struct trained whole, first, rest;
    char *folder = test_folder();
    train(&ground, &c, NULL, 2, &whole);
    train_until(&ground, &c, folder, 1, 5, &first);
    train_on(&ground, &c, folder, 2, &rest);
    assert_string_equal(rest.sha256, whole.sha256);
    assert_int_equal(whole.embeddings, 6);
    assert_int_equal(first.embeddings, 3);
    assert_int_equal(rest.embeddings, 3);
    for (int i = 0; i < 3; i++) {
        assert_true(first.embedding[i].sum == whole.embedding[i].sum);
        assert_true(rest.embedding[i].sum == whole.embedding[i + 3].sum);
    }
    trained_release(&whole);
    trained_release(&first);
    trained_release(&rest);
    config_release(&c);
    free(folder);
}

/* Rows of all tasks, evenly, through their own heads; a retriever's vectors too. */
static void several_tasks_do_not_feel_it(void **state) {
    (void)state;
    struct mixed m[MIXED_MODELS];
    mixed_open_both(m, (const char *const[]){ "sampling", "stratified(10)", NULL });
    struct run_config with = mixed_config(&m[BERT], "lora(r=2) + retriever(hidden=5, width=4)", 8, 4), without;
    config_copy(&without, &with);
    with.embed_every = 2;
    with.embed_rows = 26;
    struct trained a, b, one;
    mixed_train(&m[BERT], &with, NULL, 2, 0, &a);
    mixed_train(&m[BERT], &with, NULL, 1, 0, &one);
    mixed_train(&m[BERT], &without, NULL, 2, 0, &b);
    assert_string_equal(a.sha256, b.sha256);
    assert_int_equal(a.embeddings, 3);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(a.embedding[i].rows, 26);
        assert_true(a.embedding[i].sum == one.embedding[i].sum);
    }
    trained_release(&a);
    trained_release(&b);
    trained_release(&one);
    config_release(&with);
    config_release(&without);
    mixed_release_both(m);
}

/* Shares of rows: even, what a small task leaves goes to the others. */
static void rows_are_shared_out_evenly(void **state) {
    (void)state;
    static const size_t rows[] = { 20, 3, 0, 9 };
    size_t share[4];
    sample_shares(rows, 4, 26, share);
    assert_true(share[0] == 14 && share[1] == 3 && share[2] == 0 && share[3] == 9);
    sample_shares(rows, 4, 8, share);
    assert_true(share[0] == 3 && share[1] == 3 && share[2] == 0 && share[3] == 2);
    sample_shares(rows, 4, 1000, share);
    assert_true(share[0] == 20 && share[1] == 3 && share[3] == 9);
}

/* A config of before these options is read, and means none. */
static void older_configs_are_read(void **state) {
    (void)state;
    struct run_config c, old;
    struct err e = ERR_INIT;
    config_init(&c);
    test_ok(config_set(&c, "embed-every", "50", &e), &e);
    test_ok(config_set(&c, "embed-rows", "100", &e), &e);
    char *json = config_json(&c);
    test_ok(config_from_json(json, strlen(json), &old, &e), &e);
    assert_int_equal(old.embed_every, 50);
    assert_int_equal(old.embed_rows, 100);
    assert_null(config_difference(&c, &old));
    config_release(&old);
    test_ok(config_from_json("{}", 2, &old, &e), &e);
    assert_int_equal(old.embed_every, 0);
    assert_int_equal(old.embed_rows, 200);
    assert_int_equal(config_set(&c, "embed-every", "-1", &e), ERR_USAGE);
    assert_int_equal(config_set(&c, "embed-rows", "3", &e), ERR_USAGE);
    config_release(&old);
    config_release(&c);
    free(json);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(training_does_not_feel_it),
        cmocka_unit_test(a_resumed_run_keeps_the_same),
        cmocka_unit_test(several_tasks_do_not_feel_it),
        cmocka_unit_test(rows_are_shared_out_evenly),
        cmocka_unit_test(older_configs_are_read),
    };
    return cmocka_run_group_tests(tests, open_ground, close_ground);
}
