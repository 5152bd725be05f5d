/* A chart with its title and a line of words for each curve, as a picture of its own. */
#ifndef VIEWS_PLOT_FIGURE_H
#define VIEWS_PLOT_FIGURE_H

#include "views/plot.h"

struct figure_line {
    struct plot_data data; /* in the look's x */
    const char *name;      /* "#3 lora(r=8) · reviews · seed 1" */
    const char *note;      /* "last 0.412, least 0.380 at step 120" */
};
struct figure {
    const char *title, *right; /* on the rule above */
    struct plot_look look;     /* its window is fitted to the lines where it has none */
    const struct figure_line *line;
    int lines;
};
/* On the whole canvas: of one curve with the raw points behind it, of several each with its mark, line and
 * colour. */
void figure_draw(struct canvas *c, const struct figure *f);

#endif
