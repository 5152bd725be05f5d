/* Measuring petri on this machine: whole training steps on made data, and the same work
 * that the reference libraries do in tests/reference/. */
#ifndef TESTS_BENCH_BENCH_H
#define TESTS_BENCH_BENCH_H

#include "core/base/err.h"
#include "core/train/run/run.h"

enum { BENCH_STEPS = 64 };

struct bench_times {
    int steps;
    double second[BENCH_STEPS]; /* wall seconds of each step after the warm-up */
    double median;
    double tokens;              /* tokens of a step, mean over those steps */
    double gemm_seconds;        /* replay of the last step's own matrix products; 0: not asked */
};

struct bench_work {
    struct model *model;
    struct run_tasks tasks;
    const char *method, *sampling; /* the latter of several tasks */
    enum join_way join;
    int batch, warm, steps;        /* steps: at most BENCH_STEPS */
    int shards;                    /* 0: the usual ones */
    bool products;                 /* without workers: the last step's are recorded and replayed */
};
/* The run's description but for its steps; config_release, also on failure. */
int bench_config(const struct bench_work *w, struct run_config *c, struct err *e);
/* Trains for `warm` + `steps` steps.  workers 0: on the calling thread. */
int bench_train(const struct bench_work *w, int workers, struct bench_times *out, struct err *e);
/* Sets the median of those steps. */
void bench_median(struct bench_times *t);
/* Sum of GF/s of `callers` threads that call sgemm on their own at once. */
double bench_sgemm(int callers, double seconds);
/* t-SNE iterations a second on `points` made points, set-up left out; about `seconds` long. */
double bench_tsne(int points, int workers, double seconds);

#endif
