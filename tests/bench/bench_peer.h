/* The pieces of work that tests/reference/peer_bench.py does with PyTorch, done by petri. */
#ifndef TESTS_BENCH_BENCH_PEER_H
#define TESTS_BENCH_BENCH_PEER_H

#include "tests/bench/bench.h"

struct bench_peer {
    const char *name; /* of the work */
    const char *task; /* folder of SST-2; may be NULL for made work */
    const char *model;
    int threads;
};

/* Does the work; out->tokens are those of a step, of generation the new ones.  ERR_USAGE names the
 * works where there is none of that name. */
int bench_peer(const struct bench_peer *p, struct bench_times *out, struct err *e);

#endif
