#include "app/history/task_results.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "app/history/record.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/train/config/config.h"

void task_results_release(struct task_results *r) {
    for (int i = 0; i < r->count; i++) {
        free(r->of[i].task);
        free(r->of[i].metric);
        free(r->of[i].undefined);
    }
    free(r->of);
    *r = (struct task_results){ 0 };
}

void task_results_copy(struct task_results *to, const struct task_results *from) {
    *to = (struct task_results){ .count = from->count, .of = xcalloc((size_t)from->count, sizeof *to->of) };
    for (int i = 0; i < from->count; i++) {
        to->of[i] = from->of[i];
        to->of[i].task = xstrdup(from->of[i].task);
        to->of[i].metric = xstrdup(from->of[i].metric);
        if (from->of[i].undefined) to->of[i].undefined = xstrdup(from->of[i].undefined);
    }
}

bool task_results_several(const struct store_run *run) {
    return text_starts(run->decides, ALL_TASKS_SPLIT ".");
}

/* Matches the name in any split. */
static bool task_results_is_of(const char *name, const char *task, const char *metric) {
    const char *found = store_name_metric(name, task);
    return found && !strcmp(found, metric);
}

/* Returns the last valid result of the task's primary metric; its first split comes first. */
static const struct store_eval_row *task_results_find(const struct store_evals *v,
                                                      const struct task_result *t, int64_t step) {
    const struct store_eval_row *found = NULL;
    for (size_t i = 0; i < v->count; i++) {
        const struct store_eval_row *r = &v->row[i];
        if (!task_results_is_of(r->name, t->task, t->metric)) continue;
        if (step >= 0 ? r->step != step : !r->best && found) continue;
        if (found && found->step == r->step) continue; /* a further split */
        found = r;
    }
    return found;
}

static void task_results_fill(struct task_result *t, const struct store_evals *v, int64_t step) {
    const struct store_eval_row *r = task_results_find(v, t, step);
    t->value = t->majority = NAN;
    if (!r) return;
    t->step = r->step;
    t->rows = store_rows_count(r->rows);
    t->value = r->value.v;
    if (r->value.undefined) t->undefined = xstrdup(r->value.undefined);
    for (size_t i = 0; i < v->count; i++)
        if (v->row[i].step == r->step && isnan(t->majority) &&
            task_results_is_of(v->row[i].name, t->task, "majority"))
            t->majority = v->row[i].value.v;
}

static int read_results(struct store *s, const struct store_run *run, struct task_results *out,
                        struct err *e) {
    struct run_config c;
    struct store_evals v;
    int rc = record_config_of(run, &c, e);
    if (rc) return rc;
    if (c.tasks && !(rc = store_evaluations(s, run->id, &v, e))) {
        out->of = xcalloc((size_t)c.tasks, sizeof *out->of);
        for (int i = 0; i < c.tasks; i++) {
            struct task_result *t = &out->of[out->count++];
            t->task = xstrdup(c.of[i].task_name);
            t->metric = xstrdup(c.of[i].metric ? c.of[i].metric : "");
            task_results_fill(t, &v,
                              c.best_of == BEST_PER_TASK ? -1 : run->best.measured ? run->best.step : 0);
        }
        store_evals_release(&v);
    }
    config_release(&c);
    return rc;
}

int task_results(struct store *s, const struct store_run *run, struct task_results *out, struct err *e) {
    struct store_run whole;
    *out = (struct task_results){ 0 };
    if (!task_results_several(run)) return 0;
    if (run->config) return read_results(s, run, out, e);
    int rc = store_run(s, run->id, &whole, e);
    if (rc) return rc;
    rc = read_results(s, &whole, out, e);
    store_run_release(&whole);
    return rc;
}

void task_results_json(const struct task_results *r, const struct store_run *run, struct buf *b) {
    if (!r->count) return;
    json_open(b, "tasks", '[');
    for (int i = 0; i < r->count; i++) {
        const struct task_result *t = &r->of[i];
        json_put(b, "{task:%s,metric:%s,value:%g,undefined:%1s,step:%jd,majority:%g,rows:%jd}", t->task,
                 t->metric, t->value, t->undefined, t->step, t->majority, t->rows);
    }
    json_put(b, "],average:%g", run->best.v);
}
