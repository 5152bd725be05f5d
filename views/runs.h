/* State of Runs: the table of all runs.  Rows and strings belong to the app; order, filter, marks and cursor
 * to the view.
 *
 * In runs.c, runs_filter.c, runs_keep.c, runs_columns.c, runs_tasks.c and runs_groups.c; drawn in
 * runs_draw.c. */
#ifndef VIEWS_RUNS_H
#define VIEWS_RUNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/train/run/event.h"
#include "views/train.h"

/* Result on one of several tasks, at the stored checkpoint. */
struct task_row {
    const char *name, *metric; /* the primary metric */
    double value;              /* NaN: undefined, or not evaluated */
    const char *undefined;     /* why; NULL */
    int64_t step;
    double majority;           /* NaN: none */
    int64_t rows;              /* validation examples; 0: unknown */
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
    int64_t trained;          /* trainable parameters without the head */
    double seconds;
    uint64_t seed;
    const char *started;      /* local time as text */
    const char *reason;       /* of a failure or interruption; NULL */
    bool constant;            /* the last evaluation predicted one class only */
    bool resumable;           /* can be resumed or restarted */
    int64_t rows;             /* validation examples of best, 0: unknown */
    double lr;                /* NaN: unknown */
    bool unfit;               /* does not match the filter */
    const struct task_row *task_result; /* of a multi-task run, if requested */
    int task_results;
    bool none_valid;          /* the last evaluation had no valid outputs */
    const char *decides,
        *rows_sha256; /* the metric of best, "dev.accuracy", and the hash of its examples; NULL: unknown */
    bool tuning;              /* trial of a learning rate search: not part of means */
    const char *name;         /* name; NULL: none */
    const char *tags, *note;  /* "a, b"; NULL: none */
    bool pinned;              /* listed before all others */
    int64_t disk;             /* bytes of its files, < 0: unknown */
    const double *curve;      /* a few values of its loss; NULL: not requested */
    int curve_points;
    const char
        *evidence; /* evidence key (core/train/config/evidence.h), equal for repeated runs; NULL: unique */
    const char *weights;      /* SHA-256 of the trained parameters; NULL: unknown */
    int64_t ended;            /* UTC milliseconds */
    bool fewshot;             /* a few-shot run or a draw of one: resumed in a shell, and not trained again */
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
    COL_COUNT /* then one column per task */
};
enum { RUNS_TASKS = 64, RUNS_TASK_WIDTH = 9, RUNS_FILTER = 128, RUNS_PAST = 16 };

/* The only runs that are listed, opened from another screen or from a group; none: all runs. */
struct runs_only {
    int64_t *run;             /* ids, owned, sorted */
    int runs;
    int seeds;                /* distinct seeds of those that are listed */
    char what[200];           /* their description: "lora(r=2)" */
};

/* Runs with the same value of a column, and comparable best values. */
struct runs_group {
    char value[64];
    int first, runs;          /* in member[] */
    int n; /* finished runs with a value, without learning rate trials and repeats */
    int repeats;              /* repeats, not counted in n */
    bool differs;             /* some repeats have different weights */
    double mean, sd, best;    /* NaN: none */
};

struct runs_view {
    /* set by the app, then runs_changed() */
    const struct run_row *row;
    int rows;
    bool trash;               /* the rows are those in the trash; toggled by the view */
    char filter_error[900];   /* error of the filter, "": none */
    int width;                /* of the table, of the last size */
    /* the view's own */
    int *order;               /* indices of the rows shown, owned */
    int shown;
    int64_t *marked;          /* ids, owned, sorted */
    int marks, marks_room;
    int64_t *chosen;          /* ids an effect is about, owned */
    int cursor, top, page;    /* in order[]; page: rows that fit, of the last size */
    int64_t cursor_id;        /* the run under the cursor, preserved when rows change */
    int column, sort;         /* under the cursor; sorted by */
    bool reverse;
    bool visible[COL_COUNT];  /* columns that are shown, also those scrolled out of sight */
    /* The columns chosen by the user (picks 0: automatic), and all from left to right: place[] also has those
     * of tasks. */
    int picked[COL_COUNT], place[COL_COUNT + RUNS_TASKS];
    int picks, places;
    const char *metric;       /* the common metric of all shown runs, or NULL */
    bool by_task;             /* one column per task; a change is an EFFECT_BY_TASK */
    const char *task[RUNS_TASKS]; /* their names in order, of all shown runs */
    int tasks;
    int left;                 /* columns scrolled past, besides id and method, which stay */
    int method_width, task_width, whole; /* whole: the width at which no text of the table is cut off */
    bool grouped;             /* groups by the column group_by are shown instead of runs */
    int group_by;
    struct runs_group *group; /* owned */
    int *member;              /* the rows of all groups in sequence, owned */
    bool *counted;            /* whether each member is counted in n, owned */
    int groups, group_cursor, group_top;
    int purging;              /* runs of the open question, in chosen[] */
    char purged[128];         /* description of the deletion */
    struct runs_only only;    /* a change is an EFFECT_FILTER */
    char filter[RUNS_FILTER]; /* as the command line's; a change is an EFFECT_FILTER */
    char before[RUNS_FILTER]; /* the filter when its prompt was opened */
    char past[RUNS_PAST][RUNS_FILTER]; /* earlier filters, the newest last */
    int pasts, past_at;       /* past_at: the one in the prompt, pasts: none */
};

/* Recomputes the order after a change of rows, sort or filter; the cursor stays on its run. */
void runs_changed(struct runs_view *v);
/* Returns the row under the cursor, or NULL. */
const struct run_row *runs_at_cursor(const struct runs_view *v);

struct ui;
/* Opens the list of saved filters, with the active one to be saved or deleted. */
void runs_saved(struct ui *ui, const char *const *filter, int filters);
/* Sets the stored columns by name; unknown names are ignored. */
void runs_columns_kept(struct ui *ui, const char *names);
/* Asks for confirmation of an EFFECT_PURGE_COUNT, unless another question is open; what: the deletion. */
void runs_purge_ask(struct ui *ui, int runs, const char *what);

bool runs_is_marked(const struct runs_view *v, int64_t id);

#endif
