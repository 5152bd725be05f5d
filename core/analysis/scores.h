/* Numbers beside the picture: how well classes lie apart in the original space.
 *
 * All in double.  A score that does not exist says why (NULL otherwise). */
#ifndef CORE_ANALYSIS_SCORES_H
#define CORE_ANALYSIS_SCORES_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/engine/real.h"

struct score {
    double value;
    const char *undefined; /* static text */
};
/* Mean silhouette with cosine distance; a class of one point counts 0.  Undefined with one
 * class or with as many classes as points.  ERR_INPUT names a zero vector's row. */
int score_silhouette(const real *x, int n, int d, const int32_t *label, int classes, struct score *out,
                     struct err *e);
/* Share of the k nearest neighbours (cosine) with the point's own label, mean over points;
 * k is lowered to n-1 and *used says it. */
int score_purity(const real *x, int n, int d, const int32_t *label, int k, int *used,
                 struct score *out, struct err *e);
/* The k nearest (k < n) of each row of x (n×d, Euclidean; equal ones by number) into out, n×k. */
void score_neighbours(const real *x, int n, int d, int k, int32_t *out);
/* Mean share of the k neighbours in `a` that are among those in `b` (n×k each). */
double score_shared(const int32_t *a, const int32_t *b, int n, int k);
/* Mean share of each point's k nearest in x (Euclidean) that are among its k nearest in y (n×2). */
double score_preservation(const real *x, int d, const real *y, int n, int k);

#endif
