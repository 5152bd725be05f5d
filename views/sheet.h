/* A scrollable page of rules and paragraphs.
 *
 * It is drawn from a line above its top and clipped; without a canvas it is only measured, so that one
 * routine both draws a page and counts its rows. */
#ifndef VIEWS_SHEET_H
#define VIEWS_SHEET_H

#include "views/canvas.h"

enum { SHEET_ROOM = 26 }; /* rows of a page on which titles may be set apart */

struct sheet {
    struct canvas *c; /* NULL: nothing is drawn */
    struct rect r;
    int top, rows;    /* the first row seen; rows so far */
    enum glyphs glyphs;
    bool dim;         /* whatever its inks */
    bool apart;       /* titles follow a blank row */
};

/* Returns the position of the next row on the canvas. */
int sheet_y(const struct sheet *s);
void sheet_rule(struct sheet *s, const char *title, const char *right);
/* Draws a wrapped text from column x of the page (PANE_EDGE: aligned with the titles). */
void sheet_text(struct sheet *s, int x, enum ink ink, const char *text);
/* Draws one row of text, truncated to the page. */
void sheet_line(struct sheet *s, int x, enum ink ink, const char *text);

#endif
