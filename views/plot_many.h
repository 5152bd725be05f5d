/* Several series in one chart, each with its mark, distinguishable without colors; and a sparkline in a line
 * of text.  Pure functions over the caller's arrays. */
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
/* Returns the mark of a line: 1 … 9, a … z, A … Z, then one for all that are left. */
uint32_t plot_mark(int line);
enum { PLOT_SHARED = '+' }; /* for marks that share a cell */

/* Draws losses: curves with the smoothing of the look and marks along them (with few points at each), and
 * the raw points if the look has `raw`.  The window is that of the look (from < to), the y axis look->y,
 * fitted to the lines if not set. */
struct rect plot_lines(struct canvas *c, struct rect r, const struct plot_line *line, int lines,
                       const struct plot_look *look, double cursor, bool x_axis);
/* Draws evaluations as marks only, on look->metric_y. */
struct rect plot_marks(struct canvas *c, struct rect r, const struct plot_line *line, int lines,
                       const struct plot_look *look, double cursor, bool x_axis);
/* Draws all values in `columns` cells of one row, scaled from minimum to maximum: the last of each cell is
 * shown. */
void plot_spark(struct canvas *c, int x, int y, int columns, const struct plot_data *d, enum ink ink);

#endif
