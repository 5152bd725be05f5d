/* --lr auto: the rate of a method on a task is found by runs of their own.
 *
 * The first cell of a method, model and task is trained at 1/9, 1/3, 1, 3 and 9 times the method's usual
 * rate, in full length, with a seed that is none of the sweep's, on nine tenths of the train rows; the tenth
 * that is held out by seed judges, never the dev rows.  A best rate at the edge adds two beyond it, twice at
 * most.  Which rate that is follows from the history alone, so every process comes to the same.  The runs are
 * tagged "tune" and enter no mean. */
#ifndef APP_SWEEP_TUNE_H
#define APP_SWEEP_TUNE_H

#include "app/sweep/sweep_runs.h"

#define TUNE_TAG "tune"
enum { TUNE_RATES = 9 };

struct tune_rate {
    double rate, value, seconds; /* value: the run's best; NaN: none */
    char key[65];
    struct sweep_found found;
};
struct sweep_tune {
    int leader;   /* the cell whose runs find the rate */
    double usual; /* the method's own */
    char *config; /* the cell's completed description, as JSON */
    /* of a leader */
    char *held;   /* that of its runs */
    int rates, direction;
    struct tune_rate rate[TUNE_RATES]; /* the lowest first */
    int chosen;   /* of these; −1: not known yet */
    bool none;    /* no rate gave a value */
};

/* Whether a run of these tags ("a, tune"; NULL: none) only looked for a rate: it enters no mean. */
bool tune_is_tagged(const char *tags);
/* Whether this option of the cell asks for it. */
bool tune_is_asked(const struct sweep_plan *p, int cell, int option);
/* For a cell that asks for it (else nothing): c is completed at the usual rate. */
int tune_prepare(struct sweep_plan *p, int cell, const struct run_config *c, struct jobs *j, struct err *e);
void tune_free(struct sweep_tune *t); /* NULL is fine */
void tune_record(const struct sweep_tune *t, struct buf *b); /* as a member of the cell's record */
struct sweep_tune *tune_read(const struct sweep_plan *p, int cell, const json_t *record);
/* What the history says of all rates; cells whose rate is known get their keys (*news). */
int tune_settle(struct sweep_plan *p, struct store *s, bool *news, struct err *e);
/* The rate that was found, where it is. */
void tune_apply(const struct sweep_plan *p, int cell, struct run_config *c);
/* Whether the cell's runs find a rate. */
bool tune_leads(const struct sweep_plan *p, int cell);
/* The description of a leader's run at a rate, as it is asked for; config_release, also after a failure. */
int tune_config(const struct sweep_plan *p, int cell, int rate, struct run_config *c, struct err *e);
/* Whether its rate was looked for and no rate gave a value: it has no runs. */
bool tune_has_none(const struct sweep_plan *p, int cell);
/* Rates, runs and seconds beside the cell. */
void tune_tell(const struct sweep_plan *p, int cell, struct compared_group *g);

#endif
