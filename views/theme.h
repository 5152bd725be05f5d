/* The look of inks in each color mode, and the ASCII spelling of signs.
 *
 * Each theme has the grounds on which the contrast of its texts is at least 4.5: safe black and white, dark
 * those from black to #303030, light those from white to #e4e4e4; of 8 or 16 colors, by xterm's palette,
 * dark black and light white.  No color of 8 is readable on both: there safe has no colors.  The colors of
 * series are distinguishable with the common forms of color blindness; without colors every distinction is
 * made by bold, reverse and underline. */
#ifndef VIEWS_THEME_H
#define VIEWS_THEME_H

#include "views/canvas.h"

enum { THEME_SERIES = 8 };

/* Returns the colors that a theme uses of those that the terminal has. */
enum colors theme_colors(enum theme theme, enum colors colors);
struct style theme_style(enum ink ink, enum theme theme, enum colors colors);
/* Returns the number of distinct colors for series. */
int theme_series(enum theme theme, enum colors colors);
/* Returns the look of series i; `text`: it is drawn as a letter or digit, else as dots, for which a contrast
 * of 3 is enough. */
struct style theme_series_style(int i, bool text, enum theme theme, enum colors colors);
/* Returns 0xRRGGBB of a palette index from 16 to 255. */
int theme_rgb(int index);
/* Returns the ASCII spelling of a sign ("λ" → "lambda"), or NULL. */
const char *theme_ascii(uint32_t cp);

#endif
