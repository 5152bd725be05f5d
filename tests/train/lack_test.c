/* Memory that cannot be had fails the run that asked for it; another run of the process goes on with the same bits. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "tests/support/test.h"
#include "tests/support/trained.h"

enum { STEPS = 3, RUNS = 2 };

static atomic_long until; /* requests to the one that is refused; 0: none is */
static atomic_size_t least, refused_bytes;

static bool refuse(size_t bytes) {
    if (bytes < atomic_load(&least) || atomic_load(&until) < 1 || atomic_fetch_sub(&until, 1) != 1) return false;
    atomic_store(&refused_bytes, bytes);
    return true;
}

static enum precision precision;

static struct run *lack_run(struct ground *g, const char *method, int64_t id, struct event_sink sink) {
    struct err e = ERR_INIT;
    struct run_config c = ground_config(g, method, 8, STEPS);
    c.eval_every = 1;
    c.precision = precision;
    c.embed_every = g->task.devs ? 1 : 0;
    struct run *r = run_new(id, &c, g->model, &g->task, NULL, sink, &e);
    if (!r) fail_msg("%s", e.text);
    config_release(&c);
    return r;
}

static void assert_same_points(const struct trained *a, const struct trained *b) {
    assert_int_equal(trained_state(a), RUN_FINISHED);
    assert_int_equal(a->points, b->points);
    assert_memory_equal(a->loss, b->loss, (size_t)b->points * sizeof *b->loss);
}

static void assert_out_of_memory(const struct trained *t, long at) {
    char bytes[64];
    snprintf(bytes, sizeof bytes, "a block of %zu bytes", (size_t)atomic_load(&refused_bytes));
    assert_int_equal(trained_state(t), RUN_FAILED);
    if (!strstr(t->reason, bytes) || !strstr(t->reason, "--batch")) fail_msg("request %ld: %s", at, t->reason);
}

/* A model without packed weights. */
static void load_again(struct ground *g) {
    struct err e = ERR_INIT;
    struct model *again = model_load(g->model->folder, &e);
    if (!again) fail_msg("%s", e.text);
    model_release(g->model);
    g->model = again;
}

/* Trains two runs in one pool with request number `at` refused; false when there were fewer requests. */
static bool try_at(struct ground *g, const char *const *method, long at, const struct trained *alone) {
    static struct trained out[RUNS];
    struct run *r[RUNS];
    int failed = 0;
    struct pool *p = pool_new(1);
    if (precision == PRECISION_BF16) load_again(g);
    for (int i = 0; i < RUNS; i++) {
        out[i] = (struct trained){ 0 };
        r[i] = lack_run(g, method[i], i + 1, trained_sink(&out[i]));
    }
    atomic_store(&until, at);
    for (int i = 0; i < RUNS; i++) pool_add(p, r[i], 0);
    for (int i = 0; i < RUNS; i++) assert_true(pool_wait(p, r[i], 60));
    bool refused = atomic_load(&until) < 1;
    atomic_store(&until, 0);
    for (int i = 0; i < RUNS; i++) {
        bool lacks = trained_state(&out[i]) == RUN_FAILED;
        failed += lacks;
        if (lacks) assert_out_of_memory(&out[i], at);
        else assert_same_points(&out[i], &alone[i]);
        run_free(r[i]);
        trained_release(&out[i]);
    }
    assert_int_equal(failed, refused);
    pool_free(p);
    return refused;
}

/* Each request of both runs for at least `bytes` in turn; returns how many there were. */
static long each_request(const char *first, const char *second, bool dev, size_t bytes) {
    static struct trained alone[RUNS];
    const char *const method[RUNS] = { first, second };
    struct ground g;
    ground_open_toy(&g, dev);
    for (int i = 0; i < RUNS; i++) {
        alone[i] = (struct trained){ 0 };
        trained_run(lack_run(&g, method[i], i + 1, trained_sink(&alone[i])), 1, &alone[i]);
    }
    atomic_store(&least, bytes);
    mem_on_request(refuse);
    long at = 1;
    while (try_at(&g, method, at, alone)) at++;
    mem_on_request(NULL);
    for (int i = 0; i < RUNS; i++) trained_release(&alone[i]);
    ground_release(&g);
    return at - 1;
}

static void a_step_fails_its_run(void **state) {
    (void)state;
    assert_true(each_request("lora(r=2)", "prefix(l=3,mlp=6)", false, 0) > 20);
}

/* Vectors are computed before the first step, so that an evaluation asks for the worker's memory; what metrics are
 * counted with is smaller. */
static void an_evaluation_fails_its_run(void **state) {
    (void)state;
    assert_true(each_request("adapter-pfeiffer(r=4)", "full", true, 1 << 20) > 0);
}

/* A weight that cannot be packed is packed by the run that goes on. */
static void a_packing_fails_its_run(void **state) {
    (void)state;
    precision = PRECISION_BF16;
    assert_true(each_request("lora(r=2)", "full", false, 0) > 20);
    precision = PRECISION_F32;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_step_fails_its_run),
        cmocka_unit_test(an_evaluation_fails_its_run),
        cmocka_unit_test(a_packing_fails_its_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
