/* Scatter plot of points by class: dots in braille or quadrants with one color per cell (the class
 * with most points in it), or one letter per cell without colors or fine glyphs.
 *
 * Both axes have the same scale, so that distances are not distorted.  Pure functions over the
 * caller's arrays. */
#ifndef VIEWS_SCATTER_H
#define VIEWS_SCATTER_H

#include <stdbool.h>
#include <stdint.h>

#include "views/canvas.h"

enum { SCATTER_CLASSES = 64 };

struct scatter_data {
    int n;
    const double *xy;      /* n×2; a point that is not finite is not drawn */
    const int32_t *label;  /* n, in 0…classes-1; < 0: none, drawn dim */
    int classes;           /* at most SCATTER_CLASSES are distinguished */
    const char *const *name; /* classes: drawn next to their points where they cover few; NULL: not drawn */
};

struct scatter_look {
    double zoom;           /* 1: all points in sight */
    double x, y;           /* the pane's middle, from the points' middle, in half their extent */
    double u, v;           /* the cursor, in shares of the pane's width and height */
    uint64_t hidden;       /* bit per class that is not drawn */
};
void scatter_look_init(struct scatter_look *k);

/* Draws the points into r.  `chosen`: a point to mark, -1 none; `cursor`: the look's cursor
 * is shown. */
void scatter_draw(struct canvas *c, struct rect r, const struct scatter_data *d,
                  const struct scatter_look *k, int chosen, bool cursor);
/* Returns whether a point is drawn where it is in sight. */
bool scatter_drawn(const struct scatter_data *d, const struct scatter_look *k, int point);
/* Writes the points that are drawn within r; returns their number. */
int scatter_in_sight(enum glyphs g, struct rect r, const struct scatter_data *d, const struct scatter_look *k,
                     int *point);
/* Writes what the cursor's cell covers of the data: left, low, right, high. */
void scatter_span(enum glyphs g, struct rect r, const struct scatter_data *d, const struct scatter_look *k,
                  double out[4]);
/* Draws the outline of such a rectangle, without covering points. */
void scatter_box(struct canvas *c, struct rect r, const struct scatter_data *d, const struct scatter_look *k,
                 const double box[4]);
/* Returns whether a point is drawn in the cursor's cell. */
bool scatter_under(enum glyphs g, struct rect r, const struct scatter_data *d, const struct scatter_look *k,
                   int point);
/* Returns the drawn point nearest to the cursor's cell, the first of equals; -1: none. */
int scatter_nearest(enum glyphs g, struct rect r, const struct scatter_data *d,
                    const struct scatter_look *k);
/* Moves the cursor to a point, and the window if the point is not visible. */
void scatter_go(enum glyphs g, struct rect r, const struct scatter_data *d, struct scatter_look *k,
                int point);
/* Writes the cell of r under the cursor. */
void scatter_cell(struct rect r, const struct scatter_look *k, int *x, int *y);
/* Moves the cursor by cells; at the edge the window moves too. */
void scatter_move(enum glyphs g, struct rect r, const struct scatter_data *d,
                  struct scatter_look *k, int columns, int rows);
/* Zooms by a factor; what is under the cursor stays there. */
void scatter_zoom(enum glyphs g, struct rect r, const struct scatter_data *d,
                  struct scatter_look *k, double factor);

/* Return whether classes are drawn as letters on this canvas, the mark of a class in the legend, and its
 * style. */
bool scatter_letters(const struct canvas *c, int classes);
uint32_t scatter_mark(const struct canvas *c, int classes, int class);
struct style scatter_mark_style(const struct canvas *c, int classes, int class);
/* Returns the style of a class that is shown by a letter or digit. */
struct style scatter_style(const struct canvas *c, int class);

#endif
