/* build/bench: measures the speed of petri on this machine; `make bench` runs it. */
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/files/paths.h"
#include "tests/bench/bench_bf16.h"
#include "tests/bench/bench_episodes.h"
#include "tests/bench/bench_history.h"
#include "tests/bench/bench_keys.h"
#include "tests/bench/bench_made.h"
#include "tests/bench/bench_methods.h"
#include "tests/bench/bench_peer.h"
#include "tests/bench/bench_ratios.h"
#include "app/verbs/output.h"
#include "app/verbs/args.h"
#include "core/base/resident.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/engine/blas.h"
#include "core/engine/packed.h"

struct bench_options {
    bool history, methods, keys, parts, bf16;
    const char *peer, *precision;
    int64_t seconds, runs, points, threads;
};
#define OWN(name) .member = offsetof(struct args, other) + offsetof(struct bench_options, name)
static const struct option_spec OPTIONS[] = {
    { "seconds", "N", "approximate duration", GROUP_OUTPUT, OWN(seconds), FILLS_INTEGER, 5, 3600, 80 },
    { "history", NULL, "measure a synthetic run history instead: open, sort, filter, group and draw it",
      GROUP_OUTPUT, OWN(history) },
    { "methods", NULL, "measure a training step of each method instead, relative to LoRA or a prefix",
      GROUP_OUTPUT, OWN(methods) },
    { "keys", NULL, "measure the time from a key press to the painted screen instead, while a run trains",
      GROUP_OUTPUT, OWN(keys) },
    { "bf16", NULL, "measure what bfloat16 gains instead, relative to what its products would gain alone", GROUP_OUTPUT, OWN(bf16) },
    { "runs", "N", "number of runs in the synthetic history", GROUP_OUTPUT, OWN(runs), FILLS_INTEGER, 1, 1000000, 10000 },
    { "points", "N", "number of points of its longest run", GROUP_OUTPUT, OWN(points), FILLS_INTEGER, 1, 100000000, 1000000 },
    { "peer-work", "NAME", "measure one workload that tests/reference/peer_bench.py runs with the reference libraries",
      GROUP_OUTPUT, OWN(peer) },
    { "parts", NULL, "print the parts of a step of --peer-work, on one thread", GROUP_OUTPUT, OWN(parts) },
    { "precision", "f32|bf16", "precision of the training of --peer-work (default f32)", GROUP_OUTPUT, OWN(precision) },
    { "threads", "N", "workers for --peer-work", GROUP_OUTPUT, OWN(threads), FILLS_INTEGER, 1, 64, 1 },
    { "model", "DIR", .help = "model for --peer-work and --keys" },
    { "task", "FOLDER", .help = "dataset for --peer-work and --keys" },
    { NULL },
};

static const struct bench_options *asked(const struct args *a) { return (const struct bench_options *)a->other; }

static const char *model_of(const struct args *a) { return a->model ? a->model : paths_model(); }

static void bench_say(const struct args *a, const char *key, double value, const char *unit,
                           const char *what, struct buf *b) {
    if (a->json) json_member_double(b, key, value);
    else printf("%-16s %10.4g %-9s %s\n", key, value, unit, what);
}

static void close_object(const struct args *a, struct buf *b) {
    if (a->json) {
        buf_putc(b, '}');
        out_line(b);
    }
    buf_release(b);
}

/* Parts of a training step. */
static void say_parts(const struct args *a, const struct bench_times *t, struct buf *b) {
    double ops = 0;
    for (int i = 0; i < OP_COUNT; i++)
        for (int back = 0; back < 2; back++) {
            double seconds = t->parts.op[i][back];
            char *key = xprintf("%s%s", op_table[i].name, back ? "_back" : "");
            if (seconds > 0) bench_say(a, key, 1000 * seconds, "ms", back ? "backward" : "forward", b);
            ops += seconds;
            free(key);
        }
    double products = t->parts.part[PROFILE_PRODUCTS], casts = t->parts.part[PROFILE_CASTS];
    bench_say(a, "step", 1000 * t->alone, "ms", "one step", b);
    bench_say(a, "products", 1000 * products, "ms", "matrix products in its ops", b);
    bench_say(a, "casts", 1000 * casts, "ms", "rounding to bfloat16 for them", b);
    bench_say(a, "rest", 1000 * (t->alone - products), "ms", "the step without products, casts included", b);
    bench_say(a, "outside", 1000 * (t->alone - ops), "ms", "outside of ops: batches, tape, optimizer", b);
}

static int peer_work(const struct args *a, const char *name, struct err *e) {
    int64_t threads = asked(a)->parts ? 0 : asked(a)->threads;
    struct bench_times times;
    const char *precision = asked(a)->precision ? asked(a)->precision : "f32";
    int rc = bench_peer(&(struct bench_peer){ name, a->task, model_of(a), precision, (int)threads }, &times, e);
    if (rc) return rc;
    double sum = 0;
    for (int i = 0; i < times.steps; i++) sum += times.second[i];
    struct buf b = BUF_INIT;
    buf_putc(&b, '{');
    if (a->json) {
        json_member_string(&b, "work", name);
        json_member_string(&b, "precision", precision);
        json_member_int(&b, "threads", threads);
        json_member_int(&b, "steps", times.steps);
    }
    bench_say(a, "seconds", sum, "s", "all measured steps", &b);
    bench_say(a, "median", times.median, "s", "per step", &b);
    bench_say(a, "cpu", times.cpu, "s", "processor time of all threads", &b);
    bench_say(a, "tokens", times.tokens * times.steps, "", "real tokens, no padding", &b);
    bench_say(a, "peak_bytes", (double)resident_peak_bytes(), "B", "peak resident memory", &b);
    if (times.alone > 0) say_parts(a, &times, &b);
    close_object(a, &b);
    return 0;
}

struct bench_measured {
    double one, two; /* callers of sgemm */
    int steps;
    struct bench_times alone, both, half; /* the last in bf16 */
    struct bench_ratio ratio[BENCH_RATIOS], outer;
    double outer_scaling;
};

static int bench_measure(double seconds, struct bench_measured *out, struct err *e) {
    out->one = bench_sgemm(1, 0.01 * seconds);
    out->two = bench_sgemm(2, 0.01 * seconds);
    struct model *m = bench_model(FAMILY_BERT, 12, 768, 12, 3072, e);
    if (!m) return e->code;
    struct task t, *const all[] = { &t };
    bench_task(&t, 64, 128, m->arch.vocabulary);
    struct bench_work w = { .model = m, .tasks = { 1, all }, .method = "lora(r=8)", .batch = 8, .warm = 1, .steps = 3,
                            .products = true };
    int rc = bench_train(&w, 0, &out->alone, e);
    int fit = rc ? 0 : (int)(0.15 * seconds / (out->alone.median + 1e-9));
    if (fit > BENCH_STEPS) fit = BENCH_STEPS;
    if (fit >= 2 * w.steps) {
        w.steps = fit;
        rc = bench_train(&w, 0, &out->alone, e);
    }
    if (!rc) rc = bench_train(&w, 2, &out->both, e);
    out->steps = w.steps;
    w.products = false;
    w.precision = "bf16";
    if (!rc && packed_is_native()) rc = bench_train(&w, 0, &out->half, e);
    bench_task_free(&t);
    bench_model_free(m);
    if (!rc) rc = bench_ratios(0.5 * seconds, out->ratio, e);
    return rc ? rc : bench_episodes_ratio(&out->outer, &out->outer_scaling, e);
}

static void say_ratios(const struct args *a, const struct bench_ratio *r, int n, struct buf *b) {
    for (int i = 0; i < n; i++) {
        char *what = xprintf("%s (bound %.3g)", r[i].what, r[i].bound);
        bench_say(a, r[i].key, r[i].value, "", what, b);
        free(what);
    }
}

/* --history: lists and curves of many runs, and of one long run. */
static int bench_a_history(const struct args *a, struct err *e) {
    struct bench_history_time times[BENCH_HISTORY_TIMES];
    int64_t runs = asked(a)->runs, points = asked(a)->points;
    int rc = bench_history((int)runs, (int)points, times, e);
    if (rc) return rc;
    struct buf b = BUF_INIT;
    buf_putc(&b, '{');
    if (a->json) {
        json_member_int(&b, "runs", runs);
        json_member_int(&b, "points", points);
    } else {
        printf("synthetic history of %lld runs, and of one run with %lld points; processor time\n", (long long)runs, (long long)points);
    }
    for (int i = 0; i < BENCH_HISTORY_TIMES; i++) bench_say(a, times[i].key, 1000 * times[i].seconds, "ms", times[i].what, &b);
    close_object(a, &b);
    return 0;
}

/* --methods: a step of each compared with one of LoRA or of a prefix. */
static int bench_the_methods(const struct args *a, struct err *e) {
    int64_t seconds = asked(a)->seconds;
    int rc = 0, n = bench_methods_count();
    bool json = a->json;
    struct buf b = BUF_INIT;
    buf_putc(&b, '{');
    if (!rc && !json) printf("MiniLM shapes, batch size 32, sequence length 32, one worker; prompts per token, with the prompt tokens\n");
    for (int i = 0; i < n && !rc; i++) {
        struct bench_method m;
        rc = bench_method(i, (double)seconds / n, &m, e);
        char *what = rc ? NULL
                        : xprintf("%s compared with %s, %.2f times its parameters, %d steps each (bound %.3g)",
                                  m.method, m.beside, m.values,
                                  m.steps,
                                  m.bound);
        if (!rc) bench_say(a, m.key, m.ratio, "\u00D7", what, &b);
        if (!json) fflush(stdout);
        free(what);
    }
    if (!rc) close_object(a, &b);
    else buf_release(&b);
    return rc;
}

/* --keys: latency from a key press to the painted screen. */
static int bench_the_keys(const struct args *a, struct err *e) {
    struct bench_keys k;
    int rc = bench_keys(model_of(a), a->task ? a->task : paths_task(), 400, &k, e);
    if (rc) return rc;
    struct buf b = BUF_INIT;
    buf_putc(&b, '{');
    if (!a->json) printf("keys on a 120x40 terminal, while a run trains with two workers\n");
    bench_say(a, "keys", k.keys, "", "pressed", &b);
    bench_say(a, "keys_silent", k.silent, "", "keys that changed nothing on the screen", &b);
    bench_say(a, "key_median", k.median, "ms", "until the screen was painted, median", &b);
    bench_say(a, "key_p95", k.p95, "ms", "95th percentile (bound 50)", &b);
    bench_say(a, "key_worst", k.worst, "ms", "maximum", &b);
    close_object(a, &b);
    return 0;
}

/* --bf16: the speedup, and the one by Amdahl's law. */
static int bench_a_precision(const struct args *a, struct err *e) {
    struct bench_bf16 m;
    int rc = bench_bf16((double)asked(a)->seconds, &m, e);
    if (rc) return rc;
    struct buf b = BUF_INIT;
    buf_putc(&b, '{');
    if (!a->json) printf("lora(r=8), BERT-base shapes, batch size 8, sequence length 128, one worker\n");
    bench_say(a, "gflops", m.single, "GF/s", "products of a layer in float32", &b);
    bench_say(a, "gflops_bf16", m.half, "GF/s", "in bfloat16, casts included", &b);
    bench_say(a, "gemm_share", m.share, "", "matrix products relative to the step in float32", &b);
    bench_say(a, "step_seconds", m.step, "s", "float32, median of alternating steps", &b);
    bench_say(a, "step_seconds_bf16", m.half_step, "s", "bfloat16", &b);
    bench_say(a, "speedup", m.gain, "×", "of the step by bfloat16", &b);
    bench_say(a, "speedup_amdahl", m.possible, "×", "if all products had these rates and the rest took as long", &b);
    bench_say(a, "of_amdahl", m.gain / m.possible, "", "the first relative to the second (goal 0.85)", &b);
    close_object(a, &b);
    return 0;
}

static int bench_run(const struct args *a, struct err *e) {
    if (asked(a)->bf16) return bench_a_precision(a, e);
    if (asked(a)->keys) return bench_the_keys(a, e);
    if (asked(a)->history) return bench_a_history(a, e);
    if (asked(a)->methods) return bench_the_methods(a, e);
    const char *peer = asked(a)->peer;
    if (peer) return peer_work(a, peer, e);
    const struct blas_facts *facts = blas_facts();
    struct bench_measured *m = xcalloc(1, sizeof *m);
    int rc = bench_measure((double)asked(a)->seconds, m, e);
    if (!rc) {
        struct buf b = BUF_INIT;
        buf_putc(&b, '{');
        if (a->json) {
            json_member_string(&b, "processor", facts->processor);
            json_member_string(&b, "kernel", facts->kernel);
            json_member_int(&b, "cores", sysconf(_SC_NPROCESSORS_ONLN));
            json_member_string(&b, "work", "lora(r=8), BERT-base shapes, batch size 8, sequence length 128, 4 shards");
        } else {
            printf("%s, %s kernels; lora(r=8), BERT-base shapes, batch size 8, sequence length 128, 4 shards\n",
                   facts->processor, facts->kernel);
        }
        bench_say(a, "sgemm_gflops", m->one, "GF/s", "one caller, 256×768×768", &b);
        bench_say(a, "scaling_sgemm", m->two / m->one, "×", "speedup by a second independent caller", &b);
        bench_say(a, "gemm_share", m->alone.gemm_seconds / m->alone.median, "",
                       "matrix products of the step, replayed alone, relative to the time of the step", &b);
        bench_say(a, "step_seconds", m->alone.median, "s", "one worker, median", &b);
        bench_say(a, "step_seconds_2", m->both.median, "s", "two workers, median", &b);
        bench_say(a, "scaling", m->alone.median / m->both.median, "×", "speedup by a second worker", &b);
        bench_say(a, "rest_seconds", m->alone.alone - m->alone.parts.part[PROFILE_PRODUCTS], "s", "one worker, without products", &b);
        if (m->half.steps) {
            bench_say(a, "step_seconds_bf16", m->half.median, "s", "one worker, --precision bf16, median", &b);
            bench_say(a, "rest_seconds_bf16", m->half.alone - m->half.parts.part[PROFILE_PRODUCTS], "s", "the same without products", &b);
        }
        bench_say(a, "tokens_per_s", m->both.tokens / m->both.median, "tok/s", "two workers", &b);
        bench_say(a, "tsne_per_s", bench_tsne(10000, 2, 0.7), "iter/s", "t-SNE of 10,000 points, two workers", &b);
        bench_say(a, "steps", m->steps, "", "measured in each", &b);
        say_ratios(a, m->ratio, BENCH_RATIOS, &b);
        say_ratios(a, &m->outer, 1, &b);
        bench_say(a, "outer_scaling", m->outer_scaling, "×", "speedup by a second worker over episodes", &b);
        bench_say(a, "peak_bytes", (double)resident_peak_bytes(), "B", "peak resident memory", &b);
        close_object(a, &b);
    }
    free(m);
    return rc;
}

static const struct verb BENCH = { .name = "bench", .synopsis = "", .help = "Measure the speed of petri on this machine",
                                   .options = OPTIONS, .run = bench_run };

int main(int argc, char **argv) {
    struct err e = ERR_INIT;
    struct args a;
    setlocale(LC_CTYPE, "");
    blas_start(argv);
    char **room = xcalloc((size_t)argc, sizeof *room);
    struct verb bench = BENCH;
    bench.options = args_table(&BENCH, NULL);
    int rc = args_parse(&a, &bench, argc - 1, argv + 1, room, &e);
    if (!rc && a.help) args_help_verb(&bench);
    else if (!rc) rc = bench_run(&a, &e);
    if (rc) fprintf(stderr, "bench: %s\n", e.text);
    free(room);
    free((void *)(uintptr_t)bench.options);
    return err_exit_code(rc);
}
