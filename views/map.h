/* State of Map: one or two layouts of the same examples side by side, the cursor, and the shown classes.
 *
 * The app replaces `data` between two draws (arrays and strings are its own) and calls
 * map_changed().  Requests change the view, or ask for a new layout through effects.
 *
 * In map.c; the region, its list and the small maps in map_region.c; drawn in map_draw.c. */
#ifndef VIEWS_MAP_H
#define VIEWS_MAP_H

#include <stdbool.h>
#include <stdint.h>

#include "views/effects.h"
#include "views/keys.h"
#include "views/scatter.h"

struct ui;

enum { MAP_PANELS = 2, MAP_NEIGHBORS = 5 };

/* A score in the original space, or the reason if it is undefined (static text). */
struct map_score {
    double value;
    const char *undefined;
};

/* A training step at which a run recorded embeddings; undefined numbers are NaN. */
struct map_moment {
    int64_t step;
    double silhouette, purity, metric;
    double task_silhouette, task_purity; /* of the tasks of a multi-task run */
};

/* The layout of a layer or a training step, for a small map. */
struct map_small {
    int64_t at;                /* layer (one above the last: the retriever) or step */
    const double *xy;          /* n×2; NULL: not computed yet */
};

struct map_panel {
    const char *title;         /* "model", "#3 lora(r=8)" */
    int layer, layers;         /* 0: the embedding's output */
    bool retriever;            /* vectors of the retriever of the run, instead of a layer */
    const double *xy;          /* n×2; NULL: being computed */
    const int32_t *predicted;  /* n; NULL: no head */
    const int32_t *neighbor;  /* n×MAP_NEIGHBORS rows, nearest first in the original space,
                                  -1 where there are fewer; NULL: not known */
    struct map_score silhouette, purity;           /* of the labels */
    struct map_score task_silhouette, task_purity; /* of the tasks of a multi-task run */
    int purity_k;              /* number of neighbors of purity */
    double kl;                 /* NaN before the first iteration */
    /* share of the 10 nearest neighbors that are preserved in the map; NaN likewise */
    double kept;
    const struct map_moment *moment; /* while training is played: all steps, and the shown one */
    int moments, at;
    const struct map_small *small; /* of all layers, or of the steps */
    int smalls;                /* 0: not requested */
};

struct map_data {
    int n;
    const char *const *text;   /* n */
    const int32_t *label;       /* n; -1 without */
    int classes;
    const char *const *class_name;
    const char *rows;          /* "400 of 2,538 dev rows"; NULL */
    int tasks;                 /* more than one: examples of several tasks */
    const char *const *task_name;
    const int32_t *of_task;    /* n; NULL with one task */
    const char *run_task;      /* of a multi-task run, the task of the examples; NULL */
    int run_task_at, run_tasks; /* its index (run_tasks: all tasks are shown); the number of tasks */
    const char *pool;          /* "mean" */
    double perplexity, asked;  /* in use (0: none yet), and requested */
    bool training;             /* recorded training steps are played */
    bool retriever;            /* vectors of a retriever are shown next to others of the run */
    const char *metric;        /* metric of the recorded steps; NULL */
    int iteration, iterations;
    uint64_t seed;
    int panels;                /* 0: nothing yet */
    struct map_panel panel[MAP_PANELS];
    bool playing;
    const char *busy;          /* current computation; NULL */
    const char *failed;        /* the reason for missing data; NULL */
};

enum map_color { MAP_BY_LABEL, MAP_BY_PREDICTION, MAP_BY_RIGHT, MAP_BY_TASK, MAP_COLORS };

/* A rectangle in the layout of a panel: from one cell to another, each left, low, right, high. */
struct map_region {
    bool on, extends; /* extends: it follows the cursor */
    int panel;
    double from[4], to[4];
};

struct map_view {
    struct map_data data;
    /* subjects: 0 the model, 1 model and run, 2 two runs; or embedding sets */
    int64_t subject[MAP_PANELS];
    int subjects;
    bool sets;
    bool asked;                /* requested from the app */
    char unseen[256];          /* further tasks, on which its runs were not trained */
    /* the view's own */
    struct scatter_look look[MAP_PANELS];
    uint64_t hidden;           /* bit per class, of both panels */
    int part;                  /* a panel, or `panels`: the legend */
    int class;                 /* under the legend's cursor */
    bool alone;                /* the focused panel is maximized */
    struct map_region region;
    bool list;                 /* examples are listed */
    bool many;                 /* small maps of all layers or steps of the focused panel */
    bool whole;                /* the text of the example under the cursor is shown in full */
    enum map_color color;
    bool fresh;                /* these examples were not shown yet */
    int chosen;                /* example nearest to the cursor, -1: none */
    enum glyphs glyphs;        /* of the last size, with the panes below */
    struct rect pane[MAP_PANELS];
};

/* Returns the panel under the cursor (on the legend: the last one). */
int map_focus(const struct map_view *v);

/* Return the number of classes in the current coloring, their names, and the label of each example of a
 * panel, which the caller frees. */
int map_classes(const struct map_view *v);
const char *map_class_name(const struct map_view *v, int class);
int32_t *map_labels(const struct map_view *v, int panel);
/* Makes the labels of shown examples outside the region -1. */
void map_outside(const struct map_view *v, int32_t *labels);
const char *map_name_of(const struct map_data *d, int class); /* of a label; "none" */

/* Begins a region at the cursor, or clears it; extends it to the cursor (`points`: of the focused panel). */
void map_region_turn(struct map_view *v);
void map_region_follow(struct map_view *v, const struct scatter_data *points);
/* Returns whether an example is in the region; without one all are. */
bool map_in_region(const struct map_view *v, int i);
/* Returns the shown examples of the region, without one those in sight; the caller frees them. */
int *map_listed(const struct map_view *v, int *count);
/* Moves to another example of the list; false if r is not a move. */
bool map_list_request(struct map_view *v, enum request r, int rows);
void map_list_draw(const struct map_view *v, struct canvas *c, struct rect r);
/* Draws the small maps of a panel, each with its layer or step; a click shows that one. */
void map_many_draw(const struct map_view *v, struct canvas *c, struct rect r);
void map_many_pick(struct ui *ui, int pick, struct effect *out);
void map_region_draw(const struct map_view *v, struct canvas *c, int panel);
/* Appends the numbers of its examples and of those predicted correctly. */
void map_region_words(const struct map_view *v, struct buf *b);

#endif
