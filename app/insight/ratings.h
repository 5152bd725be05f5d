/* Numbers beside a map, of the vectors that it shows. */
#ifndef APP_INSIGHT_RATINGS_H
#define APP_INSIGHT_RATINGS_H

#include "core/analysis/scores.h"

enum { RATINGS_NEAR = 10 };

/* A score, or why it has none ("" when it has). */
struct rating {
    double value; /* NaN without */
    char why[96];
};
struct ratings {
    struct rating silhouette, purity;
    int near;     /* neighbours that purity looked at */
};
/* x: n×d as they are (cosine); labels < 0 take no part; row (n, or NULL): what a zero vector is
 * called by. */
void ratings_of(struct ratings *r, const real *x, int n, int d, const int32_t *label, int classes,
                const int64_t *row);

/* Rows of length 1 (zero ones stay), so that distance means cosine. */
void make_unit(real *x, int n, int d);

#endif
