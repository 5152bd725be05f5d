/* Latency from a key press to the painted screen: the real program on a new terminal, while a run trains with two workers. */
#ifndef TESTS_BENCH_BENCH_KEYS_H
#define TESTS_BENCH_BENCH_KEYS_H

#include "core/base/err.h"

struct bench_keys {
    int keys, silent;            /* pressed; those that painted nothing */
    double median, p95, worst;   /* milliseconds until the last painted byte */
};
/* Presses about `keys` keys, in a temporary folder. */
int bench_keys(const char *model, const char *task, int keys, struct bench_keys *out, struct err *e);

#endif
