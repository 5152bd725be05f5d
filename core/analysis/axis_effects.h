/* Main effects of the axes of a sweep: least squares on factors coded sum-to-zero, with blocks.
 *
 * The model is y = μ + Σ factors + Σ blocks + error.  A factor of L levels has L − 1 columns (level l is +1
 * in column l, the last level −1 in all), a line has one column (its x, centered).  Columns come in the order
 * of the factors, blocks first; one that those before it determine is aliased and left out. */
#ifndef CORE_ANALYSIS_AXIS_EFFECTS_H
#define CORE_ANALYSIS_AXIS_EFFECTS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/err.h"

struct effects_factor {
    const char *name;
    int levels;       /* 0: a line */
    const int *level; /* per row: level, 0 … levels − 1 */
    const double *x;  /* per row: x of a line */
};
struct effects_model {
    size_t rows;
    const double *y;
    int factors, blocks; /* blocks are factors without reported effects */
    const struct effects_factor *factor, *block;
};

struct axis_effect {
    int factor, other; /* other −1: a main effect; else of the pair */
    int level, level2; /* −1 of a line */
    size_t n;          /* rows with that level, or pair of levels */
    double value; /* a level: its marginal mean, with equal weights over the levels of other factors; a line:
                   * its slope; a pair: the interaction of the two levels */
    double low, high;  /* 95% half-width; NaN without residual degrees of freedom */
    bool open;         /* aliased: value is NaN */
};
struct axis_effects {
    size_t count;
    struct axis_effect *effect;
    double df, sigma;        /* residuals of the main-effects model */
    char **alias;            /* per factor: what determines it, "task", or NULL; owned */
    int factors;
};
/* Computes the main effects of each factor, then those of each pair of factors with levels, from the model
 * with that pair added. ERR_INPUT with fewer than two rows. Freed with axis_effects_release. */
int axis_effects_fit(const struct effects_model *m, struct axis_effects *out, struct err *e);
void axis_effects_release(struct axis_effects *f);

#endif
