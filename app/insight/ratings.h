/* Scores of the vectors that a map shows. */
#ifndef APP_INSIGHT_RATINGS_H
#define APP_INSIGHT_RATINGS_H

#include "core/analysis/scores.h"

enum { RATINGS_NEAR = 10 };

/* A score, or the reason for a missing one ("" if it exists). */
struct rating {
    double value; /* NaN: undefined */
    char why[96];
};
struct ratings {
    struct rating silhouette, purity;
    int near;     /* neighbors used by purity */
};
/* Computes the scores.  x: n×d unnormalized vectors (cosine); labels < 0 are ignored; row (n, or NULL):
 * names of zero vectors in messages. */
void ratings_of(struct ratings *r, const real *x, int n, int d, const int32_t *label, int classes,
                const int64_t *row);

/* Normalizes rows to length 1 (zero ones stay), so that distance corresponds to cosine. */
void make_unit(real *x, int n, int d);

#endif
