/* A page of rules and paragraphs that is read by scrolling.
 *
 * It is drawn from a line above its top, and what lies outside is clipped; without a canvas it is measured
 * alone.  So one routine draws a page, and tells how many rows it has. */
#ifndef VIEWS_SHEET_H
#define VIEWS_SHEET_H

#include "views/canvas.h"

struct sheet {
    struct canvas *c; /* NULL: nothing is drawn */
    struct rect r;
    int top, rows;    /* the first row seen; rows so far */
    enum glyphs glyphs;
    bool dim;         /* whatever its inks */
};

/* Returns where on the canvas the next row is. */
int sheet_y(const struct sheet *s);
void sheet_rule(struct sheet *s, const char *title, const char *right);
/* Wraps a text from column x of the page on, so that it is read to its end. */
void sheet_text(struct sheet *s, int x, enum ink ink, const char *text);
/* A row of it, cut where it is longer. */
void sheet_line(struct sheet *s, int x, enum ink ink, const char *text);

#endif
