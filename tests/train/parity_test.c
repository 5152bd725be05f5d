/* Training is PyTorch's: from petri's initial trainables, fed petri's row order, with dropout
 * 0, the losses of 50 steps on MiniLM and SST-2.
 *
 * Without PETRI_SLOW only the first is compared over all steps, the other methods over a few, under a sanitizer
 * all over a few; with it all are over all, and so is the accuracy on the official dev rows.  With
 * PETRI_PARITY_DUMP=DIR the program instead writes the starts and orders to DIR, from which
 * tests/reference/train_parity.py makes train_parity.txt. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/mem.h"
#include "core/engine/blas.h"
#include "core/train/run/checkpoint.h"
#include "tests/support/test.h"
#include "tests/support/trained.h"

#define MINILM "assets/models/all-MiniLM-L6-v2"

enum { STEPS = 50, FEW = 6, BATCH = 8, MAX_LEN = 128, METHODS = 5 };

static const char *const methods[METHODS] = {
    "lora(r=8)", "adapter-pfeiffer(r=48)", "mam(l=16,r=16)", "bitfit", "full",
};

struct expected {
    double accuracy, loss[STEPS];
};

static struct ground ground;

/* Opened by the first test: what sets a group up cannot skip. */
static void need_ground(void) {
    if (ground.model) return;
    const char *data = test_shared_data();
    test_needs(MINILM);
    char *model = test_path(MINILM), *train_file = xprintf("%s/glue/SST-2/train.tsv", data),
         *dev = xprintf("%s/glue/SST-2/dev_official.tsv", data);
    const struct task_source s = { .train = train_file, .dev = dev, .text = "sentence", .label = "label" };
    struct err e = ERR_INIT;
    ground.max_len = MAX_LEN;
    ground.model = model_load(model, &e);
    if (!ground.model) fail_msg("%s", e.text);
    test_ok(task_open(&ground.task, &s, &e), &e);
    test_ok(task_encode(&ground.task, ground.model->tokenizer, MAX_LEN, 0, ground.model->arch.vocabulary, &e), &e);
    free(model);
    free(train_file);
    free(dev);
}

static int close_ground(void **state) {
    (void)state;
    if (ground.model) ground_release(&ground);
    return 0;
}

static struct run_config config(int method) {
    return ground_config(&ground, methods[method], BATCH, STEPS);
}

/* ---- what the reference starts from ---- */

static void dump_one(const char *folder, int method) {
    struct err e = ERR_INIT;
    struct run_config c = config(method);
    char *to = xprintf("%s/%d", folder, method), *path = file_join(to, "order.txt");
    struct run *r =
        run_new(1, &c, ground.model, &ground.task, to, (struct event_sink){ NULL, NULL }, &e);
    if (!r) fail_msg("%s", e.text);
    test_ok(checkpoint_save(r, true, &e), &e);
    size_t rows = ground.task.train.examples;
    uint32_t *order = xmalloc(rows * sizeof *order);
    order_epoch(c.seed, 0, order, rows);
    struct buf b = BUF_INIT;
    for (int i = 0; i < STEPS * BATCH; i++)
        buf_printf(&b, "%llu%c", (unsigned long long)ground.task.train.example[order[i]].id,
                   i % BATCH == BATCH - 1 ? '\n' : ' ');
    test_ok(file_write(path, b.data, b.size, &e), &e);
    buf_release(&b);
    run_free(r);
    config_release(&c);
    free(order);
    free(to);
    free(path);
}

/* ---- what came of it ---- */

static void read_expected(int method, struct expected *out) {
    struct err e = ERR_INIT;
    struct buf text;
    char *path = test_path("tests/reference/train_parity.txt");
    test_ok(file_read(path, 1 << 20, &text, &e), &e);
    const char *s = text.data;
    for (int i = 0; i < method; i++) s = strchr(s, '\n') + 1;
    size_t n = strlen(methods[method]);
    assert_memory_equal(s, methods[method], n);
    char *end;
    out->accuracy = strtod(s + n, &end);
    for (int i = 0; i < STEPS; i++) out->loss[i] = strtod(end, &end);
    assert_int_equal(*end, '\n');
    buf_release(&text);
    free(path);
}

static void check_one(int method) {
    struct run_config c = config(method);
    struct trained t;
    struct expected right;
    bool slow = test_slow();
    int devs = ground.task.devs, steps = slow || (!method && TEST_PATIENCE == 1) ? STEPS : FEW;
    c.eval_every = 1000000;
    if (!slow) ground.task.devs = 0;
    read_expected(method, &right);
    if (steps == STEPS) train(&ground, &c, NULL, 2, &t);
    else train_until(&ground, &c, NULL, 2, steps, &t);
    ground.task.devs = devs;
    assert_int_equal(trained_state(&t), steps == STEPS ? RUN_FINISHED : RUN_STOPPED);
    assert_int_equal(t.points, steps);
    double worst = 0;
    for (int i = 0; i < steps; i++) worst = fmax(worst, fabs(t.loss[i] - right.loss[i]));
    printf("%s: losses %.4f … %.4f, largest difference %.2g\n", methods[method], t.loss[0],
           t.loss[steps - 1], worst);
    if (!(worst < 1e-3)) fail_msg("%s: losses differ by %g", methods[method], worst);
    if (slow) {
        printf("%s: dev accuracy %.4f, reference %.4f\n", methods[method], t.evaluation[0].value,
               right.accuracy);
        assert_int_equal(t.evaluations, 1);
        assert_true(fabs(t.evaluation[0].value - right.accuracy) < 0.005);
    }
    trained_release(&t);
    config_release(&c);
}

#define CHECK(name, number)                                                                        \
    static void name(void **state) {                                                               \
        (void)state;                                                                               \
        const char *dump = getenv("PETRI_PARITY_DUMP");                                            \
        need_ground();                                                                             \
        if (dump) dump_one(dump, number);                                                          \
        else check_one(number);                                                                    \
    }
CHECK(lora_trains_as_in_pytorch, 0)
CHECK(adapter_trains_as_in_pytorch, 1)
CHECK(mam_trains_as_in_pytorch, 2)
CHECK(bitfit_trains_as_in_pytorch, 3)
CHECK(full_trains_as_in_pytorch, 4)

int main(int argc, char **argv) {
    (void)argc;
    blas_start(argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lora_trains_as_in_pytorch), cmocka_unit_test(adapter_trains_as_in_pytorch),
        cmocka_unit_test(mam_trains_as_in_pytorch),  cmocka_unit_test(bitfit_trains_as_in_pytorch),
        cmocka_unit_test(full_trains_as_in_pytorch),
    };
    return cmocka_run_group_tests(tests, NULL, close_ground);
}
