#include "views/train.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "views/ui.h"
#include "views/ui_parts.h"

void train_init(struct train_view *v) {
    memset(v, 0, sizeof *v);
    v->cursor = -1;
    v->look.smooth = 3;
    v->look.raw = v->look.follow = true;
    v->series.majority = v->series.best = NAN;
    v->chart_w = 60;
}

static int focus_index(const struct train_view *v) {
    for (int i = 0; i < v->jobs; i++)
        if (v->job[i].id == v->focus) return i;
    return -1;
}

const struct job_row *train_focused(const struct train_view *v) {
    int i = focus_index(v);
    return i < 0 ? NULL : &v->job[i];
}

static void fit_axes(struct train_view *v) {
    const struct series_task *task = train_task(v);
    double majority = task ? task->majority : v->series.majority;
    struct plot_data loss = train_loss(v), metric = train_metric(v);
    double from = 0, to = INFINITY, lo = 0, hi = 0;
    if (v->look.to > v->look.from) {
        from = v->look.from;
        to = v->look.to;
    }
    bool positive = v->look.log && plot_extent(&loss, from, to, true, &lo, &hi);
    if (positive || plot_extent(&loss, from, to, false, &lo, &hi))
        axis_fit(&v->look.y, lo, hi, positive);
    bool any = plot_extent(&metric, -INFINITY, INFINITY, false, &lo, &hi);
    if (isfinite(majority)) {
        lo = any && lo < majority ? lo : majority;
        hi = any && hi > majority ? hi : majority;
        any = true;
    }
    if (any) axis_fit(&v->look.metric_y, lo, hi, false);
}

void train_changed(struct train_view *v) {
    if (v->jobs && focus_index(v) < 0 && v->focus <= 0) v->focus = v->job[0].id;
    if (v->series.run != v->shown_run) { /* another run: its own axes and window */
        v->shown_run = v->series.run;
        v->look.y.set = v->look.metric_y.set = false;
        v->look.from = v->look.to = 0;
        v->cursor = -1;
        v->text_top = v->shown_task = v->shown_term = 0;
    }
    if (v->shown_task > v->series.tasks + 1 || !v->series.tasks) v->shown_task = 0;
    if (v->shown_term > v->series.terms + 1 || !v->series.terms) v->shown_term = 0;
    const struct series *s = &v->series;
    if (v->cursor >= 0 && s->count && (double)v->cursor > s->step[s->count - 1]) v->cursor = -1;
    if (v->look.follow && v->look.to > v->look.from && s->count) {
        double by = s->step[s->count - 1] - v->look.to;
        if (by > 0) {
            v->look.from += by;
            v->look.to += by;
        }
    }
    if (train_all_tasks(v)) train_fit_tasks(v);
    else fit_axes(v);
    if (train_all_terms(v)) train_fit_terms(v);
}

static void window(const struct train_view *v, double *from, double *to) {
    struct plot_data d = train_loss(v);
    *from = v->look.from;
    *to = v->look.to;
    if (*to > *from) return;
    *from = 0;
    *to = d.count ? d.step[d.count - 1] : 1;
}

/* The cursor by chart columns; it always stands on a logged step. */
static void move_cursor(struct train_view *v, int columns) {
    struct plot_data d = train_loss(v);
    if (!d.count) return;
    double from, to;
    window(v, &from, &to);
    size_t last = d.count - 1;
    size_t at = v->cursor < 0 ? last : plot_nearest(&d, (double)v->cursor);
    double want = d.step[at] + columns * (to - from) / v->chart_w;
    size_t next = plot_nearest(&d, want);
    if (next == at && columns > 0 && at < last) next = at + 1;
    if (next == at && columns < 0 && at > 0) next = at - 1;
    v->cursor = (int64_t)d.step[next];
    v->look.follow = false;
    if (v->look.to > v->look.from && (d.step[next] < from || d.step[next] > to)) {
        double by = d.step[next] - (from + to) / 2;
        v->look.from += by;
        v->look.to += by;
    }
}

static void train_zoom(struct train_view *v, double by) {
    struct plot_data d = train_loss(v);
    if (!d.count) return;
    double from, to, end = d.step[d.count - 1];
    window(v, &from, &to);
    double middle = v->cursor >= 0 ? (double)v->cursor : v->look.follow ? to : (from + to) / 2;
    double span = (to - from) * by;
    if (span < 8) span = 8;
    if (span >= end) {
        v->look.from = v->look.to = 0;
        return;
    }
    double share = to > from ? (middle - from) / (to - from) : 1;
    v->look.from = middle - span * share;
    if (v->look.from < 0) v->look.from = 0;
    v->look.to = v->look.from + span;
}

static void pan(struct train_view *v, int direction) {
    struct plot_data d = train_loss(v);
    if (!(v->look.to > v->look.from) || !d.count) return;
    double span = v->look.to - v->look.from, end = d.step[d.count - 1];
    double from = v->look.from + direction * span / 2;
    if (from + span > end) from = end - span;
    if (from < 0) from = 0;
    v->look.from = from;
    v->look.to = from + span;
    v->look.follow = false;
}

static bool focus_by(struct ui *ui, int by, struct effect *out) {
    struct train_view *v = &ui->train;
    if (!v->jobs) return true;
    int i = focus_index(v) + by;
    i = i < 0 ? 0 : i >= v->jobs ? v->jobs - 1 : i;
    if (v->job[i].id == v->focus) return true;
    v->focus = v->chosen[0] = v->job[i].id;
    v->cursor = -1;
    out->kind = EFFECT_FOCUS;
    out->run = v->chosen;
    out->runs = 1;
    return true;
}

/* Requests about the focused job. */
static bool job_request(struct ui *ui, enum request r, struct effect *out) {
    struct train_view *v = &ui->train;
    const struct job_row *job = train_focused(v);
    if (!job) {
        ui_say(ui, SAY_INFO, "no run here yet: 1 composes one");
        return true;
    }
    bool going = job->state <= RUN_PAUSED;
    v->chosen[0] = job->id;
    out->run = v->chosen;
    out->runs = 1;
    switch (r) {
    case REQ_PAUSE:
        if (job->state == RUN_RUNNING || job->state == RUN_PAUSED) out->kind = EFFECT_PAUSE;
        else ui_say(ui, SAY_INFO, "#%lld is %s", (long long)job->id, run_state_name(job->state));
        break;
    case REQ_STOP:
        if (going) ui_ask_stop(ui, job->id);
        else ui_say(ui, SAY_INFO, "#%lld is %s already", (long long)job->id,
                    run_state_name(job->state));
        break;
    case REQ_EARLIER:
    case REQ_LATER:
        out->by = r == REQ_EARLIER ? -1 : 1;
        if (job->state == RUN_QUEUED) out->kind = EFFECT_QUEUE;
        else ui_say(ui, SAY_INFO, "#%lld does not wait in the queue", (long long)job->id);
        break;
    case REQ_RUN:
        if (going) ui_say(ui, SAY_INFO, "#%lld is %s", (long long)job->id, run_state_name(job->state));
        else out->kind = EFFECT_AGAIN;
        break;
    case REQ_CLONE: out->kind = EFFECT_CLONE; break;
    case REQ_OPEN:
        out->kind = EFFECT_OPEN_RUN;
        ui_show(ui, SCREEN_DETAIL);
        break;
    case REQ_COPY:
        out->kind = EFFECT_COPY;
        strncpy(out->text, job->method, sizeof out->text - 1);
        ui_say(ui, SAY_INFO, "copied: %.300s", job->method);
        break;
    default: return false;
    }
    return true;
}

/* The texts beside the charts. */
static bool text_request(struct ui *ui, enum request r) {
    struct train_view *v = &ui->train;
    int last = (int)train_texts(v) - 1;
    switch (r) {
    case REQ_TEXTS:
        v->texts = !v->texts;
        if (v->texts && last < 0)
            ui_say(ui, SAY_INFO, "no texts: a run of an encoder\u2013decoder model gives them while it trains");
        return true;
    case REQ_NEXT:
        if (v->text_top < last) v->text_top++;
        return true;
    case REQ_PREV:
        if (v->text_top > last) v->text_top = last;
        if (v->text_top > 0) v->text_top--;
        return true;
    default: return false;
    }
}

static bool chart_request(struct train_view *v, enum request r) {
    struct plot_data d = train_loss(v);
    switch (r) {
    case REQ_LEFT: move_cursor(v, -1); break;
    case REQ_RIGHT: move_cursor(v, 1); break;
    case REQ_FAST_LEFT: move_cursor(v, -10); break;
    case REQ_FAST_RIGHT: move_cursor(v, 10); break;
    case REQ_FIRST:
        if (d.count) v->cursor = (int64_t)d.step[0];
        break;
    case REQ_LAST:
        if (d.count) v->cursor = (int64_t)d.step[d.count - 1];
        break;
    case REQ_MORE: train_zoom(v, 0.5); break;
    case REQ_LESS: train_zoom(v, 2); break;
    case REQ_PAN_LEFT: pan(v, -1); break;
    case REQ_PAN_RIGHT: pan(v, 1); break;
    case REQ_FIT:
        v->look.from = v->look.to = 0;
        v->look.y.set = v->look.metric_y.set = false;
        break;
    case REQ_LOG:
        v->look.log = !v->look.log;
        v->look.y.set = false;
        break;
    case REQ_SMOOTH_MORE:
        if (v->look.smooth < PLOT_SMOOTH_MAX) v->look.smooth++;
        break;
    case REQ_SMOOTH_LESS:
        if (v->look.smooth > 0) v->look.smooth--;
        break;
    case REQ_RAW: v->look.raw = !v->look.raw; break;
    case REQ_FOLLOW:
        v->look.follow = true;
        v->cursor = -1;
        break;
    case REQ_TASKS:
        if (v->series.tasks) train_next_task(v);
        break;
    case REQ_TERMS:
        if (v->series.terms) train_next_term(v);
        break;
    case REQ_BACK:
        if (v->cursor < 0 && !v->shown_task && !v->shown_term) return false;
        if (v->cursor < 0) v->shown_task = v->shown_term = 0;
        v->cursor = -1;
        break;
    default: return false;
    }
    train_changed(v);
    return true;
}

bool train_request(struct ui *ui, enum request r, struct effect *out) {
    if (r == REQ_UP || r == REQ_DOWN) return focus_by(ui, r == REQ_UP ? -1 : 1, out);
    if (r == REQ_TASKS && !ui->train.series.tasks)
        ui_say(ui, SAY_INFO, "one task: a run of several (petri train --tasks, or tasks in Compose) is shown by task");
    if (r == REQ_TERMS && !ui->train.series.terms)
        ui_say(ui, SAY_INFO, "this loss has one part: a method with a retriever (pha) has more");
    if (text_request(ui, r) || chart_request(&ui->train, r)) return true;
    return r != REQ_BACK && job_request(ui, r, out);
}
