#include "tests/bench/bench_ratios.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/engine/kernel.h"
#include "core/train/run/batch.h"
#include "tests/bench/bench.h"
#include "tests/bench/bench_made.h"

/* ---- steps in turns ---- */

enum { TURN_WARM = 2, TURN_STEPS = 2 }; /* uncounted and counted steps of one before the next has its turn */

static int bench_ratios_turn(struct bench_side *s, struct err *e) {
    struct bench_times now;
    s->work.warm = TURN_WARM;
    s->work.steps = TURN_STEPS;
    int rc = bench_train(&s->work, 0, &now, e);
    s->times.tokens = now.tokens;
    for (int i = 0; i < now.steps && s->times.steps < BENCH_STEPS; i++) s->times.second[s->times.steps++] = now.second[i];
    return rc;
}

int bench_turns(struct bench_side *s, int n, double seconds, struct err *e) {
    double until = clock_seconds() + seconds;
    int rc = 0;
    for (int round = 0; !rc && (round < 2 || (clock_seconds() < until && round * TURN_STEPS < BENCH_STEPS)); round++)
        for (int i = 0; i < n && !rc; i++) rc = bench_ratios_turn(&s[i], e);
    for (int i = 0; i < n; i++) bench_median(&s[i].times);
    return rc;
}

double bench_over(const struct bench_side *a, const struct bench_side *b) { return a->times.median / b->times.median; }

/* ---- several tasks: heads on MiniLM's shapes ---- */

enum { HEADS = 4, HEAD_ROWS = 32, HEAD_LENGTH = 32 };

static int of_tasks(double seconds, struct bench_ratio *mixed, struct bench_ratio *each, struct err *e) {
    struct model *m = bench_model(FAMILY_BERT, 6, 384, 12, 1536, e);
    if (!m) return e->code;
    struct task t[HEADS], *all[HEADS];
    for (int i = 0; i < HEADS; i++) bench_task(all[i] = &t[i], HEAD_ROWS, HEAD_LENGTH, m->arch.vocabulary);
    const struct bench_work one = { .model = m, .tasks = { 1, all }, .batch = HEAD_ROWS, .method = "lora(r=8)" };
    struct bench_side side[] = { { .work = one }, { .work = one }, { .work = one }, { .work = one } };
    side[1].work.tasks.count = side[3].work.tasks.count = HEADS;
    side[1].work.sampling = side[3].work.sampling = "proportional";
    side[2].work.method = "shared-adapter(r=48)";
    side[3].work.method = "adapter-per-task(r=48)";
    int rc = bench_turns(side, COUNT_OF(side), seconds, e);
    *mixed = (struct bench_ratio){ "mixed_tasks", "a batch of four tasks relative to one task; lora",
                                   bench_over(&side[1], &side[0]), 1.05 };
    *each = (struct bench_ratio){ "adapters_per_task", "the same with an adapter per task relative to a shared adapter",
                                  bench_over(&side[3], &side[2]), 1.10 };
    for (int i = 0; i < HEADS; i++) bench_task_free(&t[i]);
    bench_model_free(m);
    return rc;
}

/* ---- generated weights and whole-batch losses: texts of eight tasks on T5-small shapes ---- */

/* Parts of a step, measured alone. */
struct bench_alone {
    const struct model *model;
    struct task *const *task;
    struct run_config config;
    struct plan *plan;
    struct arena *memory;
    struct tape *tape;
    real *params, *made, *grads;
};

static int open_alone(struct bench_alone *x, const struct bench_work *w, struct err *e) {
    *x = (struct bench_alone){ .model = w->model, .task = w->tasks.task };
    if (!bench_config(w, &x->config, e)) x->plan = run_plan_for(&x->config, &w->tasks, &w->model->arch, e);
    if (!x->plan) return e->code;
    x->memory = arena_new();
    x->tape = tape_new(x->memory);
    x->params = xcalloc(x->plan->trained, sizeof *x->params);
    x->grads = xcalloc(2 * x->plan->trained + x->plan->generated_size, sizeof *x->grads);
    x->made = xcalloc(x->plan->generated_size + 1, sizeof *x->made);
    plan_init(x->plan, x->model, 1, x->params);
    attach_regenerate(x->plan, x->model, x->params, x->made);
    return 0;
}

static void close_alone(struct bench_alone *x) {
    if (x->tape) tape_free(x->tape);
    if (x->memory) arena_free(x->memory);
    plan_free(x->plan);
    free(x->params);
    free(x->made);
    free(x->grads);
    config_release(&x->config);
}

/* Generates the weights and propagates their gradients. */
static void bench_ratios_make_weights(struct bench_alone *x) {
    const struct plan *p = x->plan;
    node *made = xcalloc((size_t)p->generated, sizeof *made);
    const real **seed = xcalloc((size_t)p->generated, sizeof *seed);
    tape_reset(x->tape, true, 1, 1);
    attach_prologue(p, x->model, x->tape, x->params, x->grads, made);
    for (int i = 0; i < p->generated; i++) {
        const struct plan_generated *t = &p->generated_tensor[i];
        memcpy(x->made + t->offset, tape_value(x->tape, made[i]), t->count * sizeof *x->made);
        seed[i] = x->grads + 2 * p->trained + t->offset;
    }
    memset(x->grads, 0, p->trained * sizeof *x->grads);
    tape_backward(x->tape, p->generated, made, seed);
    kernel_add_to(p->trained, 1, x->grads, x->grads + p->trained);
    free(made);
    free(seed);
}

/* Forward pass of the encoder over the batch, in four parts with the same number of tasks and similar lengths. */
static void bench_ratios_encode(struct bench_alone *x) {
    struct attach *a = attach_new(x->plan, x->model);
    for (int part = 0; part < BENCH_OF_TASK; part++) {
        struct batch_example row[BENCH_TASKS];
        struct batch b;
        struct forward f;
        for (int t = 0; t < BENCH_TASKS; t++)
            row[t] = (struct batch_example){ .data = &x->task[t]->train, .index = (uint32_t)((part + t) % BENCH_OF_TASK), .task = t };
        tape_reset(x->tape, true, 1, 1);
        batch_pack_examples(&b, x->memory, &x->model->arch, row, BENCH_TASKS);
        forward_init(&f, x->tape, x->model, &b, attach_begin(a, x->tape, x->params, x->made, NULL));
        f.dropout = x->model->arch.dropout;
        f.attention_dropout = x->model->arch.attention_dropout;
        attach_retrieve(a, &f, forward_encode(&f));
    }
    attach_free(a);
}

/* Returns the median of as many repetitions as fit into the time, after a warm-up. */
static int time_alone(const struct bench_work *w, void (*what)(struct bench_alone *), double seconds, double *median, struct err *e) {
    struct bench_alone x;
    struct bench_times t = { 0 };
    int rc = open_alone(&x, w, e);
    double until = clock_seconds() + seconds;
    if (!rc) what(&x);
    while (!rc && t.steps < BENCH_STEPS && (t.steps < 3 || clock_seconds() < until)) {
        double begin = clock_seconds();
        what(&x);
        t.second[t.steps++] = clock_seconds() - begin;
    }
    bench_median(&t);
    *median = t.median;
    close_alone(&x);
    return rc;
}

/* Returns the method without whole-batch losses, which the caller frees. */
static char *without_join(const char *text) {
    struct method m;
    struct err e = ERR_INIT;
    if (method_parse(text, &m, &e)) BUG("%s", e.text);
    m.retriever = (struct retriever){ 0 };
    return method_text(&m);
}

static int of_networks(double seconds, struct bench_ratio *share, struct bench_ratio *held, struct bench_ratio *twice,
                       struct err *e) {
    struct model *m = bench_model(FAMILY_T5, 6, 512, 8, 2048, e);
    if (!m) return e->code;
    struct task t[BENCH_TASKS], *all[BENCH_TASKS];
    bench_glue(t, &m->arch);
    for (int i = 0; i < BENCH_TASKS; i++) all[i] = &t[i];
    char *plain = without_join("pha(r=64)");
    const struct bench_work pha = { .model = m, .tasks = { BENCH_TASKS, all }, .batch = BENCH_GLUE, .method = "pha(r=64)",
                                    .sampling = "stratified(10)", .join = JOIN_HELD };
    struct bench_side side[] = { { .work = pha }, { .work = pha }, { .work = pha }, { .work = pha } };
    side[0].work.method = plain;
    side[0].work.join = side[3].work.join = JOIN_AUTO;
    side[2].work.join = JOIN_TWICE;
    side[3].work.method = "hyperformer++(r=16)";
    double made = 0, encoder = 0;
    int rc = bench_turns(side, COUNT_OF(side), 0.8 * seconds, e);
    if (!rc) rc = time_alone(&side[3].work, bench_ratios_make_weights, 0.05 * seconds, &made, e);
    if (!rc) rc = time_alone(&side[2].work, bench_ratios_encode, 0.15 * seconds, &encoder, e);
    *share = (struct bench_ratio){ "made_share", "generated weights of hyperformer++, forward and backward, relative to its step",
                                   made / side[3].times.median, 0.10 };
    *held = (struct bench_ratio){ "join_held", "pha with stored activations relative to pha without whole-batch losses",
                                  bench_over(&side[1], &side[0]), 1.03 };
    *twice = (struct bench_ratio){ "join_twice", "recomputation of the encoder relative to its forward pass",
                                   (side[2].times.median - side[0].times.median) / encoder, 1.05 };
    for (int i = 0; i < BENCH_TASKS; i++) bench_task_free(&t[i]);
    free(plain);
    bench_model_free(m);
    return rc;
}

int bench_ratios(double seconds, struct bench_ratio out[BENCH_RATIOS], struct err *e) {
    int rc = of_tasks(0.3 * seconds, &out[0], &out[1], e);
    return rc ? rc : of_networks(0.7 * seconds, &out[2], &out[3], &out[4], e);
}
