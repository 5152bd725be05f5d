/* The layout of the panes as a pure function of the window size, without state or drawing.
 *
 * Three regimes: the whole page; below 60x16 one pane and the readout; below 20x5 a single
 * line.  Rectangles stay within the window and never overlap, at any size down to 1x1. */
#ifndef VIEWS_LAYOUT_H
#define VIEWS_LAYOUT_H

#include "views/canvas.h"

enum layout_size { LAYOUT_LINE, LAYOUT_PANE, LAYOUT_PAGE, LAYOUT_WIDE };
enum { LAYOUT_MIN_W = 20, LAYOUT_MIN_H = 5, LAYOUT_PAGE_W = 60, LAYOUT_PAGE_H = 16,
       LAYOUT_WIDE_W = 120,
       LAYOUT_ROOM = 26, /* rows of a body whose panes have a blank row between them */
       LAYOUT_TALL = 40 /* rows of a window with one below the tabs */ };

/* A rectangle that is not shown is empty. */
struct layout_frame {
    enum layout_size size;
    struct rect tabs, body, readout, hints;
};
void layout_frame(int w, int h, struct layout_frame *out);

enum pane_id {
    PANE_METHOD, PANE_AXIS, PANE_BLOCK, PANE_FACTS, PANE_PRESETS,      /* compose */
    PANE_LOSS, PANE_METRIC, PANE_RATE, PANE_NORM, PANE_TEXTS, PANE_TASKS, PANE_JOBS, /* train */
    PANE_TABLE, PANE_ASIDE,                                            /* runs */
    PANE_MAP, PANE_MAP_2, PANE_FOOT,                                   /* map; also aside */
    PANE_GROUPS, PANE_EVIDENCE, PANE_DIFFERS,                          /* compare; also loss, metric */
    PANE_SWEEP_HEAD, PANE_SWEEP, PANE_SWEEP_LAST = PANE_SWEEP + 3,     /* sweep: four parts */
    PANE_HEAT_TITLE, PANE_MATRIX,                                      /* heatmap; also foot, aside */
    PANE_TEXT,                                                         /* the others */
    PANE_COUNT
};

/* The content of the panes, in rows. */
struct layout_need {
    int modules;  /* compose: rows of the method's table, without the line to add one */
    int axis;     /* rows of the axis list at this width */
    int facts;    /* rows of the facts */
    int jobs;
    int tasks;    /* train: tasks of a multi-task run; else 0 */
    bool texts;   /* train: texts are shown instead of the metric */
    bool given;   /* train: there are texts */
    int groups, differences; /* compare: lines of its table, and of the differences */
    int evidence; /* compare, sweep: lines of the evidence on a group or cell */
    int part;     /* sweep, compare: the part that is shown where there is room for one */
    int panels;   /* map: 1 or 2 side by side */
    int table;    /* runs: the width of the table, before which the pane next to it gives way; 0: any */
    bool options; /* compose: the cursor is on the run's options */
};

struct panes {
    struct rect at[PANE_COUNT]; /* empty: not shown */
    enum layout_size size;      /* of `body` */
    struct rect body;
};
/* Returns the columns of the list of methods at the side of Compose, in a wide body. */
int layout_presets(struct rect body);
/* Divides a nonempty body into the panes of a screen; NULL: all of it is PANE_TEXT. */
typedef void (*layout_panes_of)(enum layout_size size, struct rect body, const struct layout_need *need,
                                struct panes *out);
void layout_compose(enum layout_size size, struct rect body, const struct layout_need *need,
                    struct panes *out);
void layout_train(enum layout_size size, struct rect body, const struct layout_need *need, struct panes *out);
void layout_runs(enum layout_size size, struct rect body, const struct layout_need *need, struct panes *out);
void layout_compare(enum layout_size size, struct rect body, const struct layout_need *need,
                    struct panes *out);
void layout_sweep(enum layout_size size, struct rect body, const struct layout_need *need, struct panes *out);
void layout_heatmap(enum layout_size size, struct rect body, const struct layout_need *need,
                    struct panes *out);
void layout_map(enum layout_size size, struct rect body, const struct layout_need *need, struct panes *out);
/* Divides `body` (of layout_frame) into panes. */
void layout_panes(layout_panes_of panes, enum layout_size size, struct rect body,
                  const struct layout_need *need, struct panes *out);

#endif
