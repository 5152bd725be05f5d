#include "tests/bench/bench_episodes.h"

#include <stdlib.h>

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/engine/kernel.h"
#include "core/train/config/complete.h"
#include "core/train/meta/meta.h"
#include "core/train/run/pool.h"
#include "tests/bench/bench_made.h"

enum { EPISODES = 16, SUPPORT = 20, QUERY = 10, INNER = 4, LENGTH = 32, CLASSES = 2, ROWS = SUPPORT + QUERY };

/* State of a worker. */
struct bench_seat {
    bool open;
    struct worker w;
    struct attach *attach;
    struct meta_room room;
    real *grads, *sum;
};

struct bench_outer {
    struct model *model;
    struct task task;
    struct run_config config;
    struct plan *plan;
    struct meta meta;
    real *params;
    struct episode episode[EPISODES];
    struct bench_seat seat[CREW_MOST];
    uint64_t number; /* of the step's first episode */
    double tokens[EPISODES];
    bool no_memory;
};

static void lay_episode(struct bench_outer *x, int at) {
    struct episode *e = &x->episode[at];
    *e = (struct episode){ .classes = CLASSES, .batches = INNER, .start = xcalloc(INNER + 2, sizeof *e->start),
                           .example = xcalloc(ROWS, sizeof *e->example) };
    for (int b = 0; b <= INNER; b++) e->start[b] = SUPPORT * b / INNER;
    e->start[INNER + 1] = ROWS;
    for (int i = 0; i < ROWS; i++)
        e->example[i] = (struct episode_example){ &x->task.train, (uint32_t)(at * ROWS + i), x->task.train.example[at * ROWS + i].label };
}

static int open_outer(struct bench_outer *x, struct err *e) {
    struct task *one = &x->task;
    const struct run_tasks tasks = { 1, &one };
    x->model = bench_model(FAMILY_BERT, 6, 384, 12, 1536, e);
    if (!x->model) return e->code;
    bench_task(&x->task, EPISODES * ROWS, LENGTH, x->model->arch.vocabulary);
    config_init(&x->config);
    if (config_set(&x->config, "method", "meta-adapters(m=8)", e)) return e->code;
    x->plan = run_plan_for(&x->config, &tasks, &x->model->arch, e);
    if (!x->plan) return e->code;
    x->params = xcalloc(x->plan->trained, sizeof *x->params);
    plan_init(x->plan, x->model, 1, x->params);
    const struct arch *a = &x->model->arch;
    x->meta = (struct meta){ .plan = x->plan, .model = x->model, .regime = regime_default(REGIME_META), .seed = 1,
                             .dropout = a->dropout, .attention_dropout = a->attention_dropout,
                             .classifier_dropout = a->classifier_dropout };
    x->meta.regime.inner = INNER;
    x->meta.regime.support = SUPPORT;
    x->meta.regime.query = QUERY;
    x->meta.regime.tasks = EPISODES;
    for (int i = 0; i < EPISODES; i++) lay_episode(x, i);
    return 0;
}

static void close_outer(struct bench_outer *x) {
    for (int i = 0; i < CREW_MOST; i++) {
        struct bench_seat *s = &x->seat[i];
        if (!s->open) continue;
        attach_free(s->attach);
        worker_release(&s->w);
        meta_room_release(&s->room);
        free(s->grads);
        free(s->sum);
    }
    for (int i = 0; i < EPISODES; i++) {
        free(x->episode[i].start);
        free(x->episode[i].example);
    }
    free(x->params);
    plan_free(x->plan);
    config_release(&x->config);
    if (x->task.name) bench_task_free(&x->task);
    if (x->model) bench_model_free(x->model);
}

static void one_episode(void *self, int index, int worker) {
    struct bench_outer *x = self;
    struct bench_seat *s = &x->seat[worker];
    size_t n = x->plan->trained;
    double objective;
    if (!s->open) {
        s->open = true;
        worker_init(&s->w, worker);
        s->attach = attach_new(x->plan, x->model);
        s->grads = xcalloc(n, sizeof *s->grads);
        s->sum = xcalloc(n, sizeof *s->sum);
    }
    const struct meta_bench on = { s->w.tape, s->w.arena, s->attach, &s->room };
    if (!meta_episode(&x->meta, &on, x->params, &x->episode[index], x->number + (uint64_t)index, 1.0 / EPISODES, s->grads,
                      &objective, &x->tokens[index]))
        x->no_memory = true;
    kernel_add_to(n, 1, s->grads, s->sum);
}

int bench_episodes(int workers, int warm, int steps, struct bench_times *out, struct err *e) {
    struct bench_outer *x = xcalloc(1, sizeof *x);
    *out = (struct bench_times){ 0 };
    int rc = open_outer(x, e);
    struct crew *crew = workers > 1 && !rc ? crew_new(workers, NULL) : NULL;
    double cpu = 0;
    for (int i = 0; i < warm + steps && !rc && out->steps < BENCH_STEPS; i++) {
        double begin = clock_seconds();
        if (i == warm) cpu = clock_process_seconds();
        crew_do(crew, &(struct crew_work){ x, EPISODES, one_episode, NULL, NULL });
        if (i >= warm) out->second[out->steps++] = clock_seconds() - begin;
        x->number += EPISODES;
        if (x->no_memory) rc = err_set(e, ERR_SYSTEM, "out of memory for an episode");
    }
    for (int i = 0; i < EPISODES; i++) out->tokens += x->tokens[i];
    out->cpu = clock_process_seconds() - cpu;
    bench_median(out);
    crew_free(crew);
    close_outer(x);
    free(x);
    return rc;
}

/* A plain step of that batch size: the same modules and norms, with an ordinary head. */
static int bench_episodes_plain_step(struct model *m, int rows, double *seconds, struct err *e) {
    struct task t, *const all[] = { &t };
    struct bench_times times;
    bench_task(&t, 8 * rows, LENGTH, m->arch.vocabulary);
    const struct bench_work w = { .model = m, .tasks = { 1, all }, .batch = rows, .warm = 4, .steps = 24, .shards = 1,
                                  .method = "full(target=norms) + bottleneck(r=8, act=gelu, read=a.out, write=a.out) + "
                                            "bottleneck(r=8, act=gelu, read=a.out, write=a.out) + "
                                            "bottleneck(r=8, act=gelu, read=f.out, write=f.out) + "
                                            "bottleneck(r=8, act=gelu, read=f.out, write=f.out)" };
    int rc = bench_train(&w, 0, &times, e);
    *seconds = times.median;
    bench_task_free(&t);
    return rc;
}

int bench_episodes_ratio(struct bench_ratio *step, double *scaling, struct err *e) {
    struct bench_times alone, both;
    double batch = 0, query = 0;
    int rc = bench_episodes(0, 1, 4, &alone, e);
    if (!rc) rc = bench_episodes(2, 1, 4, &both, e);
    struct model *m = rc ? NULL : bench_model(FAMILY_BERT, 6, 384, 12, 1536, e);
    if (!m) return e->code;
    rc = bench_episodes_plain_step(m, SUPPORT / INNER, &batch, e);
    if (!rc) rc = bench_episodes_plain_step(m, QUERY, &query, e);
    bench_model_free(m);
    if (rc) return rc;
    *step = (struct bench_ratio){ "outer_step", "16 first-order episodes relative to their passes as plain steps",
                                  alone.median / (EPISODES * ((INNER + 1.5) * batch + query)), 1.15 };
    *scaling = alone.median / both.median;
    return 0;
}
