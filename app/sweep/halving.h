/* Successive halving (--halving): the runs of a sweep pause at rungs, and the best third of the cells
 * continues.
 *
 * A rung is the first evaluation at or after 1/9 and 1/3 of a run's steps; the third one is its end.  When
 * all runs of the remaining cells have reached a rung, the best third of the cells (rounded up) by the mean
 * over seeds continues, separately for each task, examples and metric; ties go to the earlier cell.  The
 * value of a run at a rung is its best so far on the primary metric.  Runs that failed or could not be
 * started have none.  Schedule and warm-up are always those of the full length.  Which cells continue
 * depends only on the database, so that every process decides the same. */
#ifndef APP_SWEEP_HALVING_H
#define APP_SWEEP_HALVING_H

#include "app/sweep/sweep_runs.h"

enum { HALVING_RUNGS = COMPARED_RUNGS };

/* The run of a seed at the rungs. */
struct halved_run {
    int64_t run;
    int reached;                 /* number of rungs reached */
    double value[HALVING_RUNGS]; /* at each; NaN: none */
    int direction;
    bool missing;                /* it could not be started */
};
struct sweep_rungs {
    int64_t step[HALVING_RUNGS]; /* the last: the run's steps */
    int kind;                    /* equal if values can be compared */
    char *compared;              /* description of the kind */
    int level;                   /* the rung up to which its runs train */
    bool out;                    /* eliminated at this rung */
    struct halved_run *of;       /* one per seed */
};

/* Returns ERR_USAGE for options that cannot be combined with it. */
int halving_check(const struct sweep_spec *s, struct err *e);
/* Prepares a cell of a sweep that uses it (else does nothing): c is completed.  ERR_USAGE for a run that is
 * not evaluated at its rungs. */
int halving_prepare(struct sweep_plan *p, int cell, const struct run_config *c, struct err *e);
void halving_free(struct sweep_rungs *r); /* NULL is ignored */
void halving_record(const struct sweep_rungs *r,
                    struct buf *b); /* as a member of the cell's record; NULL: none */
struct sweep_rungs *halving_read(const struct sweep_plan *p, const json_t *record);
/* Evaluates all rungs from the database, after the runs were found. */
int halving_settle(struct sweep_plan *p, struct store *s, struct err *e);

/* Return the rung up to which the cell's runs train (0 without rungs), the step at which they pause (0:
 * none), and whether the cell is eliminated. */
int halving_level(const struct sweep_plan *p, int cell);
int64_t halving_stop_at(const struct sweep_plan *p, int cell);
bool halving_is_out(const struct sweep_plan *p, int cell);
/* Return whether the run is paused at a rung; and whether its rungs require an action. */
bool halving_is_paused(const struct sweep_plan *p, int cell, int seed);
bool halving_is_open(const struct sweep_plan *p, int cell, int seed);

/* Describes the state of the cell and its values at the rungs; its runs are in the group. */
void halving_tell(const struct sweep_plan *p, int cell, const struct side_by_side *c,
                  struct compared_group *g);
/* Returns the maximum share of the steps of all full-length runs that is trained; 1 without rungs. */
double halving_share_of_steps(const struct sweep_plan *p);
/* Write rungs, runs and steps of the whole sweep, as members "rungs" and "steps", and as lines. */
void halving_plan_json(const struct sweep_plan *p, struct buf *out);
void halving_plan_lines(const struct sweep_plan *p, struct buf *out);

#endif
