/* What of a run's row takes a look at its files or points: asked for only where a column shows it, and kept
 * until the run has gone on. */
#ifndef APP_SESSION_ROW_EXTRAS_H
#define APP_SESSION_ROW_EXTRAS_H

#include "store/store.h"
#include "views/runs.h"

enum { ROW_CURVE = 16 }; /* values of a small curve */
struct row_extra {
    int64_t id, step;
    enum store_state state;
    int64_t disk;          /* bytes; -1: not looked at */
    int points;            /* of the curve; -1: not looked at */
    double curve[ROW_CURVE];
};
struct row_extras {
    struct row_extra *of;  /* by id */
    size_t count, room;
};
/* Fills disk, or curve with what points into *curves (caller frees, NULL without), of the rows; what cannot
 * be read is left out. */
void row_extras_fill(struct row_extras *x, struct store *s, const struct store_runs *stored,
                     struct run_row *row, bool disk, bool curve, double **curves);
void row_extras_release(struct row_extras *x);

#endif
