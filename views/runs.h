/* State of Runs: the table of all runs.  Rows and strings belong to the app; order, filter, marks and cursor
 * to the view.
 *
 * In runs.c, runs_keep.c, runs_columns.c, runs_tasks.c and runs_groups.c; drawn in runs_draw.c. */
#ifndef VIEWS_RUNS_H
#define VIEWS_RUNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/train/run/event.h"
#include "views/train.h"

/* One of several tasks, at the kept checkpoint. */
struct task_row {
    const char *name, *metric; /* the metric that decides */
    double value;              /* NaN: undefined, or not evaluated */
    const char *undefined;     /* why; NULL */
    int64_t step;
    double majority;           /* NaN: none */
    int64_t rows;              /* dev rows; 0: not known */
};

struct run_row {
    int64_t id;
    enum run_state state;
    int64_t step, steps;      /* done and planned */
    const char *method, *task, *model;
    const char *metric;       /* "accuracy"; NULL without an evaluation */
    bool smaller_better;
    double best;              /* NaN: none */
    int64_t best_step;
    double majority;          /* NaN: none */
    double final_loss;        /* NaN: none */
    int64_t trained;          /* numbers, without the head */
    double seconds;
    uint64_t seed;
    const char *started;      /* local time as text */
    const char *reason;       /* of a failure or interruption; NULL */
    bool constant;            /* predictions all the same at the last evaluation */
    bool resumable;           /* can go on, or begin anew */
    int64_t rows;             /* dev rows that best was measured on, 0: not known */
    double lr;                /* NaN: not known */
    bool unfit;               /* does not pass the filter */
    const struct task_row *task_result; /* of a run with several tasks, where they were asked for */
    int task_results;
    bool none_valid;          /* no answer of the last evaluation was one */
    const char *decides,
        *rows_sha256; /* what best is of, "dev.accuracy", and of which rows; NULL: not known */
    bool tuning;              /* only looked for a learning rate: in no mean */
    const char *name;         /* what it is called; NULL: nothing */
    const char *tags, *note;  /* "a, b"; NULL: none */
    bool pinned;              /* listed before all others */
    int64_t disk;             /* bytes of its files, < 0: not known */
    const double *curve;      /* its loss in a few values; NULL: not asked for */
    int curve_points;
    const char
        *evidence; /* key of what it is evidence of (core/train/config/evidence.h); NULL: it repeats no other run */
    const char *weights;      /* SHA-256 of the trained parameters; NULL: unknown */
    int64_t ended;            /* UTC milliseconds */
};

enum {
    COL_ID,
    COL_NAME,
    COL_STATE,
    COL_METHOD,
    COL_TASK,
    COL_BEST,
    COL_METRIC,
    COL_ROWS,
    COL_LR,
    COL_TRAINED,
    COL_TIME,
    COL_SEED,
    COL_TAGS,
    COL_DISK,
    COL_CURVE,
    COL_COUNT /* and on: a column a task */
};
enum { RUNS_TASKS = 64, RUNS_TASK_WIDTH = 9 };

/* Runs that share a column's value, and what their best values are of. */
struct runs_group {
    char value[64];
    int first, runs;          /* in member[] */
    int n; /* finished with a value, not only to find a learning rate, and no repeat of another */
    int repeats;              /* that are left out of n since they repeat another */
    bool differs;             /* some of them with other weights */
    double mean, sd, best;    /* NaN: none */
};

struct runs_view {
    /* set by the app, then runs_changed() */
    const struct run_row *row;
    int rows;
    bool trash;               /* the rows are those in the trash; toggled by the view */
    char filter_error[900];   /* why the filter cannot be read, "": it can */
    int width;                /* of the table, of the last size */
    /* the view's own */
    int *order;               /* indices of the rows shown, owned */
    int shown;
    int64_t *marked;          /* ids, owned, sorted */
    int marks, marks_room;
    int64_t *chosen;          /* ids an effect is about, owned */
    int cursor, top, page;    /* in order[]; page: rows that fit, of the last size */
    int64_t cursor_id;        /* the run it is on, which it stays on when rows change */
    int column, sort;         /* under the cursor; sorted by */
    bool reverse;
    bool visible[COL_COUNT];  /* columns that there is room and reason for */
    /* Those that the user chose (picks 0: what there is a reason for), and those visible, from left to right:
     * in place[] those of the tasks, too. */
    int picked[COL_COUNT], place[COL_COUNT + RUNS_TASKS];
    int picks, places;
    const char *metric;       /* the one of all runs shown, or NULL */
    bool by_task;             /* a column a task; a change is an EFFECT_BY_TASK */
    const char *task[RUNS_TASKS]; /* their names, of all runs shown, in their order */
    int tasks, task_left, task_room; /* task_left: the first in sight, of task_room that fit */
    bool grouped;             /* by the column group_by: groups are shown in place of runs */
    int group_by;
    struct runs_group *group; /* owned */
    int *member;              /* of each group its rows one after the other, owned */
    bool *counted;            /* of each member, whether it is one of n, owned */
    int groups, group_cursor, group_top;
    int purging;              /* runs that are asked about, in chosen[] */
    char purged[128];         /* what that would delete */
    char filter[128];         /* as the command line's; a change is an EFFECT_FILTER */
};

/* Order anew after rows, sort or filter changed; the cursor stays on its run. */
void runs_changed(struct runs_view *v);
/* The row under the cursor, or NULL. */
const struct run_row *runs_at_cursor(const struct runs_view *v);

/* What deleting the runs of an EFFECT_PURGE_COUNT would delete: is asked, unless something else is
 * meanwhile. */
struct ui;
/* The saved filters, to choose from; beside them the one in use, to be saved or forgotten. */
void runs_saved(struct ui *ui, const char *const *filter, int filters);
/* The columns that were chosen earlier, by name; one that is not known is left out. */
void runs_columns_kept(struct ui *ui, const char *names);
void runs_purge_ask(struct ui *ui, int runs, const char *what);

bool runs_is_marked(const struct runs_view *v, int64_t id);

#endif
