/* Vectors inside a model: those that the model itself reads, the same on any number of threads. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/mem.h"
#include "core/train/run/pool.h"
#include "core/train/use/predict.h"
#include "tests/support/test.h"
#include "tests/support/tiny.h"
#include "tests/support/trained.h"

enum { WIDTH = 8, LAYERS = 2, ROWS = 20 };

struct vectors {
    real *layer[LAYERS + 1];
};

static struct vectors room(void) {
    struct vectors v;
    for (int l = 0; l <= LAYERS; l++) v.layer[l] = xcalloc(ROWS * WIDTH, sizeof(real));
    return v;
}

static void release(struct vectors *v) {
    for (int l = 0; l <= LAYERS; l++) free(v->layer[l]);
}

/* A row alone on a tape, its layers in turn, by the engine's own pooling. */
struct oracle {
    struct forward f;
    const struct vectors *cls, *mean;
    size_t row;
    double off;
};

static void compare(void *self, int layer, node output) {
    struct oracle *o = self;
    const struct vectors *want[] = { o->cls, o->mean };
    for (int k = 0; k < 2; k++) {
        node pooled = k ? op_pool_mean(o->f.tape, output, &o->f.rows) : op_pool_first(o->f.tape, output, &o->f.rows);
        const real *v = tape_value(o->f.tape, pooled);
        for (int j = 0; j < WIDTH; j++)
            o->off = fmax(o->off, fabs((double)v[j] - (double)want[k]->layer[layer][o->row * WIDTH + (size_t)j]));
    }
}

static void test_model(void **state) {
    (void)state;
    struct ground g;
    struct err e = ERR_INIT;
    char *home = test_folder(), *folder = tiny_bert(home, "base", NULL), *toy = tiny_toy(home);
    ground_open(&g, folder, toy, toy, 16);
    const struct dataset *d = &g.task.dev[0];
    assert_int_equal(d->examples, ROWS);
    struct vectors cls = room(), mean = room(), three = room();
    struct crew *crew = crew_new(3, NULL);
    const struct embed_how first = { .mean = false }, mean_of = { .mean = true }, by_three = { .mean = true, .crew = crew };
    test_ok(model_embed(g.model, d, &first, cls.layer, &e), &e);
    test_ok(model_embed(g.model, d, &mean_of, mean.layer, &e), &e);
    test_ok(model_embed(g.model, d, &by_three, three.layer, &e), &e);
    for (int l = 0; l <= LAYERS; l++) assert_memory_equal(mean.layer[l], three.layer[l], ROWS * WIDTH * sizeof(real));
    struct worker w;
    worker_init(&w, 0);
    struct oracle o = { .cls = &cls, .mean = &mean };
    for (size_t r = 0; r < ROWS; r++) {
        int n = (int)(d->start[r + 1] - d->start[r]), start[2] = { 0, n };
        int32_t ids[16], types[16], positions[16];
        uint64_t id = r;
        for (int i = 0; i < n; i++) {
            ids[i] = d->ids[d->start[r] + (size_t)i];
            types[i] = d->types[d->start[r] + (size_t)i];
            positions[i] = i;
        }
        struct batch b = { .examples = 1, .tokens = n, .ids = ids, .types = types, .positions = positions, .start = start,
                           .example_id = &id };
        tape_reset(w.tape, false, 0, 0);
        forward_init(&o.f, w.tape, g.model, &b, NULL);
        o.row = r;
        o.f.layer_done = compare;
        o.f.layer_self = &o;
        forward_encode(&o.f);
    }
    if (!(o.off < 1e-5)) fail_msg("vectors differ by %g", o.off);
    /* a layer that is not wanted is not touched */
    struct vectors part = room();
    real *only[LAYERS + 1] = { NULL, part.layer[1], NULL };
    test_ok(model_embed(g.model, d, &by_three, only, &e), &e);
    assert_memory_equal(part.layer[1], mean.layer[1], ROWS * WIDTH * sizeof(real));
    assert_true(part.layer[0][0] == 0 && part.layer[2][0] == 0);
    release(&cls);
    release(&mean);
    release(&three);
    release(&part);
    worker_release(&w);
    crew_free(crew);
    ground_release(&g);
    free(home);
    free(folder);
    free(toy);
}

/* LoRA at layer 2 alone: the layers below are the model's, that one is not; and the method's
 * own vectors give the method's own logits to a classifier, so the first token moves. */
static void test_run(void **state) {
    (void)state;
    struct ground g;
    struct trained t;
    struct err e = ERR_INIT;
    char *home = test_folder(), *folder = tiny_bert(home, "base", NULL), *toy = tiny_toy(home);
    char *files = file_join(home, "run"), *best = file_join(files, "best.safetensors");
    ground_open(&g, folder, toy, toy, 16);
    struct run_config c = ground_config(&g, "linear(r=2; read=a.in, write=a.q, layers=2)", 4, 10);
    train(&g, &c, files, 2, &t);
    struct predictor *p = predictor_open(best, NULL, g.model, &e);
    if (!p) fail_msg("%s", e.text);
    struct vectors base = room(), run = room();
    const struct embed_how how = { .mean = false };
    test_ok(model_embed(g.model, &g.task.dev[0], &how, base.layer, &e), &e);
    test_ok(predictor_embed(p, &g.task.dev[0], &how, run.layer, NULL, &e), &e);
    for (int l = 0; l <= LAYERS; l++) {
        double most = 0;
        for (int i = 0; i < ROWS * WIDTH; i++)
            most = fmax(most, fabs((double)base.layer[l][i] - (double)run.layer[l][i]));
        assert_true((most > 1e-6) == (l == LAYERS));
    }
    release(&base);
    release(&run);
    predictor_free(p);
    trained_release(&t);
    config_release(&c);
    ground_release(&g);
    free(home);
    free(folder);
    free(toy);
    free(files);
    free(best);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_model),
        cmocka_unit_test(test_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
