/* Ten steps of AdamW on all rows of the fixtures, as a run makes them: the losses are
 * PyTorch's.  Included by the tests in 32 and in 64 bits. */
#ifndef TESTS_TRAIN_ADAMW_H
#define TESTS_TRAIN_ADAMW_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/engine/blas.h"
#include "tests/support/fixture.h"
#include "tests/support/test.h"
#include "tests/support/trained.h"

enum { ADAMW_STEPS = 10 };

/* Puts a tensor of the fixture in the place of a trained one; without one of that name,
 * leaves it. */
static void put(struct run *r, const struct fixture *f, const char *name, const char *from) {
    const struct plan *p = run_plan(r);
    for (int i = 0; i < p->tensors; i++)
        if (!strcmp(p->tensor[i].name, name)) {
            size_t n;
            double *v = fixture_values(f, from, &n);
            assert_int_equal(n, p->tensor[i].count);
            for (size_t j = 0; j < n; j++) run_params(r)[p->tensor[i].offset + j] = (real)v[j];
            free(v);
            return;
        }
    fail_msg("no tensor %s", name);
}

/* Factor k by the rule of the MiniLM fixture. */
static void put_by_rule(struct run *r, const char *name, int k) {
    const struct plan *p = run_plan(r);
    for (int i = 0; i < p->tensors; i++)
        if (!strcmp(p->tensor[i].name, name))
            for (size_t j = 0; j < p->tensor[i].count; j++)
                run_params(r)[p->tensor[i].offset + j] =
                    (real)(((double)((j * 37 + (size_t)k * 101) % 201) - 100) / 4096);
}

static void put_lora(struct run *r, const struct fixture *f, int layers, bool by_rule) {
    static const char *const map[] = { "query", "value" };
    for (int k = 0; k < 4 * layers; k++) {
        int layer = k / 4, which = k / 2 % 2;
        char name[96], from[96];
        snprintf(name, sizeof name, "enc.%d.self/linear.%c.W_%c", layer, "qv"[which],
                 k % 2 ? 'u' : 'd');
        snprintf(from, sizeof from, "lora.encoder.layer.%d.attention.self.%s.%c", layer, map[which],
                 k % 2 ? 'b' : 'a');
        if (by_rule) put_by_rule(r, name, k);
        else put(r, f, name, from);
    }
}

static void ten_steps(const char *model, const char *expected, const char *method, double lr,
                      const char *losses, bool minilm, double tolerance) {
    struct fixture f;
    struct err e = ERR_INIT;
    struct trained told = { 0 };
    fixture_open(&f, model, expected);
    struct model *m = f.model;
    struct fixture_task t;
    fixture_task_open(&t, &f);
    struct run_config c;
    config_init(&c);
    test_ok(config_set(&c, "method", method, &e), &e);
    c.precision = PRECISION_F32;
    c.max_len = (int)t.task.train.max_len;
    c.batch = f.batch.examples;
    c.steps = ADAMW_STEPS;
    c.dropout = c.clip = 0;
    c.weight_decay = 0.01;
    c.lr = lr;
    c.schedule = SCHEDULE_CONSTANT;
    c.shards = 2;
    struct run *r = run_new(1, &c, m, &t.task, NULL, trained_sink(&told), &e);
    if (!r) fail_msg("%s", e.text);
    if (minilm) {
        put(r, &f, "head.weight", "head.w");
        put(r, &f, "head.bias", "head.b");
    }
    if (!strncmp(method, "lora", 4)) put_lora(r, &f, m->arch.encoder_layers, minilm);
    struct pool *p = pool_new(2);
    pool_add(p, r, 0);
    assert_true(pool_wait(p, r, 120));
    pool_free(p);
    assert_int_equal(told.points, ADAMW_STEPS);
    size_t n;
    double *right = fixture_values(&f, losses, &n);
    assert_int_equal(n, ADAMW_STEPS);
    for (int i = 0; i < ADAMW_STEPS; i++)
        if (!(fabs(told.loss[i] - right[i]) < tolerance))
            fail_msg("%s, step %d: %.9g, not %.9g", method, i + 1, told.loss[i], right[i]);
    assert_true(fabs(right[ADAMW_STEPS - 1] - right[0]) > 20 * tolerance);
    run_free(r);
    config_release(&c);
    fixture_close(&f);
    free(right);
    fixture_task_close(&t);
}

#define TINY "tests/reference/bert-tiny"
#define MINILM "assets/models/all-MiniLM-L6-v2"

static void on_the_tiny_model(double tolerance) {
    ten_steps(TINY, TINY "/expected.safetensors", "full", 1e-3, "adamw", false, tolerance);
    ten_steps(TINY, TINY "/expected.safetensors", "lora(r=3,s=2)", 1e-2, "lora.adamw", false,
              tolerance);
}

static void on_minilm(double tolerance) {
    test_needs(MINILM);
    ten_steps(MINILM, "tests/reference/minilm/expected.safetensors", "full", 1e-5, "adamw", true,
              tolerance);
    ten_steps(MINILM, "tests/reference/minilm/expected.safetensors", "lora(r=2,s=2)", 1e-3,
              "lora.adamw", true, tolerance);
}

#endif
