/* Estimated training time of a sweep's missing runs, from the time per step of stored runs. */
#ifndef APP_SWEEP_EXPECTED_H
#define APP_SWEEP_EXPECTED_H

#include "app/sweep/sweep_runs.h"

struct expected_time {
    double seconds; /* total training time of the runs; NaN: unknown */
    int runs;       /* number of stored runs that it is estimated from */
    char *why;      /* why it is unknown, else NULL; expected_release */
};
/* Records for a completed cell the factors of its time per step. */
void expected_note(struct sweep_entry *x, const struct run_config *c);
/* Estimates the time; call it after sweep_plan_make and sweep_plan_find.  The time per step is that of
 * finished runs of the same model, data, batch size, lengths and evaluations on this machine and kernel: of
 * the cell's method, else of all methods. */
int expected_time(const struct sweep_plan *p, struct store *s, struct expected_time *out, struct err *e);
void expected_release(struct expected_time *t);
/* Writes the members "seconds", and "seconds_of" or "no_seconds"; or a line. */
void expected_json(const struct expected_time *t, struct buf *out);
void expected_line(const struct expected_time *t, struct buf *out);

#endif
