/* How long the runs that a sweep lacks are likely to take, by what runs of the history took a step. */
#ifndef APP_SWEEP_EXPECTED_H
#define APP_SWEEP_EXPECTED_H

#include "app/sweep/sweep_runs.h"

struct expected_time {
    double seconds; /* of training, all runs together, each as the history counts it; NaN: not known */
    int runs;       /* of the history, by which that is told */
    char *why;      /* why it is not known, else NULL; expected_release */
};
/* Notes of a completed cell what a step of it costs by. */
void expected_note(struct sweep_entry *x, const struct run_config *c);
/* After sweep_plan_make and sweep_plan_find.  Rates are those of finished runs of the same model, rows,
 * batch, lengths and evaluations on this machine and kernel: of the cell's method, else of all methods. */
int expected_time(const struct sweep_plan *p, struct store *s, struct expected_time *out, struct err *e);
void expected_release(struct expected_time *t);
/* As members "seconds", and "seconds_of" or "no_seconds"; as a line. */
void expected_json(const struct expected_time *t, struct buf *out);
void expected_line(const struct expected_time *t, struct buf *out);

#endif
