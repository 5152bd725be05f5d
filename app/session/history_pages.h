/* Rows of the history and pages of its runs in the shapes that Runs and a run's page take. */
#ifndef APP_SESSION_HISTORY_PAGES_H
#define APP_SESSION_HISTORY_PAGES_H

#include "app/history/series.h"
#include "app/history/test_results.h"
#include "app/session/page_few.h"
#include "app/session/result_cache.h"
#include "store/store.h"
#include "views/ui.h"

/* The rows of Runs: run_row points into `stored`. */
struct history_rows {
    bool trash;
    char *filter;    /* as it was asked for */
    char error[900]; /* why it cannot be read; "": it can */
    struct store_runs stored;
    struct run_row *row;
    int rows;
    struct task_results *results; /* of each row; NULL: not asked for */
    struct task_row **task;
    char **started; /* local times */
    double *curves; /* of all rows; NULL: not asked for */
    char (*keys)[65]; /* memory of the rows' evidence */
};
/* Reads all rows; those that do not pass the filter (NULL: all do) are marked so.  tasks: what each task of
 * runs with several came to is read too; NULL: not. */
int history_rows_read(struct store *s, bool trash, const char *filter, struct result_cache *tasks,
                      struct history_rows **out, struct err *e);
void history_rows_free(struct history_rows *r); /* NULL is no work */

struct run_page {
    struct detail_view view; /* pointers below are its memory */
    struct store_run stored;
    struct detail_pair *pair;
    int pairs;
    size_t pair_room;
    char **line; /* of the rows' reports */
    char **sentence; /* of what looks wrong */
    char **text;
    int texts;
    struct detail_eval *eval;
    struct run_series *series;
    struct page_few few;
    struct task_results results;
    struct task_row *task;
    struct test_results test;
    struct detail_test *tests;
    char started[32];
};
int run_page_read(struct store *s, int64_t run, struct run_page **out, struct err *e);
void run_page_free(struct run_page *d); /* NULL is no work */

#endif
