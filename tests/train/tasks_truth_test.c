/* Training of several tasks is PyTorch's: RTE, MRPC and CoLA in mixed batches, on MiniLM with heads and on
 * flan-t5-small with texts, with an adapter of each task's own and LoRA in common.
 *
 * The first losses are compared with tests/reference/tasks_truth.txt.  With PETRI_PARITY_DUMP=DIR the program
 * instead writes starts, rows, its own losses of 50 steps and the first one's gradients to DIR, which
 * tests/reference/mixed_steps.py --compare DIR holds beside PyTorch's, and from which it makes that file. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/mem.h"
#include "core/engine/blas.h"
#include "core/model/safetensors.h"
#include "tests/support/mixed.h"
#include "tests/support/test.h"

enum { STEPS = 50, FEW = 6, MAX_LEN = 96 };
static const double moved = 0.02;
static const char *const method = "bottleneck(r=16; read=f.in, write=f.out, source=task) + lora";

static const struct truth_case {
    const char *name, *model;
    int batch;
    double lr;
} minilm = { "minilm", "assets/models/all-MiniLM-L6-v2", 16, 1e-3 },
  flan = { "flan-t5-small", "assets/models/flan-t5-small", 8, 1e-3 };

static struct run_config open_case(const struct truth_case *of, const char *model, struct mixed *m) {
    struct err e = ERR_INIT;
    const char *data = test_shared_data();
    char *tasks = xprintf("%s/glue/RTE,%s/glue/MRPC,%s/glue/CoLA", data, data, data);
    mixed_open(m, model, tasks, MAX_LEN, NULL);
    free(tasks);
    struct run_config c = mixed_config(m, method, of->batch, 1000000);
    test_ok(config_set(&c, "sampling", "temperature(2)", &e), &e);
    c.schedule = SCHEDULE_CONSTANT;
    c.lr = of->lr;
    c.eval_every = 1000000;
    if (m->task[0].kind == DATA_TEXT) c.sample_every = 0;
    return c;
}

static void train_steps(struct mixed *m, const struct run_config *c, int steps, struct trained *out) {
    struct step_stopper s = { .out = out, .step = steps };
    *out = (struct trained){ 0 };
    s.run = mixed_begin_moved(m, c, NULL, step_stopper_sink(&s), moved);
    trained_run(s.run, 2, out);
    if (out->points != steps) fail_msg("%s", out->reason);
}

/* ---- for PyTorch ---- */

static void write_steps(const char *path, const struct plan *p, const real *gradient, const struct trained *t) {
    struct err e = ERR_INIT;
    size_t n = (size_t)p->tensors + 1;
    struct st_write *w = xcalloc(n, sizeof *w);
    w[0] = (struct st_write){ .name = "loss", .type = ST_F64, .rank = 1, .shape = { (size_t)t->points }, .data = t->loss };
    for (size_t i = 1; i < n; i++) {
        const struct plan_tensor *x = &p->tensor[i - 1];
        w[i] = (struct st_write){ .name = xprintf("gradient/%s", x->name), .type = ST_F32, .rank = 1,
                                  .shape = { x->count }, .data = gradient + x->offset };
    }
    test_ok(st_save(path, w, n, NULL, 0, &e), &e);
    for (size_t i = 1; i < n; i++) free((char *)(uintptr_t)w[i].name);
    free(w);
}

static void dump(struct mixed *m, const struct run_config *c, const char *model, const char *folder) {
    struct err e = ERR_INIT;
    struct trained t;
    mixed_dump(m, c, model, folder, STEPS, moved);
    real *g = mixed_gradient(m, c, moved);
    train_steps(m, c, STEPS, &t);
    struct plan *p = run_plan_for(c, &m->tasks, &m->model->arch, &e);
    char *path = file_join(folder, "petri.safetensors");
    write_steps(path, p, g, &t);
    trained_release(&t);
    plan_free(p);
    free(path);
    free(g);
}

/* ---- what came of it ---- */

static void compare(const char *name, struct mixed *m, const struct run_config *c) {
    struct err e = ERR_INIT;
    struct trained t;
    struct buf text;
    double worst = 0;
    char *path = test_path("tests/reference/tasks_truth.txt"), *head = xprintf("%s ", name), *end;
    test_ok(file_read(path, 1 << 20, &text, &e), &e);
    const char *line = strstr(buf_text(&text), head);
    if (!line) fail_msg("%s: has no line of %s", path, name);
    line += strlen(head);
    train_steps(m, c, FEW, &t);
    for (int i = 0; i < FEW; i++, line = end) worst = fmax(worst, fabs(t.loss[i] - strtod(line, &end)));
    printf("%s: losses %.4f … %.4f, largest difference %.2g\n", name, t.loss[0], t.loss[FEW - 1], worst);
    if (!(worst < 1e-3)) fail_msg("%s: losses differ by %g", name, worst);
    trained_release(&t);
    buf_release(&text);
    free(head);
    free(path);
}

static void check(const struct truth_case *of) {
    struct mixed m;
    const char *to = getenv("PETRI_PARITY_DUMP");
    test_shared_data(); /* or it is skipped */
    test_needs(of->model);
    char *model = test_path(of->model);
    struct run_config c = open_case(of, model, &m);
    if (to) {
        struct err e = ERR_INIT;
        char *folder = file_join(to, of->name), *full = realpath(model, NULL);
        test_ok(file_make_folder(folder, &e), &e);
        dump(&m, &c, full, folder);
        free(full);
        free(folder);
    } else {
        compare(of->name, &m, &c);
    }
    config_release(&c);
    mixed_release(&m);
    free(model);
}

static void heads_on_minilm(void **state) {
    (void)state;
    check(&minilm);
}

static void texts_of_flan_t5(void **state) {
    (void)state;
    check(&flan);
}

int main(int argc, char **argv) {
    (void)argc;
    blas_start(argv);
    const struct CMUnitTest tests[] = { cmocka_unit_test(heads_on_minilm), cmocka_unit_test(texts_of_flan_t5) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
