/* A separate picture of a chart with a title and a line of text per curve. */
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
/* Draws on the whole canvas: one curve with its raw points, or several, each with a mark, line and color. */
void figure_draw(struct canvas *c, const struct figure *f);

#endif
