/* Columns of Runs that require reading a run's files or points: read only when a column is shown, and
 * cached until the run advances. */
#ifndef APP_SESSION_ROW_EXTRAS_H
#define APP_SESSION_ROW_EXTRAS_H

#include "store/store.h"
#include "views/runs.h"

enum { ROW_CURVE = 16 }; /* points of a sparkline */
struct row_extra {
    int64_t id, step;
    enum store_state state;
    int64_t disk;          /* bytes; -1: not read */
    int points;            /* of the curve; -1: not read */
    double curve[ROW_CURVE];
};
struct row_extras {
    struct row_extra *of;  /* by id */
    size_t count, room;
};
/* Fills the disk size, or the curve with pointers into *curves (caller frees; NULL: do not), of the rows;
 * unreadable ones are skipped. */
void row_extras_fill(struct row_extras *x, struct store *s, const struct store_runs *stored,
                     struct run_row *row, bool disk, bool curve, double **curves);
void row_extras_release(struct row_extras *x);

#endif
