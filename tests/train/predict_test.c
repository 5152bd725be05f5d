/* Predicting from a saved run, and exporting it as a plain Hugging Face folder. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/model/safetensors.h"
#include "core/train/use/predict.h"
#include "tests/support/test.h"
#include "tests/support/tiny.h"
#include "tests/support/trained.h"

/* A finished run and its files. */
struct saved {
    char *home, *model, *toy, *folder, *best;
    struct ground g;
    struct trained t;
};

static void train_in(enum precision precision, struct saved *s, const char *method, const struct tiny *tiny, int steps) {
    s->home = test_folder();
    s->model = tiny_bert(s->home, "base", tiny);
    s->toy = tiny_toy(s->home);
    s->folder = file_join(s->home, "run");
    s->best = file_join(s->folder, "best.safetensors");
    ground_open(&s->g, s->model, s->toy, s->toy, 16);
    struct run_config c = ground_config(&s->g, method, 2, steps);
    c.eval_every = 1000;
    c.precision = precision;
    train(&s->g, &c, s->folder, 2, &s->t);
    assert_int_equal(trained_state(&s->t), RUN_FINISHED);
    config_release(&c);
}

static void train_and_save(struct saved *s, const char *method, const struct tiny *tiny, int steps) {
    train_in(PRECISION_F32, s, method, tiny, steps);
}

static void release(struct saved *s) {
    trained_release(&s->t);
    ground_release(&s->g);
    free(s->home);
    free(s->model);
    free(s->toy);
    free(s->folder);
    free(s->best);
}

static struct predictor *open_best(struct saved *s) {
    struct err e = ERR_INIT;
    struct predictor *p = predictor_open(s->best, NULL, s->g.model, &e);
    if (!p) fail_msg("%s", e.text);
    return p;
}

/* An example gets the same outputs alone and in a batch, on any number of
 * threads; and the evaluation is the one that the run told.  A rounding of float32 between batches can round a number to
 * the next bfloat16. */
static void predictions_stand_on_their_own(void **state) {
    (void)state;
    static const char *const methods[] = { "lora(r=2)",    "prefix(l=5)", "prefix(l=5,mlp=6)",
                                           "mam(l=3,r=2)", "full",        "ia3",
                                           "bitfit",       "head" };
    for (size_t i = 0; i < 2 * COUNT_OF(methods); i++) {
        struct saved s;
        struct err e = ERR_INIT;
        struct metrics m;
        double a[40], b[40], p[40], near = i % 2 ? 1e-2 : 1e-5;
        train_in(i % 2 ? PRECISION_BF16 : PRECISION_F32, &s, methods[i / 2], NULL, 10);
        const struct dataset *d = &s.g.task.dev[0];
        struct predictor *x = open_best(&s);
        test_ok(predictor_evaluate(x, d, NULL, s.g.task.positive, p, a, &m, &e), &e);
        struct crew *crew = crew_new(3, NULL);
        test_ok(predictor_run(x, d, crew, NULL, b, &e), &e);
        crew_free(crew);
        assert_memory_equal(a, b, sizeof a);
        assert_true(m.value[METRIC_ACCURACY].value == s.t.evaluation[0].value);
        assert_true(m.value[METRIC_LOSS].value == s.t.evaluation[0].loss);
        assert_string_equal(predictor_label(x, 0), "neg");
        assert_string_equal(predictor_label(x, 1), "pos");
        assert_int_equal(predictor_max_len(x), 16);
        for (int r = 0; r < 20; r++) {
            assert_true(fabs(p[2 * r] + p[2 * r + 1] - 1) < 1e-12);
            struct dataset one = *d;
            one.examples = 1;
            one.example = &d->example[r];
            one.start = &d->start[r];
            test_ok(predictor_run(x, &one, NULL, NULL, b, &e), &e);
            assert_true(fabs(b[0] - a[2 * r]) < near && fabs(b[1] - a[2 * r + 1]) < near);
        }
        metrics_release(&m);
        predictor_free(x);
        release(&s);
    }
}

static void wrong_checkpoints_are_refused(void **state) {
    (void)state;
    struct saved s;
    struct err e = ERR_INIT;
    const struct tiny other = { .mul = 103 };
    train_and_save(&s, "lora(r=2)", NULL, 4);
    char *path = tiny_bert(s.home, "other", &other),
         *forged = file_join(s.home, "forged.safetensors");
    struct model *m = model_load(path, &e);
    assert_null(predictor_open(s.best, NULL, m, &e));
    test_refused(e.code, ERR_INPUT, &e, "trained on a different backbone");
    model_release(m);

    /* The checkpoint with its first tensor left out, renamed, and of another shape. */
    struct st_file *f = st_open(s.best, &e);
    size_t n = st_count(f);
    static const char *const keys[] = { "petri",  "method", "config",   "state",
                                        "labels", "kind",   "backbone", "backbone_sha256" };
    struct st_pair meta[COUNT_OF(keys)];
    for (size_t i = 0; i < COUNT_OF(keys); i++)
        meta[i] = (struct st_pair){ keys[i], st_meta(f, keys[i]) };
    struct st_write *w = xcalloc(n, sizeof *w);
    real *zero = xcalloc(4096, sizeof *zero);
    for (size_t i = 0; i < n; i++) {
        const struct st_tensor *t = st_at(f, i);
        w[i] =
            (struct st_write){ .name = t->name, .type = t->type, .rank = t->rank, .data = zero };
        memcpy(w[i].shape, t->shape, sizeof w[i].shape);
    }
    test_ok(st_save(forged, w + 1, n - 1, meta, COUNT_OF(meta), &e), &e);
    assert_null(predictor_open(forged, NULL, s.g.model, &e));
    test_refused(e.code, ERR_INPUT, &e, w[0].name);
    assert_non_null(strstr(e.text, "missing"));
    const char *name = w[0].name;
    w[0].name = "param/foobar";
    test_ok(st_save(forged, w, n, meta, COUNT_OF(meta), &e), &e);
    assert_null(predictor_open(forged, NULL, s.g.model, &e));
    test_refused(e.code, ERR_INPUT, &e, "unexpected tensor \"param/foobar\"");
    w[0].name = name;
    w[0].shape[0]++;
    test_ok(st_save(forged, w, n, meta, COUNT_OF(meta), &e), &e);
    assert_null(predictor_open(forged, NULL, s.g.model, &e));
    test_refused(e.code, ERR_INPUT, &e, "wrong shape");
    w[0].shape[0]--;
    /* Each piece of metadata in turn replaced by what it must not be. */
    static const char *const wrong[] = { "", "{}", "[]", "null", "[1]", "{\"step\":1e99}", "\xff", "[[" };
    for (size_t i = 0; i < COUNT_OF(keys); i++)
        for (size_t j = 0; j < COUNT_OF(wrong); j++) {
            const char *right = meta[i].value;
            meta[i].value = wrong[j];
            if (st_save(forged, w, n, meta, COUNT_OF(meta), &e)) {
                meta[i].value = right;
                continue;
            }
            struct predictor *p = predictor_open(forged, NULL, s.g.model, &e);
            bool harmless = !strcmp(keys[i], "backbone") || !strcmp(keys[i], "config");
            if (p && !harmless) fail_msg("%s = %s was taken", keys[i], wrong[j]);
            predictor_free(p);
            meta[i].value = right;
        }
    st_close(f);
    free(w);
    free(zero);
    free(path);
    free(forged);
    release(&s);
}

static void check_config(const char *folder) {
    struct err e = ERR_INIT;
    char *path = file_join(folder, "config.json");
    json_t *c = json_read(path, 1 << 20, &e);
    if (!c) fail_msg("%s", e.text);
    assert_string_equal(json_string_value(json_array_get(json_object_get(c, "architectures"), 0)),
                        "BertForSequenceClassification");
    assert_string_equal(json_string_value(json_object_get(c, "torch_dtype")), "float32");
    assert_string_equal(json_string_value(json_object_get(c, "problem_type")),
                        "single_label_classification");
    assert_string_equal(json_string_value(json_object_get(json_object_get(c, "id2label"), "1")),
                        "pos");
    assert_int_equal(json_integer_value(json_object_get(json_object_get(c, "label2id"), "neg")), 0);
    assert_true(json_number_value(json_object_get(c, "layer_norm_eps")) == 1e-12);
    json_decref(c);
    free(path);
}

/* A half-precision base is exported exactly as F32, and is not changed. */
static void exports_predict_as_the_run_does(void **state) {
    (void)state;
    static const struct {
        const char *method;
        struct tiny tiny;
        enum precision precision; /* of the run; the folder is compared in float32 */
    } cases[] = {
        { "lora(r=2)", { .type = TINY_BF16 }, PRECISION_F32 },
        { "lora(r=2)", { 0 }, PRECISION_BF16 },
        { "full", { 0 }, PRECISION_BF16 },
        { "lora(r=2)", { .type = TINY_F16 }, PRECISION_F32 },
        { "full", { .prefix = "bert.", .old_norms = true }, PRECISION_F32 },
        { "bitfit", { 0 }, PRECISION_F32 },
        { "ia3", { 0 }, PRECISION_F32 },
        { "head", { 0 }, PRECISION_F32 },
        { "lora(r=2)", { .no_pooler = true }, PRECISION_F32 },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct saved s;
        struct err e = ERR_INIT;
        char before[65], after[65];
        double worst = -1, a[40], b[40];
        train_in(cases[i].precision, &s, cases[i].method, &cases[i].tiny, 10);
        char *out = file_join(s.home, "模型 é 'x' -n"),
             *weights = file_join(s.model, "model.safetensors");
        test_ok(file_sha256(weights, before, &e), &e);
        struct predictor *p = open_best(&s);
        test_ok(predictor_export(p, out, false, &s.g.task.dev[0], NULL, &worst, &e), &e);
        assert_true(worst >= 0 && worst <= 1e-5);
        struct model *m = model_load(out, &e);
        if (!m) fail_msg("%s", e.text);
        struct predictor *q = predictor_of_model(m, &e);
        if (!q) fail_msg("%s", e.text);
        predictor_set_precision(p, PRECISION_F32);
        test_ok(predictor_run(p, &s.g.task.dev[0], NULL, a, NULL, &e), &e);
        test_ok(predictor_run(q, &s.g.task.dev[0], NULL, b, NULL, &e), &e);
        for (int r = 0; r < 40; r++) assert_true(fabs(a[r] - b[r]) <= 1e-5);
        assert_string_equal(predictor_label(q, 1), "pos");
        check_config(out);
        test_ok(file_sha256(weights, after, &e), &e);
        assert_string_equal(before, after);
        test_refused(predictor_export(p, out, false, NULL, NULL, NULL, &e), ERR_USAGE, &e, "not empty");
        predictor_free(q);
        model_release(m);
        predictor_free(p);
        free(out);
        free(weights);
        release(&s);
    }
}

static void what_cannot_be_merged_is_refused(void **state) {
    (void)state;
    static const char *const methods[] = { "prefix(l=3)", "adapter-pfeiffer(r=4)", "mam(l=3,r=2)" };
    for (size_t i = 0; i < COUNT_OF(methods); i++) {
        struct saved s;
        struct err e = ERR_INIT;
        train_and_save(&s, methods[i], NULL, 4);
        char *out = file_join(s.home, "out");
        struct predictor *p = open_best(&s);
        test_refused(predictor_export(p, out, false, NULL, NULL, NULL, &e), ERR_USAGE, &e, "cannot export a plain model");
        assert_false(file_exists(out));
        predictor_free(p);
        free(out);
        release(&s);
    }
}

/* The numbers are transformers', though the model's config asks for dropout in training. */
static void predictions_are_the_references(void **state) {
    (void)state;
    struct fixture f;
    struct fixture_task t;
    struct err e = ERR_INIT;
    size_t n;
    fixture_open(&f, "tests/reference/bert-tiny", "tests/reference/bert-tiny/expected.safetensors");
    fixture_task_open(&t, &f);
    assert_true(f.model->arch.dropout > 0);
    struct predictor *p = predictor_of_model(f.model, &e);
    if (!p) fail_msg("%s", e.text);
    double *right = fixture_values(&f, "logits", &n), *got = xcalloc(n, sizeof *got);
    assert_int_equal(n, t.task.train.examples * (size_t)predictor_classes(p));
    test_ok(predictor_run(p, &t.task.train, NULL, NULL, got, &e), &e);
    for (size_t i = 0; i < n; i++) assert_true(fabs(got[i] - right[i]) < 1e-4);
    predictor_free(p);
    fixture_task_close(&t);
    fixture_close(&f);
    free(right);
    free(got);
}

/* A folder whose head gives every row the same logits: all numbers are exact. */
static void a_folders_own_head_predicts(void **state) {
    (void)state;
    static const char *const labels[] = { "ham", "spam" };
    const double bias[] = { 0, 2 }, huge[] = { 0, 3e38 };
    struct tiny t = { .outputs = 2, .labels = labels, .head_bias = bias };
    static const char rows[] =
        "text\tlabel\ngood film\tspam\nbad film\tspam\ncat\tspam\nmat\tspam\nsat\tham\n";
    struct ground g;
    struct metrics m;
    struct err e = ERR_INIT;
    char *home = test_folder(), *file = test_file(home, "dev.tsv", rows, sizeof rows - 1);
    char *model = tiny_bert(home, "fixed", &t);
    ground_open(&g, model, file, file, 16);
    struct predictor *p = predictor_of_model(g.model, &e);
    if (!p) fail_msg("%s", e.text);
    assert_string_equal(predictor_label(p, 1), "spam");
    test_ok(predictor_evaluate(p, &g.task.dev[0], NULL, 1, NULL, NULL, &m, &e), &e);
    assert_true(fabs(m.value[METRIC_LOSS].value - 0.526928) < 1e-6);
    assert_true(fabs(m.value[METRIC_ACCURACY].value - 0.8) < 1e-12);
    assert_true(m.constant);
    metrics_release(&m);
    predictor_free(p);
    ground_release(&g);
    free(model);

    /* A loss of 3e38 is a number; logits beyond float are reported as infinite. */
    t.head_bias = huge;
    model = tiny_bert(home, "huge", &t);
    ground_open(&g, model, file, file, 16);
    p = predictor_of_model(g.model, &e);
    test_ok(predictor_evaluate(p, &g.task.dev[0], NULL, 1, NULL, NULL, &m, &e), &e);
    assert_true(isfinite(m.value[METRIC_LOSS].value) && m.value[METRIC_LOSS].value > 5e37);
    metrics_release(&m);
    predictor_free(p);
    ground_release(&g);
    free(model);
    t.head_weight = 3e38;
    model = tiny_bert(home, "beyond", &t);
    ground_open(&g, model, file, file, 16);
    p = predictor_of_model(g.model, &e);
    int rc = predictor_evaluate(p, &g.task.dev[0], NULL, 1, NULL, NULL, &m, &e);
    if (rc) test_refused(rc, ERR_FAILED, &e, "NaN or infinite");
    else metrics_release(&m);
    predictor_free(p);
    ground_release(&g);
    free(model);
    model = tiny_bert(home, "headless", NULL);
    struct model *none = model_load(model, &e);
    assert_null(predictor_of_model(none, &e));
    test_refused(e.code, ERR_INPUT, &e, "no classification head");
    model_release(none);
    free(model);
    free(file);
    free(home);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(predictions_stand_on_their_own),
        cmocka_unit_test(wrong_checkpoints_are_refused),
        cmocka_unit_test(exports_predict_as_the_run_does),
        cmocka_unit_test(what_cannot_be_merged_is_refused),
        cmocka_unit_test(predictions_are_the_references),
        cmocka_unit_test(a_folders_own_head_predicts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
