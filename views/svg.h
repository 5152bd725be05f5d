/* The canvas as an SVG picture: the same cells, drawn by any browser.
 *
 * Braille dots and block elements become shapes, so that a picture does not depend on a
 * font; all other characters are text in a monospaced one. */
#ifndef VIEWS_SVG_H
#define VIEWS_SVG_H

#include "views/canvas.h"

/* Draws the canvas on the ground of its theme. */
void canvas_to_svg(const struct canvas *c, struct buf *out);

#endif
