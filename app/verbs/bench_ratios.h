/* What mixed batches, made weights and a join cost a step, as ratios of steps made in turns. */
#ifndef APP_VERBS_BENCH_RATIOS_H
#define APP_VERBS_BENCH_RATIOS_H

#include "core/base/err.h"

enum { BENCH_RATIOS = 5 };
struct bench_ratio {
    const char *key, *what; /* static */
    double value, bound;    /* bound: what it is meant to stay below */
};

/* On one worker, for about this long. */
int bench_ratios(double seconds, struct bench_ratio out[BENCH_RATIOS], struct err *e);

#endif
