/* Affinities of t-SNE: who is whose neighbour, and how much, in the original space.
 *
 * p(j|i) is Gaussian in the distance, its width set so that row i has the wanted perplexity
 * (van der Maaten and Hinton 2008, eq. 1), then p = (p(j|i) + p(i|j))/2n.  Up to
 * AFFINITY_DENSE points every pair counts; above, each point's 3·perplexity nearest, found
 * exactly, so that memory is no n².  The same bits for any number of workers. */
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
    int unreached;  /* rows that no width gives the wanted perplexity: too many are equally near */
};

/* x: n×d, finite, centred, of moderate size.  n >= 4, 1 <= perplexity <= (n-1)/3.  Computed by the crew,
 * which is waited for. */
int affinity_init(struct affinity *a, const real *x, int n, int d, double perplexity, struct crew *crew,
                  struct err *e);
void affinity_release(struct affinity *a);

/* Row i of squared distances from x to the rows of x, for `rows` rows from `first` on:
 * rows×n into out, 0 at i itself.  norm: squared lengths (affinity_norms). */
void affinity_distances(const real *x, const double *norm, int n, int d, int first, int rows, real *out);
void affinity_norms(const real *x, int n, int d, double *norm);
/* The k nearest by squared distance (n of them), without `self`, nearest first and then by
 * number, into index; k < n.  scratch: affinity_scratch(k) numbers. */
void affinity_nearest(const real *distance, int n, int self, int k, int32_t *index, uint64_t *scratch);
size_t affinity_scratch(int k);

#endif
