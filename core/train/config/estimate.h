/* Estimated time and memory of a run before it starts: a cost model over its matrix products, with constants
 * fitted to measured runs (estimate.c), and its memory part by part (estimate_memory.c).  Other load on the
 * machine is not considered. */
#ifndef CORE_TRAIN_CONFIG_ESTIMATE_H
#define CORE_TRAIN_CONFIG_ESTIMATE_H

#include "core/base/crew.h"
#include "core/method/plan.h"
#include "core/train/config/config.h"

/* How fast one worker multiplies. */
struct estimate_speed {
    double gflops; /* in float32; 0: unknown, seconds are not estimated */
    double bf16;   /* relative to that, weights in bfloat16; 0 or 1: not faster */
};

struct estimate_of {
    const struct run_config *c;
    const struct plan *p;
    const struct arch *a;
    double tokens, targets;     /* average lengths of source and target after truncation; targets 0: no target
                                 * texts */
    size_t train_rows, dev_rows;
    int workers;
    struct estimate_speed speed;
    double squares, longest;    /* mean square and maximum of the lengths of sources; 0: all have the mean */
    enum weights_in weights_in; /* of the loaded model; AUTO: as in the config */
    double data;                /* bytes of the examples (task_bytes); 0: estimated */
};

/* Measures while all workers of the crew compute matrix products for about `seconds`, and then this thread
 * if the machine has bfloat16 products. */
struct estimate_speed estimate_speed(struct crew *c, double seconds);

/* Scales seconds on one core with 100 GFLOP/s to `workers` workers with `gflops` each; returns 0 where gflops
 * is 0 (not measured). */
double estimate_here(double seconds, int workers, double gflops);
/* Scales the seconds of a task from petri's built-in model on one core with 100 GFLOP/s to model `a` and
 * `workers` workers with `gflops` each; returns 0 where gflops is 0 (not measured) or a is NULL. */
double estimate_scaled(double seconds, const struct arch *a, int workers, double gflops);

struct estimate {
    double step_seconds, seconds; /* per step; total over steps and evaluations; NaN: unknown */
    double bytes;                 /* peak memory (run_peak_bytes) */
    double shared;                /* of it, the model's weights, which runs of a process share */
};

/* Sets bytes and shared; prompts count as tokens of x. */
void estimate_memory(const struct estimate_of *x, struct estimate *out);

/* Sets bytes and shared of a run, or of a stage where x->p is its plan, also of a run over episodes of a
 * task; returns false where the lengths of the examples are unknown. */
bool estimate_bytes(const struct estimate_of *x, struct estimate *out);

/* Estimates a run; returns false for runs that are not estimated (over episodes, or in stages). */
bool estimate_run(const struct estimate_of *of, struct estimate *out);

#endif
