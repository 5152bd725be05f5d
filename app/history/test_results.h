/* Results of a run on the test set of --split-validation, read from the database. */
#ifndef APP_HISTORY_TEST_RESULTS_H
#define APP_HISTORY_TEST_RESULTS_H

#include "core/base/err.h"
#include "store/store.h"

struct test_result {
    char *task, *metric; /* task: NULL unless the run has several; metric: the primary one */
    double value, loss, majority; /* NaN: undefined, missing, or none */
    char *undefined;     /* the reason for a missing value; NULL otherwise */
    char *rows;          /* "test 28 (best checkpoint, step 40)" */
};
struct test_results {
    int count;           /* 0: the run was not evaluated on a test set */
    struct test_result *of;
};
/* Reads the results of a run that was loaded whole (store.h).  ERR_INPUT for an invalid config. */
int test_results(struct store *s, const struct store_run *run, struct test_results *out, struct err *e);
void test_results_release(struct test_results *r);

#endif
