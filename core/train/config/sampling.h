/* Which rows of a run's tasks make up a step: a pure function of seed, step, sizes and rule, so that a
 * resumed run goes on where it stopped and workers never enter.
 *
 * Rows are numbered through all tasks: task t's begin at first[t]. */
#ifndef CORE_TRAIN_CONFIG_SAMPLING_H
#define CORE_TRAIN_CONFIG_SAMPLING_H

#include <stddef.h>
#include <stdint.h>

#include "core/train/config/option.h"

enum sampling_rule {
    SAMPLING_PROPORTIONAL, /* one shuffled pass over all rows of all tasks; with one task its order */
    SAMPLING_TEMPERATURE,  /* each row's task drawn with shares ∝ n^(1/T); each task goes through shuffled
                            * passes of its own, here and in the next two */
    SAMPLING_ONE_TASK,     /* the same shares, one task a batch (HyperFormer) */
    SAMPLING_STRATIFIED,   /* the shares as whole rows of each batch by largest remainder, at least two a
                            * task; tasks in turns where the batch has no room for two of each */
    SAMPLING_RULES
};
struct sampling {
    enum sampling_rule rule;
    double temperature; /* T > 0; of proportional it has no meaning */
};

/* The --sampling of a run, as it was given. */
struct sampling_said {
    struct sampling how;
    char text[];
};
extern const struct option_parser sampling_parser;
struct sampling config_sampling(const struct run_config *c);

/* "proportional", "temperature(5)", "one-task(10)", "stratified(10)"; T is 10 where it is left out.
 * ERR_USAGE says what is known. */
int sampling_parse(const char *text, struct sampling *out, struct err *e);
void sampling_text(const struct sampling *s, char out[48]);
/* shares[t]: what the rule gives task t, summing to 1; rows[t] > 0. */
void sampling_shares(const struct sampling *s, int tasks, const size_t *rows, double *shares);
/* expected[t]: rows of task t in a batch, on average over steps. */
void sampling_expected(const struct sampling *s, int tasks, const size_t *rows, int batch, double *expected);

/* The tasks' rows in the order that steps take them. */
struct sampler;
struct sampler *sampler_new(const struct sampling *s, uint64_t seed, int tasks, const size_t *rows,
                            int batch);
void sampler_free(struct sampler *s);
/* Steps that take as many rows as there are: an epoch. */
int64_t sampler_epoch(const struct sampler *s);
/* The rows of a step (from 0) in the order drawn: at most `batch` numbers into rows[]; returns how many.
 * Asking for a step before the last one begins anew; after it, only what lies between is drawn. */
int sampler_step(struct sampler *s, int64_t step, uint32_t *rows);

#endif
