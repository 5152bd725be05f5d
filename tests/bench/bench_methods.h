/* Cost of a step of a method relative to LoRA or a prefix, as ratios of interleaved steps. */
#ifndef TESTS_BENCH_BENCH_METHODS_H
#define TESTS_BENCH_BENCH_METHODS_H

#include "tests/bench/bench_ratios.h"

struct bench_method {
    const char *key, *method, *beside; /* static; beside: the method compared with, at its given ranks */
    double values;  /* parameters of the method relative to the other */
    double ratio, bound;
    int steps;      /* measured of each */
};
int bench_methods_count(void);
/* Measures row `at` on one worker for about this long; MiniLM shapes, batch size 32, sequence length 32. */
int bench_method(int at, double seconds, struct bench_method *out, struct err *e);

#endif
