/* Cost of mixed batches, generated weights and whole-batch losses per step, as ratios of interleaved steps. */
#ifndef TESTS_BENCH_BENCH_RATIOS_H
#define TESTS_BENCH_BENCH_RATIOS_H

#include "tests/bench/bench.h"
#include "core/base/err.h"

enum { BENCH_RATIOS = 5 };
struct bench_ratio {
    const char *key, *what; /* static */
    double value, bound;    /* bound: expected maximum */
};

/* Work interleaved with other work, so that load on the machine slows all equally. */
struct bench_side {
    struct bench_work work; /* its steps are set here */
    struct bench_times times;
};
/* Runs on the calling thread, each at least twice, for about that many seconds; then sets the medians. */
int bench_turns(struct bench_side *s, int n, double seconds, struct err *e);
double bench_over(const struct bench_side *a, const struct bench_side *b);

/* Measures on one worker, for about this long. */
int bench_ratios(double seconds, struct bench_ratio out[BENCH_RATIOS], struct err *e);

#endif
