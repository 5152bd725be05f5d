/* State of Map: one or two layouts of the same rows side by side, what the cursor is on,
 * and which classes are shown.
 *
 * The app replaces `data` between two draws (arrays and strings are its own) and calls
 * map_changed().  Requests change the view, or ask for a new layout through effects.
 *
 * In map.c; drawn in map_draw.c. */
#ifndef VIEWS_MAP_H
#define VIEWS_MAP_H

#include <stdbool.h>
#include <stdint.h>

#include "views/scatter.h"

enum { MAP_PANELS = 2, MAP_NEIGHBOURS = 5 };

/* A number in the original space, or why there is none (static text). */
struct map_score {
    double value;
    const char *undefined;
};

/* One of the moments at which a run kept its rows' vectors; numbers NaN where they have no value. */
struct map_moment {
    int64_t step;
    double silhouette, purity, metric;
    double task_silhouette, task_purity; /* of the tasks, where there are several */
};

struct map_panel {
    const char *title;         /* "model", "#3 lora(r=8)" */
    int layer, layers;         /* 0: the embedding's output */
    bool retriever;            /* in place of a layer: what the run's retriever makes of the rows */
    const double *xy;          /* n×2; NULL: on its way */
    const int32_t *predicted;  /* n; NULL: it has no head */
    const int32_t *neighbour;  /* n×MAP_NEIGHBOURS rows, nearest first in the original space,
                                  -1 where there are fewer; NULL: not known */
    struct map_score silhouette, purity;           /* of the labels */
    struct map_score task_silhouette, task_purity; /* of the tasks, where there are several */
    int purity_k;              /* neighbours that purity looked at */
    double kl;                 /* NaN before the first iteration */
    double kept;               /* share of the 10 nearest that are so in the map; NaN likewise */
    const struct map_moment *moment; /* while training is played: all, and which is shown */
    int moments, at;
};

struct map_data {
    int n;
    const char *const *text;   /* n */
    const int32_t *gold;       /* n; -1 without */
    int classes;
    const char *const *class_name;
    const char *rows;          /* "400 of 2,538 dev rows"; NULL */
    int tasks;                 /* more than one: rows of several tasks */
    const char *const *task_name;
    const int32_t *of_task;    /* n; NULL with one task */
    const char *run_task;      /* of a run with several tasks, the one whose rows these are; NULL */
    int run_task_at, run_tasks; /* its place, from 0 (run_tasks: all are shown); how many */
    const char *pool;          /* "mean" */
    double perplexity, asked;  /* in use (0: none yet), and asked for */
    bool training;             /* moments of training are played */
    bool retriever;            /* a retriever's vectors stand beside others of one run */
    const char *metric;        /* the moments' own; NULL */
    int iteration, iterations;
    uint64_t seed;
    int panels;                /* 0: nothing yet */
    struct map_panel panel[MAP_PANELS];
    bool playing;
    const char *busy;          /* what is being done meanwhile; NULL */
    const char *failed;        /* why there is nothing; NULL */
};

enum map_colour { MAP_BY_LABEL, MAP_BY_PREDICTION, MAP_BY_RIGHT, MAP_BY_TASK, MAP_COLOURS };

struct map_view {
    struct map_data data;
    /* what is looked at: 0 the model alone, 1 model and run, 2 two runs; or kept sets */
    int64_t subject[MAP_PANELS];
    int subjects;
    bool sets;
    bool asked;                /* the app was asked for it */
    char unseen[256];          /* tasks that its runs were not trained on, beside theirs */
    /* the view's own */
    struct scatter_look look[MAP_PANELS];
    uint64_t hidden;           /* bit per class, of both panels */
    int part;                  /* a panel, or `panels`: the legend */
    int class;                 /* under the legend's cursor */
    bool alone;                /* the panel in focus takes the whole width */
    enum map_colour colour;
    bool fresh;                /* nothing of these rows was shown yet */
    int chosen;                /* row nearest to the cursor, -1 none */
    enum glyphs glyphs;        /* of the last size, with the panes below */
    struct rect pane[MAP_PANELS];
};

/* The panel under the cursor (of the legend: the last one). */
int map_focus(const struct map_view *v);

/* Classes as they are coloured now: how many, their names, and the label of each row of a
 * panel, which the caller frees. */
int map_classes(const struct map_view *v);
const char *map_class_name(const struct map_view *v, int class);
int32_t *map_labels(const struct map_view *v, int panel);

#endif
