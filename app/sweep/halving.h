/* --halving: the runs of a sweep stop at rungs, and the best third of the cells goes on, as the same runs.
 *
 * A rung is the first evaluation at or after 1/9 and 1/3 of a run's steps; the third is its end.  When all
 * runs of the cells that are left have come to a rung, the third of the cells (rounded up) that is best by
 * the mean over seeds goes on, among those of one task, rows and metric; the earlier cell of equal ones.  A
 * run's value at a rung is its best so far on the deciding metric.  Runs that failed, and those that could
 * not be begun, have none.  Schedule and warm-up are those of the full length throughout.  Which cells go on
 * follows from the history alone, so every process comes to the same. */
#ifndef APP_SWEEP_HALVING_H
#define APP_SWEEP_HALVING_H

#include "app/sweep/sweep_runs.h"

enum { HALVING_RUNGS = COMPARED_RUNGS };

/* A seed's run at the rungs. */
struct halved_run {
    int64_t run;
    int reached;                 /* so many rungs */
    double value[HALVING_RUNGS]; /* at each; NaN: none */
    int direction;
    bool missing;                /* it could not be begun */
};
struct sweep_rungs {
    int64_t step[HALVING_RUNGS]; /* the last: the run's steps */
    int kind;                    /* equal where values may be compared */
    char *compared;              /* what makes the kind */
    int level;                   /* the rung that its runs go to */
    bool out;                    /* they stay there: others were better */
    struct halved_run *of;       /* of each seed */
};

/* ERR_USAGE for what cannot be asked for together with it. */
int halving_check(const struct sweep_spec *s, struct err *e);
/* For a sweep that asks for it (else nothing): c is completed.  ERR_USAGE for a run that is not evaluated at
 * its rungs. */
int halving_prepare(struct sweep_plan *p, int cell, const struct run_config *c, struct err *e);
void halving_free(struct sweep_rungs *r); /* NULL is fine */
void halving_record(const struct sweep_rungs *r,
                    struct buf *b); /* as a member of the cell's record; NULL: none */
struct sweep_rungs *halving_read(const struct sweep_plan *p, const json_t *record);
/* What the history says of all rungs, after the runs were found. */
int halving_settle(struct sweep_plan *p, struct store *s, struct err *e);

/* The rung that the cell's runs go to (0 without), the step where they stop there (0: they go through), and
 * whether they stay there for good. */
int halving_level(const struct sweep_plan *p, int cell);
int64_t halving_stop_at(const struct sweep_plan *p, int cell);
bool halving_is_out(const struct sweep_plan *p, int cell);
/* Whether the run has stopped at a rung; whether there is something to do for it by the rungs. */
bool halving_is_paused(const struct sweep_plan *p, int cell, int seed);
bool halving_is_open(const struct sweep_plan *p, int cell, int seed);

/* How the cell stands, and its values at the rungs; its runs are in the group. */
void halving_tell(const struct sweep_plan *p, int cell, const struct side_by_side *c,
                  struct compared_group *g);
/* Of the steps that all its runs would have in full length, the share that is trained at most; 1 without
 * rungs. */
double halving_share_of_steps(const struct sweep_plan *p);
/* Rungs, runs and steps of the whole, as members "rungs" and "steps", and as lines. */
void halving_plan_json(const struct sweep_plan *p, struct buf *out);
void halving_plan_lines(const struct sweep_plan *p, struct buf *out);

#endif
