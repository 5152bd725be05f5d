/* State of Train: the jobs, and the focused run's series.  Arrays and strings belong to the
 * app, which replaces them between two draws; the cursor and what the chart shows belong
 * to the view.
 *
 * In train.c, train_axis.c, train_beside.c, train_tasks.c, train_terms.c and train_texts.c; drawn in
 * train_draw.c. */
#ifndef VIEWS_TRAIN_H
#define VIEWS_TRAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/train/run/event.h"
#include "views/plot.h"

struct job_row {
    int64_t id;
    enum run_state state;
    const char *method, *task;
    uint64_t seed;
    int64_t step, steps;
    double tokens_per_s;   /* 0 not known */
    double seconds_left;   /* < 0 not known */
    double best;           /* of the deciding metric; NaN before the first evaluation */
    double loss;           /* last, NaN before the first step */
    const char *reason;    /* of a failure, or a message; NULL */
    bool constant;         /* the last evaluation's predictions were all the same */
    int place;             /* in the queue, 1: next; 0: it does not wait */
    int64_t scored, to_score; /* rows of the evaluation in hand; 0: none is */
    bool none_valid;       /* no answer of the last evaluation was one */
    bool elsewhere;        /* read from the history: another process trains it, or did */
    const char *name;      /* what it is called; NULL: nothing */
};

/* A text given for a dev row (core/train/run/event.h). */
struct train_sample {
    int64_t step;
    const char *source, *target, *generated; /* target NULL: the row has none */
    int valid;             /* 1: names a class or is a score, 0: does not, -1: any text is an answer */
};

/* One of several tasks of a run. */
struct series_task {
    const char *name, *metric;  /* metric: the one that decides */
    size_t count;
    const double *step, *loss;  /* its own training loss, at the steps that had rows of it */
    size_t evals;
    const double *eval_step, *eval_value; /* NaN: undefined */
    double majority;            /* NaN: none */
    double best;                /* of its evaluations; NaN: none */
    int64_t best_step;
    const char *rows;           /* "dev 40 of 856 (seed 0)"; NULL before the first evaluation */
    double share;               /* of a batch's rows, expected; NaN: not known */
};

/* A named part of the loss: "loss.task", "loss.instance". */
struct series_term {
    const char *name;
    size_t count;
    const double *step, *loss;
};

enum { SERIES_MARKS = 8 };

/* The focused run's points, in step order; all arrays have `count` values. */
struct series {
    int64_t run;           /* 0: none */
    size_t count;
    const double *step, *loss, *lr, *grad_norm;
    const double *tokens, *seconds; /* until and with the step, in sum; NaN: not kept */
    double epoch; /* steps that take as many rows as there are; 0: not known, or there is no such thing */
    size_t evals;
    const double *eval_step, *eval_value; /* of `metric`; NaN: undefined */
    const char *metric;    /* "accuracy"; NULL before the first evaluation */
    double majority;       /* NaN: none */
    double best;           /* NaN: none */
    int64_t best_step;
    const char *eval_rows; /* "dev 2,538 rows" */
    size_t samples;
    const struct train_sample *sample; /* by step */
    int tasks;             /* 0: the run has one, and all is above; else `metric` is of them together */
    const struct series_task *task;
    int marks;             /* of a run in stages: where the second, third … begins */
    double mark[SERIES_MARKS];
    int terms;             /* 0: the loss has no named parts */
    const struct series_term *term;
};

/* Why the series has no such x, a whole sentence; NULL: it has. */
const char *series_lacks(const struct series *s, enum plot_x x);
/* Where a step lies on it: what it took until then.  Of a series that has it. */
double series_x(const struct series *s, enum plot_x x, double step);
/* The same of an array of steps of this series; the answer is steps itself, one of the series' arrays, or
 * *own, which the caller frees (NULL otherwise). */
const double *series_xs(const struct series *s, enum plot_x x, const double *step, size_t count,
                        double **own);

/* A run that is overlaid with others. */
struct train_run {
    int64_t id;
    const char *name;      /* "#3 lora(r=8) · reviews · seed 1", "#4 the best: …" of one that has a name */
    const struct series *series;
};
enum { TRAIN_BESIDE = 24 };

/* What the large chart is of. */
enum train_chart { CHART_LOSS, CHART_RATE, CHART_NORM, CHARTS };

struct train_view {
    /* set by the app */
    const struct job_row *job;
    int jobs;              /* running first, then queued in their order, then those ended in this session */
    struct series series;
    const struct train_run
        *beside; /* overlaid, in place of the one in focus alone; asked for with EFFECT_BESIDE */
    int besides;
    /* the view's own */
    int64_t focus;         /* run id; the app may set it to a run just started */
    int64_t cursor;        /* step under the cursor, -1: none (the tail is followed) */
    struct plot_look look; /* zoom, log, smoothing, raw, axis with hysteresis */
    int64_t shown_run;     /* whose series the axes are fitted to */
    int chart_w;           /* columns of the chart at the last size, for one-column moves */
    enum train_chart chart;
    int64_t *asked;        /* runs to be overlaid, owned */
    bool texts;            /* texts in place of the metric where there is no room for both */
    int text_top;          /* the first text shown of its set */
    int shown_task;        /* of several: 0 what they have together, 1 … tasks one, tasks + 1 all at once */
    int shown_term; /* of its loss as a whole: 0 all of it, 1 … terms one part, terms + 1 all parts at once */
    int64_t chosen[1];     /* the run an effect is about */
};

/* The focused job, or NULL. */
const struct job_row *train_focused(const struct train_view *v);
/* Whether the list has the run as one that is queued or trains, here or elsewhere. */
bool train_goes(const struct train_view *v, int64_t run);
/* After job or series were replaced: focus and cursor stay where they make sense, and the
 * y axis moves in steps. */
void train_changed(struct train_view *v);

#endif
