/* From a key to its paint: the real program on a terminal of its own, a run training behind it with two workers. */
#ifndef TESTS_BENCH_BENCH_KEYS_H
#define TESTS_BENCH_BENCH_KEYS_H

#include "core/base/err.h"

struct bench_keys {
    int keys, silent;            /* pressed; of them those that painted nothing */
    double median, p95, worst;   /* milliseconds until the last byte of what the key painted */
};
/* About `keys` of them.  Everything is made in a folder that goes away. */
int bench_keys(const char *model, const char *task, int keys, struct bench_keys *out, struct err *e);

#endif
