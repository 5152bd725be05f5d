/* The inner loops of t-SNE: one point of the layout against the others.
 *
 * pairs_body.h is compiled once for each kind of processor (pairs_base.c, pairs_avx2.c,
 * pairs_avx512.c); pairs.c picks one when the program starts.  Differences are (other - point), q = 1/(1 +
 * distance²).  A point's sums have a fixed order.  Any thread. */
#ifndef CORE_ANALYSIS_PAIRS_H
#define CORE_ANALYSIS_PAIRS_H

#include <stddef.h>
#include <stdint.h>

#include "core/engine/real.h"

/* Arrays of points, and each point's list of neighbors, are filled up to a multiple of
 * this: points by PAIRS_FAR, whose q² is 0, and lists by entries of weight 0. */
enum { PAIRS_LANES = 16 };
#define PAIRS_FAR ((real)1e15)

struct pair_sums {
    double q;             /* Σ q, the point itself (1) included */
    double away[2];       /* Σ q²·difference */
    double near[2];       /* Σ p·q·difference */
};

struct pairs {
    /* q and away over n points x, y. */
    void (*repel)(const real *x, const real *y, size_t n, size_t i, struct pair_sums *out);
    /* And near, with p[0…n-1]. */
    void (*all)(const real *x, const real *y, size_t n, size_t i, const real *p, struct pair_sums *out);
    /* Computes near over a list of n neighbors. */
    void (*attract)(const real *x, const real *y, const int32_t *index, const real *p, size_t n,
                    size_t i, struct pair_sums *out);
};

/* The loops for this processor. */
const struct pairs *pairs_in_use(void);

extern const struct pairs pairs_base;
#if defined(__x86_64__) && !REAL_IS_DOUBLE
extern const struct pairs pairs_avx2, pairs_avx512;
#endif

#endif
