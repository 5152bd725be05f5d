/* Runs whose weights networks make are PyTorch's: what is made, logits, every term of the losses of ten mixed steps
 * of AdamW, all gradients of the first, values after the last, and texts by beams from the same weights.
 *
 * tests/reference/hyper/CASE.safetensors holds what tests/reference/hyper_steps.py makes of the formulas; the build
 * for 64 bits writes what that begins from, with PETRI_PARITY_DUMP=DIR. */
#ifndef TESTS_TRAIN_GENERATORS_H
#define TESTS_TRAIN_GENERATORS_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/mem.h"
#include "core/method/attach.h"
#include "core/method/hyper.h"
#include "core/model/generate.h"
#include "core/model/safetensors.h"
#include "tests/support/mixed.h"
#include "tests/support/test.h"
#include "tests/support/tiny.h"
#include "tests/support/writer.h"

enum { STEPS = 10, BATCH = 11, BEAMS = 3, NEW_TOKENS = 5 };
static const double moved = 0.2;

static const struct generator_case {
    const char *name, *method; /* small() of it is trained */
    bool text;
} generator_cases[] = {
    { "t5-hyperformer", "hyperformer(r=2)", true },
    { "t5-hyperformer++", "hyperformer++(r=2)", true },
    { "t5-pha", "pha(r=2)", true },
    { "t5-hyperdecoder", "hyperdecoder(r=2)", true },
    { "t5-hyperprompt-share", "hyperprompt-share(l=2,b=3,backbone=norms)", true },
    { "t5-hyperprompt-global", "hyperprompt-global(l=2,b=3,backbone=norms)", true },
    { "bert-hyperprompt-sep", "hyperprompt-sep(l=2,b=3,backbone=norms)", false },
    { "bert-hyperprompt-global", "hyperprompt-global(l=2,b=3,backbone=norms)", false },
    { "bert-hyperformer", "hyperformer(r=2)", false },
    { "bert-hyperformer++", "hyperformer++(r=2)", false },
    { "bert-pha", "pha(r=2)", false },
    { "bert-hyperdecoder", "hyperdecoder(r=2)", false },
    { "bert-retriever", "bottleneck(r=2; read=f.in, write=f.out, source=hyper) + hyper(place=0, start=fan) + "
                        "retriever(hidden=0, instance=negatives, prototype=softmax)", false },
};

/* Allowed differences of a build, in parts of a value above 1 or of a tensor's largest gradient. */
struct generator_bounds {
    double value, gradient, after; /* after: 0 where values past the last step are not compared */
};

/* The method's networks at sizes that a fixture has room for. */
static char *small(const char *text) {
    struct method m;
    struct err e = ERR_INIT;
    test_ok(method_parse(text, &m, &e), &e);
    struct hyper *h = &m.hyper[0];
    if (h->task) h->task = 3;
    if (h->inner) h->inner = 3;
    if (h->layer) h->layer = 2;
    if (h->place) h->place = 4;
    h->hidden = 5;
    if (m.retriever.hidden) m.retriever.hidden = 5;
    if (m.retriever.on) m.retriever.width = 3;
    return method_canonical(&m);
}

static struct run_config generator_config(const struct mixed *m, const struct generator_case *of) {
    struct err e = ERR_INIT;
    char *method = small(of->method);
    struct run_config c = mixed_config(m, method, BATCH, 1000000);
    test_ok(config_set(&c, "sampling", "stratified(10)", &e), &e);
    c.schedule = SCHEDULE_CONSTANT;
    c.lr = 1e-2;
    c.clip = 0.5;
    c.eval_every = 1000000;
    c.accumulate = 2;
    if (of->text) c.sample_every = 0;
    free(method);
    return c;
}

/* ---- beside the fixture ---- */

static struct st_file *generator_fixture(const char *name) {
    struct err e = ERR_INIT;
    char *path = xprintf("tests/reference/hyper/%s.safetensors", name), *full = test_path(path);
    struct st_file *f = st_open(full, &e);
    if (!f) fail_msg("%s", e.text);
    free(full);
    free(path);
    return f;
}

static double *fixture_of(const struct st_file *f, const char *kind, const char *name, size_t n) {
    struct err e = ERR_INIT;
    char *full = xprintf("%s%s", kind, name);
    const struct st_tensor *t = st_find(f, full);
    if (!t || t->type != ST_F64 || t->count != n) fail_msg("%s: not in the fixture, or of another size", full);
    double *v = xcalloc(n, sizeof *v);
    test_ok(st_read_raw(f, t, v, &e), &e);
    free(full);
    return v;
}

static void same_number(const char *kind, const char *name, size_t i, double got, double want, double by) {
    if (isnan(want) ? !isnan(got) : !(fabs(got - want) <= by))
        fail_msg("%s%s[%zu]: %.15g, in PyTorch %.15g, apart by %.3g", kind, name, i, got, want, fabs(got - want));
}

static void same_values(const struct st_file *f, const char *kind, const char *name, const real *got, size_t n, double by) {
    double *want = fixture_of(f, kind, name, n);
    for (size_t i = 0; i < n; i++) same_number(kind, name, i, (double)got[i], want[i], by * fmax(1, fabs(want[i])));
    free(want);
}

static void same_series(const struct st_file *f, const char *name, const double *got, double by) {
    double *want = fixture_of(f, "", name, STEPS);
    for (size_t i = 0; i < STEPS; i++) same_number("", name, i, got[i], want[i], by * fmax(1, fabs(want[i])));
    free(want);
}

/* By parts of the tensor's largest; what is zero but for rounding is not measured by itself. */
static void same_gradients(const struct st_file *f, const struct plan *p, const real *got, double part) {
    double whole = 0;
    for (size_t i = 0; i < p->trained; i++) whole = fmax(whole, fabs((double)got[i]));
    for (int k = 0; k < p->tensors; k++) {
        const struct plan_tensor *t = &p->tensor[k];
        double *want = fixture_of(f, "gradient/", t->name, t->count), largest = 1e-5 * whole;
        for (size_t i = 0; i < t->count; i++) largest = fmax(largest, fabs(want[i]));
        for (size_t i = 0; i < t->count; i++)
            same_number("gradient/", t->name, i, (double)got[t->offset + i], want[i], part * largest);
        free(want);
    }
}

static void same_made(const struct st_file *f, const struct plan *p, const real *made, double by) {
    for (int i = 0; i < p->generated; i++) {
        const struct plan_generated *t = &p->generated_tensor[i];
        same_values(f, "made/", t->name, made + t->offset, t->count, by);
    }
}

/* ---- the first step's rows ---- */

struct generator_rows {
    struct mixed *m;
    const struct plan *plan;
    const real *params, *made;
    int rows;
    struct batch_example row[BATCH];
};

static void same_logits(const struct st_file *f, const struct generator_rows *x, double by) {
    struct arena *memory = arena_new();
    struct tape *tape = tape_new(memory);
    struct attach *a = attach_new(x->plan, x->m->model);
    const struct arch *arch = &x->m->model->arch;
    struct batch b;
    struct forward forward;
    bool text = x->m->task[0].kind == DATA_TEXT;
    tape_reset(tape, false, 1, 1);
    batch_pack_examples(&b, memory, arch, x->row, x->rows);
    if (text) batch_pack_targets(&b, memory, arch, x->row, x->rows);
    forward_init(&forward, tape, x->m->model, &b, attach_begin(a, tape, x->params, x->made, NULL));
    node encoded = forward_encode(&forward);
    node out = text ? forward_logits(&forward, forward_decode(&forward, encoded)) : attach_pool(a, &forward, encoded);
    for (int i = 0; i < b.ranges; i++) {
        struct task_range r = b.range[i];
        const char *name = x->m->config.of[r.task].task_name;
        size_t columns = text ? (size_t)arch->vocabulary : (size_t)x->plan->outputs[r.task];
        size_t from = text ? (size_t)b.target_start[r.first] : 0, end = text ? (size_t)b.target_start[r.end] : (size_t)(r.end - r.first);
        const real *v = tape_value(tape, text ? out : attach_head(a, &forward, out, r, 0));
        same_values(f, "logits/", name, v + from * columns, (end - from) * columns, by);
    }
    attach_free(a);
    tape_free(tape);
    arena_free(memory);
}

/* What is made for each row alone, from the reference's mean of the row. */
static void same_made_for_rows(const struct st_file *f, const struct generator_rows *x, double by) {
    const struct plan *p = x->plan;
    const struct arch *a = &x->m->model->arch;
    int width = hyper_example_width(&p->method, a), task[BATCH];
    struct arena *memory = arena_new();
    struct tape *tape = tape_new(memory);
    double *pooled = fixture_of(f, "", "pooled", (size_t)(x->rows * width));
    real *h = xcalloc((size_t)(x->rows * width), sizeof *h);
    node *leaf = xcalloc((size_t)p->tensors, sizeof *leaf);
    struct example_value *value = xcalloc((size_t)p->per_example, sizeof *value);
    tape_reset(tape, false, 1, 1);
    for (int i = 0; i < x->rows * width; i++) h[i] = (real)pooled[i];
    for (int i = 0; i < x->rows; i++) task[i] = x->row[i].task;
    for (int i = 0; i < p->tensors; i++)
        leaf[i] = tape_frozen(tape, p->tensor[i].rows, p->tensor[i].cols, x->params + p->tensor[i].offset);
    int stack = p->example_tensor[0].stack;
    hyper_generate_per_example(p, tape, leaf, stack, tape_frozen(tape, x->rows, width, h), task, value);
    for (int i = 0; i < p->per_example; i++) {
        const struct plan_generated *t = &p->example_tensor[i];
        const real *first = tape_value(tape, value[i].value) + (size_t)value[i].first * t->count;
        assert_int_equal(t->stack, stack);
        same_values(f, "made/", t->name, first, (size_t)x->rows * t->count, by);
    }
    tape_free(tape);
    arena_free(memory);
    free(pooled);
    free(h);
    free(leaf);
    free(value);
}

/* There is no crew: the rows and the attachment are at hand. */
struct opened_method {
    const struct generator_rows *x;
    struct attach *a;
    int task;
};

static void *pass_on(void *self) { return self; }

static const struct hooks *begin_method(void *opened, struct tape *t) {
    struct opened_method *o = opened;
    attach_for_task(o->a, o->task);
    return attach_begin(o->a, t, o->x->params, o->x->made, NULL);
}

static void leave(void *opened) { (void)opened; }

/* The texts of a task's rows, NEW_TOKENS each, -1 behind the last. */
static void same_texts_of(const struct st_file *f, struct generator_rows *x, int task) {
    struct err e = ERR_INIT;
    struct opened_method o = { x, attach_new(x->plan, x->m->model), task };
    const struct generate_method method = { &o, pass_on, begin_method, leave };
    struct generate_options how;
    struct generated text[BATCH] = { { 0 } };
    struct generation g;
    size_t start[BATCH + 1] = { 0 }, n = 0;
    int32_t *ids = xcalloc(BATCH * 64, sizeof *ids);
    for (int i = 0; i < x->rows; i++) {
        const struct batch_example *r = &x->row[i];
        if (r->task != task) continue;
        size_t from = r->data->start[r->index], length = r->data->start[r->index + 1] - from;
        memcpy(ids + start[n], r->data->ids + from, length * sizeof *ids);
        start[n + 1] = start[n] + length;
        n++;
    }
    test_ok(generate_defaults(x->m->model, &how, NULL, &e), &e);
    how.beams = BEAMS;
    how.max_new = NEW_TOKENS;
    how.no_repeat = 1; /* or a tiny model says one word */
    const struct generate_sources sources = { n, start, ids };
    generation_init(&g, x->m->model, &how, &sources);
    test_ok(generate_rows(&g, &method, NULL, NULL, text, &e), &e);
    double *want = fixture_of(f, "texts/", x->m->config.of[task].task_name, n * NEW_TOKENS);
    for (size_t i = 0; i < n; i++)
        for (int k = 0; k < NEW_TOKENS; k++)
            same_number("texts/", x->m->config.of[task].task_name, i * NEW_TOKENS + (size_t)k,
                        k < text[i].count ? text[i].ids[k] : -1, want[i * NEW_TOKENS + (size_t)k], 0);
    generated_release(text, n);
    generation_release(&g);
    attach_free(o.a);
    free(want);
    free(ids);
}

/* ---- a case ---- */

static void compare_steps(struct mixed *m, const struct run_config *c, const char *name, const struct generator_bounds *by) {
    struct trained t = { 0 };
    struct step_stopper s = { .out = &t, .step = STEPS };
    struct generator_rows x = { .m = m };
    struct st_file *f = generator_fixture(name);
    real *g = mixed_gradient(m, c, moved);
    s.run = mixed_begin_moved(m, c, NULL, step_stopper_sink(&s), moved);
    const struct plan *p = x.plan = run_plan(s.run);
    real *made = xcalloc(p->generated_size + 1, sizeof *made);
    for (int i = 0; i < p->tensors; i++)
        same_values(f, "start/", p->tensor[i].name, run_params(s.run) + p->tensor[i].offset, p->tensor[i].count, 1e-6);
    attach_regenerate(p, NULL, run_params(s.run), made);
    same_made(f, p, made, by->value);
    same_gradients(f, p, g, by->gradient);
    x.params = run_params(s.run);
    x.made = made;
    x.rows = mixed_first_rows(m, c, x.row);
    same_logits(f, &x, by->value);
    if (p->per_example) same_made_for_rows(f, &x, by->value);
    for (int i = 0; i < m->tasks.count && m->task[0].kind == DATA_TEXT; i++) same_texts_of(f, &x, i);
    struct err e = ERR_INIT;
    struct plan *kept = run_plan_for(c, &m->tasks, &m->model->arch, &e);
    trained_run(s.run, 2, &t);
    assert_int_equal(t.points, STEPS);
    same_series(f, "loss", t.loss, by->value);
    for (int i = 0; i < t.tasks; i++) {
        char *own = xprintf("loss/%s", t.task[i]);
        same_series(f, own, t.task_loss[i], by->value);
        free(own);
    }
    for (int i = 0; i < TRAINED_TERMS; i++) same_series(f, trained_term[i], t.term[i], by->value);
    for (int i = 0; i < kept->tensors && by->after > 0; i++)
        same_values(f, "after/", kept->tensor[i].name, t.params + kept->tensor[i].offset, kept->tensor[i].count, by->after);
    trained_release(&t);
    plan_free(kept);
    st_close(f);
    free(made);
    free(g);
}

static void generator_check(const struct generator_case *of, const char *dump, const struct generator_bounds *by) {
    struct err e = ERR_INIT;
    struct mixed m;
    char *home = dump ? file_join(dump, of->name) : test_folder();
    test_ok(file_make_folder(home, &e), &e);
    char *list = mixed_list(home);
    char *model = of->text ? writer_model(home, "model", FAMILY_T5, NULL) : tiny_bert(home, "model", NULL);
    mixed_open(&m, model, list, 16, NULL);
    struct run_config c = generator_config(&m, of);
    if (dump) mixed_dump(&m, &c, model, home, STEPS, moved);
    else compare_steps(&m, &c, of->name, by);
    config_release(&c);
    mixed_release(&m);
    free(model);
    free(list);
    free(home);
}

#endif
