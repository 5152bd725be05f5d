/* The workloads of tests/reference/peer_bench.py, which uses PyTorch, in petri. */
#ifndef TESTS_BENCH_BENCH_PEER_H
#define TESTS_BENCH_BENCH_PEER_H

#include "tests/bench/bench.h"

struct bench_peer {
    const char *name; /* of the work */
    const char *task; /* folder of SST-2; may be NULL for synthetic data */
    const char *model;
    const char *precision; /* f32, or NULL for it, or bf16 */
    int threads;
};

/* Runs the workload; out->tokens: tokens per step, for generation new tokens.  ERR_USAGE lists the
 * workloads where the name is unknown. */
int bench_peer(const struct bench_peer *p, struct bench_times *out, struct err *e);

#endif
