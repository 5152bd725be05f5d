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
    const real *start;   /* n×2: a layout to go on from, without exaggeration and jitter, as of the
                          * same points a little earlier; NULL: two principal components */
};
void tsne_options_init(struct tsne_options *o);

struct tsne; /* a layout under way */

/* Starts a layout of x (n×d, row-major, copied as far as needed) and computes the affinities of neighbors.
 * ERR_INPUT: n < 4, a value that is NaN or infinite (with its example), all points equal. */
struct tsne *tsne_new(const real *x, int n, int d, const struct tsne_options *o, struct err *e);
void tsne_free(struct tsne *t);
/* Runs `count` iterations more (fewer when the end is reached); returns how many were run. */
int tsne_step(struct tsne *t, int count);
/* The same, but begins none later than `seconds` (> 0) after the first: one is run at least. */
int tsne_step_for(struct tsne *t, int count, double seconds);
/* Back to the start, the same points and seed: the same layout again. */
void tsne_rewind(struct tsne *t);
int tsne_iteration(const struct tsne *t);
bool tsne_done(const struct tsne *t);
double tsne_perplexity(const struct tsne *t); /* in use */
/* Points for which no width gives that perplexity: more than it are equally near (duplicates). */
int tsne_unreached(const struct tsne *t);
/* n×2: the layout so far.  Valid until the next step. */
const real *tsne_layout(const struct tsne *t);
/* Kullback–Leibler divergence of the layout (without exaggeration). */
double tsne_divergence(const struct tsne *t);

/* First two principal components, n×2 into out, scaled as they are; deterministic sign. */
int pca_two(const real *x, int n, int d, real *out, struct err *e);

#endif
