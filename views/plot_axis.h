/* The frame of a chart: gutter with y ticks, x axis with step ticks, and how values and
 * steps map to pixels inside.  Private to the plots. */
#ifndef VIEWS_PLOT_AXIS_H
#define VIEWS_PLOT_AXIS_H

#include "views/plot.h"

struct plot_frame {
    struct rect inside;  /* cells */
    int px, py;          /* pixels a cell */
    double from, to;     /* steps of the first and last pixel column */
    struct axis_range y;
    enum plot_x x;
    bool log_x;          /* then from > 0 */
};

/* Draws the axes in r, fills *f and clips to its inside; false if r is too small.  fine: of
 * as many pixels as the marks have; look: how x runs and what it is called, NULL: steps. */
bool plot_open(struct canvas *c, struct rect r, double from, double to, const struct axis_range *y, bool fine,
               const struct plot_look *look, bool with_x, struct plot_frame *f);
/* Draws the stages' marks and the cursor over it (look NULL: neither); returns the inside. */
struct rect plot_close(struct canvas *c, const struct plot_frame *f, const struct plot_look *look,
                       double cursor);
/* Return the pixel column of a step and the pixel row of a value, unbounded. */
int plot_column(const struct plot_frame *f, double step);
int plot_row(const struct plot_frame *f, double value);
/* Writes the visible range: the window of the look, else all of d. */
void plot_window(const struct plot_look *look, const struct plot_data *d, double *from, double *to);

#endif
