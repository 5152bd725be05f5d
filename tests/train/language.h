/* Losses of language modeling beside those of transformers and PEFT (tests/reference/make_language.py); in the single
 * and in the double build. */
#ifndef TESTS_TRAIN_LANGUAGE_H
#define TESTS_TRAIN_LANGUAGE_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "tests/support/fixture.h"
#include "tests/support/test.h"
#include "tests/support/trained.h"

#define LLAMA "tests/reference/causal/llama"
#define PAIRS "tests/reference/language/pairs.jsonl"

enum { LANGUAGE_STEPS = 6, NO_TARGETS = 8 };

static struct fixture language;

static int open_language(void **state) {
    (void)state;
    fixture_open(&language, LLAMA, "tests/reference/language/losses.safetensors");
    return 0;
}

static int close_language(void **state) {
    (void)state;
    fixture_close(&language);
    return 0;
}

/* The pairs as training and validation set. */
static void open_pairs_on(struct ground *g, const char *of, enum weights_in in) {
    char *model = test_path(of), *pairs = test_path(PAIRS);
    struct err e = ERR_INIT;
    struct run_config c;
    const struct task_source s = { .train = pairs, .dev = pairs, .source = "prompt", .target = "completion" };
    *g = (struct ground){ .model = model_load_as(model, in, &e), .max_len = 64 };
    if (!g->model) fail_msg("%s", e.text);
    config_init(&c);
    c.max_len = g->max_len;
    test_ok(task_open(&g->task, &s, &e), &e);
    test_ok(run_prepare_task(&c, g->model, &g->task, &e), &e);
    config_release(&c);
    free(model);
    free(pairs);
}

static void open_pairs(struct ground *g) { open_pairs_on(g, LLAMA, WEIGHTS_AUTO); }

static struct run_config language_config(const char *method, int batch, double lr, double decay) {
    struct ground any = { .max_len = 64 };
    struct run_config c = ground_config(&any, method, batch, LANGUAGE_STEPS);
    c.lr = lr;
    c.weight_decay = decay;
    c.clip = 0;
    c.schedule = SCHEDULE_CONSTANT;
    c.samples = 0;
    c.eval_every = 1000;
    return c;
}

static void compare_losses(const char *name, const struct trained *t, double tolerance) {
    size_t n;
    double *right = fixture_values(&language, name, &n);
    assert_int_equal(t->points, n);
    for (size_t i = 0; i < n; i++)
        if (!(fabs(t->loss[i] - right[i]) < tolerance))
            fail_msg("%s, step %zu: %.9g, not %.9g", name, i + 1, t->loss[i], right[i]);
    assert_true(fabs(right[n - 1] - right[0]) > 1);
    free(right);
}

/* The values of PEFT's A in the place of petri's. */
static void put_a(struct run *r) {
    const struct plan *p = run_plan(r);
    int put = 0;
    for (int i = 0; i < p->tensors; i++) {
        const struct plan_tensor *t = &p->tensor[i];
        int layer;
        char which, name[16];
        size_t n;
        if (sscanf(t->name, "enc.%d.self/linear.%c.W_d", &layer, &which) != 2 || !strstr(t->name, "W_d")) continue;
        snprintf(name, sizeof name, "a.%d.%c", layer, which);
        double *v = fixture_values(&language, name, &n);
        assert_int_equal(n, t->count);
        for (size_t j = 0; j < n; j++) run_params(r)[t->offset + j] = (real)v[j];
        free(v);
        put++;
    }
    assert_int_equal(put, 4);
}

static void lora_is_pefts(double tolerance) {
    struct err e = ERR_INIT;
    struct trained told = { 0 };
    size_t start[] = { 0, (size_t)language.batch.tokens }, target_start[] = { 0, start[1] - NO_TARGETS };
    uint8_t types[64] = { 0 }, trained[64];
    struct example one = { .label = -1 };
    assert_true(start[1] < sizeof trained);
    for (size_t i = 0; i < start[1]; i++) trained[i] = i >= NO_TARGETS;
    struct task t = { .name = (char[]){ "fixture" }, .kind = DATA_TEXT, .label_kind = DATA_TEXT, .positive = -1,
                      .metric = METRIC_LOSS, .has_train = true };
    t.train = (struct dataset){ .path = t.name, .kind = DATA_TEXT, .examples = 1, .example = &one, .max_len = 64,
                                .max_target = 64, .start = start, .ids = language.batch.ids, .types = types,
                                .target_start = target_start, .target_ids = language.batch.ids + NO_TARGETS,
                                .trained = trained };
    struct run_config c = language_config("lora(r=4)", 1, 0.01, 0.01);
    struct run *r = run_new(1, &c, language.model, &t, NULL, trained_sink(&told), &e);
    if (!r) fail_msg("%s", e.text);
    put_a(r);
    trained_run(r, 1, &told);
    compare_losses("lora", &told, tolerance);
    trained_release(&told);
    config_release(&c);
}

/* However the step is cut, its loss is the mean over all targets. */
static void whole_model_is_pytorchs(int accumulate, int shards, double tolerance) {
    struct ground g;
    struct trained t;
    open_pairs(&g);
    struct run_config c = language_config("full", (int)g.task.train.examples, 1e-3, 0);
    c.accumulate = accumulate;
    c.shards = shards;
    train(&g, &c, NULL, 2, &t);
    compare_losses("full", &t, tolerance);
    trained_release(&t);
    config_release(&c);
    ground_release(&g);
}

#endif
