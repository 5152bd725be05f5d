#include "tests/bench/bench_bf16.h"

#include "core/base/mem.h"
#include "core/engine/blas.h"
#include "core/engine/packed.h"
#include "tests/bench/bench_made.h"
#include "tests/bench/bench_ratios.h"

enum { EXAMPLES = 8, LENGTH = 128, LAYERS = 12, WIDTH = 768, INNER = 3072 };

/* Products of a layer: the rows and columns of a weight, and how many there are. */
static const int maps[][3] = { { WIDTH, WIDTH, 4 }, { INNER, WIDTH, 1 }, { WIDTH, INNER, 1 } };

/* Sets the rates by the time of a layer's products of a shard, two examples. */
static void measure_rates(double seconds, struct bench_bf16 *out) {
    double work = 0, single = 0, half = 0, each = seconds / (2.0 * COUNT_OF(maps));
    for (size_t i = 0; i < COUNT_OF(maps); i++) {
        double size = (double)maps[i][0] * maps[i][1] * maps[i][2];
        work += size;
        single += size / blas_rate(2 * LENGTH, maps[i][0], maps[i][1], each);
        half += size / packed_rate(2 * LENGTH, maps[i][0], maps[i][1], each);
    }
    out->single = work / single;
    out->half = work / half;
}

int bench_bf16(double seconds, struct bench_bf16 *out, struct err *e) {
    struct model *m = bench_model(FAMILY_BERT, LAYERS, WIDTH, 12, INNER, e);
    if (!m) return e->code;
    struct task t, *const all[] = { &t };
    bench_task(&t, 64, LENGTH, m->arch.vocabulary);
    const struct bench_work work = { .model = m, .tasks = { 1, all }, .method = "lora(r=8)", .batch = EXAMPLES };
    struct bench_work alone = work;
    struct bench_times times;
    struct bench_side side[] = { { .work = work }, { .work = work } };
    side[1].work.precision = "bf16";
    alone.warm = 1, alone.steps = 2, alone.products = true;
    measure_rates(0.1 * seconds, out);
    int rc = bench_train(&alone, 0, &times, e);
    if (!rc) rc = bench_turns(side, COUNT_OF(side), 0.7 * seconds, e);
    if (!rc) {
        out->share = times.gemm_seconds / times.median;
        out->step = side[0].times.median;
        out->half_step = side[1].times.median;
        out->possible = 1 / (1 - out->share + out->share * out->single / out->half);
        out->gain = out->step / out->half_step;
    }
    bench_task_free(&t);
    bench_model_free(m);
    return rc;
}
