/* Steps of several tasks are PyTorch's, in 64 bits: losses of six mixed steps of AdamW, each task's own, all
 * gradients of the first and all values after the last, of tiny models with heads and with texts.
 *
 * With PETRI_PARITY_DUMP=DIR the program instead writes models, starts and rows to DIR, from which
 * tests/reference/mixed_steps.py makes tests/reference/tasks. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/mem.h"
#include "core/model/safetensors.h"
#include "tests/support/mixed.h"
#include "tests/support/test.h"
#include "tests/support/tiny.h"
#include "tests/support/writer.h"

enum { STEPS = 6, BATCH = 11 };
static const double moved = 0.2, allowed = 1e-9;

static const struct {
    const char *name, *method, *sampling;
    bool text;
} cases[] = {
    { "heads", "bottleneck(r=3; read=f.in, write=f.out, source=task) + lora(r=2)", "stratified(10)", false },
    { "heads-norm", "bottleneck(r=3; read=f.in, write=f.out, source=task, norm=own)", "proportional", false },
    { "heads-in-turn", "bottleneck(r=3; read=f.in, write=f.out, source=task)", "one-task(2)", false },
    { "texts", "bottleneck(r=3; read=f.in, write=f.out, source=task) + lora(r=2)", "stratified(10)", true },
    { "texts-norm", "bottleneck(r=3; read=f.in, write=f.out, source=task, norm=own)", "temperature(2)", true },
};

static double *values(const struct st_file *f, const char *kind, const char *name, size_t n) {
    struct err e = ERR_INIT;
    char *full = xprintf("%s%s", kind, name);
    const struct st_tensor *t = st_find(f, full);
    if (!t || t->count != n) fail_msg("%s: not in the fixture, or of another size", full);
    double *v = xcalloc(n, sizeof *v);
    test_ok(st_read_raw(f, t, v, &e), &e);
    free(full);
    return v;
}

static void same(const struct st_file *f, const char *kind, const char *name, const double *got, size_t n) {
    double *want = values(f, kind, name, n);
    for (size_t i = 0; i < n; i++)
        if (isnan(want[i]) ? !isnan(got[i]) : !(fabs(got[i] - want[i]) <= allowed * fmax(1, fabs(want[i]))))
            fail_msg("%s%s[%zu]: %.15g, in PyTorch %.15g", kind, name, i, got[i], want[i]);
    free(want);
}

static void compare(struct mixed *m, const struct run_config *c, const char *name) {
    struct err e = ERR_INIT;
    struct trained t = { 0 };
    struct step_stopper s = { .out = &t, .step = STEPS };
    char *path = xprintf("tests/reference/tasks/%s.safetensors", name), *full = test_path(path);
    struct st_file *f = st_open(full, &e);
    if (!f) fail_msg("%s", e.text);
    struct plan *p = run_plan_for(c, &m->tasks, &m->model->arch, &e);
    real *g = mixed_gradient(m, c, moved);
    s.run = mixed_begin_moved(m, c, NULL, step_stopper_sink(&s), moved);
    for (int i = 0; i < p->tensors; i++) {
        const struct plan_tensor *x = &p->tensor[i];
        same(f, "start/", x->name, run_params(s.run) + x->offset, x->count);
        same(f, "gradient/", x->name, g + x->offset, x->count);
    }
    trained_run(s.run, 2, &t);
    assert_int_equal(t.points, STEPS);
    same(f, "", "loss", t.loss, STEPS);
    assert_int_equal(t.tasks, m->tasks.count);
    for (int i = 0; i < t.tasks; i++) same(f, "loss.", t.task[i], t.task_loss[i], STEPS);
    for (int i = 0; i < p->tensors; i++)
        same(f, "after/", p->tensor[i].name, t.params + p->tensor[i].offset, p->tensor[i].count);
    trained_release(&t);
    plan_free(p);
    st_close(f);
    free(g);
    free(path);
    free(full);
}

static void mixed_steps_are_pytorchs(void **state) {
    (void)state;
    static const char *const weights[] = { "weights", "two=2,score=0.5", NULL };
    const char *dump = getenv("PETRI_PARITY_DUMP");
    struct err e = ERR_INIT;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct mixed m;
        char *home = dump ? file_join(dump, cases[i].name) : test_folder();
        test_ok(file_make_folder(home, &e), &e);
        char *list = mixed_list(home);
        char *model = cases[i].text ? writer_model(home, "model", FAMILY_T5, NULL) : tiny_bert(home, "model", NULL);
        mixed_open(&m, model, list, 16, weights);
        struct run_config c = mixed_config(&m, cases[i].method, BATCH, 1000000);
        test_ok(config_set(&c, "sampling", cases[i].sampling, &e), &e);
        c.schedule = SCHEDULE_CONSTANT;
        c.lr = 1e-2;
        c.clip = 0.5;
        c.eval_every = 1000000;
        c.accumulate = 2;
        if (cases[i].text) c.sample_every = 0;
        if (dump) mixed_dump(&m, &c, model, home, STEPS, moved);
        else compare(&m, &c, cases[i].name);
        config_release(&c);
        mixed_release(&m);
        free(model);
        free(list);
        free(home);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(mixed_steps_are_pytorchs) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
