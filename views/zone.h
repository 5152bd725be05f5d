/* Clickable zones of the window, recorded by the drawing code, each with the keys that move the cursor
 * there.
 *
 * A click on a list, table or chart is equivalent to keys.  Nothing is stored: a click redraws the screen
 * into a canvas that collects the zones. */
#ifndef VIEWS_ZONE_H
#define VIEWS_ZONE_H

#include "views/canvas.h"

struct zone {
    struct rect at;
    int part;          /* presses of Tab (below 0: of Shift-Tab) … */
    int right, down; /* … then of arrows, from the cursor to the cell at the rectangle's upper left corner */
    int wide,
        rows; /* a grid: each `wide` columns are one to the right, each line is `rows` down; 0: one thing */
    int tall;          /* lines of a row of the grid; 0: one */
    uint32_t key;      /* pressed if the cursor is already there, PRESS_ENTER in lists; 0: none */
    int pick;          /* above 0, instead of all that: passed to `pick` of the screen */
};
enum { ZONES = 4096 };
struct zones {
    int count;
    struct zone of[ZONES];
};

/* Records a zone, clipped to the drawable area; no effect on a canvas without zones.  Later zones are above
 * earlier ones. */
void zone_add(struct canvas *c, struct zone z);
/* Records the columns with a `pick` of the screen. */
void zone_pick(struct canvas *c, int x, int y, int columns, int pick);
/* Records row y of a list that Enter opens, i lines below the cursor. */
void zone_row(struct canvas *c, struct rect r, int y, int i);
/* Return the zone at a cell, or NULL; the moves from the cursor to it. */
const struct zone *zone_at(const struct zones *z, int x, int y);
void zone_steps(const struct zone *z, int x, int y, int *right, int *down);

#endif
