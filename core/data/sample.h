/* Stratified sampling by seed: the common rule for embeddings, maps and examples shown during training, so
 * that the same seed selects the same examples everywhere. */
#ifndef CORE_DATA_SAMPLE_H
#define CORE_DATA_SAMPLE_H

#include "core/data/dataset.h"

/* Samples at most `most` of n items (label < 0 counts as a separate class), evenly over the classes, by seed;
 * pick (room for n) receives their indices in ascending order.  Returns their number. */
int sample_evenly(const int32_t *label, int n, int classes, int most, uint64_t seed, int *pick);

/* Distributes `most` examples evenly over n tasks; the rest of small tasks goes to the others. */
void sample_shares(const size_t *rows, int n, size_t most, size_t *share);
/* Applies sample_evenly to a split; unlabeled examples are sampled only if none has a label. */
int dataset_pick(const struct dataset *d, int most, uint64_t seed, int *pick);
/* Selects held-out examples: `share` of each class (of all without classes), rounded, by seed.  held (room
 * for the rows) is true for those; returns their number. */
size_t dataset_hold_out(const struct dataset *d, double share, uint64_t seed, bool *held);
/* Simple random sampling: chosen (room for the rows) is true for n of them, by seed; `what` is the purpose,
 * so that samples for other purposes differ. */
void sample_examples(size_t rows, size_t n, uint64_t seed, const char *what, bool *chosen);
/* Reduces the split to these examples, and recounts classes, unlabeled examples and repeats (before
 * dataset_encode). */
void dataset_keep(struct dataset *d, const int *pick, int n);
/* Reduces it to the chosen examples, or with `those` false to the others. */
void dataset_keep_chosen(struct dataset *d, const bool *chosen, bool those);

/* Copies examples of an encoded split to another one: texts and names are shared with `from`, ids copied,
 * those of a target too.  Released with dataset_view_release. */
void dataset_view(struct dataset *view, const struct dataset *from, const int *pick, int n);
void dataset_view_release(struct dataset *view);

#endif
