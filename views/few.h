/* What the pages of runs of few shots and of runs over episodes have besides: scores against the rows of a
 * draw and the tasks by gain; the inner loop of an episode and its rates.  Filled by the app. */
#ifndef VIEWS_FEW_H
#define VIEWS_FEW_H

#include <stdint.h>

#include "views/canvas.h"

struct few_line { /* a method */
    const char *name;
    int points;
    const double *k, *mean, *sd; /* over the tasks; sd over draws, NaN: none */
    const int *draws;            /* that sd is of */
};
struct few_gain {
    const char *task;
    const double *value; /* each method's */
    double majority, gain; /* NaN: none */
};
struct few_view {
    int lines; /* 0: the run is not of few shots */
    const struct few_line *line;
    int gains, k; /* at so many rows */
    const struct few_gain *gain;
    const char *less; /* "head less lora(r=8)" */
};

struct episode_view {
    int steps; /* 0: nothing is known */
    int64_t step; /* of training, at which it was looked at */
    const double *query;          /* steps + 1: before the first and after each */
    const double *before, *after; /* steps: the loss of a step's own rows */
    int rates;
    const char *const *rate_name;
    const double *rate;
};

/* Rows that a section takes in a width, without its title; and drawing it. */
int few_rows(const struct few_view *v, int h);
void few_draw(struct canvas *c, struct rect r, const struct few_view *v, int h);
int episode_rows(const struct episode_view *v, int h);
void episode_draw(struct canvas *c, struct rect r, const struct episode_view *v, int h);

#endif
