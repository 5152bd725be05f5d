/* What a step of a method costs beside one of LoRA, or of a prefix, as ratios of steps made in turns. */
#ifndef TESTS_BENCH_BENCH_METHODS_H
#define TESTS_BENCH_BENCH_METHODS_H

#include "tests/bench/bench_ratios.h"

struct bench_method {
    const char *key, *method, *beside; /* static; beside: as its text says, its ranks not fitted */
    double values;  /* kept of the method, of those kept of the other */
    double ratio, bound;
    int steps;      /* counted of each */
};
int bench_methods_count(void);
/* Row `at`, on one worker, for about this long; MiniLM's shapes, 32 rows of 32 tokens. */
int bench_method(int at, double seconds, struct bench_method *out, struct err *e);

#endif
