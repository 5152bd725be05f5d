#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/text.h"
#include "views/copy.h"
#include "views/train.h"
#include "views/ui.h"
#include "views/ui_parts.h"
#include "views/zone.h"

/* The window that all charts share: while a run goes, the steps to come.  `mark`: room for the stages'
 * beginnings. */
static struct plot_look look_of(const struct train_view *v, double mark[SERIES_MARKS]) {
    struct plot_look look = train_chart_look(v);
    const struct series *s = &v->series;
    for (int i = 0; i < s->marks; i++) mark[i] = series_x(s, look.x, s->mark[i]);
    look.mark = mark;
    look.marks = v->besides ? 0 : s->marks;
    if (look.to > look.from) return look;
    const struct job_row *job = train_focused(v);
    double from, end;
    train_window(v, &from, &end);
    bool planned = look.x == PLOT_X_STEP ||
                   look.x == PLOT_X_EPOCH; /* what the steps to come take is not known of others */
    if (planned && job && job->id == s->run && job->state <= RUN_PAUSED && job->steps > 0)
        end = fmax(end, series_x(s, look.x, (double)job->steps));
    look.from = 0;
    look.to = end < 10 && look.x == PLOT_X_STEP ? 10 : end;
    return look;
}

/* Draws the curve and what its lines are, in a corner that it leaves blank, else in a row above it. */
static void draw_curve(const struct train_view *v, struct canvas *c, struct rect r, const struct plot_data *d,
                       const struct plot_look *look) {
    struct rect in = plot_curve(c, r, d, look, train_cursor_x(v), true);
    struct phrase raw = { "" }, mean = { "" };
    if (look->smooth > 0) mean = phrase("smooth %.4g \u2501", plot_smooth_weight(look->smooth));
    if (look->raw || !look->smooth) raw = phrase("raw %s", c->glyphs == GLYPHS_BLOCKS ? "\u2591" : "\u00B7");
    int w = canvas_width(c, raw.text),
        all = w + canvas_width(c, mean.text) + (*raw.text && *mean.text ? 3 : 0);
    if (v->chart == CHART_RATE || rect_empty(in) || all > in.w) return;
    struct rect place = { in.x + in.w - all, in.y, all, 1 };
    if (!plot_blank(c, place)) place.y = in.y + in.h - 1;
    if (!plot_blank(c, place)) place.x = in.x + 1;
    if (!plot_blank(c, place)) {
        canvas_fill(c, r, INK_TEXT, ' ');
        plot_curve(c, rect_down(r, 1), d, look, train_cursor_x(v), true);
        place = (struct rect){ in.x + in.w - all, r.y, all, 1 };
    }
    canvas_text(c, place.x, place.y, look->smooth ? INK_RAW : INK_CURVE, raw.text);
    canvas_text(c, place.x + all - canvas_width(c, mean.text), place.y, INK_CURVE, mean.text);
}

/* "loss", "loss of cola rows", "loss by task"; of which scale. */
static struct phrase loss_title(const struct train_view *v) {
    const struct series_task *task = train_task(v);
    const struct series_term *part = train_term(v);
    const char *log = v->look.log ? " (log)" : "";
    if (part || v->chart) return phrase("%.60s%s", part ? part->name : train_chart_name(v), log);
    if (train_all_terms(v)) {
        struct buf b = BUF_INIT;
        train_terms_title(v, &b);
        struct phrase title = phrase("%s%s", buf_text(&b), log);
        buf_release(&b);
        return title;
    }
    return phrase("loss%s%.40s%s", task ? " of " : train_all_tasks(v) ? " by task" : "",
                  task ? task->name : "", log);
}

/* The method, behind the name of a run that has one. */
static struct phrase job_called(const struct job_row *j) {
    return phrase("%s%s%.120s", j->name ? j->name : "", j->name ? ": " : "", j->method);
}

/* kept: runs in the history. */
static void draw_loss(const struct train_view *v, int kept, struct canvas *c, struct rect r) {
    const struct series *s = &v->series;
    const struct job_row *job = train_focused(v);
    struct phrase title = { "" };
    bool smooth = v->look.smooth && v->chart != CHART_RATE;
    if (v->besides)
        title = phrase(smooth ? "smooth %g%s" : "raw", plot_smooth_weight(v->look.smooth),
                      v->look.raw ? ", raw behind; + overlap" : "; + overlap");
    else if (job)
        title = phrase("#%lld %s \u00B7 %.40s \u00B7 seed %llu", (long long)job->id, job_called(job).text,
                      job->task, (unsigned long long)job->seed);
    struct rect chart = canvas_head(c, r, loss_title(v).text, title.text);
    double mark[SERIES_MARKS];
    if (v->besides) {
        train_draw_many(v, c, chart, look_of(v, mark), false);
        return;
    }
    if (!s->count) {
        const char *says =
            !kept ? "No runs yet. Press 1 to compose a method, Enter there to train it."
                  : "No run selected. Press 3 to list all runs; W there shows the curves of a run here. "
                      "Press 1 to compose a method.";
        if (job)
            says = job->reason                ? job->reason
                   : job->state == RUN_QUEUED ? "waiting in the queue"
                                              : "waiting for the first step";
        canvas_wrap(c, rect_in(r, 3, 2),
                    job && job->state == RUN_FAILED ? INK_BAD : INK_DIM, says);
        return;
    }
    if (job && job->id == s->run && job->state == RUN_FAILED && job->reason && r.h > 8) {
        struct rect why = { r.x + PANE_EDGE, r.y + 1, r.w - PANE_EDGE - 1, 4 }; /* whole, above the curve */
        int rows = canvas_wrap(c, why, INK_BAD, job->reason);
        chart.y += rows;
        chart.h -= rows;
    }
    struct plot_look look = look_of(v, mark);
    if (train_many(v)) {
        train_draw_many(v, c, chart, look, false);
        return;
    }
    double *own;
    struct plot_data d = train_over(v, train_loss(v), &own);
    draw_curve(v, c, chart, &d, &look);
    free(own);
}

/* What an evaluation's chart is of: the whole run's metric, or one task's. */
struct shown_metric {
    const char *name, *rows;
    double best, majority;
    int64_t best_step;
};

static struct shown_metric metric_shown(const struct train_view *v) {
    const struct series *s = &v->series;
    const struct series_task *t = train_task(v);
    if (t) return (struct shown_metric){ t->metric, t->rows, t->best, t->majority, t->best_step };
    return (struct shown_metric){ s->metric, s->eval_rows, s->best, s->majority, s->best_step };
}

/* "best 0.838 @ 240 · majority 0.578 ┄ · dev 2,538 rows" */
static struct phrase metric_notes(const struct shown_metric *m) {
    struct phrase out = { "" };
    if (isfinite(m->best))
        phrase_add(&out, "best %s @ %lld", show_value(m->best).text, (long long)m->best_step);
    if (isfinite(m->majority))
        phrase_add(&out, "%smajority %s \u2504", *out.text ? " \u00B7 " : "", show_value(m->majority).text);
    if (m->rows) phrase_add(&out, "%s%.80s", *out.text ? " \u00B7 " : "", m->rows);
    return out;
}

static void draw_metric(const struct train_view *v, struct canvas *c, struct rect r) {
    const struct series_task *task = train_task(v);
    struct shown_metric m = metric_shown(v);
    bool all = train_all_tasks(v);
    double mark[SERIES_MARKS], *own;
    struct phrase right = metric_notes(&m);
    struct phrase left =
        phrase("%.40s%s%.40s", task ? task->name : "", task ? " " : "", m.name ? m.name : "dev");
    const char *about = all          ? "evaluations; + overlap"
                        : v->besides ? "evaluations; + overlap"
                                     : right.text;
    struct rect chart = canvas_head(c, r, all ? "each task's metric" : left.text, about);
    struct plot_look look = look_of(v, mark);
    if (v->besides) {
        train_draw_many(v, c, chart, look, true);
        return;
    }
    struct plot_data d = train_over(v, train_metric(v), &own);
    if (!d.count) canvas_text(c, r.x + 3, r.y + 1, INK_DIM, "no evaluation yet");
    else if (all) train_draw_many(v, c, chart, look, true);
    else plot_points(c, chart, &d, &look, m.majority, train_cursor_x(v), look.from, look.to, true);
    free(own);
}

static void draw_small(const struct train_view *v, struct canvas *c, struct rect r,
                       const char *title, const double *value) {
    const struct series *s = &v->series;
    canvas_title(c, r, title, v->besides ? phrase("of #%lld", (long long)s->run).text : NULL);
    if (!s->count || !value) return;
    double mark[SERIES_MARKS], *own;
    struct plot_data d = train_over(v, (struct plot_data){ s->step, value, s->count }, &own);
    struct plot_look look = look_of(v, mark);
    look.y.set = look.log = false;
    look.smooth = 0;
    look.whole = value == s->lr;
    struct rect chart = rect_down(r, 1);
    plot_curve(c, chart, &d, &look, train_cursor_x(v), true);
    free(own);
}

static void draw_job(const struct train_view *v, struct canvas *c, struct rect r, int y,
                     const struct job_row *j) {
    bool here = j->id == v->focus, going = j->state <= RUN_PAUSED;
    enum ink ink = here ? INK_TITLE : INK_TEXT;
    int method = r.w >= 120 ? 34 : 20, bar = r.w >= 120 ? 30 : 16, x = r.x;
    canvas_cursor(c, x, y, here);
    canvas_push_clip(c, (struct rect){ x + 1, y, 1, 1 });
    canvas_text(c, x + 1, y, state_ink(j->state), state_sign(j->state));
    canvas_pop_clip(c);
    x += 3 + canvas_fit(c, x + 3, y, 8, ink, phrase("#%lld", (long long)j->id).text) + 1;
    struct phrase text = phrase(r.w >= 120 ? "seed %llu" : "s%llu", (unsigned long long)j->seed);
    int seed = canvas_width(c, text.text) < method / 2 ? canvas_width(c, text.text) : 0;
    canvas_fit(c, x, y, method - (seed ? seed + 1 : 0), ink, job_called(j).text);
    if (seed) canvas_text(c, x + method - seed, y, INK_DIM, text.text);
    x += method + 1;
    if (j->state == RUN_QUEUED) {
        text = phrase(j->place > 1 ? "queued, %d ahead" : j->place ? "queued, next" : "queued",
                     j->place - 1);
        canvas_fit(c, x, y, r.x + r.w - x - 1, INK_DIM, text.text);
        return;
    }
    canvas_bar(c, x, y, bar, j->steps > 0 ? (double)j->step / (double)j->steps : 0);
    x += bar + 1;
    text = phrase("%lld/%lld", (long long)j->step, (long long)j->steps);
    x += canvas_right(c, x, y, 9, INK_TEXT, text.text) > 9 ? 12 : 10;
    int left = r.x + r.w - x - 1;
    if (!going) {
        text =
            phrase("%s%s%.120s", run_state_name(j->state), j->reason ? ": " : "", j->reason ? j->reason : "");
        canvas_fit(c, x, y, left, state_ink(j->state), text.text);
        return;
    }
    bool evaluates = j->state == RUN_RUNNING && j->to_score > 0, paused = j->state == RUN_PAUSED;
    if (j->elsewhere || evaluates) {
        text = j->elsewhere
                   ? phrase("%s (other process)", run_state_name(j->state))
                   : phrase("evaluating %lld/%lld", (long long)j->scored, (long long)j->to_score);
        canvas_right(c, x, y, left < 25 ? left : 25, j->elsewhere ? INK_DIM : INK_TEXT, text.text);
        return;
    }
    char number[32] = "\u2013";
    if (j->tokens_per_s > 0) text_thousands(llround(j->tokens_per_s), number);
    canvas_right(c, x, y, 12, INK_TEXT, phrase("%s tok/s", number).text);
    text = phrase(paused ? "paused" : "%s left", show_seconds(j->step > 0 ? j->seconds_left : -1).text);
    canvas_right(c, x + 13, y, left < 25 ? left - 13 : 12, paused ? INK_WARN : INK_TEXT, text.text);
}

static void draw_jobs(const struct train_view *v, struct canvas *c, struct rect r) {
    int rows = r.h - 1, focus = 0;
    for (int i = 0; i < v->jobs; i++)
        if (v->job[i].id == v->focus) focus = i;
    int top = focus >= rows ? focus - rows + 1 : 0;
    int last = top + rows < v->jobs ? top + rows : v->jobs;
    canvas_title(c, r, "jobs",
                 last - top < v->jobs ? phrase("%d\u2013%d of %d", top + 1, last, v->jobs).text : NULL);
    if (!v->jobs) canvas_text(c, r.x + 3, r.y + 1, INK_DIM, "none");
    for (int i = 0; i < rows && top + i < v->jobs; i++) {
        draw_job(v, c, r, r.y + 1 + i, &v->job[top + i]);
        zone_pick(c, r.x, r.y + 1 + i, r.w, PICK_RUN + top + i);
    }
}

static void draw_train_screen(const struct ui *ui, struct canvas *c, struct rect body) {
    const struct train_view *v = &ui->train;
    (void)body;
    struct panes p = ui_panes(ui, SCREEN_TRAIN);
    if (!rect_empty(p.at[PANE_LOSS])) draw_loss(v, ui->total_runs, c, p.at[PANE_LOSS]);
    if (!rect_empty(p.at[PANE_METRIC])) draw_metric(v, c, p.at[PANE_METRIC]);
    if (!rect_empty(p.at[PANE_TEXTS])) train_draw_texts(v, c, p.at[PANE_TEXTS]);
    /* what the large chart shows is not shown again */
    bool rate = v->chart == CHART_RATE, norm = v->chart == CHART_NORM;
    if (!rect_empty(p.at[PANE_RATE]))
        draw_small(v, c, p.at[PANE_RATE], rate ? "loss" : "learning rate",
                   rate ? v->series.loss : v->series.lr);
    if (!rect_empty(p.at[PANE_NORM]))
        draw_small(v, c, p.at[PANE_NORM], norm ? "loss" : "gradient norm",
                   norm ? v->series.loss : v->series.grad_norm);
    if (!rect_empty(p.at[PANE_TASKS])) train_draw_tasks(v, c, p.at[PANE_TASKS]);
    struct rect jobs = p.at[PANE_JOBS];
    if (rect_empty(jobs)) return;
    const struct job_row *job = train_focused(v);
    if (jobs.h > 1 && v->besides) train_beside_list(v, c, jobs);
    else if (jobs.h > 1) draw_jobs(v, c, jobs);
    else if (job) draw_job(v, c, jobs, jobs.y, job);
}

/* What looks wrong about its last evaluation. */
static void put_flags(const struct job_row *job, struct buf *out) {
    if (job->none_valid) buf_puts(out, "   \u2691 no valid outputs at the last evaluation");
    if (job->constant) buf_puts(out, "   \u2691 predicts one class only at the last evaluation");
}

/* A finished run in a line: "#3 finished: loss 0.71 → 0.39, accuracy 0.838 at step 240 …" */
static void summary(const struct train_view *v, const struct job_row *job, struct buf *out) {
    const struct series_task *task = train_task(v);
    struct shown_metric m = metric_shown(v);
    struct plot_data d = train_loss(v);
    double *mean = xmalloc((d.count + 1) * sizeof *mean);
    plot_smooth(d.value, d.count, plot_smooth_weight(3), mean);
    buf_printf(out, "#%lld finished: %s%s", (long long)job->id, task ? task->name : "", task ? " " : "");
    if (d.count) buf_printf(out, "loss %.3f \u2192 %.3f", mean[0], mean[d.count - 1]);
    free(mean);
    if (m.name && isfinite(m.best))
        buf_printf(out, ", %s %s at step %lld", m.name, show_value(m.best).text, (long long)m.best_step);
    if (isfinite(m.majority)) buf_printf(out, " (majority %s)", show_value(m.majority).text);
    put_flags(job, out);
}

/* "step 187", with what it is on another axis. */
static void put_step(const struct train_view *v, double step, struct buf *out) {
    buf_printf(out, "step %.0f", step);
    if (v->look.x != PLOT_X_STEP)
        buf_printf(out, " (%.5g %s)", series_x(&v->series, v->look.x, step), plot_x_unit(v->look.x));
}

/* The step under the cursor, or the last: its loss, and the smoothed one. */
static void point_readout(const struct train_view *v, const struct plot_data *d, size_t at, struct buf *out) {
    const struct series_task *task = train_task(v);
    const struct series_term *part = train_term(v);
    double value = d->value[at];
    put_step(v, d->step[at], out);
    buf_printf(out, "  %s%s%s %s", task ? task->name : "", task ? " " : "",
               part ? part->name : v->chart ? train_chart_name(v) : "loss",
               isfinite(value) ? phrase("%.4f", value).text : show_short(value).text);
    if (v->look.smooth > 0) {
        double *mean = xmalloc((at + 1) * sizeof *mean);
        plot_smooth(d->value, at + 1, plot_smooth_weight(v->look.smooth), mean);
        if (isfinite(mean[at])) buf_printf(out, " (smooth %.4f)", mean[at]);
        free(mean);
    }
}

static void train_draw_readout(const struct ui *ui, struct buf *out) {
    const struct train_view *v = &ui->train;
    const struct series *s = &v->series;
    const struct job_row *job = train_focused(v);
    struct plot_data d = train_loss(v);
    if (job && job->state == RUN_FAILED && job->reason && v->cursor < 0) {
        buf_printf(out, "#%lld failed: %s", (long long)job->id, job->reason);
        return;
    }
    if (!d.count) return;
    bool over = job && job->id == s->run && job->state == RUN_FINISHED;
    bool many = train_all_tasks(v) || train_all_terms(v);
    if (v->besides) {
        size_t here = v->cursor < 0 ? d.count - 1 : plot_nearest(&d, (double)v->cursor);
        put_step(v, d.step[here], out);
        train_beside_readout(v, series_x(s, v->look.x, d.step[here]), out);
        return;
    }
    if (over && v->cursor < 0 && !many && !train_term(v)) {
        summary(v, job, out);
        return;
    }
    size_t at = v->cursor < 0 ? d.count - 1 : plot_nearest(&d, (double)v->cursor);
    if (many) {
        put_step(v, d.step[at], out);
        if (train_all_tasks(v)) train_tasks_readout(v, out);
        else train_terms_readout(v, d.step[at], out);
        return;
    }
    point_readout(v, &d, at, out);
    bool whole = !train_task(v) && !v->chart;
    if (s->lr && whole) buf_printf(out, "  lr %s", show_short(s->lr[at]).text);
    if (s->grad_norm && whole) buf_printf(out, "  \u2016g\u2016 %s", show_short(s->grad_norm[at]).text);
    if (job) put_flags(job, out);
}

static void train_draw_release(struct ui *ui) { free(ui->train.asked); }

static void train_draw_changed(struct ui *ui) {
    struct panes p = ui_panes(ui, SCREEN_TRAIN);
    int chart = p.at[PANE_LOSS].w - AXIS_GUTTER - 1;
    ui->train.chart_w = chart < 1 ? 1 : chart;
    train_changed(&ui->train);
}

static void train_draw_need(const struct ui *ui, const struct layout_frame *f, struct layout_need *out) {
    const struct train_view *v = &ui->train;
    (void)f;
    *out = (struct layout_need){ .jobs = v->besides ? v->besides : v->jobs,
                                 .texts = v->texts,
                                 .tasks = v->series.tasks,
                                 .given = v->series.samples > 0 };
}

static int64_t train_draw_run(const struct ui *ui) { return ui->train.focus; }

static void train_draw_pictured(const struct ui *ui, struct buf *out) {
    const struct train_view *v = &ui->train;
    const struct job_row *job = train_focused(v);
    if (v->focus > 0) buf_printf(out, "run%lld", (long long)v->focus);
    if (job) buf_printf(out, " %s %s", job->method, job->task);
}

static const char *train_draw_hint(const struct ui *ui, const struct key_entry *k) {
    const struct train_view *v = &ui->train;
    const struct job_row *job = train_focused(v);
    bool going = job && job->state <= RUN_PAUSED;
    switch (k->request) {
    case REQ_PAUSE: return !going || job->elsewhere ? NULL : job->state == RUN_PAUSED ? "continue" : k->hint;
    case REQ_STOP: return going ? k->hint : NULL;
    case REQ_OPEN: return job ? k->hint : NULL;
    case REQ_TEXTS: return v->series.samples ? v->texts ? "metric" : k->hint : NULL;
    case REQ_TASKS: return train_tasks_hint(v);
    case REQ_TERMS: return train_terms_hint(v);
    case REQ_NEXT_PART: return "chart";
    case REQ_BESIDE: return "axis";
    case REQ_DOWN:
    case REQ_MORE:
    case REQ_PAN_LEFT:
    case REQ_RUN:
    case REQ_NEXT: return NULL;
    default: return k->hint;
    }
}

static const enum request train_draw_keys[] = {
    REQ_OPEN,      REQ_PAUSE, REQ_STOP,      REQ_EARLIER,     REQ_LATER,       REQ_LEFT,      REQ_RIGHT,
    REQ_DOWN,      REQ_UP,    REQ_FIRST,     REQ_LAST,        REQ_NEXT,        REQ_PREV,      REQ_CLONE,
    REQ_RUN,       REQ_FAST_LEFT, REQ_FAST_RIGHT,  REQ_MORE,        REQ_LESS,      REQ_PAN_LEFT,
    REQ_PAN_RIGHT, REQ_FIT,   REQ_LOG,       REQ_SMOOTH_MORE, REQ_SMOOTH_LESS, REQ_RAW,       REQ_TEXTS,
    REQ_TASKS,     REQ_TERMS, REQ_FOLLOW,    REQ_BESIDE,      REQ_LOG_X,       REQ_NEXT_PART, REQ_PREV_PART,
    REQ_MARK_ALL,  REQ_NONE
};

static enum pane_id train_draw_focus(const struct ui *ui) {
    (void)ui;
    return PANE_LOSS;
}

const struct screen screen_train = {
    .tip = { REQ_LEFT, "h and l move the cursor along the curves; Tab shows the next chart" },
    .name = "train",
    .about =
        "Train shows the selected run while it trains: its loss, its metric on the validation set, and the "
        "runs of this and other processes. The bottom line shows the values at the cursor. q quits and asks "
        "what to do with running runs.",
    .keys = train_draw_keys,
    .tab = "2 Train",
    .to = REQ_TO_TRAIN,
    .init = train_init,
    .release = train_draw_release,
    .changed = train_draw_changed,
    .point = train_point,
    .pick = train_pick,
    .taught = train_taught,
    .request = train_request,
    .run = train_draw_run,
    .panes = layout_train,
    .need = train_draw_need,
    .focus = train_draw_focus,
    .draw = draw_train_screen,
    .readout = train_draw_readout,
    .copies = copy_readout,
    .hint = train_draw_hint,
    .pictured = train_draw_pictured,
};
