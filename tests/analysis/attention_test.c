/* Attention of a row: what the taps q and k give when the softmax is taken here, and what a
 * method changes of it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/analysis/attention.h"
#include "core/base/file.h"
#include "core/base/mem.h"
#include "core/train/run/pool.h"
#include "tests/support/test.h"
#include "tests/support/tiny.h"
#include "tests/support/trained.h"

enum { WIDTH = 8, HEADS = 2, LONGEST = 16, ROW = 5 };

static struct ground g;
static char *home;

static int set_up(void **state) {
    (void)state;
    home = test_folder();
    char *folder = tiny_bert(home, "base", NULL), *toy = tiny_toy(home);
    ground_open(&g, folder, toy, toy, LONGEST);
    free(folder);
    free(toy);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    ground_release(&g);
    free(home);
    return 0;
}

/* Queries and keys of one layer, taken from the taps. */
struct taken {
    int layer, tokens;
    double q[LONGEST * WIDTH], k[LONGEST * WIDTH];
};

static node take(void *self, struct tape *t, const struct forward *f, struct site *site, enum tap tap,
                 enum tap_stage stage, node value) {
    struct taken *w = self;
    (void)f;
    if (site->layer != w->layer || stage != TAP_DONE || (tap != TAP_A_Q && tap != TAP_A_K)) return value;
    w->tokens = tape_rows_of(t, value);
    double *to = tap == TAP_A_Q ? w->q : w->k;
    for (int i = 0; i < w->tokens * WIDTH; i++) to[i] = (double)tape_value(t, value)[i];
    return value;
}

static void take_row(struct taken *w) {
    const struct dataset *d = &g.task.dev[0];
    const struct hooks hooks = { .self = w, .write = take };
    int n = (int)(d->start[ROW + 1] - d->start[ROW]), start[2] = { 0, n };
    int32_t ids[LONGEST], types[LONGEST], positions[LONGEST];
    uint64_t id = ROW;
    struct worker k;
    struct forward f;
    for (int i = 0; i < n; i++) {
        ids[i] = d->ids[d->start[ROW] + (size_t)i];
        types[i] = d->types[d->start[ROW] + (size_t)i];
        positions[i] = i;
    }
    struct batch b = { .examples = 1, .tokens = n, .ids = ids, .types = types, .positions = positions, .start = start,
                       .example_id = &id };
    worker_init(&k, 0);
    tape_reset(k.tape, false, 0, 0);
    forward_init(&f, k.tape, g.model, &b, &hooks);
    forward_encode(&f);
    worker_release(&k);
}

/* softmax(q kᵀ / √(d/H)) of one head and query, in double. */
static void softmax_of(const struct taken *w, int head, int i, double *p) {
    int a = WIDTH / HEADS;
    double sum = 0;
    for (int j = 0; j < w->tokens; j++) {
        double dot = 0;
        for (int c = head * a; c < (head + 1) * a; c++) dot += w->q[i * WIDTH + c] * w->k[j * WIDTH + c];
        sum += p[j] = exp(dot / sqrt(a));
    }
    for (int j = 0; j < w->tokens; j++) p[j] /= sum;
}

static void shares_are_the_softmax_of_the_taps(void **state) {
    (void)state;
    struct err e = ERR_INIT;
    for (int layer = 1; layer <= 2; layer++) {
        struct attention_map a;
        struct taken w = { .layer = layer - 1 };
        double p[LONGEST];
        test_ok(attention_of_row(g.model, NULL, PRECISION_F32, &g.task.dev[0], ROW, layer, &a, &e), &e);
        take_row(&w);
        assert_int_equal(a.heads, HEADS);
        assert_int_equal(a.tokens, w.tokens);
        assert_int_equal(a.extra, 0);
        for (int h = 0; h < HEADS; h++)
            for (int i = 0; i < a.tokens; i++) {
                softmax_of(&w, h, i, p);
                for (int j = 0; j < a.tokens; j++)
                    assert_true(fabs(a.p[(h * a.tokens + i) * a.tokens + j] - p[j]) < 1e-6);
            }
        attention_map_release(&a);
    }
}

static struct predictor *trained_with(const char *method) {
    struct err e = ERR_INIT;
    struct trained t;
    char *folder = test_folder(), *best = file_join(folder, "best.safetensors");
    struct run_config c = ground_config(&g, method, 4, 10);
    c.lr = 0.02;
    train(&g, &c, folder, 1, &t);
    struct predictor *p = predictor_open(best, NULL, g.model, &e);
    if (!p) fail_msg("%s", e.text);
    trained_release(&t);
    config_release(&c);
    free(folder);
    free(best);
    return p;
}

static double apart(const struct attention_map *a, const struct attention_map *b) {
    double most = 0;
    for (int i = 0; i < a->heads * a->tokens * a->tokens; i++) most = fmax(most, fabs(a->p[i] - b->p[i]));
    return most;
}

/* A change of q in layer 2 is seen there and not below; a prefix has columns of its own. */
static void methods_are_seen(void **state) {
    (void)state;
    struct err e = ERR_INIT;
    struct attention_map base, run;
    struct predictor *p = trained_with("linear(r=2; read=a.in, write=a.q, layers=2)");
    for (int layer = 1; layer <= 2; layer++) {
        test_ok(attention_of_row(g.model, NULL, PRECISION_F32, &g.task.dev[0], ROW, layer, &base, &e), &e);
        test_ok(attention_of_row(g.model, p, PRECISION_F32, &g.task.dev[0], ROW, layer, &run, &e), &e);
        assert_true((apart(&base, &run) > 1e-6) == (layer == 2));
        attention_map_release(&base);
        attention_map_release(&run);
    }
    predictor_free(p);
    p = trained_with("prefix(l=3)");
    test_ok(attention_of_row(g.model, p, PRECISION_F32, &g.task.dev[0], ROW, 1, &run, &e), &e);
    assert_int_equal(run.extra, 3);
    int columns = run.extra + run.tokens;
    for (int i = 0; i < run.heads * run.tokens; i++) {
        double sum = 0;
        for (int j = 0; j < columns; j++) sum += run.p[i * columns + j];
        assert_true(fabs(sum - 1) < 1e-5);
    }
    attention_map_release(&run);
    predictor_free(p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shares_are_the_softmax_of_the_taps),
        cmocka_unit_test(methods_are_seen),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
