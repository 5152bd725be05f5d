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

/* The fixture's rows as a task without texts. */
static void task_of(const struct fixture *f, const struct model *m, struct task *t,
                    struct dataset_row *row, size_t *start, uint8_t *types) {
    const struct batch *b = &f->batch;
    for (int i = 0; i < b->rows; i++) {
        row[i] = (struct dataset_row){ .label = b->label[i], .gold = true, .id = (uint64_t)i };
        start[i + 1] = (size_t)b->start[i + 1];
    }
    for (int i = 0; i < b->tokens; i++) types[i] = (uint8_t)b->types[i];
    start[0] = 0;
    *t = (struct task){ .name = (char *)(uintptr_t) "fixture",
                         .kind = DATA_CLASSES,
                         .classes = m->head_rows ? m->head_rows : 2,
                         .positive = -1,
                         .metric = METRIC_ACCURACY,
                         .has_train = true };
    t->train = (struct dataset){ .path = t->name,
                                  .kind = DATA_CLASSES,
                                  .classes = t->classes,
                                  .rows = (size_t)b->rows,
                                  .row = row,
                                  .start = start,
                                  .ids = b->ids,
                                  .types = types,
                                  .max_len = (size_t)arch_longest(&m->arch) };
}

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
    struct task t;
    struct trained told = { 0 };
    fixture_open(&f, model, expected);
    struct model *m = f.model;
    struct dataset_row *row = xcalloc((size_t)f.batch.rows, sizeof *row);
    size_t *start = xcalloc((size_t)f.batch.rows + 1, sizeof *start);
    uint8_t *types = xmalloc((size_t)f.batch.tokens);
    task_of(&f, m, &t, row, start, types);
    struct run_config c;
    config_init(&c);
    c.method = xstrdup(method);
    c.max_len = (int)t.train.max_len;
    c.batch = f.batch.rows;
    c.steps = ADAMW_STEPS;
    c.dropout = c.clip = 0;
    c.weight_decay = 0.01;
    c.lr = lr;
    c.schedule = SCHEDULE_CONSTANT;
    c.shards = 2;
    struct run *r = run_new(1, &c, m, &t, NULL, trained_sink(&told), &e);
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
    free(row);
    free(start);
    free(types);
}

#define TINY "tests/reference/bert-tiny"
#define MINILM "assets/models/all-MiniLM-L6-v2"

static void on_the_tiny_model(double tolerance) {
    ten_steps(TINY, TINY "/expected.safetensors", "full", 1e-3, "adamw", false, tolerance);
    ten_steps(TINY, TINY "/expected.safetensors", "lora(r=3,s=2)", 1e-2, "lora.adamw", false,
              tolerance);
}

static void on_minilm(double tolerance) {
    if (!fixture_present(MINILM)) skip();
    ten_steps(MINILM, "tests/reference/minilm/expected.safetensors", "full", 1e-5, "adamw", true,
              tolerance);
    ten_steps(MINILM, "tests/reference/minilm/expected.safetensors", "lora(r=2,s=2)", 1e-3,
              "lora.adamw", true, tolerance);
}

#endif
