/* Vectors kept while a run trains: when they come, which they are, and that training does not
 * feel them. */
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
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
        cmocka_unit_test(older_configs_are_read),
    };
    return cmocka_run_group_tests(tests, open_ground, close_ground);
}
