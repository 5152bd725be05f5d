/* Outer steps over episodes on MiniLM's shapes: Meta-Adapters in first order, 16 episodes of 20 + 10 rows of 32 tokens. */
#ifndef TESTS_BENCH_BENCH_EPISODES_H
#define TESTS_BENCH_BENCH_EPISODES_H

#include "tests/bench/bench.h"
#include "tests/bench/bench_ratios.h"

/* The outer gradients of `warm` + `steps` steps; workers 0: on the calling thread.  out->tokens: of all passes. */
int bench_episodes(int workers, int warm, int steps, struct bench_times *out, struct err *e);
/* A step of one worker, of its passes as plain training steps of the same rows (inner steps, query, and one and a half
 * for the label vectors, which are made forward and once more with the way back); and what a second worker gains. */
int bench_episodes_ratio(struct bench_ratio *step, double *scaling, struct err *e);

#endif
