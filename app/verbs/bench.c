#include "app/verbs/bench.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "core/analysis/tsne.h"
#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/engine/blas.h"
#include "core/train/pool.h"

/* The kernel's own count of this program; getrusage's holds what the process had before exec too. */
double bench_peak_memory(void) {
    FILE *f = fopen("/proc/self/status", "r");
    double kilobytes = 0;
    char line[256];
    while (f && fgets(line, sizeof line, f))
        if (!strncmp(line, "VmHWM:", 6)) kilobytes = (double)strtoll(line + 6, NULL, 10);
    if (f) fclose(f);
    if (kilobytes > 0) return 1024 * kilobytes;
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return 1024.0 * (double)usage.ru_maxrss;
}

/* Small numbers without pattern; a full normal draw of 110 M values would cost seconds. */
static void fill(real *v, size_t n, uint32_t state, double spread) {
    for (size_t i = 0; i < n; i++) {
        state = state * 1664525u + 1013904223u;
        v[i] = (real)(((double)(state >> 8) / 16777216.0 - 0.5) * spread);
    }
}

/* A config.json's worth of shape. */
static void shape(struct arch *a, enum family family, int layers, int width, int heads, int inner) {
    static const char base[] =
        "{\"model_type\":\"%s\",\"num_hidden_layers\":%d,\"hidden_size\":%d,\"num_attention_heads\":%d,"
        "\"intermediate_size\":%d,\"hidden_act\":\"gelu\",\"hidden_dropout_prob\":0.1,"
        "\"attention_probs_dropout_prob\":0.1,\"vocab_size\":%d,\"max_position_embeddings\":%d,"
        "\"type_vocab_size\":%d,\"layer_norm_eps\":%g,\"pad_token_id\":%d}";
    bool bert = family == FAMILY_BERT;
    struct err e = ERR_INIT;
    char *text = xprintf(base, family_name(family), layers, width, heads, inner, bert ? 30522 : 50265,
                         bert ? 512 : 514, bert ? 2 : 1, bert ? 1e-12 : 1e-5, bert ? 0 : 1);
    if (arch_parse("made", text, strlen(text), a, NULL, &e)) BUG("%s", e.text);
    free(text);
}

struct model *bench_model(enum family family, int layers, int width, int heads, int inner) {
    struct model *m = xcalloc(1, sizeof *m);
    shape(&m->arch, family, layers, width, heads, inner);
    m->tensors = arch_tensors(&m->arch, &m->tensor);
    m->weight = xcalloc((size_t)m->tensors, sizeof *m->weight);
    for (int i = 0; i < m->tensors; i++) {
        const struct tensor_info *t = &m->tensor[i];
        size_t n = (size_t)t->rows * (size_t)t->cols;
        m->weight[i] = mem_try(n, sizeof(real));
        if (!m->weight[i]) BUG("no memory for %s", t->name);
        bool gain = t->role == ROLE_EMBED_NORM_W || t->role == ROLE_A_NORM_W || t->role == ROLE_F_NORM_W;
        fill(m->weight[i], n, (uint32_t)i + 1, gain ? 0 : 0.07);
        for (size_t k = 0; gain && k < n; k++) m->weight[i][k] = 1;
    }
    m->folder = xstrdup("made");
    m->name = xstrdup("made");
    memset(m->sha256, '0', 64);
    return m;
}

void bench_model_free(struct model *m) {
    for (int i = 0; i < m->tensors; i++) free(m->weight[i]);
    free(m->weight);
    free(m->tensor);
    free(m->folder);
    free(m->name);
    arch_release(&m->arch);
    free(m);
}

void bench_task(struct task *t, int rows, int length, int vocabulary) {
    *t = (struct task){ .name = xstrdup("made"), .kind = DATA_CLASSES, .classes = 2, .positive = 1,
                        .metric = METRIC_ACCURACY, .has_train = true };
    t->class_name = xcalloc(2, sizeof *t->class_name);
    t->class_name[0] = xstrdup("0");
    t->class_name[1] = xstrdup("1");
    struct dataset *d = &t->train;
    d->path = xstrdup("made");
    memset(d->sha256, '0', 64);
    d->kind = DATA_CLASSES;
    d->classes = 2;
    d->rows = (size_t)rows;
    d->row = xcalloc((size_t)rows, sizeof *d->row);
    d->max_len = (size_t)length;
    d->start = xcalloc((size_t)rows + 1, sizeof *d->start);
    d->ids = xcalloc((size_t)rows * (size_t)length, sizeof *d->ids);
    d->types = xcalloc((size_t)rows * (size_t)length, 1);
    uint32_t state = 1;
    for (int i = 0; i < rows; i++) {
        d->row[i] = (struct dataset_row){ .a = "", .label = i % 2, .gold = true, .id = (uint64_t)i };
        d->start[i + 1] = (size_t)(i + 1) * (size_t)length;
        for (int k = 0; k < length; k++) {
            state = state * 1664525u + 1013904223u;
            d->ids[(size_t)i * (size_t)length + (size_t)k] = (int32_t)((state >> 8) % (uint32_t)vocabulary);
        }
    }
}

void bench_task_free(struct task *t) {
    free(t->name);
    for (int i = 0; i < 2; i++) free(t->class_name[i]);
    free(t->class_name);
    free(t->train.path);
    free(t->train.row);
    free(t->train.start);
    free(t->train.ids);
    free(t->train.types);
}

struct bench_watch {
    int64_t warm, last;
    int points;
    double at, tokens;
    struct bench_times *out;
    struct blas_record *record; /* of the step under way, when on the calling thread */
    bool recording;
};

static void watch_event(void *self, const struct event *e) {
    struct bench_watch *w = self;
    if (e->kind != EVENT_POINT) return;
    double t = clock_seconds();
    if (e->step > w->warm && w->points < BENCH_STEPS) {
        w->out->second[w->points++] = t - w->at;
        w->tokens += e->tokens;
    }
    if (w->recording && e->step == w->last - 1) w->record = blas_record_start();
    else if (w->record && e->step == w->last) blas_record_stop(w->record);
    w->at = clock_seconds();
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

int bench_train(struct model *m, struct task *t, const char *method, int batch, int warm, int steps,
                int workers, struct bench_times *out, struct err *e) {
    *out = (struct bench_times){ 0 };
    struct run_config c;
    config_init(&c);
    if (config_set(&c, "method", method, e)) {
        config_release(&c);
        return e->code;
    }
    c.batch = batch;
    c.steps = warm + steps;
    c.epochs = 0;
    c.lr = 1e-4;
    c.keep = 0;
    struct bench_watch w = { .warm = warm, .last = c.steps, .at = clock_seconds(), .out = out, .recording = !workers };
    struct run *r = run_new(1, &c, m, t, NULL, (struct event_sink){ &w, watch_event }, e);
    config_release(&c);
    if (!r) return e->code;
    if (workers) {
        struct pool *p = pool_new(workers);
        pool_add(p, r, workers);
        pool_wait(p, r, -1);
        pool_free(p);
    } else {
        run_here(r);
    }
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
    fill(a, (size_t)M * K, 1, 1);
    fill(b, (size_t)N * K, 2, 1);
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
    fill(x, (size_t)points * COLUMNS, 7, 1);
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
