/* The look of inks in each color mode, and the ASCII spelling of signs.
 *
 * The palette is distinguishable with the common forms of color blindness (blue, orange, purple,
 * never only red against green) and readable on dark and light backgrounds; without colors
 * every distinction is made by bold, reverse and underline. */
#ifndef VIEWS_THEME_H
#define VIEWS_THEME_H

#include "views/canvas.h"

struct style theme_style(enum ink ink, enum theme theme, enum colours colours);
/* Returns the ASCII spelling of a sign ("λ" → "lambda"), or NULL. */
const char *theme_ascii(uint32_t cp);

#endif
