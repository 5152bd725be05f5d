/* Learning rate tuning (--lr auto): the learning rate of a method on a task is selected by separate runs.
 *
 * The first cell of a method, model and task is trained at 1/9, 1/3, 1, 3 and 9 times the method's default
 * learning rate, in full length, with a seed that the sweep does not use, on nine tenths of the training
 * set; the tenth that is held out by seed is the validation set, never the dev file.  If the best value is
 * at an edge, two more are tried beyond it, twice at most.  The selection depends only on the database, so
 * that every process decides the same.  The runs are tagged "tune" and enter no mean. */
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
    int leader;   /* the cell whose runs tune the learning rate */
    double usual; /* the method's default */
    char *config; /* the cell's completed config, as JSON */
    /* of a leader only */
    char *held;   /* config of its tuning runs */
    int rates, direction;
    struct tune_rate rate[TUNE_RATES]; /* lowest first */
    int chosen;   /* index of the selected one; −1: not known yet */
    bool none;    /* no learning rate produced a score */
};

/* Returns whether a run with these tags ("a, tune"; NULL: none) is a tuning run, which enters no mean. */
bool tune_is_tagged(const char *tags);
/* Returns whether this option of the cell requests it. */
bool tune_is_asked(const struct sweep_plan *p, int cell, int option);
/* Prepares a cell that requests it (else does nothing): c is completed at the default learning rate. */
int tune_prepare(struct sweep_plan *p, int cell, const struct run_config *c, struct jobs *j, struct err *e);
void tune_free(struct sweep_tune *t); /* NULL is ignored */
void tune_record(const struct sweep_tune *t, struct buf *b); /* as a member of the cell's record */
struct sweep_tune *tune_read(const struct sweep_plan *p, int cell, const json_t *record);
/* Evaluates all tuning runs from the database; cells whose learning rate is known get their keys (*news). */
int tune_settle(struct sweep_plan *p, struct store *s, bool *news, struct err *e);
/* Sets the tuned learning rate, if it is known. */
void tune_apply(const struct sweep_plan *p, int cell, struct run_config *c);
/* Returns whether the cell's runs tune a learning rate. */
bool tune_leads(const struct sweep_plan *p, int cell);
/* Builds the config of a leader's run at a learning rate; release with config_release, also after a
 * failure. */
int tune_config(const struct sweep_plan *p, int cell, int rate, struct run_config *c, struct err *e);
/* Returns whether tuning gave no value: the cell has no runs. */
bool tune_has_none(const struct sweep_plan *p, int cell);
/* Adds learning rates, runs and seconds to the cell's group. */
void tune_tell(const struct sweep_plan *p, int cell, struct compared_group *g);

#endif
