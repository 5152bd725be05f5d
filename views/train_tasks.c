/* Several tasks on Train: a line each, and what the large charts show of them. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/mem.h"
#include "views/plot_many.h"
#include "views/scatter.h"
#include "views/table.h"
#include "views/train.h"
#include "views/ui.h"
#include "views/ui_parts.h"

const struct series_task *train_task(const struct train_view *v) {
    bool one = v->shown_task >= 1 && v->shown_task <= v->series.tasks;
    return one ? &v->series.task[v->shown_task - 1] : NULL;
}

bool train_all_tasks(const struct train_view *v) {
    return v->series.tasks && v->shown_task == v->series.tasks + 1;
}

struct plot_data train_task_data(const struct series_task *t, bool losses) {
    return losses ? (struct plot_data){ t->step, t->loss, t->count }
                  : (struct plot_data){ t->eval_step, t->eval_value, t->evals };
}

struct plot_data train_loss(const struct train_view *v) {
    const struct series_task *t = train_task(v);
    const struct series_term *part = train_term(v);
    if (t) return train_task_data(t, true);
    if (part) return (struct plot_data){ part->step, part->loss, part->count };
    return train_chart_of(v, &v->series);
}

struct plot_data train_metric(const struct train_view *v) {
    const struct series_task *t = train_task(v);
    if (t) return train_task_data(t, false);
    return (struct plot_data){ v->series.eval_step, v->series.eval_value, v->series.evals };
}

void train_next_task(struct train_view *v) {
    v->shown_task = v->shown_task > v->series.tasks ? 0 : v->shown_task + 1;
    v->look.y.set = v->look.metric_y.set = false;
}

const char *train_tasks_hint(const struct train_view *v) {
    if (!v->series.tasks) return NULL;
    return v->shown_task < v->series.tasks    ? "next task"
           : v->shown_task == v->series.tasks ? "all tasks"
                                              : "average";
}

/* ---- a line each ---- */

enum { NAME, METRIC, CURVE, LATEST, MAJORITY, SHARE, ROWS, COLUMNS };

static void place(const struct train_view *v, const struct canvas *c, struct rect r,
                  struct table_column k[COLUMNS]) {
    static const struct table_column all[COLUMNS] = {
        { "", 4, 1, false },        { " metric ", 6, 1, false }, { " curve ", 10, 1, false },
        { " latest ", 7, 1, true }, { "majority ", 8, 1, true }, { "of batch ", 8, 1, true },
        { " data ", 0, 0, false }
    };
    memcpy(k, all, sizeof all);
    for (int i = 0; i < v->series.tasks; i++) {
        int name = canvas_width(c, v->series.task[i].name);
        int metric = v->series.task[i].metric ? canvas_width(c, v->series.task[i].metric) : 0;
        if (name > k[NAME].w) k[NAME].w = name;
        if (metric > k[METRIC].w) k[METRIC].w = metric;
    }
    int most = r.w >= 120 ? 24 : 12, rest = r.w - 4;
    if (k[NAME].w > most) k[NAME].w = most;
    if (k[METRIC].w > 14) k[METRIC].w = 14;
    k[CURVE].w = r.w >= 150 ? 40 : r.w >= 120 ? 24 : 10;
    for (int i = 0; i < ROWS; i++) rest -= k[i].w + k[i].gap;
    if (rest >= 6) k[ROWS].w = rest;
}

static void draw_task(const struct train_view *v, struct table t, int i) {
    const struct series_task *task = &v->series.task[i];
    bool here = v->shown_task == i + 1;
    enum ink ink = here ? INK_TITLE : INK_TEXT;
    double latest = task->evals ? task->eval_value[task->evals - 1] : NAN;
    canvas_cursor(t.c, t.x - 3, t.y, here);
    canvas_put(t.c, t.x - 2, t.y, scatter_style(t.c, i), plot_mark(i));
    table_cell(&t, ink, "%s", task->name);
    table_cell(&t, INK_DIM, "%s", task->metric ? task->metric : "");
    struct plot_data d = train_task_data(task, false);
    plot_spark(t.c, t.x, t.y, t.next->w, &d, INK_METRIC);
    table_cell(&t, ink, "%s", "");
    table_cell(&t, ink, "%s", task->evals && isnan(latest) ? "undef." : show_value(latest).text);
    table_cell(&t, INK_DIM, "%s", show_value(task->majority).text);
    if (isfinite(task->share)) table_cell(&t, INK_TEXT, "%.1f%%", 100 * task->share);
    else table_cell(&t, INK_TEXT, "\u2013");
    table_cell(&t, INK_DIM, "%s", task->rows ? task->rows : "");
}

void train_draw_tasks(const struct train_view *v, struct canvas *c, struct rect r) {
    int rows = r.h - 1, n = v->series.tasks, top = 0, x = r.x + 3;
    struct table_column column[COLUMNS];
    place(v, c, r, column);
    if (v->shown_task > rows && v->shown_task <= n) top = v->shown_task - rows;
    int last = top + rows < n ? top + rows : n;
    canvas_title(c, r, n > rows ? phrase("%d\u2013%d/%d", top + 1, last, n).text : "tasks", NULL);
    for (const struct table_column *k = column; k < column + COLUMNS;
         x += k->w + k->gap, k++) { /* on the rule itself */
        if (k->right) canvas_right(c, x, r.y, k->w + 1, INK_DIM, k->head);
        else if (k->w) canvas_text(c, x - 1, r.y, INK_DIM, k->head);
    }
    canvas_push_clip(c, r);
    for (int i = 0; i < rows && top + i < n; i++)
        draw_task(v, (struct table){ c, column, r.x + 3, r.y + 1 + i }, top + i);
    canvas_pop_clip(c);
}

/* Of the evaluation at the cursor or before it, or the latest. */
static double value_at(const struct train_view *v, const struct series_task *t) {
    size_t i = t->evals;
    while (i && v->cursor >= 0 && t->eval_step[i - 1] > (double)v->cursor) i--;
    return i ? t->eval_value[i - 1] : NAN;
}

void train_tasks_readout(const struct train_view *v, struct buf *out) {
    for (int i = 0; i < v->series.tasks; i++) {
        const struct series_task *t = &v->series.task[i];
        buf_printf(out, "   %c %s %s %s", (int)plot_mark(i), t->name, t->metric ? t->metric : "",
                   show_value(value_at(v, t)).text);
    }
}
