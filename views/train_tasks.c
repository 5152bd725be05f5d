/* Several tasks on Train: a line each, and what the large charts show of them. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "views/plot_many.h"
#include "views/scatter.h"
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

static struct plot_data train_tasks_data_of(const struct series_task *t, bool losses) {
    return losses ? (struct plot_data){t->step, t->loss, t->count}
                  : (struct plot_data){t->eval_step, t->eval_value, t->evals};
}

struct plot_data train_loss(const struct train_view *v) {
    const struct series_task *t = train_task(v);
    const struct series_term *part = train_term(v);
    if (t) return train_tasks_data_of(t, true);
    if (part) return (struct plot_data){part->step, part->loss, part->count};
    return train_chart_of(v, &v->series);
}

struct plot_data train_metric(const struct train_view *v) {
    const struct series_task *t = train_task(v);
    if (t) return train_tasks_data_of(t, false);
    return (struct plot_data){v->series.eval_step, v->series.eval_value, v->series.evals};
}

void train_next_task(struct train_view *v) {
    v->shown_task = v->shown_task > v->series.tasks ? 0 : v->shown_task + 1;
    v->look.y.set = v->look.metric_y.set = false;
}

const char *train_tasks_hint(const struct train_view *v) {
    if (!v->series.tasks) return NULL;
    return v->shown_task < v->series.tasks ? "next task" : v->shown_task == v->series.tasks ? "all tasks" : "average";
}

void train_fit_tasks(struct train_view *v) {
    struct plot_span losses = {0}, metrics = {0};
    for (int i = 0; i < v->series.tasks; i++) {
        double *own;
        struct plot_data d = train_over(v, train_tasks_data_of(&v->series.task[i], true), &own);
        plot_widen(&losses, &d, &v->look);
        free(own);
        d = train_over(v, train_tasks_data_of(&v->series.task[i], false), &own);
        plot_widen_metric(&metrics, &d, NAN);
        free(own);
    }
    if (losses.any) axis_fit(&v->look.y, losses.lo, losses.hi, losses.log);
    if (metrics.any) axis_fit(&v->look.metric_y, metrics.lo, metrics.hi, false);
}

void train_draw_overlay(const struct train_view *v, struct canvas *c, struct rect r, const struct plot_look *look,
                        bool losses) {
    int n = v->series.tasks;
    struct plot_line *line = xcalloc((size_t)n, sizeof *line);
    double **own = xcalloc((size_t)n, sizeof *own);
    for (int i = 0; i < n; i++)
        line[i] = (struct plot_line){train_over(v, train_tasks_data_of(&v->series.task[i], losses), &own[i]), plot_mark(i),
                                     scatter_style(c, i), i, 0};
    if (losses) plot_lines(c, r, line, n, look, train_cursor_x(v), true);
    else plot_marks(c, r, line, n, look, train_cursor_x(v), r.h >= 8);
    for (int i = 0; i < n; i++) free(own[i]);
    free(own);
    free(line);
}

/* ---- a line each ---- */

/* Columns of the lines' parts; a width of 0: no room for it. */
struct parts {
    int name, metric, spark, value, majority, share, rows;
    int name_w, metric_w, spark_w, rows_w;
};

static struct parts train_tasks_place(const struct train_view *v, const struct canvas *c, struct rect r) {
    int name = 4, metric = 6;
    for (int i = 0; i < v->series.tasks; i++) {
        int w = canvas_width(c, v->series.task[i].name);
        name = w > name ? w : name;
        w = v->series.task[i].metric ? canvas_width(c, v->series.task[i].metric) : 0;
        metric = w > metric ? w : metric;
    }
    int most = r.w >= 120 ? 24 : 12;
    struct parts p = {.name = r.x + 3, .name_w = name > most ? most : name, .metric_w = metric > 14 ? 14 : metric};
    p.metric = p.name + p.name_w + 1;
    p.spark = p.metric + p.metric_w + 1;
    p.spark_w = r.w >= 150 ? 40 : r.w >= 120 ? 24 : 10;
    p.value = p.spark + p.spark_w + 1;
    p.majority = p.value + 8;
    p.share = p.majority + 9;
    p.rows = p.share + 9;
    p.rows_w = r.x + r.w - p.rows - 1;
    if (p.rows_w < 6) p.rows_w = 0;
    return p;
}

/* The latest evaluation's value, "undef." where there is none to it. */
static void latest(const struct series_task *t, char out[32]) {
    double value = t->evals ? t->eval_value[t->evals - 1] : NAN;
    show_value(value, out);
    if (t->evals && isnan(value)) snprintf(out, 32, "undef.");
}

static void draw_task(const struct train_view *v, struct canvas *c, const struct parts *p, int y, int i) {
    const struct series_task *t = &v->series.task[i];
    bool here = v->shown_task == i + 1;
    enum ink ink = here ? INK_TITLE : INK_TEXT;
    char text[32];
    if (here) canvas_text(c, p->name - 3, y, INK_ACCENT, "\u25B8");
    canvas_put(c, p->name - 2, y, scatter_style(c, i), plot_mark(i));
    canvas_fit(c, p->name, y, p->name_w, ink, t->name);
    if (t->metric) canvas_fit(c, p->metric, y, p->metric_w, INK_DIM, t->metric);
    struct plot_data d = train_tasks_data_of(t, false);
    plot_spark(c, p->spark, y, p->spark_w, &d, INK_METRIC);
    latest(t, text);
    canvas_right(c, p->value, y, 7, ink, text);
    show_value(t->majority, text);
    canvas_right(c, p->majority, y, 8, INK_DIM, text);
    if (isfinite(t->share)) snprintf(text, sizeof text, "%.1f %%", 100 * t->share);
    else snprintf(text, sizeof text, "\u2013");
    canvas_right(c, p->share, y, 8, INK_TEXT, text);
    if (p->rows_w && t->rows) canvas_fit(c, p->rows, y, p->rows_w, INK_DIM, t->rows);
}

/* What the columns are, on the rule itself. */
static void train_tasks_draw_heads(struct canvas *c, const struct parts *p, int y) {
    canvas_text(c, p->metric - 1, y, INK_DIM, " metric ");
    canvas_text(c, p->spark - 1, y, INK_DIM, " curve ");
    canvas_right(c, p->value, y, 8, INK_DIM, " latest ");
    canvas_right(c, p->majority, y, 9, INK_DIM, "majority ");
    canvas_right(c, p->share, y, 9, INK_DIM, "of batch ");
    if (p->rows_w) canvas_text(c, p->rows, y, INK_DIM, "rows ");
}

void train_draw_tasks(const struct train_view *v, struct canvas *c, struct rect r) {
    int rows = r.h - 1, n = v->series.tasks, top = 0;
    struct parts p = train_tasks_place(v, c, r);
    if (v->shown_task > rows && v->shown_task <= n) top = v->shown_task - rows;
    char title[32] = "tasks";
    if (n > rows) snprintf(title, sizeof title, "%d\u2013%d/%d", top + 1, top + rows < n ? top + rows : n, n);
    canvas_rule(c, r.x, r.y, r.w, title, NULL);
    train_tasks_draw_heads(c, &p, r.y);
    canvas_push_clip(c, r);
    for (int i = 0; i < rows && top + i < n; i++) draw_task(v, c, &p, r.y + 1 + i, top + i);
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
        char value[32];
        show_value(value_at(v, t), value);
        buf_printf(out, "   %c %s %s %s", (int)plot_mark(i), t->name, t->metric ? t->metric : "", value);
    }
}
