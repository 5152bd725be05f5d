/* Several series in one chart, each with a mark of its own, so that they stay apart without colours too; and
 * a small curve in a line of text.  Pure functions over the caller's arrays. */
#ifndef VIEWS_PLOT_MANY_H
#define VIEWS_PLOT_MANY_H

#include "views/plot.h"

struct plot_line {
    struct plot_data data;
    uint32_t mark;
    struct style style;
    int dash; /* 0: unbroken, 1 dashed, 2 dotted, 3 dash and dot, 4 …: the same again; steep parts are never
                 broken */
    int pick; /* a click on the line (views/zone.h); 0: it leads nowhere */
};
/* The mark of a line: 1 … 9, a … z, A … Z, then one for all that are left. */
uint32_t plot_mark(int line);
enum { PLOT_SHARED = '+' }; /* in place of marks that fall on one cell */

/* Losses: curves, smoothed as the look says, with their marks along them, of few points at each; behind them,
 * where the look says so, the raw points.  The window is the look's (from < to), the y axis look->y, fitted
 * to the lines where it is not set. */
struct rect plot_lines(struct canvas *c, struct rect r, const struct plot_line *line, int lines,
                       const struct plot_look *look, double cursor, bool x_axis);
/* Evaluations: marks alone, on look->metric_y. */
struct rect plot_marks(struct canvas *c, struct rect r, const struct plot_line *line, int lines,
                       const struct plot_look *look, double cursor, bool x_axis);
/* The values from the first to the last in `columns` cells of one row, between the least and the greatest of
 * them: the last of each cell is shown. */
void plot_spark(struct canvas *c, int x, int y, int columns, const struct plot_data *d, enum ink ink);

#endif
