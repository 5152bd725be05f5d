/* Speed of petri on this machine: training steps on synthetic data, and the workloads
 * of the reference libraries in tests/reference/. */
#ifndef TESTS_BENCH_BENCH_H
#define TESTS_BENCH_BENCH_H

#include "core/base/err.h"
#include "core/engine/profile.h"
#include "core/train/run/run.h"

enum { BENCH_STEPS = 64 };

struct bench_times {
    int steps;
    double second[BENCH_STEPS]; /* wall seconds of each step after the warm-up */
    double median;
    double cpu;                 /* processor seconds of all threads over those steps */
    double tokens;              /* tokens of a step, mean over those steps */
    double alone;               /* without workers: seconds of a step, mean, … */
    struct profile parts;       /* … and of its parts */
    double gemm_seconds;        /* replay of the matrix products of the last step; 0: not requested */
};

struct bench_work {
    struct model *model;
    struct run_tasks tasks;
    const char *method, *sampling; /* the latter for several tasks */
    const char *precision;         /* NULL: f32 */
    enum join_way join;
    int batch, warm, steps;        /* steps: at most BENCH_STEPS */
    int shards;                    /* 0: the default */
    bool products;                 /* without workers: the last step's are recorded and replayed */
};
/* Sets the config of the run except its steps; the caller calls config_release, also after a failure. */
int bench_config(const struct bench_work *w, struct run_config *c, struct err *e);
/* Trains for `warm` + `steps` steps.  workers 0: on the calling thread. */
int bench_train(const struct bench_work *w, int workers, struct bench_times *out, struct err *e);
/* Sets the median of those steps. */
void bench_median(struct bench_times *t);
/* Returns the sum of GF/s of `callers` threads that call sgemm concurrently. */
double bench_sgemm(int callers, double seconds);
/* Returns t-SNE iterations per second on `points` synthetic points, without set-up; takes about `seconds`. */
double bench_tsne(int points, int workers, double seconds);

#endif
