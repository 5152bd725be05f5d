/* Points in the plane by class: dots in braille or quadrants, one colour a cell (the class
 * with most points in it), or one letter a cell where colours or fine marks are missing.
 *
 * Both directions share one scale, since a map means nothing when it is stretched.  Pure
 * functions over the caller's arrays. */
#ifndef VIEWS_SCATTER_H
#define VIEWS_SCATTER_H

#include <stdbool.h>
#include <stdint.h>

#include "views/canvas.h"

enum { SCATTER_COLOURS = 8, SCATTER_CLASSES = 64 };

struct scatter_data {
    int n;
    const double *xy;      /* n×2; a point that is not finite is not drawn */
    const int32_t *label;  /* n, in 0…classes-1; < 0: none, drawn dim */
    int classes;           /* at most SCATTER_CLASSES are told apart */
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
/* The drawn point nearest to the cursor's cell, the first of equals; -1 when there is none. */
int scatter_nearest(enum glyphs g, struct rect r, const struct scatter_data *d,
                    const struct scatter_look *k);
/* Puts the cursor onto a point, moving the window when it is out of sight. */
void scatter_go(enum glyphs g, struct rect r, const struct scatter_data *d, struct scatter_look *k,
                int point);
/* The cell of r that the cursor is on. */
void scatter_cell(struct rect r, const struct scatter_look *k, int *x, int *y);
/* The cursor by cells; beyond the edge the window moves along. */
void scatter_move(enum glyphs g, struct rect r, const struct scatter_data *d,
                  struct scatter_look *k, int columns, int rows);
/* Zooms by a factor; what is under the cursor stays there. */
void scatter_zoom(enum glyphs g, struct rect r, const struct scatter_data *d,
                  struct scatter_look *k, double factor);

/* Whether classes are told by letters on this canvas, and how a class looks in its legend. */
bool scatter_letters(const struct canvas *c, int classes);
uint32_t scatter_mark(const struct canvas *c, int classes, int class);
struct style scatter_style(const struct canvas *c, int class);

#endif
