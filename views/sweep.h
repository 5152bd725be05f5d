/* State of Sweep: the list of sweeps, and one of them as a grid of two axes, the main effect of each axis,
 * the Pareto front, and parallel coordinates.  Data and strings belong to the app, the rest to the
 * view.
 *
 * In sweep.c; drawn in sweep_draw.c and sweep_charts.c. */
#ifndef VIEWS_SWEEP_H
#define VIEWS_SWEEP_H

#include <stdbool.h>
#include <stdint.h>

#include "views/heat.h"

struct sweep_item {
    int64_t id;
    const char *text;     /* its command line */
    int64_t runs;         /* that were made for it */
    int64_t live;         /* of these, waiting or training */
    int64_t finished;
};
/* The cost of the Pareto front. */
enum sweep_cost { SWEEP_TRAINED, SWEEP_SECONDS, SWEEP_MEMORY, SWEEP_COSTS };
struct sweep_tile {       /* a cell */
    const char *name, *state, *seeds;
    const char *reason;   /* the reason if it is invalid, or the failures of its runs; NULL */
    const char *const *axis; /* its value of each axis; NULL: none */
    bool valid;
    bool front[SWEEP_COSTS]; /* Pareto-optimal; false if page.no_cost has a reason */
    bool best;            /* of its kind */
    int kind;             /* cells of one kind may be compared; -1: no value */
    int n;                /* runs that count */
    double mean, sd, low, high, rank; /* NaN: none */
    double cost[SWEEP_COSTS]; /* trainable parameters, seconds, peak bytes; NaN: unknown */
    const int64_t *run;
    int runs;
    double seconds_left;  /* estimated training time of its unfinished runs; NaN: unknown */
    const double *rung;   /* the means at page.rungs; NaN: not reached; NULL: none */
    /* In words: the mean over seeds; the paired difference from the best other cell; what follows; the runs
     * with their values, and what is left.  NULL: not known. */
    const char *evidence, *difference, *follows, *list;
};
struct sweep_effect {      /* of a level of an axis */
    const char *axis, *level; /* level NULL: a slope */
    const char *aliased;  /* names of the axes that it cannot be separated from; NULL */
    int axis_at;
    int n;
    double value, low, high; /* NaN: unknown */
};
struct sweep_page {
    int64_t id;           /* 0: none */
    const char *text, *metric, *rows; /* NULL while no run has a value */
    const char *mixed;    /* the reason if not all cells can be compared, in a line; NULL */
    const char *leader;   /* the best cell so far and since when it leads; NULL: none, or several metrics */
    bool points;          /* values are shown ×100 */
    const char *const *axis;
    const int *shown_axis; /* those that are not part of another */
    int axes, shown_axes;
    int rungs; /* of successive halving, the last is the end of training; 0: not halved */
    const struct sweep_tile *tile;
    int tiles;
    const struct sweep_effect *effect;
    int effects;
    const char *no_cost[SWEEP_COSTS]; /* the reason if cells cannot be compared by the cost, such as runs of
                                         several machines; NULL */
    const char *effects_of, *no_effects; /* their runs and blocks; the reason if there are none; NULL */
    int wanted, over, live,
        failed; /* runs: requested, finished or failed, waiting or training, failed */
    double seconds_left;  /* NaN: unknown */
    bool working;         /* this process works on it */
    /* of a few-shot run, which `petri resume` continues; it is not resumed or extended here */
    bool draws;
};

enum sweep_part { PART_GRID, PART_EFFECTS, PART_FRONT, PART_LINES, PART_COUNT };

struct sweep_view {
    /* set by the app */
    const struct sweep_item *item;
    int items;
    struct sweep_page page;
    char failed[900];     /* why there is none; "" */
    /* the view's own */
    int64_t open;         /* the sweep shown; 0: the list is */
    int cursor, top;      /* in the list */
    enum sweep_part part;
    enum sweep_cost cost; /* of the front */
    int pair;             /* which two axes the grid has */
    int slice;            /* which values the others have there */
    struct heat_look look;
    int effect, effect_top; /* under the cursor among the effects */
    int tile, tile_top;   /* in the front's order, or of the lines */
    int64_t chosen[1];    /* what an effect is about */
};
/* The page of another sweep, from its start, once the app has filled it. */
void sweep_open(struct sweep_view *v, int64_t id);
/* The value that a cell has on an axis, "–": none; the distinct ones in the order of the cells and of each
 * cell which (how many; both have room for all cells). */
const char *sweep_value_at(const struct sweep_page *p, int tile, int axis);
int sweep_levels(const struct sweep_page *p, int axis, const char **name, int *level);
enum { SWEEP_BEST = 0x25B2 /* ▲ */, SWEEP_FRONT = 0x25CB /* ○ */, SWEEP_RUNNING = 0x25B6 /* ▶ */,
       SWEEP_WAITING = 0x2026 /* … */ };
/* The sign of a cell; of one without a value that of its state; 0: none. */
uint32_t sweep_sign(const struct sweep_view *v, const struct sweep_tile *t);
/* The grid as it is shown.  value: rows × columns, NaN where there is none; tile: of each its cell, -1: none.
 * All owned: sweep_grid_release. */
struct sweep_grid {
    int row_axis, column_axis; /* -1: one row */
    int slices;
    char *others;         /* "batch=16", "" without further axes */
    struct heat_data data;
    double *value;
    uint32_t *sign;       /* of each cell */
    const char **row, **column;
    int *tile;
};
void sweep_grid(const struct sweep_view *v, struct sweep_grid *out);
void sweep_grid_release(struct sweep_grid *g);
/* The cells in the order of what they cost, or as they are where that is not compared, in *out, which the
 * caller frees; how many. */
int sweep_front(const struct sweep_view *v, int **out);
const char *sweep_cost_name(enum sweep_cost c); /* "trainable parameters", "time", "memory" */
/* The cell under the cursor of the part shown, -1: none. */
int sweep_at_cursor(const struct sweep_view *v);

#endif
