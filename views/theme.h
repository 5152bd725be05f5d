/* How inks look in each colour mode, and what signs become where only ASCII can be shown.
 *
 * The palette keeps apart for the common forms of colour blindness (blue, orange, purple,
 * never red against green alone) and reads on dark and on light grounds; without colours
 * every distinction is kept by bold, reverse and underline. */
#ifndef VIEWS_THEME_H
#define VIEWS_THEME_H

#include "views/canvas.h"

struct style theme_style(enum ink ink, enum theme theme, enum colours colours);
/* The ASCII spelling of a sign ("λ" → "lambda"), or NULL when it has none. */
const char *theme_ascii(uint32_t cp);

#endif
