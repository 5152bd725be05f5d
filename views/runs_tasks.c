/* Runs with several tasks: a column a task. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "views/runs.h"
#include "views/ui.h"
#include "views/ui_parts.h"

static int runs_tasks_by_name(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool named(const struct runs_view *v, const char *name) {
    for (int i = 0; i < v->tasks; i++)
        if (!strcmp(v->task[i], name)) return true;
    return false;
}

void runs_name_tasks(struct runs_view *v) {
    v->tasks = 0;
    for (int i = 0; i < v->shown && v->by_task; i++) {
        const struct run_row *r = &v->row[v->order[i]];
        for (int k = 0; k < r->task_results && v->tasks < RUNS_TASKS; k++)
            if (!named(v, r->task_result[k].name)) v->task[v->tasks++] = r->task_result[k].name;
    }
    qsort(v->task, (size_t)v->tasks, sizeof *v->task,
          runs_tasks_by_name); /* the same places when a run comes */
}

const struct task_row *runs_task_at(const struct runs_view *v, const struct run_row *r, int column) {
    const char *task = runs_column_at(v, column).task;
    for (int k = 0; task && k < r->task_results; k++)
        if (!strcmp(r->task_result[k].name, task)) return &r->task_result[k];
    return NULL;
}

const char *runs_tasks_hint(const struct runs_view *v) {
    if (v->by_task) return "no tasks";
    for (int i = 0; i < v->shown; i++) {
        const char *metric = v->row[v->order[i]].metric;
        if (metric && !strcmp(metric, "average")) return "by task";
    }
    return NULL;
}

void runs_task_words(const struct task_row *t, struct buf *out) {
    buf_printf(out, "%s %s %s @ %lld", t->name, t->metric, show_value(t->value).text, (long long)t->step);
    if (t->undefined) buf_printf(out, " (undefined: %s)", t->undefined);
    if (isfinite(t->majority)) buf_printf(out, ", majority %s", show_value(t->majority).text);
    if (t->rows) buf_printf(out, ", %s examples", show_count(t->rows).text);
}
