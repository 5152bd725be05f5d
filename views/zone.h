/* Where a click leads: stretches of the window, told by what draws them, each with the keys that bring the
 * cursor there.
 *
 * So every list, table and chart is clicked as it is drawn, and a click does what keys do.  Nothing is kept:
 * a click draws the screen anew into a canvas that collects them. */
#ifndef VIEWS_ZONE_H
#define VIEWS_ZONE_H

#include "views/canvas.h"

struct zone {
    struct rect at;
    int part;          /* presses of Tab (below 0: of Shift-Tab) … */
    int right, down; /* … then of arrows, from the cursor to the cell at the rectangle's upper left corner */
    int wide,
        rows; /* a grid: each `wide` columns are one to the right, each line is `rows` down; 0: one thing */
    uint32_t key;      /* pressed where the cursor need not move, PRESS_ENTER in lists; 0: none */
    int pick;          /* above 0, and in place of all that: for the screen's own `pick` */
};
enum { ZONES = 4096 };
struct zones {
    int count;
    struct zone of[ZONES];
};

/* Notes a zone, cut to what may be drawn on; nothing on a canvas that collects none.  What is noted later
 * lies above. */
void zone_add(struct canvas *c, struct zone z);
/* Notes so many columns as the screen's own `pick`. */
void zone_pick(struct canvas *c, int x, int y, int columns, int pick);
/* Row y of a list that Enter opens: i lines below the cursor. */
void zone_row(struct canvas *c, struct rect r, int y, int i);
/* What lies at a cell, or NULL; what is there, from the cursor. */
const struct zone *zone_at(const struct zones *z, int x, int y);
void zone_steps(const struct zone *z, int x, int y, int *right, int *down);

#endif
