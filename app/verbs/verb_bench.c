/* petri bench: what this machine gives and how much of it a training step uses. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/verbs/bench_peer.h"
#include "app/verbs/output.h"
#include "app/verbs/verbs.h"
#include "core/base/json.h"
#include "core/base/text.h"
#include "core/engine/blas.h"

static void say(const struct args *a, const char *key, double value, const char *unit, const char *what,
                struct buf *b) {
    if (args_flag(a, "json")) json_member_double(b, key, value);
    else printf("%-16s %10.4g %-9s %s\n", key, value, unit, what);
}

static void close_object(const struct args *a, struct buf *b) {
    if (args_flag(a, "json")) {
        buf_putc(b, '}');
        out_line(b);
    }
    buf_release(b);
}

static int peer_work(const struct args *a, const char *name, struct err *e) {
    int64_t threads = 1;
    int rc = args_int(a, "threads", 1, 64, &threads, e);
    if (rc) return rc;
    struct bench_times times;
    rc = bench_peer(&(struct bench_peer){ name, args_get(a, "task"), verb_model(a), (int)threads }, &times, e);
    if (rc) return rc;
    double sum = 0;
    for (int i = 0; i < times.steps; i++) sum += times.second[i];
    struct buf b = BUF_INIT;
    buf_putc(&b, '{');
    if (args_flag(a, "json")) {
        json_member_string(&b, "work", name);
        json_member_int(&b, "threads", threads);
        json_member_int(&b, "steps", times.steps);
    }
    say(a, "seconds", sum, "s", "all counted steps", &b);
    say(a, "median", times.median, "s", "a step", &b);
    say(a, "tokens", times.tokens * times.steps, "", "real tokens, no padding", &b);
    say(a, "peak_bytes", bench_peak_memory(), "B", "resident at most", &b);
    close_object(a, &b);
    return 0;
}

int verb_bench(const struct args *a, struct err *e) {
    const char *peer = args_get(a, "peer-work");
    if (peer) return peer_work(a, peer, e);
    int64_t seconds = 40;
    int rc = args_int(a, "seconds", 5, 3600, &seconds, e);
    if (rc) return rc;
    const struct blas_facts *facts = blas_facts();
    double one = bench_sgemm(1, 0.02 * (double)seconds), two = bench_sgemm(2, 0.02 * (double)seconds);
    struct model *m = bench_model(FAMILY_BERT, 12, 768, 12, 3072);
    struct task t;
    bench_task(&t, 64, 128, 30522);
    struct bench_times alone, both;
    int steps = 3;
    rc = bench_train(m, &t, "lora(r=8)", 8, 1, steps, 0, &alone, e);
    int fit = rc ? 0 : (int)(0.3 * (double)seconds / (alone.median + 1e-9));
    if (fit > BENCH_STEPS) fit = BENCH_STEPS;
    if (fit >= 2 * steps) rc = bench_train(m, &t, "lora(r=8)", 8, 1, steps = fit, 0, &alone, e);
    if (!rc) rc = bench_train(m, &t, "lora(r=8)", 8, 1, steps, 2, &both, e);
    if (!rc) {
        struct buf b = BUF_INIT;
        buf_putc(&b, '{');
        if (args_flag(a, "json")) {
            json_member_string(&b, "processor", facts->processor);
            json_member_string(&b, "kernel", facts->kernel);
            json_member_int(&b, "cores", sysconf(_SC_NPROCESSORS_ONLN));
            json_member_string(&b, "work", "lora(r=8), BERT-base shapes, 8 rows of 128 tokens, 4 shards");
        } else {
            printf("%s, %s kernels; lora(r=8), BERT-base shapes, 8 rows of 128 tokens, 4 shards\n",
                   facts->processor, facts->kernel);
        }
        say(a, "sgemm_gflops", one, "GF/s", "one caller, 256×768×768", &b);
        say(a, "scaling_sgemm", two / one, "×", "gain of a second independent caller", &b);
        say(a, "gemm_share", alone.gemm_seconds / alone.median, "",
            "the step's own matrix products, replayed alone, of the step's time", &b);
        say(a, "step_seconds", alone.median, "s", "one worker, median", &b);
        say(a, "step_seconds_2", both.median, "s", "two workers, median", &b);
        say(a, "scaling", alone.median / both.median, "×", "gain of a second worker", &b);
        say(a, "tokens_per_s", both.tokens / both.median, "tok/s", "two workers", &b);
        say(a, "tsne_per_s", bench_tsne(10000, 2, 0.7), "iter/s", "t-SNE of 10,000 points, two workers", &b);
        say(a, "steps", steps, "", "counted in each", &b);
        say(a, "peak_bytes", bench_peak_memory(), "B", "resident at most", &b);
        close_object(a, &b);
    }
    bench_task_free(&t);
    bench_model_free(m);
    return rc;
}
