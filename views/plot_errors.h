/* Line charts of means with error bars of ± sd at a few x values.  Pure functions over the caller's
 * arrays. */
#ifndef VIEWS_PLOT_ERRORS_H
#define VIEWS_PLOT_ERRORS_H

#include "views/plot.h"

struct plot_errors {
    const char *name;
    uint32_t mark;
    struct style style;
    int points;
    const double *x, *mean; /* NaN: nothing there */
    const double *sd;       /* NaN or NULL: no bar */
};
/* Draws the lines with their x values below the axis, named x_name; log_x: logarithmic x axis (x above 0). */
void plot_errors(struct canvas *c, struct rect r, const struct plot_errors *line, int lines, bool log_x,
                 const char *x_name);

#endif
