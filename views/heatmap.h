/* State of Heatmap: a list of matrices, which of them is shown, how its rows are ordered,
 * and what the cursor is on.  The app replaces `data` and calls ui_changed(). */
#ifndef VIEWS_HEATMAP_H
#define VIEWS_HEATMAP_H

#include <stdbool.h>
#include <stdint.h>

#include "views/heat.h"

struct heat_matrix {
    const char *title;         /* "centroids: model and #3, cosine" */
    const char *what;          /* how its numbers were made, one line */
    const char *beside;        /* numbers of the whole that stand beside it; NULL */
    const char *const *row_note; /* and of each row; NULL */
    const char *undefined;     /* why cells have no value; NULL when it cannot happen */
    int rows, columns;
    const double *value;
    const char *const *row_name, *const *column_name;
    bool diverging;
    const int *row_cluster, *column_cluster; /* order by clustering; NULL: there is none */
};

struct heatmap_data {
    const struct heat_matrix *matrix;
    int matrices;
    int attention;             /* the first that shows attention; `matrices` when none does */
    const char *run_task;      /* as Map's (struct map_data); NULL */
    int run_task_at, run_tasks;
    const char *busy;          /* what is being computed; NULL */
    const char *failed;        /* why there is nothing; NULL */
};

struct heatmap_view {
    struct heatmap_data data;
    /* the view's own */
    int shown;                 /* matrix */
    bool cluster;              /* ordered by clustering, else as stored */
    struct heat_look look;
};

#endif
