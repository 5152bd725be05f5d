/* What mixed batches, made weights and a join cost a step, as ratios of steps made in turns. */
#ifndef TESTS_BENCH_BENCH_RATIOS_H
#define TESTS_BENCH_BENCH_RATIOS_H

#include "tests/bench/bench.h"
#include "core/base/err.h"

enum { BENCH_RATIOS = 5 };
struct bench_ratio {
    const char *key, *what; /* static */
    double value, bound;    /* bound: what it is meant to stay below */
};

/* Work that has its turn beside other work, so that what slows the machine slows all. */
struct bench_side {
    struct bench_work work; /* its steps are set here */
    struct bench_times times;
};
/* On the calling thread, twice each at least, for about so many seconds; then the medians. */
int bench_turns(struct bench_side *s, int n, double seconds, struct err *e);
double bench_over(const struct bench_side *a, const struct bench_side *b);

/* On one worker, for about this long. */
int bench_ratios(double seconds, struct bench_ratio out[BENCH_RATIOS], struct err *e);

#endif
