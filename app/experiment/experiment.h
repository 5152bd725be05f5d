/* An experiment of a paper as a file: cells, which are command lines, with the number published for each, and
 * what is claimed between them (docs/replicate.md has the form).  Reading it, in experiment.c, and what came
 * of it, in result.c. */
#ifndef APP_EXPERIMENT_EXPERIMENT_H
#define APP_EXPERIMENT_EXPERIMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "core/analysis/statistics.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/report.h"

enum { EXPERIMENT_CELLS = 128, EXPERIMENT_SEEDS = 64, EXPERIMENT_TERMS = 16 };

/* A run for each seed; or, where there is a path, what a verb says of each run of the cell `of`. */
struct experiment_cell {
    char *id, *text;  /* options besides the base; of a measure a verb's whole line with {run} in it */
    char *verb;       /* which verb makes the run: NULL is train; of others, "fewshot", the base is no part */
    int of;           /* another cell's index, whose runs stand for {run}, or −1 */
    char *path;       /* of a measure: which number of the verb's JSON, "panels.0.silhouette"; NULL: a run */
    double scale;     /* what is shown is so many times the number: 100 for a share in points */
    double published; /* NaN: none */
    char *status, *source; /* of the published number: "copied", "not found" …; where it stands */
    bool skip;        /* ready to run, but not part of what is run unasked */
};

/* A difference a − b, or with several terms the slope of a − b against ln x. */
struct experiment_contrast {
    char *id, *source;
    bool over_tasks;  /* a − b of each task, the mean over the seeds, and a sign test; else of each seed */
    int terms;
    struct {
        int a, b; /* cells; b −1: a alone */
        double x;
    } term[EXPERIMENT_TERMS];
    int direction; /* 1: above `margin`, −1: below −margin, 0: within ±margin */
    double margin, published;
};

struct experiment {
    char *name; /* the file's, without its end */
    char *paper, *table, *claim, *about; /* about: how what is run here differs, and what it can show */
    char *base;                          /* options of every run */
    char *reported;                      /* tables of published numbers beside the cells, as Markdown; NULL */
    int seeds, cells, contrasts;
    uint64_t seed[EXPERIMENT_SEEDS];
    struct experiment_cell cell[EXPERIMENT_CELLS];
    struct experiment_contrast contrast[EXPERIMENT_CELLS];
};
/* ERR_INPUT names the file, the key and what would be right.  experiment_release, not after a failure. */
int experiment_read(struct experiment *x, const char *path, struct err *e);
void experiment_release(struct experiment *x);

/* What came of each cell and seed: NaN where nothing did. */
struct experiment_result {
    double value[EXPERIMENT_CELLS][EXPERIMENT_SEEDS]; /* scaled */
    int64_t run[EXPERIMENT_CELLS][EXPERIMENT_SEEDS];  /* 0: none */
    struct experiment_tasks { /* of a run of few shots, each task's own value at the largest k, scaled; owned
                               */
        int count;
        char **name;
        double *value;
    } of_task[EXPERIMENT_CELLS][EXPERIMENT_SEEDS];
};
/* Of zeroed memory, or again; experiment_result_release frees what the result owns. */
void experiment_result_init(struct experiment_result *r);
void experiment_result_release(struct experiment_result *r);
void experiment_add_task(struct experiment_tasks *t, const char *name, double value);
/* The values there are of a cell. */
struct spread experiment_cell_spread(const struct experiment *x, const struct experiment_result *r, int cell);
/* Of a contrast, over the seeds for which all its cells have a value, or over the tasks that both have. */
struct experiment_shown {
    struct spread spread;
    size_t up, down; /* of tasks: above and below the margin */
};
struct experiment_shown experiment_contrast_of(const struct experiment *x, const struct experiment_result *r,
                                               int contrast);
/* "as claimed", "the other way", "not shown", "not run": by the 95 % interval, with fewer than two seeds not
 * at all; over tasks where the sign test's p is at most 0.05.  Static text. */
const char *experiment_verdict(const struct experiment_contrast *c, const struct experiment_shown *s);

/* A cell for a table, and a contrast for a table or JSON; up, down and sign_p are NaN but over tasks. */
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

/* {"experiment","seeds","cells":[{"id","published","status","source","values","runs","n","mean","sd"}],"contrasts":
 * [{"id","n","mean","low","high","verdict","published"}]}, and back: values and runs, by cell id and seed. */
void experiment_result_json(const struct experiment *x, const struct experiment_result *r, struct buf *out);
int experiment_result_read(const struct experiment *x, const char *path, struct experiment_result *r,
                           struct err *e);
#define EXPERIMENT_PAGE                                                                                      \
    "# Published claims and results of petri\n\nWritten by `petri replicate --page`; all results of petri are "  \
    "computed from its runs. Scores that are shares are in points (×100).\n"
/* The same as Markdown, a section of a page that begins with that. */
void experiment_page(const struct experiment *x, const struct experiment_result *r, struct buf *out);

#endif
