/* What a run is likely to take, told before it has begun: a model of costs over what it multiplies and keeps,
 * with two numbers that were fitted to runs (estimate.c).  It knows no other program on the machine. */
#ifndef CORE_TRAIN_CONFIG_ESTIMATE_H
#define CORE_TRAIN_CONFIG_ESTIMATE_H

#include "core/base/crew.h"
#include "core/method/plan.h"
#include "core/train/config/config.h"

struct estimate_of {
    const struct run_config *c;
    const struct plan *p;
    const struct arch *a;
    double tokens, targets;     /* of a row on average, as it is cut; targets 0: it has none */
    size_t train_rows, dev_rows;
    int workers;
    double gflops;              /* of one of them (estimate_rate); 0: not known, then there are no seconds */
};

/* GF/s of one of the crew's workers while all of them multiply for about `seconds`. */
double estimate_rate(struct crew *c, double seconds);

/* Scales the seconds that something takes with petri's own model on one core of 100 GF/s to another model and
 * so many workers of `gflops` each; 0 where the machine is not measured (gflops 0) or there is no model. */
double estimate_scaled(double seconds, const struct arch *a, int workers, double gflops);

struct estimate {
    double step_seconds, seconds; /* of a step; of all steps and evaluations; NaN: not known */
    double bytes;                 /* that the run needs at most (run_peak_bytes) */
};

/* false: what it takes is not told by rows (a run over episodes, or in stages). */
bool estimate_run(const struct estimate_of *of, struct estimate *out);

#endif
