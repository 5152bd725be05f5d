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
    bool constant;         /* the last evaluation predicted one class only */
    int place;             /* position in the queue, 1: next; 0: not queued */
    int64_t scored, to_score; /* progress of the current evaluation in examples; 0: none */
    bool none_valid;       /* the last evaluation had no valid outputs */
    bool elsewhere;        /* loaded from the database: trained by another process */
    const char *name;      /* what it is called; NULL: nothing */
};

/* A generated text of a validation example (core/train/run/event.h). */
struct train_sample {
    int64_t step;
    const char *source, *target, *generated; /* target NULL: unlabeled */
    int valid;             /* 1: names a class or is a score, 0: does not, -1: any text is an answer */
};

/* One task of a multi-task run. */
struct series_task {
    const char *name, *metric;  /* metric: the primary metric */
    size_t count;
    const double *step, *loss;  /* its training loss, at the steps with examples of it */
    size_t evals;
    const double *eval_step, *eval_value; /* NaN: undefined */
    double majority;            /* NaN: none */
    double best;                /* of its evaluations; NaN: none */
    int64_t best_step;
    const char *rows;           /* "dev 40 of 856 (seed 0)"; NULL before the first evaluation */
    double share;               /* expected share of a batch; NaN: unknown */
};

/* A loss component: "loss.task", "loss.instance". */
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
    double epoch; /* steps that take as many rows as there are; 0: unknown or not applicable */
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
    int terms;             /* 0: the loss has no components */
    const struct series_term *term;
};

/* Returns the reason if the series does not have this x axis, as a sentence; NULL: available. */
const char *series_lacks(const struct series *s, enum plot_x x);
/* Returns the x value of a step of a series that has this axis. */
double series_x(const struct series *s, enum plot_x x, double step);
/* The same of an array of steps of this series; the answer is steps itself, one of the series' arrays, or
 * *own, which the caller frees (NULL otherwise). */
const double *series_xs(const struct series *s, enum plot_x x, const double *step, size_t count,
                        double **own);

/* An overlaid run. */
struct train_run {
    int64_t id;
    const char *name;      /* "#3 lora(r=8) · reviews · seed 1", "#4 the best: …" of one that has a name */
    const struct series *series;
};
enum { TRAIN_BESIDE = 24 };

/* The quantity of the large chart. */
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
    bool texts;            /* texts are shown instead of the metric if only one fits */
    int text_top;          /* the first text shown of its set */
    int shown_task;        /* 0: the average, 1 … tasks: one task, tasks + 1: all tasks */
    int shown_term; /* 0: the total loss, 1 … terms: one component, terms + 1: all components */
    int64_t chosen[1];     /* the run an effect is about */
};

/* Returns the focused job, or NULL. */
const struct job_row *train_focused(const struct train_view *v);
/* Returns whether the run is queued or training, in this or another process. */
bool train_goes(const struct train_view *v, int64_t run);
/* Updates the view after jobs or series were replaced: focus and cursor are preserved, and the
 * y axis changes in steps. */
void train_changed(struct train_view *v);

#endif
