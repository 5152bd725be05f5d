/* The row of the history that a run gets: what is frozen before its first step. */
#ifndef APP_HISTORY_RUN_ROW_H
#define APP_HISTORY_RUN_ROW_H

#include "core/method/plan.h"
#include "core/train/config/config.h"
#include "store/store.h"

/* What is said beside its completed description. */
struct history_row {
    const char *split;    /* whose metric decides; NULL: dev */
    const struct run_tasks *tasks; /* whose reading is kept; NULL: nothing was read */
    const char *more;     /* members that the JSON of its description has besides; NULL: none */
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
/* Adds it with a row for each module, queued; its number is *id and its lock the store's (store_create_run).
 * `p`: the run's plan. */
int run_row_create(struct store *s, const struct run_config *c, const struct plan *p,
                   const struct history_row *x, int64_t *id, struct err *e);

/* Whether a stored run is of few shots: it has no training of its own, its draws have. */
bool run_row_is_fewshot(const struct store_run *r);
/* Whether a stored run is a draw of a few-shot run, its parent: what its description says beside a run's is then
 * where the draw began. */
bool run_row_is_draw(const struct store_run *r);

/* Returns the training time and the memory that a run took, each with what was estimated at its start: "14.2
 * s (estimated 15 s)", "39 MB (estimated 37 MB)"; of a run without a measurement the estimate alone.  NULL
 * where there is neither.  Caller frees. */
char *run_row_took(const struct store_run *r);
char *run_row_memory(const struct store_run *r);

/* What the row says of this machine: the kernel and version of the matrix library, and the processor.  Caller
 * frees. */
char *run_row_kernel(void);

#endif
