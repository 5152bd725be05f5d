/* Run lists and run pages in the data structures of the screens. */
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
    bool trash, all; /* all: lessons' runs and draws too, as requested */
    char *filter;    /* as requested */
    char error[900]; /* error of the filter; "": none */
    struct store_runs stored;
    struct run_row *row;
    int rows;
    struct task_results *results; /* of each row; NULL: not requested */
    struct task_row **task;
    char **started; /* local times */
    double *curves; /* of all rows; NULL: not requested */
    char (*keys)[65]; /* storage of the rows' evidence keys */
};
/* Reads all runs and flags those that do not match the filter (NULL: all match).  all: with the runs of
 * lessons and draws, whatever the filter.  tasks: also read the results of the tasks of multi-task runs;
 * NULL: do not. */
int history_rows_read(struct store *s, bool trash, bool all, const char *filter, struct result_cache *tasks,
                      struct history_rows **out, struct err *e);
void history_rows_free(struct history_rows *r); /* NULL is ignored */

struct run_page {
    struct detail_view view; /* owns the pointers below */
    struct store_run stored;
    struct detail_setting *setting;
    struct detail_pair *pair;
    int pairs;
    size_t pair_room;
    char **line; /* of the import reports */
    char **sentence; /* of the diagnostics */
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
void run_page_free(struct run_page *d); /* NULL is ignored */

#endif
