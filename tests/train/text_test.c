/* Text to text on small models: the whole path learns, a step's loss is the same however it is
 * cut, and runs are the same bits for any number of workers, stopped or not. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/mem.h"
#include "core/train/run/checkpoint.h"
#include "core/train/use/predict.h"
#include "tests/support/test.h"
#include "tests/support/tiny.h"
#include "tests/support/trained.h"
#include "tests/support/writer.h"

enum { T5_PAIRS, T5_LABELS, BART_PAIRS, BART_LABELS, GROUNDS };
static struct ground ground[GROUNDS];
static char *home, *labels, *pairs;

static int open_grounds(void **state) {
    (void)state;
    home = test_folder();
    labels = writer_labels(home);
    pairs = writer_pairs(home);
    char *t5 = writer_model(home, "t5", FAMILY_T5, NULL), *bart = writer_model(home, "bart", FAMILY_BART, NULL);
    ground_open_pairs(&ground[T5_PAIRS], t5, pairs, pairs, 16);
    ground_open(&ground[T5_LABELS], t5, labels, labels, 16);
    ground_open_pairs(&ground[BART_PAIRS], bart, pairs, pairs, 16);
    ground_open(&ground[BART_LABELS], bart, labels, labels, 16);
    free(t5);
    free(bart);
    return 0;
}

static int close_grounds(void **state) {
    (void)state;
    for (int i = 0; i < GROUNDS; i++) ground_release(&ground[i]);
    free(home);
    free(labels);
    free(pairs);
    return 0;
}

static struct run_config config(int of, const char *method, int batch, int steps) {
    struct run_config c = ground_config(&ground[of], method, batch, steps);
    c.lr = 1e-2;
    c.eval_every = 1000;
    c.sample_every = 0;
    return c;
}

static void same_run(const struct trained *a, const struct trained *b) {
    assert_int_equal(a->points, b->points);
    assert_memory_equal(a->loss, b->loss, (size_t)a->points * sizeof a->loss[0]);
    assert_memory_equal(a->params, b->params, a->params_count * sizeof *a->params);
    assert_string_equal(a->sha256, b->sha256);
}

/* Twelve pairs, overfitted: the texts come back. */
static void pairs_are_learnt_and_written(void **state) {
    (void)state;
    static const int of[] = { T5_PAIRS, BART_PAIRS };
    for (size_t i = 0; i < COUNT_OF(of); i++) {
        struct run_config c = config(of[i], "full", 12, 150);
        struct trained t;
        c.sample_every = 50;
        c.samples = 12;
        train(&ground[of[i]], &c, NULL, 2, &t);
        assert_int_equal(trained_state(&t), RUN_FINISHED);
        assert_true(t.loss[0] > 2 && t.loss[149] < 0.05);
        assert_int_equal(t.samples, 4); /* steps 0, 50, 100 and 150 */
        assert_true(t.sample[0].step == 0 && t.sample[3].step == 150);
        assert_int_equal(t.sample[3].count, 12);
        assert_true(t.sample[0].right < 3);
        assert_int_equal(t.sample[3].right, 12);
        assert_true(trained_metric(&t, "exact") > 1 - 1e-12 && trained_metric(&t, "token_accuracy") > 1 - 1e-12);
        assert_true(trained_metric(&t, "loss") < 0.05);
        assert_true(isnan(trained_metric(&t, "invalid"))); /* any text is an answer */
        trained_release(&t);
        config_release(&c);
    }
}

/* A labeled task is put as text: digits are learnt, and parsed back. */
static void labels_are_written_as_digits(void **state) {
    (void)state;
    static const int of[] = { T5_LABELS, BART_LABELS };
    for (size_t i = 0; i < COUNT_OF(of); i++) {
        struct run_config c = config(of[i], "full", 20, 120);
        struct trained t;
        c.eval_every = 60;
        train(&ground[of[i]], &c, NULL, 2, &t);
        assert_int_equal(trained_state(&t), RUN_FINISHED);
        assert_int_equal(t.evaluations, 2);
        assert_true(t.evaluation[1].value > 0.9 && t.evaluation[0].best);
        assert_true(trained_metric(&t, "accuracy") > 0.9 && trained_metric(&t, "invalid") == 0);
        assert_true(fabs(trained_metric(&t, "majority") - 0.5) < 1e-12);
        assert_true(t.samples == 2 && t.sample[1].valid == t.sample[1].count);
        trained_release(&t);
        config_release(&c);
    }
}

/* Untrained, answers are no classes: counted, and wrong. */
static void invalid_answers_are_counted(void **state) {
    (void)state;
    struct run_config c = config(T5_LABELS, "lora(r=2)", 4, 1);
    struct trained t;
    c.lr = 1e-30;
    train(&ground[T5_LABELS], &c, NULL, 1, &t);
    assert_true(trained_metric(&t, "invalid") > 10);
    assert_true(trained_metric(&t, "accuracy") < 0.5);
    trained_release(&t);
    config_release(&c);
}

static void any_number_of_workers_gives_the_same(void **state) {
    (void)state;
    static const char *const methods[] = { "lora(r=2)", "full", "prefix(l=3)", "adapter-pfeiffer(r=4)" };
    for (size_t i = 0; i < COUNT_OF(methods); i++)
        for (int of = 0; of < GROUNDS; of += 3) {
            struct run_config c = config(of, methods[i], 7, 8);
            struct trained a, b;
            c.dropout = 0.1;
            c.smoothing = 0.1;
            train(&ground[of], &c, NULL, 1, &a);
            assert_int_equal(trained_state(&a), RUN_FINISHED);
            for (int workers = 2; workers <= 3; workers++) {
                c.recompute = workers == 3; /* which changes nothing */
                train(&ground[of], &c, NULL, workers, &b);
                same_run(&a, &b);
                assert_true(a.evaluation[0].loss == b.evaluation[0].loss);
                assert_string_equal(a.sample[0].first, b.sample[0].first);
                trained_release(&b);
            }
            trained_release(&a);
            config_release(&c);
        }
}

/* Evaluating and telling samples leave nothing behind. */
static void texts_on_the_way_change_nothing(void **state) {
    (void)state;
    struct run_config c = config(BART_PAIRS, "prefix(l=3)", 5, 12);
    struct trained a, b;
    c.dropout = 0.3;
    c.eval_every = 1;
    c.sample_every = 1;
    c.beams = 3;
    train(&ground[BART_PAIRS], &c, NULL, 2, &a);
    assert_true(a.evaluations == 12 && a.samples == 13);
    c.eval_every = 1000;
    c.samples = 0;
    train(&ground[BART_PAIRS], &c, NULL, 2, &b);
    assert_true(b.evaluations == 1 && b.samples == 0);
    same_run(&a, &b);
    assert_true(a.evaluation[11].loss == b.evaluation[0].loss);
    trained_release(&a);
    trained_release(&b);
    config_release(&c);
}

/* Batch 8 whole, and cut by shards and micro-batches: the same step under every reduction. */
static void a_step_is_the_same_however_it_is_cut(void **state) {
    (void)state;
    static const struct {
        int accumulate, shards;
    } form[] = { { 4, 1 }, { 2, 3 }, { 8, 4 } };
    for (int mean = MEAN_TOKENS; mean <= MEAN_POSITIONS; mean++) {
        struct trained whole, cut;
        struct run_config c = config(T5_PAIRS, "lora(r=2)", 8, 6);
        c.loss_mean = (enum loss_mean)mean;
        c.smoothing = 0.1;
        c.shards = 1;
        train(&ground[T5_PAIRS], &c, NULL, 1, &whole);
        double size = fmax(1, whole.loss[0]);
        for (size_t i = 0; i < COUNT_OF(form); i++) {
            c.accumulate = form[i].accumulate;
            c.shards = form[i].shards;
            train(&ground[T5_PAIRS], &c, NULL, 2, &cut);
            for (int j = 0; j < 6; j++) assert_true(fabs(cut.loss[j] - whole.loss[j]) < 1e-5 * size);
            trained_release(&cut);
        }
        trained_release(&whole);
        config_release(&c);
    }
}

/* The named reductions of one step, worked out from its rows. */
static void reductions_are_what_they_say(void **state) {
    (void)state;
    double loss[4];
    for (int mean = MEAN_TOKENS; mean <= MEAN_POSITIONS; mean++) {
        struct run_config c = config(T5_PAIRS, "lora(r=2)", 12, 1);
        struct trained t;
        c.loss_mean = (enum loss_mean)mean;
        train(&ground[T5_PAIRS], &c, NULL, 1, &t);
        loss[mean] = t.loss[0];
        trained_release(&t);
        config_release(&c);
    }
    const struct dataset *d = &ground[T5_PAIRS].task.train;
    double tokens = (double)d->target_start[d->examples], longest = 0;
    for (size_t i = 0; i < d->examples; i++)
        longest = fmax(longest, (double)(d->target_start[i + 1] - d->target_start[i]));
    assert_true(fabs(loss[MEAN_SUM] / tokens - loss[MEAN_TOKENS]) < 1e-5);
    assert_true(fabs(loss[MEAN_SUM] / (12 * longest) - loss[MEAN_POSITIONS]) < 1e-5);
    assert_true(longest * 12 > tokens); /* targets differ in length: rows and tokens are two means */
    assert_true(fabs(loss[MEAN_EXAMPLES] - loss[MEAN_TOKENS]) > 1e-6);
}

/* Whole, and stopped after 5 steps and resumed. */
static void a_resumed_run_is_the_whole_run(void **state) {
    (void)state;
    static const char *const methods[] = { "lora(r=2)", "prefix(l=3,mlp=8)" };
    for (size_t i = 0; i < COUNT_OF(methods); i++) {
        struct run_config c = config(T5_PAIRS, methods[i], 5, 11);
        struct trained whole, first, rest;
        char *folder = test_folder();
        c.dropout = 0.1;
        c.eval_every = 4;
        train(&ground[T5_PAIRS], &c, NULL, 2, &whole);
        train_until(&ground[T5_PAIRS], &c, folder, 2, 5, &first);
        assert_int_equal(trained_state(&first), RUN_STOPPED);
        train_on(&ground[T5_PAIRS], NULL, folder, 1, &rest);
        assert_int_equal(trained_state(&rest), RUN_FINISHED);
        assert_int_equal(first.points + rest.points, 11);
        assert_string_equal(rest.sha256, whole.sha256);
        assert_memory_equal(rest.loss, whole.loss + first.points, (size_t)rest.points * sizeof whole.loss[0]);
        int last = whole.evaluations - 1, end = rest.evaluations - 1;
        assert_true(rest.evaluation[end].loss == whole.evaluation[last].loss);
        trained_release(&whole);
        trained_release(&first);
        trained_release(&rest);
        free(folder);
        config_release(&c);
    }
}

/* What a run was scored at comes again from its checkpoint, on any number of threads. */
static void a_checkpoint_scores_as_the_run_did(void **state) {
    (void)state;
    static const int of[] = { T5_LABELS, BART_PAIRS };
    for (size_t i = 0; i < COUNT_OF(of); i++) {
        struct ground *g = &ground[of[i]];
        struct run_config c = config(of[i], "lora(r=4)", 10, 30);
        struct trained t;
        struct err e = ERR_INIT;
        char *folder = test_folder(), *path = checkpoint_path(folder, true);
        train(g, &c, folder, 2, &t);
        for (int workers = 1; workers <= 3; workers++) {
            struct predictor *p = predictor_open(path, NULL, g->model, &e);
            if (!p) fail_msg("%s", e.text);
            assert_true(predictor_writes(p) && predictor_label_kind(p) == g->task.label_kind && !predictor_classes(p));
            struct metrics m;
            struct metric_value tokens;
            struct written texts;
            struct crew *crew = workers > 1 ? crew_new(workers, NULL) : NULL;
            test_ok(predictor_evaluate_texts(p, &g->task, 0, 0, crew, &texts, &m, &tokens, &e), &e);
            crew_free(crew);
            assert_true(m.value[METRIC_LOSS].value == t.evaluation[0].loss);
            assert_true(m.value[g->task.metric].value == t.evaluation[0].value);
            assert_true(tokens.value == trained_metric(&t, "token_accuracy"));
            assert_int_equal(texts.examples, g->task.dev[0].examples);
            metrics_release(&m);
            written_release(&texts);
            predictor_free(p);
        }
        trained_release(&t);
        free(folder);
        free(path);
        config_release(&c);
    }
}

static int prepared(const char *model, const char *form, const struct task_source *s, struct err *e) {
    struct run_config c;
    struct task t;
    struct model *m = model_load(model, e);
    config_init(&c);
    if (form) test_ok(config_set(&c, "form", form, e), e);
    test_ok(task_open(&t, s, e), e);
    int rc = run_prepare_task(&c, m, &t, e);
    task_release(&t);
    config_release(&c);
    model_release(m);
    return rc;
}

/* Each refusal says what would work. */
static void what_does_not_go_together_is_refused(void **state) {
    (void)state;
    const struct task_source labeled = { .train = labels, .text = "text", .label = "label" };
    const struct task_source texts = { .train = pairs, .source = "source", .target = "target" };
    struct err e = ERR_INIT;
    char *bert = tiny_bert(home, "bert", NULL), *t5 = file_join(home, "t5");
    test_refused(prepared(bert, NULL, &texts, &e), ERR_USAGE, &e, "use a T5, BART or mBART");
    test_refused(prepared(bert, "text", &labeled, &e), ERR_USAGE, &e, "--form classes");
    test_refused(prepared(t5, "classes", &labeled, &e), ERR_USAGE, &e, "--form text");
    test_refused(prepared(t5, "classes", &texts, &e), ERR_USAGE, &e, "omit --form");
    test_ok(prepared(t5, "text", &labeled, &e), &e);
    test_ok(prepared(bert, "classes", &labeled, &e), &e);
    free(bert);
    free(t5);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pairs_are_learnt_and_written),
        cmocka_unit_test(labels_are_written_as_digits),
        cmocka_unit_test(invalid_answers_are_counted),
        cmocka_unit_test(any_number_of_workers_gives_the_same),
        cmocka_unit_test(texts_on_the_way_change_nothing),
        cmocka_unit_test(a_step_is_the_same_however_it_is_cut),
        cmocka_unit_test(reductions_are_what_they_say),
        cmocka_unit_test(a_resumed_run_is_the_whole_run),
        cmocka_unit_test(a_checkpoint_scores_as_the_run_did),
        cmocka_unit_test(what_does_not_go_together_is_refused),
    };
    return cmocka_run_group_tests(tests, open_grounds, close_grounds);
}
