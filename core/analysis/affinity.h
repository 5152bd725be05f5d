/* Affinities of t-SNE: the neighbors of each point in the original space and their weights.
 *
 * p(j|i) is Gaussian in the distance, with the width for which row i has the requested perplexity
 * (van der Maaten and Hinton 2008, eq. 1); p = (p(j|i) + p(i|j))/2n.  Up to AFFINITY_DENSE points,
 * all pairs are used; above that, each point's 3·perplexity nearest neighbors, found exactly, so that
 * memory grows with n, not n².  The bits do not depend on the number of workers. */
#ifndef CORE_ANALYSIS_AFFINITY_H
#define CORE_ANALYSIS_AFFINITY_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/crew.h"
#include "core/base/err.h"
#include "core/engine/real.h"

enum { AFFINITY_DENSE = 1024 };

struct affinity {
    int n;
    size_t stride;  /* n up to a multiple of PAIRS_LANES */
    real *dense;    /* n×stride, 0 at i itself and past n; NULL when sparse */
    size_t *start;  /* n+1: row i is entries start[i] … start[i+1]-1, a multiple of PAIRS_LANES */
    int32_t *index; /* entries of weight 0 name the row itself */
    real *p;
    double log_p;   /* Σ p·ln p */
    int unreached;  /* rows without a width for that perplexity: too many points are equally near */
};

/* Computes the affinities of x (n×d, finite, centered, of moderate size) on the crew and waits for it.
 * n >= 4, 1 <= perplexity <= (n-1)/3.  affinity_release frees. */
int affinity_init(struct affinity *a, const real *x, int n, int d, double perplexity, struct crew *crew,
                  struct err *e);
void affinity_release(struct affinity *a);

/* Writes the squared distances from `rows` rows of x, from `first` on, to all rows of x: rows×n into
 * out, 0 for a row and itself.  norm: squared norms (affinity_norms). */
void affinity_distances(const real *x, const double *norm, int n, int d, int first, int rows, real *out);
void affinity_norms(const real *x, int n, int d, double *norm);
/* Writes the k nearest of n points by squared distance, without `self`, nearest first and ties by
 * number, into index; k < n.  scratch: affinity_scratch(k) elements. */
void affinity_nearest(const real *distance, int n, int self, int k, int32_t *index, uint64_t *scratch);
size_t affinity_scratch(int k);

#endif
