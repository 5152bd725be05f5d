/* State of Heatmap: a list of matrices, the shown one, the order of its rows, and the cursor.  The app
 * replaces `data` and calls ui_changed(). */
#ifndef VIEWS_HEATMAP_H
#define VIEWS_HEATMAP_H

#include <stdbool.h>
#include <stdint.h>

#include "views/heat.h"

struct heat_matrix {
    const char *title;         /* "centroids: model and #3, cosine" */
    const char *what;          /* how its values were computed, one line */
    const char *beside;        /* values of the whole matrix, shown next to it; NULL */
    const char *const *row_note; /* and of each row; NULL */
    const char *undefined;     /* the reason for undefined cells; NULL: all are defined */
    int rows, columns;
    const double *value;
    const char *const *row_name, *const *column_name;
    bool diverging;
    const int *row_cluster, *column_cluster; /* order by clustering; NULL: none */
    const char *const *text;   /* of each row and column, the text of its example; NULL */
};

struct heatmap_data {
    const struct heat_matrix *matrix;
    int matrices;
    int attention;             /* the first attention matrix; `matrices` if there is none */
    const char *run_task;      /* as Map's (struct map_data); NULL */
    int run_task_at, run_tasks;
    const char *busy;          /* what is being computed; NULL */
    const char *failed;        /* the reason for missing data; NULL */
};

struct heatmap_view {
    struct heatmap_data data;
    /* the view's own */
    int shown;                 /* matrix */
    bool whole;                /* the cell under the cursor is described in full */
    bool cluster;              /* ordered by clustering, else as stored */
    struct heat_look look;
};

#endif
