/* Charts of one curve in which every point counts.
 *
 * Points are thinned for drawing by the least and the greatest of each pixel column, so
 * that a single spike stays; smoothing runs over the whole series before thinning, is
 * debiased at the start and leaves a constant alone; points that are not finite stay out
 * of the axis range and of the smoothing, and are marked at the top.  The y axis has the range
 * of what is drawn (plot_range.c): the smoothed curve whole, raw points but for spikes, which are
 * marked at the border.  Axes tick at 1-2-5 steps and move with hysteresis.  Pure functions over
 * the caller's arrays. */
#ifndef VIEWS_PLOT_H
#define VIEWS_PLOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "views/canvas.h"

enum { AXIS_GUTTER = PANE_EDGE + 6 }; /* columns left of a chart's inside: labels of five, and the y axis */

/* A y axis: lo and hi are multiples of `step` (powers of ten when log). */
struct axis_range {
    double lo, hi, step;
    bool log;
    bool set;
};

/* The quantity of the x axis: the step, or the tokens, time or epochs until then. */
enum plot_x { PLOT_X_STEP, PLOT_X_TOKENS, PLOT_X_TIME, PLOT_X_EPOCH, PLOT_XS };
/* Return "step", "tokens", "time" or "epoch"; and the unit shown on the axis, "seconds". */
const char *plot_x_name(enum plot_x x);
const char *plot_x_unit(enum plot_x x);

struct plot_look {
    enum plot_x x;         /* names the x axis; the data are in it */
    bool log_x;
    bool log;
    int smooth;            /* 0 none … PLOT_SMOOTH_MAX */
    bool raw;              /* envelope of the raw points */
    bool whole;            /* all points are in the y range: they are few, or have no noise */
    bool follow;           /* the window's end stays at the last point */
    double from, to;       /* stretch of x shown; from ≥ to: all */
    struct axis_range y, metric_y;
    const double *mark;    /* steps where something new begins: the second stage, the third … */
    int marks;
};
enum { PLOT_SMOOTH_MAX = 6 };

/* Returns the smoothing weight of a level: 0, 0.5, 0.8, 0.9, 0.95, 0.98, 0.99. */
double plot_smooth_weight(int level);
/* out[i]: debiased exponential mean of values 0…i; where value[i] is not finite the mean
 * stays what it was (NaN before the first finite one). */
void plot_smooth(const double *value, size_t n, double weight, double *out);

/* Changes *a only if the data leave it or fill less than half of it. */
void axis_fit(struct axis_range *a, double lo, double hi, bool log);
/* Writes the short label of a tick: "0.70", "1e-4", "20k". */
void axis_label(double value, double step, char out[16]);
/* Returns 1, 2 or 5 times a power of ten, at least `span / parts`. */
double axis_step(double span, int parts);

struct plot_data {
    const double *step, *value;
    size_t count;
};

/* Returns the index of the point nearest to `step` (the earlier of two), or count if empty. */
size_t plot_nearest(const struct plot_data *d, double step);
/* Computes the minimum and maximum finite value with from ≤ step ≤ to; false if there is none. */
bool plot_extent(const struct plot_data *d, double from, double to, bool positive, double *lo,
                 double *hi);

/* A range of y; zero before the first plot_widen. */
struct plot_span {
    double lo, hi;
    bool any, log; /* log: of the values above 0 */
};
/* Widens *s by what a chart draws of d in the look's window: the smoothed curve whole, and where raw points
 * are drawn these but for spikes (with look->whole all).  Of a log axis values above 0 alone, where any
 * series has some. */
void plot_widen(struct plot_span *s, const struct plot_data *d, const struct plot_look *look);
/* The same of evaluations, all of them, and of their baseline (NaN: none). */
void plot_widen_metric(struct plot_span *s, const struct plot_data *d, double baseline);

/* Returns whether nothing is drawn in r, the cursor's line aside: there is room for words. */
bool plot_blank(const struct canvas *c, struct rect r);
/* Loss chart with axes in r.  cursor < 0: none.  This and the other charts return the part without axes,
 * empty if there is not enough room. */
struct rect plot_curve(struct canvas *c, struct rect r, const struct plot_data *d,
                       const struct plot_look *look, double cursor, bool x_axis);
/* Draws evaluations: marked points joined by steps, a line for the baseline (NaN: none). */
struct rect plot_points(struct canvas *c, struct rect r, const struct plot_data *d,
                        const struct plot_look *look, double baseline, double cursor, double from, double to,
                        bool x_axis);

#endif
