/* Similarity of representations and of trained weights, as matrices. */
#ifndef CORE_ANALYSIS_SIMILARITY_H
#define CORE_ANALYSIS_SIMILARITY_H

#include "core/engine/real.h"

/* Cosine of rows of a (n×d) with rows of b (m×d) into out n×m; NaN where a vector is zero. */
void similarity_cosine(const real *a, int n, const real *b, int m, int d, double *out);
/* Linear CKA of the same n points in two spaces (n×p, n×q), Kornblith et al. 2019 eq. 3;
 * NaN when one is constant. */
double similarity_cka(const real *a, int p, const real *b, int q, int n);
/* Two low-rank updates U_a V_a and U_b V_b (U out×r, V r×in): mean squared cosine of the
 * principal angles between their column spaces and their row spaces, so that equal products
 * are equal whatever the factors.  Directions that one of them lacks count as right angles.
 * It compares spaces: sign and size are not seen.  NaN when one product is zero (its greatest
 * singular value is at most SIMILARITY_ZERO, far below what a float weight can take up). */
#define SIMILARITY_ZERO 1e-15
double similarity_low_rank(const real *ua, const real *va, int ra, const real *ub, const real *vb, int rb,
                           int out_width, int in_width);

/* Order of n items by average-linkage clustering of a similarity matrix (n×n); items
 * without a similarity to themselves come last, other cells that are NaN count as far apart.  order[0…n-1] is a permutation. */
void similarity_order(const double *similarity, int n, int *order);

#endif
