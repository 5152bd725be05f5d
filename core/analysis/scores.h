/* Scores of a map: how well classes are separated in the original space.
 *
 * All in double.  An undefined score has a reason (NULL otherwise). */
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
/* Computes the mean silhouette with cosine distance; a class of one point counts 0.  Undefined with one
 * class or with as many classes as points.  ERR_INPUT names a zero vector's row. */
int score_silhouette(const real *x, int n, int d, const int32_t *label, int classes, struct score *out,
                     struct err *e);
/* Computes the share of the k nearest neighbors (cosine) with the point's own label, as the mean over
 * points; k is at most n-1, and *used is the k that was used. */
int score_purity(const real *x, int n, int d, const int32_t *label, int k, int *used,
                 struct score *out, struct err *e);
/* Writes the k nearest (k < n) of each row of x (n×d, Euclidean; ties by number) into out, n×k. */
void score_neighbors(const real *x, int n, int d, int k, int32_t *out);
/* Returns the mean share of the k neighbors in `a` that are among those in `b` (n×k each). */
double score_shared(const int32_t *a, const int32_t *b, int n, int k);
/* Returns the mean share of each point's k nearest in x (Euclidean) that are among its k nearest in y
 * (n×2). */
double score_preservation(const real *x, int d, const real *y, int n, int k);

#endif
