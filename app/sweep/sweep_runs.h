/* A sweep in the history: which runs its cells are, and making those that are missing.
 *
 * Its record holds the spec and, of each cell, its texts, whether it is a run at all, what it trains, and the key
 * (config_key) of each seed's run.  A run belongs to it by its key: equal runs that are there already, whoever
 * started them, are taken, and one run may stand in several sweeps. */
#ifndef APP_SWEEP_SWEEP_RUNS_H
#define APP_SWEEP_SWEEP_RUNS_H

#include "app/jobs/jobs.h"
#include "app/sweep/comparison.h"
#include "core/train/sweep.h"

struct sweep_entry {
    bool valid;
    char *reason; /* why it is none */
    int64_t trained;
    char (*key)[65]; /* of each seed */
    int64_t *run;    /* of each seed; 0: none yet */
    bool *over;      /* that run is finished, or failed: nothing is to be done */
};
struct sweep_plan {
    int64_t id; /* 0: not in the history */
    struct sweep_spec spec;
    struct sweep_cells cells;
    struct sweep_entry *entry; /* of each cell */
};
/* Takes over the spec, crosses its lists and completes every cell.  A cell that is no run keeps its reason.  What is
 * wrong with every cell is an error.  sweep_plan_release, also after a failure. */
int sweep_plan_make(struct sweep_plan *p, struct sweep_spec *spec, struct jobs *j, struct err *e);
/* One of the history. */
int sweep_plan_open(struct sweep_plan *p, struct store *s, int64_t id, struct err *e);
void sweep_plan_release(struct sweep_plan *p);
/* Whether a run began with another's values (train --from), which no cell does and its key does not say. */
bool sweep_began_elsewhere(const struct store *s, int64_t run);
/* Finds the runs that there are. */
int sweep_plan_find(struct sweep_plan *p, struct store *s, struct err *e);
/* Runs that are neither finished nor failed. */
int sweep_plan_lacking(const struct sweep_plan *p);
/* Keeps it in the history under its text; *p has its number then.  One that has a number already is changed. */
int sweep_plan_keep(struct sweep_plan *p, struct store *s, struct err *e);
/* Starts what is missing, and resumes what was stopped; the runs' numbers are added to *started (caller frees). */
int sweep_plan_start(struct sweep_plan *p, struct jobs *j, int64_t **started, int *count, struct err *e);
/* {"cells":[{"axes":{…},"valid","reason","runs":N,"trained"}],"runs":N} */
void sweep_plan_json(const struct sweep_plan *p, struct buf *out);
/* Its cells side by side, added to *c, in which what is asked for (comparison.h) stands already. */
int sweep_plan_compare(const struct sweep_plan *p, struct store *s, struct side_by_side *c, struct err *e);

#endif
