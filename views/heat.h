/* A matrix as colored cells: two rows per line with half blocks, or one row per line or more with the
 * value printed if it fits; by density of glyphs without colors.
 *
 * The scale covers the defined cells.  A value that is not finite is undefined: it is marked, never drawn as
 * a number, and does not affect the other cells.  Pure functions. */
#ifndef VIEWS_HEAT_H
#define VIEWS_HEAT_H

#include <stdbool.h>
#include <stdint.h>

#include "views/canvas.h"

struct heat_data {
    int rows, columns;
    const double *value;            /* rows×columns */
    const char *const *row_name, *const *column_name;
    bool diverging;                 /* values around 0: the scale is symmetrical */
    const int *row_order, *column_order; /* the shown order; NULL: as stored */
    const uint32_t
        *sign; /* rows×columns: drawn at the left of a number, or in an undefined cell; 0: none; NULL */
};

/* Sizes of a cell, from the smallest. */
enum heat_size { HEAT_HALF, HEAT_HALF_WIDE, HEAT_LINE, HEAT_SHORT, HEAT_FULL, HEAT_SIZES };

struct heat_look {
    bool fit; /* the largest size at which everything is visible, up to all of the pane; else `size` */
    enum heat_size size;
    int row, column;       /* under the cursor, as shown */
    int top, left;         /* first visible row and column */
    int part;              /* presses of Tab before a click (views/zone.h) */
    uint32_t key;          /* the key of a click on the cursor's cell; 0: none */
};

/* Computes the minimum and maximum finite value (diverging: -m and m) and the number of undefined cells;
 * returns false if no cell is defined. */
bool heat_scale(const struct heat_data *d, double *lo, double *hi, int *undefined);
/* Returns the value at a shown position. */
double heat_value(const struct heat_data *d, int row, int column);
const char *heat_row_name(const struct heat_data *d, int row);
const char *heat_column_name(const struct heat_data *d, int column);

/* The cell size used in r, and the numbers of visible rows and columns. */
struct heat_page {
    enum heat_size size;
    int label;             /* columns of the row labels */
    int cell, tall;        /* columns and lines of a cell; a line of half blocks has two cells */
    int rows, columns;
};
struct heat_page heat_page(const struct canvas *c, struct rect r, const struct heat_data *d,
                           const struct heat_look *k);
/* Moves the cursor into the matrix and makes it visible. */
void heat_settle(struct heat_look *k, const struct heat_data *d, const struct heat_page *p);

/* Draws the matrix and records zones for clicks. */
void heat_draw(struct canvas *c, struct rect r, const struct heat_data *d, const struct heat_look *k);
/* Draws one line: the palette with minimum, middle and maximum value; returns the columns used. */
int heat_legend(struct canvas *c, int x, int y, int columns, const struct heat_data *d);

#endif
