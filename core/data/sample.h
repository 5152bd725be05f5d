/* Drawing rows evenly over classes, by seed: the one rule for vectors, maps and what is looked at
 * while a run trains, so that the same seed draws the same rows everywhere. */
#ifndef CORE_DATA_SAMPLE_H
#define CORE_DATA_SAMPLE_H

#include "core/data/dataset.h"

/* Picks at most `most` of n items (label < 0 counts as a class of its own), evenly over the
 * classes, by seed; pick (room for n) gets their numbers in rising order.  Returns how many. */
int sample_evenly(const int32_t *label, int n, int classes, int most, uint64_t seed, int *pick);

/* How many of `most` rows each of n tasks gets, evenly; what a small one leaves goes to the others. */
void sample_shares(const size_t *rows, int n, size_t most, size_t *share);
/* sample_evenly of a split's rows; rows without a label are drawn only where none has one. */
int dataset_pick(const struct dataset *d, int most, uint64_t seed, int *pick);
/* Which rows are held out: `share` of each class (of all rows where there are no classes), rounded, by seed.
 * held (room for the rows) is true for those; returns how many. */
size_t dataset_hold_out(const struct dataset *d, double share, uint64_t seed, bool *held);
/* A plain draw: chosen (room for the rows) is true for n of them, by seed; `what` is what they are drawn for,
 * so that draws for other ends are others. */
void sample_rows(size_t rows, size_t n, uint64_t seed, const char *what, bool *chosen);
/* Keeps only these rows, and counts classes, unlabeled rows and repeats among them (before
 * dataset_encode). */
void dataset_keep(struct dataset *d, const int *pick, int n);
/* Keeps the rows that are chosen, or with `those` false the others. */
void dataset_keep_chosen(struct dataset *d, const bool *chosen, bool those);

/* Rows of an encoded split as one of their own: texts and names stay `from`'s, ids are copied, a
 * target's too.  dataset_view_release frees. */
void dataset_view(struct dataset *view, const struct dataset *from, const int *pick, int n);
void dataset_view_release(struct dataset *view);

#endif
