/* State of the page of a run.  Strings and arrays belong to the app.
 *
 * In detail.c; predictions in detail_scores.c. */
#ifndef VIEWS_DETAIL_H
#define VIEWS_DETAIL_H

#include "core/train/config/option_group.h"
#include "views/few.h"
#include "views/runs.h"

struct detail_pair {
    const char *key, *value;
};
/* An option of the run, as Compose calls it. */
struct detail_setting {
    const char *name, *value;
    enum option_group group;
    bool usual;               /* at its default, or follows from the model and the task */
    bool leads;               /* shown even then */
};
struct detail_eval {
    int64_t step;
    double loss, value;       /* NaN: undefined */
    bool best;
};
/* Result of the stored checkpoint on a test set, which is not used for selection. */
struct detail_test {
    const char *task;         /* NULL: single-task run */
    const char *metric, *rows; /* rows: "test 28 (best checkpoint, step 40)"; NULL */
    double value, loss, majority; /* NaN: undefined, none */
    const char *undefined;    /* the reason; NULL */
};
/* Predictions of the best checkpoint on the validation set, filled by the app on EFFECT_SCORES. */
enum { DETAIL_ERRORS = 20 };
struct detail_class {
    const char *name;
    int64_t examples, predicted;
    double precision, recall, f1; /* NaN: undefined */
};
struct detail_error {
    int64_t line;             /* in its file, from 1 */
    const char *text, *label, *predicted;
    double label_share, predicted_share; /* their probabilities; NaN: scores, which have none */
};
struct detail_scores {
    int64_t run, step;        /* step: of the checkpoint */
    const char *task, *split;
    int64_t examples, labeled, wrong; /* wrong: 0 for scores */
    const char *metric;
    double score;             /* NaN: undefined */
    const struct detail_class *class;
    int classes;              /* 0: scores */
    const size_t *confusion;  /* classes × classes: label, predicted */
    const struct detail_error *error; /* the worst ones, worst first */
    int errors;
};
/* One run, filled by the app on EFFECT_OPEN_RUN. */
struct detail_view {
    struct run_row run;       /* id 0: nothing loaded yet */
    const struct detail_setting *setting; /* by group */
    int settings;
    const struct detail_pair *record; /* what is stored about the run in addition */
    int records;
    const struct detail_pair *count; /* "trained without head" = "73,728", "head", "model" … */
    int counts;
    const struct detail_eval *eval;
    int evals;
    const struct detail_test *test;
    int tests;
    const struct detail_pair *artifact; /* what = path */
    int artifacts;
    const char *const *line_read; /* messages of reading the data */
    int lines_read;
    const char *const *warning; /* diagnostics, in addition to run_flag */
    int warnings;
    struct series series;
    struct few_view few;         /* of a few-shot run, with the runs of the same request */
    struct episode_view episode; /* of a meta-learning run */
    const struct detail_scores *scores; /* NULL: not computed; of another run: not shown */
    /* the view's own */
    bool scoring;             /* requested */
    int top;                  /* first line shown */
    bool whole;               /* all settings are shown, with their defaults */
};

struct ui;
/* Ends a request for scores, and shows those that were computed for the run on the page. */
void detail_scored(struct ui *ui);

#endif
