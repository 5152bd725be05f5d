/* An experiment of a paper as a file: cells, which are command lines, with the published result of each,
 * and the claims about them (docs/replicate.md describes the format).  Read by experiment.c; results in
 * result.c. */
#ifndef APP_EXPERIMENT_EXPERIMENT_H
#define APP_EXPERIMENT_EXPERIMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "core/analysis/statistics.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/report.h"

enum { EXPERIMENT_CELLS = 128, EXPERIMENT_SEEDS = 64, EXPERIMENT_TERMS = 16 };

/* One run per seed; or, with a path, a measure: a number that a verb prints for each run of the cell `of`. */
struct experiment_cell {
    char *id, *text;  /* options in addition to the base; of a measure, the whole command line with {run} */
    char *verb;       /* verb of the run: NULL: train; "fewshot", which does not use the base */
    int of;           /* index of the cell whose runs replace {run}, or −1 */
    char *path;       /* of a measure: path of the number in the JSON, "panels.0.silhouette"; NULL: a run */
    double scale;     /* factor applied to the number: 100 for proportions */
    double published; /* NaN: none */
    char *status, *source; /* of the published result: "copied", "not found" …; its source */
    bool skip;        /* can be run, but only on request */
};

/* A difference a − b, or with several terms the slope of a − b against ln x. */
struct experiment_contrast {
    char *id, *source;
    bool over_tasks;  /* a − b per task (mean over seeds) with a sign test; else per seed */
    int terms;
    struct {
        int a, b; /* cells; b −1: only a */
        double x;
    } term[EXPERIMENT_TERMS];
    int direction; /* 1: above `margin`, −1: below −margin, 0: within ±margin */
    double margin, published;
};

struct experiment {
    char *name; /* name of the file, without extension */
    char *paper, *table, *claim,
        *about; /* about: differences from the paper, and what the replication can show */
    char *base;                          /* options of every run */
    char *reported;                      /* further tables of published results, as Markdown; or NULL */
    int seeds, cells, contrasts;
    uint64_t seed[EXPERIMENT_SEEDS];
    struct experiment_cell cell[EXPERIMENT_CELLS];
    struct experiment_contrast contrast[EXPERIMENT_CELLS];
};
/* Reads an experiment; ERR_INPUT names the file, the key and the expected value.  Release with
 * experiment_release, not after a failure. */
int experiment_read(struct experiment *x, const char *path, struct err *e);
void experiment_release(struct experiment *x);

/* The results of each cell and seed: NaN: missing. */
struct experiment_result {
    double value[EXPERIMENT_CELLS][EXPERIMENT_SEEDS]; /* scaled */
    int64_t run[EXPERIMENT_CELLS][EXPERIMENT_SEEDS];  /* 0: none */
    struct experiment_tasks { /* of a few-shot run, the value of each task at the largest k, scaled; owned
                               */
        int count;
        char **name;
        double *value;
    } of_task[EXPERIMENT_CELLS][EXPERIMENT_SEEDS];
};
/* Initializes zeroed memory, or resets; experiment_result_release frees what the result owns. */
void experiment_result_init(struct experiment_result *r);
void experiment_result_release(struct experiment_result *r);
void experiment_add_task(struct experiment_tasks *t, const char *name, double value);
/* Returns the available values of a cell. */
struct spread experiment_cell_spread(const struct experiment *x, const struct experiment_result *r, int cell);
/* The result of a contrast, over the seeds for which all its cells have a value, or over the common tasks. */
struct experiment_shown {
    struct spread spread;
    size_t up, down; /* numbers of tasks above and below the margin */
};
struct experiment_shown experiment_contrast_of(const struct experiment *x, const struct experiment_result *r,
                                               int contrast);
/* Returns "as claimed", "contradicted", "not shown" or "not run": by the 95% interval, which requires two
 * seeds or more; over tasks, by a sign test with p at most 0.05.  Static text. */
const char *experiment_verdict(const struct experiment_contrast *c, const struct experiment_shown *s);

/* A cell for a table, and a contrast for a table or JSON; up, down and sign_p are NaN except over tasks. */
struct experiment_cell_line {
    const char *id;
    double published;
    struct spread of;
};
extern const struct report_column experiment_cell_columns[];
struct experiment_contrast_line {
    const char *id, *direction, *verdict;
    struct spread of;
    struct interval interval;
    double published, up, down, sign_p;
};
extern const struct report_column experiment_contrast_columns[];
struct experiment_contrast_line experiment_contrast_line(const struct experiment *x,
                                                         const struct experiment_result *r, int i);

/* Writes
 * {"experiment","seeds","cells":[{"id","published","status","source","values","runs","n","mean","sd"}],
 * "contrasts":[{"id","n","mean","low","high","verdict","published"}]}, and reads it: values and runs, by
 * cell id and seed. */
void experiment_result_json(const struct experiment *x, const struct experiment_result *r, struct buf *out);
int experiment_result_read(const struct experiment *x, const char *path, struct experiment_result *r,
                           struct err *e);
#define EXPERIMENT_PAGE                                                                                      \
    "# Published claims and results of petri\n\nWritten by `petri replicate --page`; all results of petri "  \
    "are "                                                                                                   \
    "computed from its runs. Scores that are proportions are multiplied by 100.\n"
/* Writes the result as Markdown: a section of a page that starts with EXPERIMENT_PAGE. */
void experiment_page(const struct experiment *x, const struct experiment_result *r, struct buf *out);

#endif
