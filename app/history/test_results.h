/* What a run came to on the test rows of --split-validation, read from the history. */
#ifndef APP_HISTORY_TEST_RESULTS_H
#define APP_HISTORY_TEST_RESULTS_H

#include "core/base/err.h"
#include "store/store.h"

struct test_result {
    char *task, *metric; /* of several tasks; its deciding metric */
    double value, loss, majority; /* NaN: undefined, not there, none */
    char *undefined;     /* why there is no value; NULL otherwise */
    char *rows;          /* "test 28 (best checkpoint, step 40)" */
};
struct test_results {
    int count;           /* 0: the run was scored on none */
    struct test_result *of;
};
/* Of a run that was read whole (store.h).  ERR_INPUT for a config that cannot be read. */
int test_results(struct store *s, const struct store_run *run, struct test_results *out, struct err *e);
void test_results_release(struct test_results *r);

#endif
