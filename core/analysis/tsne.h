/* t-SNE, exact and vectorised: a map of points in two dimensions that preserves neighbors.
 *
 * Pairs are computed in row blocks by a fixed partition, sums are taken in block order,
 * so that any number of workers gives the same bits.  van der Maaten and Hinton 2008;
 * settings after Kobak and Berens 2019 and Belkina et al. 2019.
 *
 * In tsne.c, and the start of a layout in pca.c. */
#ifndef CORE_ANALYSIS_TSNE_H
#define CORE_ANALYSIS_TSNE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/crew.h"
#include "core/base/err.h"
#include "core/engine/real.h"

enum { TSNE_MOST = 15000 };

struct tsne_options {
    double perplexity;   /* 30; at most (n-1)/3 is used for few points, and reported */
    int iterations;      /* 750 in all, 250 of them exaggerated */
    double exaggeration; /* 12 */
    double rate;         /* 0: n/exaggeration, then n, each at least 200 at the exaggerated start */
    uint64_t seed;       /* of the jitter that separates duplicates */
    struct crew *crew; /* computes everything here, and must outlive the layout; NULL: the caller's thread */
    const real *start;   /* n×2: an initial layout to continue from, without early exaggeration and jitter;
                          * NULL: two principal components */
};
void tsne_options_init(struct tsne_options *o);

struct tsne; /* a layout in progress */

/* Starts a layout of x (n×d, row-major, copied as far as needed) and computes the affinities of neighbors.
 * ERR_INPUT: n < 4, a value that is NaN or infinite (with its example), all points equal. */
struct tsne *tsne_new(const real *x, int n, int d, const struct tsne_options *o, struct err *e);
void tsne_free(struct tsne *t);
/* Runs `count` more iterations (fewer at the end); returns how many were run. */
int tsne_step(struct tsne *t, int count);
/* Runs the same for at most about `seconds` (> 0): no iteration starts later, but at least one is run. */
int tsne_step_for(struct tsne *t, int count, double seconds);
/* Restarts from the initial layout, with the same points and seed. */
void tsne_rewind(struct tsne *t);
int tsne_iteration(const struct tsne *t);
bool tsne_done(const struct tsne *t);
double tsne_perplexity(const struct tsne *t); /* in use */
/* Returns the number of points without a bandwidth for the perplexity: they have more equally near neighbors
 * (duplicates) than it. */
int tsne_unreached(const struct tsne *t);
/* Returns the current layout, n×2; valid until the next step. */
const real *tsne_layout(const struct tsne *t);
/* Returns the Kullback–Leibler divergence of the layout (without exaggeration). */
double tsne_divergence(const struct tsne *t);

/* Writes the first two principal components, n×2, to out, unscaled; deterministic sign. */
int pca_two(const real *x, int n, int d, real *out, struct err *e);

#endif
