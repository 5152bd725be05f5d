/* Similarity of representations and of trained weights, as matrices. */
#ifndef CORE_ANALYSIS_SIMILARITY_H
#define CORE_ANALYSIS_SIMILARITY_H

#include "core/engine/real.h"

/* Writes the cosines of the rows of a (n×d) with the rows of b (m×d) to out n×m; NaN where a vector is
 * zero. */
void similarity_cosine(const real *a, int n, const real *b, int m, int d, double *out);
/* Returns the linear CKA of the same n points in two spaces (n×p, n×q), Kornblith et al. 2019 eq. 3; NaN when
 * one is constant. With few points compared with the widths it is high for unrelated spaces too: for
 * independent noise about similarity_cka_noise. */
double similarity_cka(const real *a, int p, const real *b, int q, int n);
/* Returns the same with the unbiased estimator of HSIC (Song et al. 2012, eq. 5): about 0 for unrelated
 * spaces even with few points, and possibly below 0. NaN for fewer than 4 points, when one is constant, or
 * when the estimate of a space with itself is not above 0. */
double similarity_cka_debiased(const real *a, int p, const real *b, int q, int n);
/* Returns the approximate similarity_cka of n points of independent noise in `width` dimensions. */
double similarity_cka_noise(int width, int n);
/* Compares two low-rank updates U_a V_a and U_b V_b (U out×r, V r×in): mean squared cosine of the principal
 * angles between their column spaces and their row spaces, so that equal products are equal for any factors.
 * Missing directions of one of them count as right angles. Invariant to sign and scale. NaN when one product
 * is zero (its largest singular value is at most SIMILARITY_ZERO, below the resolution of a float weight). */
#define SIMILARITY_ZERO 1e-15
double similarity_low_rank(const real *ua, const real *va, int ra, const real *ub, const real *vb, int rb,
                           int out_width, int in_width);

/* Orders n items by average-linkage clustering of a similarity matrix (n×n); items without a similarity to
 * themselves come last, other NaN cells count as maximum distance. order[0…n-1] is a permutation. */
void similarity_order(const double *similarity, int n, int *order);

#endif
