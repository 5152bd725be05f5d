/* Task sampling: the examples of a step are a pure function of seed, step, sizes and strategy, so that a
 * resumed run continues exactly and the number of workers does not matter.
 *
 * Examples are numbered through all tasks: those of task t start at first[t]. */
#ifndef CORE_TRAIN_CONFIG_SAMPLING_H
#define CORE_TRAIN_CONFIG_SAMPLING_H

#include <stddef.h>
#include <stdint.h>

#include "core/train/config/option.h"

enum sampling_rule {
    SAMPLING_PROPORTIONAL, /* shuffled passes over the examples of all tasks together */
    SAMPLING_TEMPERATURE,  /* the task of each example is sampled with shares ∝ n^(1/T); each task has its own
                            * shuffled passes, here and in the next two */
    SAMPLING_ONE_TASK,     /* the same shares, one task per batch (HyperFormer) */
    SAMPLING_STRATIFIED,   /* each batch is divided by the shares with largest remainders, at least two
                            * examples per task; tasks take turns where the batch is too small for that */
    SAMPLING_RULES
};
struct sampling {
    enum sampling_rule rule;
    double temperature; /* T > 0; unused by proportional */
};

/* The parsed --sampling of a run with its text. */
struct sampling_given {
    struct sampling how;
    char text[];
};
extern const struct option_parser sampling_parser;
struct sampling config_sampling(const struct run_config *c);

/* Parses "proportional", "temperature(5)", "one-task(10)" or "stratified(10)"; T defaults to 10. ERR_USAGE
 * lists the strategies. */
int sampling_parse(const char *text, struct sampling *out, struct err *e);
void sampling_text(const struct sampling *s, char out[48]);
/* Writes the sampling share of each task to shares[t], with sum 1; rows[t] > 0 are their examples. */
void sampling_shares(const struct sampling *s, int tasks, const size_t *rows, double *shares);
/* Writes the expected number of examples of task t in a batch to expected[t]. */
void sampling_expected(const struct sampling *s, int tasks, const size_t *rows, int batch, double *expected);

/* Samples the examples of the tasks, step by step. */
struct sampler;
struct sampler *sampler_new(const struct sampling *s, uint64_t seed, int tasks, const size_t *rows,
                            int batch);
void sampler_free(struct sampler *s);
/* Returns the number of steps of an epoch: as many examples as the tasks have. */
int64_t sampler_epoch(const struct sampler *s);
/* Writes the examples of a step (from 0), at most `batch`, to rows[] in the order sampled; returns their
 * number. A step after the last one skips the steps between; an earlier step starts over. */
int sampler_step(struct sampler *s, int64_t step, uint32_t *rows);

#endif
