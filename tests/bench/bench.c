#include "tests/bench/bench.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/analysis/tsne.h"
#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/engine/blas.h"
#include "core/train/run/pool.h"
#include "tests/bench/bench_made.h"

struct bench_watch {
    struct run *run;
    int64_t warm, last;
    int points;
    double at, cpu, tokens;
    struct bench_times *out;
    struct blas_record *record; /* of the step under way, when on the calling thread */
    bool recording, here;
};

static void watch_event(void *self, const struct event *e) {
    struct bench_watch *w = self;
    if (e->kind != EVENT_POINT) return;
    double t = clock_seconds();
    if (e->step > w->warm && w->points < BENCH_STEPS) {
        w->out->second[w->points++] = t - w->at;
        w->tokens += e->tokens;
        w->out->cpu = clock_process_seconds() - w->cpu;
    }
    if (w->recording && e->step == w->last - 1) w->record = blas_record_start();
    else if (w->record && e->step == w->last) blas_record_stop(w->record);
    if (e->step == w->last) run_stop(w->run);
    w->at = clock_seconds();
    if (e->step == w->warm) w->cpu = clock_process_seconds();
    if (e->step == w->warm && w->here) profile_start(&w->out->parts);
    if (e->step == w->last) profile_stop();
}

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void run_here(struct run *r) {
    struct worker w;
    worker_init(&w, 0);
    struct unit u;
    while (run_take(r, &u) == RUN_TOOK) run_work(&u, &w);
    worker_release(&w);
}

void bench_median(struct bench_times *t) {
    double sorted[BENCH_STEPS];
    if (!t->steps) return;
    memcpy(sorted, t->second, sizeof sorted);
    qsort(sorted, (size_t)t->steps, sizeof *sorted, by_size);
    t->median = 0.5 * (sorted[(t->steps - 1) / 2] + sorted[t->steps / 2]);
}

/* Starts the run of the workload; events go to `sink`. */
static struct run *bench_begin(const struct bench_work *w, int64_t steps, struct event_sink sink,
                               struct err *e) {
    struct run_config c;
    struct run *r = NULL;
    if (!bench_config(w, &c, e)) {
        c.steps = steps;
        r = run_begin(1, &c, w->model, &w->tasks, NULL, sink, e);
    }
    config_release(&c);
    return r;
}

int bench_config(const struct bench_work *w, struct run_config *c, struct err *e) {
    config_init(c);
    c->batch = w->batch;
    if (w->shards) c->shards = w->shards;
    c->epochs = 0;
    c->lr = 1e-4;
    c->keep = 0;
    if (arch_generates(&w->model->arch) || w->model->arch.causal) c->sample_every = 0;
    c->eval_every = 1000000; /* past the last step: nothing is scored */
    c->join = w->join;
    c->tasks = w->tasks.count > 1 ? w->tasks.count : 0;
    if (c->tasks) c->of = xcalloc((size_t)c->tasks, sizeof *c->of);
    for (int i = 0; i < c->tasks; i++) {
        config_init(&c->of[i]);
        c->of[i].task_name = xprintf("task%d", i + 1);
        c->of[i].task_weight = 1;
    }
    int rc = config_set(c, "method", w->method, e);
    if (!rc && w->model->arch.causal) rc = config_set(c, "max_len", "128", e);
    if (!rc) rc = config_set(c, "precision", w->precision ? w->precision : "f32", e);
    if (!rc && c->tasks) rc = config_set(c, "sampling", w->sampling, e);
    return rc;
}

/* Divides the sums of all steps by their number. */
static void share_parts(struct bench_times *t) {
    t->alone = 0;
    for (int i = 0; i < t->steps; i++) t->alone += t->second[i] / t->steps;
    for (int i = 0; i < OP_COUNT; i++)
        for (int back = 0; back < 2; back++) t->parts.op[i][back] /= t->steps;
    for (int i = 0; i < PROFILE_PARTS; i++) t->parts.part[i] /= t->steps;
}

int bench_train(const struct bench_work *work, int workers, struct bench_times *out, struct err *e) {
    *out = (struct bench_times){ 0 };
    struct bench_watch w = { .warm = work->warm, .last = work->warm + work->steps, .at = clock_seconds(), .out = out,
                       .recording = !workers && work->products, .here = !workers };
    struct run *r = w.run = bench_begin(work, w.last + 1, (struct event_sink){ &w, watch_event }, e);
    if (!r) return e->code;
    if (workers) {
        struct pool *p = pool_new(workers);
        pool_add(p, r, workers);
        pool_wait(p, r, -1);
        pool_free(p);
    } else {
        run_here(r);
    }
    profile_stop();
    int rc = w.points ? 0 : err_set(e, ERR_FAILED, "the run made no step");
    run_free(r);
    if (w.record) {
        double best = blas_record_replay(w.record);
        double again = blas_record_replay(w.record);
        if (again < best) best = again;
        out->gemm_seconds = best;
        blas_record_free(w.record);
    }
    if (rc) return rc;
    out->steps = w.points;
    bench_median(out);
    out->tokens = w.tokens / w.points;
    if (!workers) share_parts(out);
    return 0;
}

struct callers {
    double seconds;
    pthread_barrier_t start; /* none ends before all have begun, so each has a worker of its own */
    double rate[CREW_MOST];
};

static void call_sgemm(void *self, int index, int worker) {
    struct callers *c = self;
    (void)worker;
    enum { M = 256, N = 768, K = 768 };
    real *a = mem_try((size_t)M * K, sizeof(real)), *b = mem_try((size_t)N * K, sizeof(real)),
         *d = mem_try((size_t)M * N, sizeof(real));
    if (!a || !b || !d) BUG("no memory for a matrix product");
    bench_fill(a, (size_t)M * K, 1, 1);
    bench_fill(b, (size_t)N * K, 2, 1);
    blas_gemm(false, true, M, N, K, 1, a, K, b, K, 0, d, N);
    pthread_barrier_wait(&c->start);
    double begin = clock_seconds(), end = begin;
    int calls = 0;
    for (; end - begin < c->seconds; end = clock_seconds(), calls++)
        blas_gemm(false, true, M, N, K, 1, a, K, b, K, 0, d, N);
    c->rate[index] = 2e-9 * M * N * K * calls / (end - begin);
    free(a);
    free(b);
    free(d);
}

double bench_sgemm(int callers, double seconds) {
    struct callers c = { .seconds = seconds };
    BUG_IF(callers < 1 || callers > CREW_MOST);
    struct crew *crew = crew_new(callers, NULL);
    pthread_barrier_init(&c.start, NULL, (unsigned)callers);
    crew_do(crew, &(struct crew_work){ .self = &c, .units = callers, .unit = call_sgemm });
    pthread_barrier_destroy(&c.start);
    crew_free(crew);
    double sum = 0;
    for (int i = 0; i < callers; i++) sum += c.rate[i];
    return sum;
}

double bench_tsne(int points, int workers, double seconds) {
    enum { COLUMNS = 16 };
    struct tsne_options o;
    struct err e = ERR_INIT;
    real *x = xmalloc((size_t)points * COLUMNS * sizeof *x);
    bench_fill(x, (size_t)points * COLUMNS, 7, 1);
    tsne_options_init(&o);
    o.crew = crew_new(workers, NULL);
    struct tsne *t = tsne_new(x, points, COLUMNS, &o, &e);
    if (!t) BUG("%s", e.text);
    tsne_step(t, 1);
    double begin = clock_seconds(), end = begin;
    int steps = 0;
    for (; end - begin < seconds && !tsne_done(t); end = clock_seconds()) steps += tsne_step(t, 5);
    tsne_free(t);
    crew_free(o.crew);
    free(x);
    return steps / (end - begin);
}
