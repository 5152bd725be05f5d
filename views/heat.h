/* A matrix as coloured cells: two rows a line by half blocks, or one row a line with the
 * value printed where it fits; by density of marks where there are no colours.
 *
 * The scale runs over the cells that are defined.  A value that is not finite is undefined:
 * it is marked, never drawn as a number, and changes nothing for the other cells.  Pure. */
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
    const int *row_order, *column_order; /* what is shown where; NULL: as stored */
};

/* Sizes of a cell, from the smallest. */
enum heat_size { HEAT_HALF, HEAT_HALF_WIDE, HEAT_LINE, HEAT_SHORT, HEAT_FULL, HEAT_SIZES };

struct heat_look {
    bool fit;              /* the largest size at which all is in sight, else `size` */
    enum heat_size size;
    int row, column;       /* under the cursor, as shown */
    int top, left;         /* first row and column in sight */
    int part;              /* presses of Tab that a click takes first (views/zone.h) */
    uint32_t key;          /* what a click on the cursor's cell presses; 0: nothing */
};

/* Least and greatest finite value (diverging: -m and m); false when no cell is defined.
 * *undefined: how many cells are not. */
bool heat_scale(const struct heat_data *d, double *lo, double *hi, int *undefined);
/* The value at a shown place. */
double heat_value(const struct heat_data *d, int row, int column);
const char *heat_row_name(const struct heat_data *d, int row);
const char *heat_column_name(const struct heat_data *d, int column);

/* The size used in r, and how many rows and columns are in sight there. */
struct heat_page {
    enum heat_size size;
    int label;             /* columns of the row labels */
    int cell;              /* columns of a cell */
    int rows, columns;
};
struct heat_page heat_page(const struct canvas *c, struct rect r, const struct heat_data *d,
                           const struct heat_look *k);
/* Keeps the cursor inside the matrix and in sight. */
void heat_settle(struct heat_look *k, const struct heat_data *d, const struct heat_page *p);

/* … and notes where clicks lead. */
void heat_draw(struct canvas *c, struct rect r, const struct heat_data *d, const struct heat_look *k);
/* One line: the palette with least, middle and greatest value; returns the columns used. */
int heat_legend(struct canvas *c, int x, int y, int columns, const struct heat_data *d);

#endif
