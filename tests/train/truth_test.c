/* What was trained and what stayed frozen, for every preset; what decays. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/mem.h"
#include "tests/support/test.h"
#include "tests/support/tiny.h"
#include "tests/support/trained.h"

static struct ground ground;

static int open_ground(void **state) {
    (void)state;
    ground_open_toy(&ground, false);
    return 0;
}

static int close_ground(void **state) {
    (void)state;
    ground_release(&ground);
    return 0;
}

static void hash_model(const struct model *m, char (*hash)[65]) {
    for (int i = 0; i < m->tensors; i++) {
        size_t n = (size_t)m->tensor[i].rows * (size_t)m->tensor[i].cols;
        if (m->weight[i]) sha256_hex(m->weight[i], n * sizeof(real), hash[i]);
        else hash[i][0] = '\0';
    }
}

static struct plan *plan_of(const char *method, const struct ground *g, real **start,
                            uint64_t seed) {
    struct method m;
    struct err e = ERR_INIT;
    test_ok(method_parse(method, &m, &e), &e);
    struct plan *p = plan_new(&m, &g->model->arch, 2, &e);
    if (!p) fail_msg("%s: %s", method, e.text);
    *start = xcalloc(p->trained, sizeof **start);
    plan_init(p, g->model, seed, *start);
    return p;
}

static bool moved(const struct plan_tensor *t, const real *before, const real *after) {
    return memcmp(before + t->offset, after + t->offset, t->count * sizeof *before) != 0;
}

static void trains_what_it_declares(struct ground *g, const char *name) {
    struct run_config c = ground_config(g, name, 4, 3);
    struct trained t;
    real *start;
    int n = g->model->tensors;
    char(*before)[65] = xcalloc((size_t)n, 65), (*after)[65] = xcalloc((size_t)n, 65);
    hash_model(g->model, before);
    struct plan *p = plan_of(name, g, &start, c.seed);
    train(g, &c, NULL, 2, &t);
    assert_int_equal(trained_state(&t), RUN_FINISHED);
    assert_int_equal(t.params_count, p->trained);
    hash_model(g->model, after);
    for (int j = 0; j < n; j++) assert_string_equal(before[j], after[j]);
    for (int j = 0; j < p->tensors; j++)
        if (!p->tensor[j].no_gradient && !moved(&p->tensor[j], start, t.params))
            fail_msg("%s: %s did not move in 3 steps", name, p->tensor[j].name);
    trained_release(&t);
    config_release(&c);
    plan_free(p);
    free(start);
    free(before);
    free(after);
}

static void presets_train_what_they_declare(void **state) {
    (void)state;
    for (int i = 0; i < preset_count(); i++) {
        const char *name = preset_at(i)->name;
        bool rows = !strcmp(name, "prompt-tuning") || !strcmp(name, "p-tuning") || !strcmp(name, "mpt");
        if (!strcmp(name, "pha") || preset_at(i)->regime || rows) continue; /* of several tasks; over episodes; below */
        trains_what_it_declares(&ground, name);
    }
    /* The tiny model has 16 positions, and rows of a prompt take some. */
    char *folder = test_folder(), *toy = tiny_toy(folder), *model = tiny_bert(folder, "tiny", NULL);
    struct ground short_texts;
    ground_open(&short_texts, model, toy, NULL, 14);
    trains_what_it_declares(&short_texts, "prompt-tuning(l=2)");
    trains_what_it_declares(&short_texts, "p-tuning(l=2)");
    trains_what_it_declares(&short_texts, "mpt(l=2)");
    ground_release(&short_texts);
    free(model);
    free(toy);
    free(folder);
}

/* Where W_u is 0, W_d has no gradient in the first step. */
static void loras_zero_factor_moves_first(void **state) {
    (void)state;
    for (int steps = 1; steps <= 3; steps += 2) {
        struct run_config c = ground_config(&ground, "lora(r=2)", 20, steps);
        struct trained t;
        real *start;
        int zero = 0, other = 0;
        struct plan *p = plan_of("lora(r=2)", &ground, &start, c.seed);
        train(&ground, &c, NULL, 1, &t);
        for (int j = 0; j < p->tensors; j++) {
            const struct plan_tensor *x = &p->tensor[j];
            if (x->kind != PLAN_OWN) continue;
            bool is_zero = true;
            for (size_t k = 0; k < x->count; k++) is_zero &= start[x->offset + k] == 0;
            zero += is_zero;
            other += !is_zero;
            assert_int_equal(moved(x, start, t.params), is_zero || steps == 3);
        }
        assert_int_equal(zero, 4);
        assert_int_equal(other, 4);
        trained_release(&t);
        config_release(&c);
        plan_free(p);
        free(start);
    }
}

/* ---- weight decay ---- */

/* One step on the first two rows at rate 0.01. */
static void one_step(struct ground *g, const char *method, double decay, struct trained *t) {
    struct run_config c = ground_config(g, method, 20, 1);
    c.lr = 0.01;
    c.schedule = SCHEDULE_CONSTANT;
    c.weight_decay = decay;
    train(g, &c, NULL, 1, t);
    config_release(&c);
}

/* Weight decay shrinks matrices by 0.005 × their initial values; vectors keep their bits. */
static void check_decay(struct ground *g, const char *method, int matrices, int vectors,
                        char sha256[65]) {
    struct trained without, with;
    real *start;
    int seen_matrices = 0, seen_vectors = 0;
    struct plan *p = plan_of(method, g, &start, 1);
    one_step(g, method, 0, &without);
    one_step(g, method, 0.5, &with);
    for (int j = 0; j < p->tensors; j++) {
        const struct plan_tensor *x = &p->tensor[j];
        if (x->rows == 1) {
            assert_false(moved(x, without.params, with.params));
            assert_false(x->decays);
            seen_vectors++;
            continue;
        }
        assert_true(x->decays);
        seen_matrices++;
        for (size_t k = x->offset; k < x->offset + x->count; k++) {
            double gap =
                (double)with.params[k] - (double)without.params[k] + 0.005 * (double)start[k];
            if (fabs(gap) > 1e-7) fail_msg("%s: %s: off by %g", method, x->name, gap);
        }
    }
    assert_int_equal(seen_matrices, matrices);
    assert_int_equal(seen_vectors, vectors);
    memcpy(sha256, with.sha256, 65);
    trained_release(&without);
    trained_release(&with);
    plan_free(p);
    free(start);
}

static void only_matrices_decay(void **state) {
    (void)state;
    const struct tiny plain = { .outputs = 2, .head_weight = 1.0 / 16 };
    struct tiny old = plain;
    struct ground g;
    char first[65], second[65], other[65];
    old.old_norms = true;
    old.prefix = "bert.";
    char *home = test_folder(), *toy = tiny_toy(home);
    char *a = tiny_bert(home, "plain", &plain), *b = tiny_bert(home, "old", &old);
    ground_open(&g, a, toy, NULL, 16);
    /* 16 matrices and the classifier's; 23 vectors and the classifier's bias. */
    check_decay(&g, "full", 17, 24, first);
    check_decay(&g, "ia3", 1, 7, other);
    check_decay(&g, "bitfit", 1, 19, other);
    ground_release(&g);
    ground_open(&g, b, toy, NULL, 16);
    check_decay(&g, "full", 17, 24, second);
    assert_string_equal(first, second);
    ground_release(&g);
    free(a);
    free(b);
    free(toy);
    free(home);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(presets_train_what_they_declare),
        cmocka_unit_test(loras_zero_factor_moves_first),
        cmocka_unit_test(only_matrices_decay),
    };
    return cmocka_run_group_tests(tests, open_ground, close_ground);
}
