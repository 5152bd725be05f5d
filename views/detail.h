/* State of a run's page.  Strings and arrays belong to the app. */
#ifndef VIEWS_DETAIL_H
#define VIEWS_DETAIL_H

#include "views/few.h"
#include "views/runs.h"

struct detail_pair {
    const char *key, *value;
};
struct detail_eval {
    int64_t step;
    double loss, value;       /* NaN: undefined */
    bool best;
};
/* What the kept checkpoint came to on test rows, which decided nothing. */
struct detail_test {
    const char *task;         /* NULL: the run has one */
    const char *metric, *rows; /* rows: "test 28 (best checkpoint, step 40)"; NULL */
    double value, loss, majority; /* NaN: undefined, none */
    const char *undefined;    /* why; NULL */
};
/* One run, filled by the app on EFFECT_OPEN_RUN. */
struct detail_view {
    struct run_row run;       /* id 0: nothing loaded yet */
    const struct detail_pair *config;
    int configs;
    const struct detail_pair *count; /* "trained without head" = "73,728", "head", "model" … */
    int counts;
    const struct detail_eval *eval;
    int evals;
    const struct detail_test *test;
    int tests;
    const struct detail_pair *artifact; /* what = path */
    int artifacts;
    const char *const *line_read; /* what was found when the rows were read, a line each */
    int lines_read;
    const char *const *warning; /* what looks wrong, whole sentences, beside what is flagged here */
    int warnings;
    struct series series;
    struct few_view few;         /* of a run of few shots, with those that were asked for together */
    struct episode_view episode; /* of a run over episodes */
    int top;                  /* the view's own: first line shown */
};

#endif
