/* Outer steps over episodes on MiniLM shapes: first-order Meta-Adapters, 16 episodes of 20 + 10 examples of 32 tokens. */
#ifndef TESTS_BENCH_BENCH_EPISODES_H
#define TESTS_BENCH_BENCH_EPISODES_H

#include "tests/bench/bench.h"
#include "tests/bench/bench_ratios.h"

/* Measures the outer gradients of `warm` + `steps` steps; workers 0: on the calling thread.  out->tokens: of all passes. */
int bench_episodes(int workers, int warm, int steps, struct bench_times *out, struct err *e);
/* Sets the time of a step of one worker relative to its passes as plain training steps (inner steps, query, and one
 * and a half for the label vectors, which are computed forward and again with the backward pass), and the speedup by a
 * second worker. */
int bench_episodes_ratio(struct bench_ratio *step, double *scaling, struct err *e);

#endif
