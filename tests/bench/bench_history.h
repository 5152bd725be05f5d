/* What looking at a long history costs: made runs in a folder of their own, opened, sorted, filtered, grouped and drawn as
 * the screen does it, and one run of many points.  Times are of the processor: other programs are not in them. */
#ifndef TESTS_BENCH_BENCH_HISTORY_H
#define TESTS_BENCH_BENCH_HISTORY_H

#include "core/base/err.h"

enum { BENCH_HISTORY_TIMES = 7 };
struct bench_history_time {
    const char *key, *what; /* static */
    double seconds;
};
/* So many runs, and one with so many points. */
int bench_history(int runs, int points, struct bench_history_time out[BENCH_HISTORY_TIMES], struct err *e);
/* These runs into an open store, the first one with so many points. */
struct store;
int bench_history_make(struct store *s, int runs, int points, struct err *e);

#endif
