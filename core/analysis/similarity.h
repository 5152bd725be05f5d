/* Similarity of representations and of trained weights, as matrices. */
#ifndef CORE_ANALYSIS_SIMILARITY_H
#define CORE_ANALYSIS_SIMILARITY_H

#include "core/engine/real.h"

/* Cosine of rows of a (n×d) with rows of b (m×d) into out n×m; NaN where a vector is zero. */
void similarity_cosine(const real *a, int n, const real *b, int m, int d, double *out);
/* Linear CKA of the same n points in two spaces (n×p, n×q), Kornblith et al. 2019 eq. 3;
 * NaN when one is constant.  Of few points against the widths it is high for unrelated spaces
 * too: of independent noise it is about similarity_cka_noise. */
double similarity_cka(const real *a, int p, const real *b, int q, int n);
/* The same with the unbiased estimator of HSIC (Song et al. 2012, eq. 5), about 0 for unrelated
 * spaces however few the points, and then also below 0.  NaN for fewer than 4 points, when one is
 * constant, or when the estimate of a space with itself is not above 0. */
double similarity_cka_debiased(const real *a, int p, const real *b, int q, int n);
/* What similarity_cka gives for n points of independent noise in `width` values, about. */
double similarity_cka_noise(int width, int n);
/* Two low-rank updates U_a V_a and U_b V_b (U out×r, V r×in): mean squared cosine of the
 * principal angles between their column spaces and their row spaces, so that equal products
 * are equal whatever the factors.  Directions that are missing in one of them count as right angles.
 * It compares spaces: sign and size are not seen.  NaN when one product is zero (its greatest
 * singular value is at most SIMILARITY_ZERO, far below what a float weight can take up). */
#define SIMILARITY_ZERO 1e-15
double similarity_low_rank(const real *ua, const real *va, int ra, const real *ub, const real *vb, int rb,
                           int out_width, int in_width);

/* Order of n items by average-linkage clustering of a similarity matrix (n×n); items
 * without a similarity to themselves come last, other cells that are NaN count as far apart.  order[0…n-1] is
 * a permutation. */
void similarity_order(const double *similarity, int n, int *order);

#endif
