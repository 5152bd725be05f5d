/* Same bits: for any number of workers, as first run or later, in another process, after a
 * stop, with or without evaluations; and equal losses however a step is accumulated. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/mem.h"
#include "tests/support/test.h"
#include "tests/support/tiny.h"
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

static struct run_config config(const char *method, int batch, int steps) {
    struct run_config c = ground_config(&ground, method, batch, steps);
    c.dropout = 0.1;
    c.lr = 1e-2;
    return c;
}

static void same_run(const struct trained *a, const struct trained *b) {
    assert_int_equal(a->points, b->points);
    assert_memory_equal(a->loss, b->loss, (size_t)a->points * sizeof a->loss[0]);
    assert_memory_equal(a->norm, b->norm, (size_t)a->points * sizeof a->norm[0]);
    assert_memory_equal(a->params, b->params, a->params_count * sizeof *a->params);
    assert_string_equal(a->sha256, b->sha256);
}

static void seeds_decide_and_nothing_else(void **state) {
    (void)state;
    struct run_config c = config("lora(r=2)", 2, 10), other = config("adapter-pfeiffer(r=4)", 3, 5);
    struct trained a, b, between, two;
    train(&ground, &c, NULL, 1, &a);
    train(&ground, &c, NULL, 1, &b);
    same_run(&a, &b);
    trained_release(&b);
    train(&ground, &other, NULL, 2, &between);
    train(&ground, &c, NULL, 2, &b);
    same_run(&a, &b);
    c.seed = 2;
    train(&ground, &c, NULL, 1, &two);
    assert_true(two.loss[0] != a.loss[0]);
    assert_string_not_equal(two.sha256, a.sha256);
    trained_release(&a);
    trained_release(&b);
    trained_release(&between);
    trained_release(&two);
    config_release(&c);
    config_release(&other);
}

static void another_process_gives_the_same(void **state) {
    (void)state;
    struct run_config c = config("lora(r=2)", 2, 10);
    struct trained a;
    int pipes[2];
    assert_int_equal(pipe(pipes), 0);
    pid_t child = fork();
    if (!child) {
        train(&ground, &c, NULL, 2, &a);
        _exit(write(pipes[1], a.sha256, 65) == 65 ? 0 : 1);
    }
    char sha256[65];
    int status;
    assert_int_equal(read(pipes[0], sha256, 65), 65);
    waitpid(child, &status, 0);
    train(&ground, &c, NULL, 1, &a);
    assert_string_equal(a.sha256, sha256);
    close(pipes[0]);
    close(pipes[1]);
    trained_release(&a);
    config_release(&c);
}

static void any_number_of_workers_gives_the_same(void **state) {
    (void)state;
    static const char *const methods[] = { "lora(r=2)", "full", "prefix(l=3)", "bitfit", "diff-pruning" };
    for (size_t i = 0; i < 2 * COUNT_OF(methods); i++) {
        struct run_config c = config(methods[i / 2], 7, 12);
        struct trained a, b;
        c.precision = i % 2 ? PRECISION_BF16 : PRECISION_F32;
        train(&ground, &c, NULL, 1, &a);
        for (int workers = 2; workers <= 3; workers++) {
            train(&ground, &c, NULL, workers, &b);
            same_run(&a, &b);
            trained_release(&b);
        }
        trained_release(&a);
        config_release(&c);
    }
}

/* A model whose parameters are updated in slices, and whose word table has rows that no batch uses. */
static void any_number_of_workers_updates_the_same(void **state) {
    (void)state;
    static const char rows[] = "text\tlabel\nthe cat\tpos\ncat sat on\tneg\nsat\tpos\non the mat .\tneg\n"
                               "good film\tneg\nbad\tpos\nnot very good film\tneg\n";
    struct ground g;
    char *folder = test_folder(), *file = test_file(folder, "seven.tsv", rows, sizeof rows - 1),
         *model = test_path("assets/models/petri-mini");
    ground_open(&g, model, file, NULL, 16);
    for (int i = 0; i < 4; i++) {
        struct run_config c = ground_config(&g, "full", 3, 6);
        struct trained a, b;
        c.optimizer = i < 2 ? OPTIMIZER_ADAMW : OPTIMIZER_SGD;
        c.momentum = i < 2 ? 0 : 0.9;
        c.precision = i % 2 ? PRECISION_BF16 : PRECISION_F32;
        train(&g, &c, NULL, 1, &a);
        train(&g, &c, NULL, 3, &b);
        assert_true(a.params_count > 500000);
        same_run(&a, &b);
        trained_release(&a);
        trained_release(&b);
        config_release(&c);
    }
    ground_release(&g);
    free(file);
    free(model);
    free(folder);
}

/* Activations that are computed again in the backward pass, in both precisions. */
static void recomputing_changes_nothing(void **state) {
    (void)state;
    static const char *const methods[] = { "lora(r=2)", "mam(l=3,r=4)", "full", "adapter-houlsby(r=4)", "diff-pruning" };
    for (size_t i = 0; i < 2 * COUNT_OF(methods); i++) {
        struct run_config c = config(methods[i / 2], 4, 6);
        struct trained a, b;
        c.precision = i % 2 ? PRECISION_BF16 : PRECISION_F32;
        train(&ground, &c, NULL, 1, &a);
        c.recompute = true;
        train(&ground, &c, NULL, 1 + (int)i % 3, &b);
        same_run(&a, &b);
        trained_release(&a);
        trained_release(&b);
        config_release(&c);
    }
}

/* Dropout is off in evaluation, which does not affect training. */
static void evaluating_changes_nothing(void **state) {
    (void)state;
    struct run_config c = config("prefix(l=3)", 4, 10);
    struct trained a, b;
    c.dropout = 0.5;
    c.eval_every = 1;
    train(&ground, &c, NULL, 2, &a);
    assert_int_equal(a.evaluations, 10);
    c.eval_every = 1000;
    train(&ground, &c, NULL, 2, &b);
    assert_int_equal(b.evaluations, 1);
    same_run(&a, &b);
    assert_true(a.evaluation[9].loss == b.evaluation[0].loss);
    trained_release(&a);
    trained_release(&b);
    config_release(&c);
}

/* Batch 8, 4 × 2 and 1 × 8 in one part are the same step; 20 rows leave a window of 4. */
static void accumulation_is_the_full_batch(void **state) {
    (void)state;
    static const struct {
        int accumulate, shards;
    } form[] = { { 1, 1 }, { 4, 1 }, { 2, 3 }, { 8, 4 } };
    struct trained whole, cut;
    struct run_config c = config("lora(r=2)", 8, 9);
    c.dropout = 0;
    c.shards = 1;
    train(&ground, &c, NULL, 1, &whole);
    for (size_t i = 1; i < COUNT_OF(form); i++) {
        c.accumulate = form[i].accumulate;
        c.shards = form[i].shards;
        train(&ground, &c, NULL, 2, &cut);
        for (int j = 0; j < 9; j++) assert_true(fabs(cut.loss[j] - whole.loss[j]) < 1e-6);
        for (size_t j = 0; j < whole.params_count; j++)
            assert_true(fabs((double)cut.params[j] - (double)whole.params[j]) < 1e-6);
        trained_release(&cut);
    }
    trained_release(&whole);
    config_release(&c);
}

/* Uninterrupted, and stopped after 5 steps and resumed. */
static void a_resumed_run_is_the_whole_run(void **state) {
    (void)state;
    static const char *const methods[] = { "lora(r=2)", "prefix(l=3)", "full" };
    for (size_t m = 0; m < 2 * COUNT_OF(methods); m++) {
        struct run_config c = config(methods[m / 2], 2, 10);
        struct trained whole, first, rest;
        char *folder = test_folder();
        c.precision = m % 2 ? PRECISION_BF16 : PRECISION_F32;
        c.lr = 1e-5;
        train(&ground, &c, NULL, 1, &whole);
        for (int i = 0; i < 10; i++) {
            assert_int_equal(whole.step[i], i + 1);
            assert_true(fabs(whole.lr[i] - (1.0 - 0.1 * i) * 1e-5) < 1e-17);
        }
        train_until(&ground, &c, folder, 2, 5, &first);
        assert_int_equal(trained_state(&first), RUN_STOPPED);
        assert_int_equal(first.points, 5);
        train_on(&ground, &c, folder, 3, &rest);
        assert_int_equal(trained_state(&rest), RUN_FINISHED);
        assert_int_equal(rest.points, 5);
        for (int i = 0; i < 5; i++) {
            assert_int_equal(rest.step[i], i + 6);
            assert_true(first.loss[i] == whole.loss[i] && rest.loss[i] == whole.loss[i + 5]);
        }
        assert_string_equal(rest.sha256, whole.sha256);
        trained_release(&whole);
        trained_release(&first);
        trained_release(&rest);
        config_release(&c);
        free(folder);
    }
}

/* Products with weights of the model are computed in bfloat16 and the rest in float32: other bits, and losses
 * that stay close. */
static void bfloat16_follows_float32(void **state) {
    (void)state;
    enum { STEPS = 50, FIRST = 30 };
    static const char *const methods[] = { "lora(r=2)", "adapter-pfeiffer(r=4)", "prefix(l=3)", "mam(l=3,r=4)", "full", "diff-pruning" };
    for (size_t i = 0; i < COUNT_OF(methods); i++) {
        struct run_config c = config(methods[i], 8, STEPS);
        struct trained single, half;
        double sum[2] = { 0 };
        train(&ground, &c, NULL, 1, &single);
        c.precision = PRECISION_BF16;
        train(&ground, &c, NULL, 1, &half);
        assert_string_not_equal(single.sha256, half.sha256);
        for (int k = 0; k < STEPS; k++) {
            if (k < FIRST) assert_true(fabs(half.loss[k] / single.loss[k] - 1) < 0.03);
            if (k < STEPS / 2) continue;
            sum[0] += single.loss[k];
            sum[1] += half.loss[k];
        }
        assert_true(fabs(sum[1] / sum[0] - 1) < 0.02);
        trained_release(&single);
        trained_release(&half);
        config_release(&c);
    }
}

/* One step is an epoch here and nothing moves: only what is dropped changes. */
static void every_step_drops_anew(void **state) {
    (void)state;
    struct run_config c = config("bitfit", 20, 4);
    struct trained t;
    c.dropout = 0.5;
    c.lr = 1e-30;
    train(&ground, &c, NULL, 2, &t);
    for (int i = 1; i < 4; i++) assert_true(fabs(t.loss[i] - t.loss[i - 1]) > 1e-6);
    trained_release(&t);
    config_release(&c);
}

/* Examples are identified by their loss at learning rate 0; a short last step is the mean
 * of its own rows. */
static void every_epoch_sees_every_row_once(void **state) {
    (void)state;
    static const char rows[] =
        "text\tlabel\nthe cat\tpos\ncat sat on\tneg\nsat\tpos\non the mat .\tneg\n"
        "mat mat\tpos\ngood film\tneg\nbad\tpos\nnot very good film\tneg\n";
    struct ground g;
    char *folder = test_folder(), *file = test_file(folder, "eight.tsv", rows, sizeof rows - 1),
         *model = tiny_bert(folder, "tiny8", NULL);
    ground_open(&g, model, file, NULL, 16);
    struct run_config c = ground_config(&g, "lora(r=2)", 1, 24);
    struct trained a, b, two, short_one, first, rest;
    c.lr = 1e-30;
    train(&g, &c, NULL, 1, &a);
    train(&g, &c, NULL, 2, &b);
    assert_memory_equal(a.loss, b.loss, 24 * sizeof a.loss[0]);
    for (int epoch = 0; epoch < 3; epoch++)
        for (int i = 0; i < 8; i++) {
            int there = 0;
            for (int j = 0; j < 8; j++) there += fabs(a.loss[8 * epoch + j] - a.loss[i]) < 1e-9;
            assert_int_equal(there, 1);
        }
    assert_true(memcmp(a.loss, a.loss + 8, 8 * sizeof a.loss[0]) ||
                memcmp(a.loss, a.loss + 16, 8 * sizeof a.loss[0]));
    c.batch = 3;
    c.steps = 3;
    train(&g, &c, NULL, 1, &short_one);
    double sum = 0, single = 0;
    for (int i = 0; i < 8; i++) single += a.loss[i];
    for (int i = 0; i < 3; i++) sum += short_one.loss[i] * (i < 2 ? 3 : 2);
    assert_true(fabs(sum - single) < 1e-5);
    c.batch = 1;
    c.steps = 24;
    train_until(&g, &c, folder, 1, 11, &first);
    train_on(&g, &c, folder, 2, &rest);
    assert_int_equal(rest.points, 13);
    assert_memory_equal(rest.loss, a.loss + 11, 13 * sizeof a.loss[0]);
    c.seed = 2;
    train(&g, &c, NULL, 1, &two);
    assert_memory_not_equal(two.loss, a.loss, 8 * sizeof a.loss[0]);
    struct trained *all[] = { &a, &b, &two, &short_one, &first, &rest };
    for (size_t i = 0; i < COUNT_OF(all); i++) trained_release(all[i]);
    config_release(&c);
    ground_release(&g);
    free(file);
    free(model);
    free(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(seeds_decide_and_nothing_else),
        cmocka_unit_test(another_process_gives_the_same),
        cmocka_unit_test(any_number_of_workers_gives_the_same),
        cmocka_unit_test(any_number_of_workers_updates_the_same),
        cmocka_unit_test(recomputing_changes_nothing),
        cmocka_unit_test(evaluating_changes_nothing),
        cmocka_unit_test(accumulation_is_the_full_batch),
        cmocka_unit_test(a_resumed_run_is_the_whole_run),
        cmocka_unit_test(bfloat16_follows_float32),
        cmocka_unit_test(every_step_drops_anew),
        cmocka_unit_test(every_epoch_sees_every_row_once),
    };
    return cmocka_run_group_tests(tests, open_ground, close_ground);
}
