/* Sections of the pages of few-shot and meta-learning runs: scores by shots per class and the tasks by gain;
 * the inner loop of an episode and its learning rates.  Filled by the app. */
#ifndef VIEWS_FEW_H
#define VIEWS_FEW_H

#include <stdint.h>

#include "views/canvas.h"

struct few_line { /* a method */
    const char *name;
    int points;
    const double *k, *mean, *sd; /* over the tasks; sd over support sets, NaN: none */
    const int *draws;            /* number of support sets of sd */
};
struct few_gain {
    const char *task;
    const double *value; /* each method's */
    double majority, gain; /* NaN: none */
};
struct few_view {
    int lines; /* 0: not a few-shot run */
    const struct few_line *line;
    int gains, k; /* k: shots */
    const struct few_gain *gain;
    const char *less; /* "head less lora(r=8)" */
};

struct episode_view {
    int steps; /* 0: unknown */
    int64_t step; /* training step of the measurement */
    const double *query;          /* steps + 1: before the first and after each */
    const double *before, *after; /* steps: the support loss */
    int rates;
    const char *const *rate_name;
    const double *rate;
};

/* Return the height of a section without its title; draw it. */
int few_rows(const struct few_view *v, int h);
void few_draw(struct canvas *c, struct rect r, const struct few_view *v, int h);
int episode_rows(const struct episode_view *v, int h);
void episode_draw(struct canvas *c, struct rect r, const struct episode_view *v, int h);

#endif
