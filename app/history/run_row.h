/* Creation of the database record of a run, fixed before its first step. */
#ifndef APP_HISTORY_RUN_ROW_H
#define APP_HISTORY_RUN_ROW_H

#include "core/method/plan.h"
#include "core/train/config/config.h"
#include "store/store.h"

/* What is recorded in addition to the completed config. */
struct history_row {
    const char *split;    /* split of the primary metric; NULL: dev */
    const struct run_tasks *tasks; /* tasks whose import reports are stored; NULL: nothing was read */
    const char *more;     /* additional members of the JSON of the config; NULL: none */
    int64_t steps;        /* planned */
    double estimated_seconds; /* as of struct store_new_run */
    int64_t estimated_bytes;
    int64_t parent;       /* 0: none */
    int64_t sweep;        /* 0: none */
    const char *note;     /* NULL: none */
    const char *name;     /* NULL: none */
    const char *cell;     /* as of struct store_new_run */
    const char *tag;      /* NULL: none */
    const char *imported; /* as of struct store_new_run */
};
/* Adds a queued run with a record per module; *id is its number, and the store holds its lock
 * (store_create_run). `p`: the run's plan. */
int run_row_create(struct store *s, const struct run_config *c, const struct plan *p,
                   const struct history_row *x, int64_t *id, struct err *e);

/* Returns whether a stored run is a few-shot run, whose training is done by its child runs. */
bool run_row_is_fewshot(const struct store_run *r);
/* Returns whether a stored run is a child of a few-shot run: the additional members of its config then
 * describe the point at which it started. */
bool run_row_is_draw(const struct store_run *r);

/* Returns the training time and the peak memory of a run, each with the estimate made at its start: "14.2 s
 * (estimated 15 s)", "39 MB (estimated 37 MB)"; without a measurement only the estimate.  NULL when there
 * is neither.  Caller frees. */
char *run_row_time(const struct store_run *r);
char *run_row_memory(const struct store_run *r);

/* Returns the description of this machine: kernel and version of the matrix library, the processor, and with
 * bf16 what multiplies it. Caller frees. */
char *run_row_kernel(enum precision precision);

#endif
