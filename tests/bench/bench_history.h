/* Cost of the lists of a large database: synthetic runs, opened, sorted, filtered, grouped and drawn as on the screen, and
 * one run of many points.  Times are processor times. */
#ifndef TESTS_BENCH_BENCH_HISTORY_H
#define TESTS_BENCH_BENCH_HISTORY_H

#include "core/base/err.h"

enum { BENCH_HISTORY_TIMES = 7 };
struct bench_history_time {
    const char *key, *what; /* static */
    double seconds;
};
/* Measures that many runs, and one with that many points. */
int bench_history(int runs, int points, struct bench_history_time out[BENCH_HISTORY_TIMES], struct err *e);
/* Writes these runs into an open store, the first with that many points. */
struct store;
int bench_history_make(struct store *s, int runs, int points, struct err *e);

#endif
