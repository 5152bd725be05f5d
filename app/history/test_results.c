#include "app/history/test_results.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "app/history/record.h"
#include "core/base/mem.h"
#include "core/train/config/config.h"

static const struct store_eval_row *test_results_find(const struct store_evals *v, const char *split,
                                                      const char *metric) {
    char *name = store_name(split, metric);
    const struct store_eval_row *found = NULL;
    for (size_t i = 0; i < v->count && !found; i++)
        if (!strcmp(v->row[i].name, name)) found = &v->row[i];
    free(name);
    return found;
}

static double test_results_value_of(const struct store_evals *v, const char *split, const char *metric) {
    const struct store_eval_row *r = test_results_find(v, split, metric);
    return r ? r->value.v : NAN;
}

/* Adds the result of one task if it was evaluated; `name`: NULL for the only one. */
static void test_results_add(struct test_results *out, const struct store_evals *v, const char *name,
                             const char *metric) {
    char *split = name ? xprintf("%s/test", name) : xstrdup("test");
    const struct store_eval_row *r = metric ? test_results_find(v, split, metric) : NULL;
    if (r)
        out->of[out->count++] = (struct test_result){
            .task = xcopy(name), .metric = xstrdup(metric),
            .value = r->value.v, .loss = test_results_value_of(v, split, "loss"),
            .majority = test_results_value_of(v, split, "majority"),
            .undefined = xcopy(r->value.undefined),
            .rows = xcopy(r->rows) };
    free(split);
}

int test_results(struct store *s, const struct store_run *run, struct test_results *out, struct err *e) {
    struct run_config c;
    struct store_evals v;
    *out = (struct test_results){ 0 };
    int rc = record_config_of(run, &c, e);
    if (rc) return rc;
    rc = store_evaluations(s, run->id, &v, e);
    if (!rc) {
        out->of = xcalloc((size_t)config_task_count(&c), sizeof *out->of);
        for (int i = 0; i < c.tasks; i++) test_results_add(out, &v, c.of[i].task_name, c.of[i].metric);
        if (!c.tasks) test_results_add(out, &v, NULL, c.metric);
        store_evals_release(&v);
    }
    config_release(&c);
    return rc;
}

void test_results_release(struct test_results *r) {
    for (int i = 0; i < r->count; i++) {
        free(r->of[i].task);
        free(r->of[i].metric);
        free(r->of[i].undefined);
        free(r->of[i].rows);
    }
    free(r->of);
    *r = (struct test_results){ 0 };
}
