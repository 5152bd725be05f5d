#include "views/train.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "views/ui.h"
#include "views/ui_parts.h"

void train_init(struct ui *ui) {
    struct train_view *v = &ui->train;
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

bool train_goes(const struct train_view *v, int64_t run) {
    for (int i = 0; i < v->jobs; i++)
        if (v->job[i].id == run) return v->job[i].state <= RUN_PAUSED;
    return false;
}

const struct job_row *train_focused(const struct train_view *v) {
    int i = focus_index(v);
    return i < 0 ? NULL : &v->job[i];
}

static void fit_axes(struct train_view *v) {
    const struct series_task *task = train_task(v);
    double majority = task ? task->majority : v->series.majority, *own;
    struct plot_data loss = train_over(v, train_loss(v), &own), metric = train_metric(v);
    struct plot_span losses = { 0 }, metrics = { 0 };
    struct plot_look look = train_chart_look(v);
    plot_widen(&losses, &loss, &look);
    free(own);
    plot_widen_metric(&metrics, &metric, majority);
    train_fit(v, &losses, &metrics);
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
    if (v->chart) v->shown_task = v->shown_term = 0;
    if (v->shown_task > v->series.tasks + 1 || !v->series.tasks) v->shown_task = 0;
    if (v->shown_term > v->series.terms + 1 || !v->series.terms) v->shown_term = 0;
    const struct series *s = &v->series;
    if (v->cursor >= 0 && s->count && (double)v->cursor > s->step[s->count - 1]) v->cursor = -1;
    if (s->count && series_lacks(s, v->look.x)) v->look.x = PLOT_X_STEP;
    train_follow(v);
    if (!v->besides && !train_all_tasks(v)) fit_axes(v);
    if (train_many(v)) train_fit_many(v);
}

/* Another chart: its own y axis. */
static void next_chart(struct train_view *v, int by) {
    v->chart = (enum train_chart)((v->chart + CHARTS + by) % CHARTS);
    v->look.y.set = false;
}

void train_overlay(struct ui *ui, const int64_t *run, int runs, struct effect *out) {
    struct train_view *v = &ui->train;
    int n = runs > TRAIN_BESIDE ? TRAIN_BESIDE : runs;
    v->asked = xrealloc(v->asked, (size_t)n + 1, sizeof *v->asked);
    if (n) memcpy(v->asked, run, (size_t)n * sizeof *run);
    v->shown_task = v->shown_term = 0;
    v->look.y.set = v->look.metric_y.set = false;
    v->look.from = v->look.to = 0;
    out->kind = EFFECT_BESIDE;
    out->run = v->asked;
    out->runs = n;
    if (n < runs) ui_say(ui, SAY_WARNING, "only the first %d of %d runs are shown", n, runs);
    if (!n) return;
    v->focus = v->asked[0];
    v->cursor = -1;
    ui_show(ui, SCREEN_TRAIN);
}

void train_taught(struct ui *ui, const int64_t *run, int runs, struct effect *out) {
    (void)run;
    if (runs) ui_watch(ui, out);
    else ui_show(ui, SCREEN_TRAIN);
}

/* All runs of the list over one another, or the one in focus alone. */
static void overlay_all(struct ui *ui, struct effect *out) {
    struct train_view *v = &ui->train;
    int64_t run[TRAIN_BESIDE];
    int n = 0;
    for (int i = 0; i < v->jobs && n < TRAIN_BESIDE; i++)
        if (v->job[i].step > 0 || v->job[i].id == v->focus) run[n++] = v->job[i].id;
    if (!v->besides && n < 2)
        ui_say(ui, SAY_INFO, "only one run: mark several in Runs with Space and press o to overlay them");
    else train_overlay(ui, run, v->besides ? 0 : n, out);
}

/* The run in row `at` of the list. */
static void focus_on(struct train_view *v, int at, struct effect *out) {
    int64_t to = v->besides ? v->beside[at].id : v->job[at].id;
    if (to == v->focus) return;
    v->focus = v->chosen[0] = to;
    v->cursor = -1;
    out->kind = EFFECT_FOCUS;
    out->run = v->chosen;
    out->runs = 1;
}

static bool focus_by(struct ui *ui, int by, struct effect *out) {
    struct train_view *v = &ui->train;
    int n = v->besides ? v->besides : v->jobs, at = focus_index(v);
    if (!n) return true;
    for (int i = 0; i < v->besides; i++)
        if (v->beside[i].id == v->focus) at = i;
    focus_on(v, ui_into(at + by, n - 1), out);
    return true;
}

void train_pick(struct ui *ui, int pick, struct effect *out) { focus_on(&ui->train, pick - PICK_RUN, out); }

/* Requests about the focused job. */
static bool job_request(struct ui *ui, enum request r, struct effect *out) {
    struct train_view *v = &ui->train;
    const struct job_row *job = train_focused(v);
    if (!job) {
        ui_say(ui, SAY_INFO, "no runs yet: press 1 to compose one");
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
    case REQ_EARLIER:
    case REQ_LATER:
        out->by = r == REQ_EARLIER ? -1 : 1;
        if (job->state == RUN_QUEUED) out->kind = EFFECT_QUEUE;
        else ui_say(ui, SAY_INFO, "#%lld is not in the queue", (long long)job->id);
        break;
    case REQ_RUN:
        if (going) ui_say(ui, SAY_INFO, "#%lld is %s", (long long)job->id, run_state_name(job->state));
        else out->kind = EFFECT_AGAIN;
        break;
    default: return ui_run_request(ui, r, job->state, out);
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
            ui_say(ui, SAY_INFO,
                   "no texts: only runs that generate texts have them");
        return true;
    case REQ_NEXT:
        if (v->text_top < last) v->text_top++;
        return true;
    case REQ_PREV:
        if (v->text_top > last) v->text_top = last;
        v->text_top = v->text_top > 0 ? v->text_top - 1 : 0;
        return true;
    default: return false;
    }
}

static bool chart_request(struct train_view *v, enum request r) {
    struct plot_data d = train_loss(v);
    switch (r) {
    case REQ_LEFT: train_move_cursor(v, -1); break;
    case REQ_RIGHT: train_move_cursor(v, 1); break;
    case REQ_FAST_LEFT: train_move_cursor(v, -10); break;
    case REQ_FAST_RIGHT: train_move_cursor(v, 10); break;
    case REQ_FIRST:
        if (d.count) v->cursor = (int64_t)d.step[0];
        break;
    case REQ_LAST:
        if (d.count) v->cursor = (int64_t)d.step[d.count - 1];
        break;
    case REQ_MORE: train_zoom(v, 0.5); break;
    case REQ_LESS: train_zoom(v, 2); break;
    case REQ_PAN_LEFT: train_pan(v, -1); break;
    case REQ_PAN_RIGHT: train_pan(v, 1); break;
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
        v->look.y.set = false;
        break;
    case REQ_SMOOTH_LESS:
        if (v->look.smooth > 0) v->look.smooth--;
        v->look.y.set = false;
        break;
    case REQ_RAW:
        v->look.raw = !v->look.raw;
        v->look.y.set = false;
        break;
    case REQ_FOLLOW:
        v->look.follow = true;
        v->cursor = -1;
        break;
    case REQ_NEXT_PART: next_chart(v, 1); break;
    case REQ_PREV_PART: next_chart(v, -1); break;
    case REQ_LOG_X:
        v->look.log_x = !v->look.log_x;
        break;
    case REQ_TASKS:
        if (v->series.tasks) train_next_task(v);
        break;
    case REQ_TERMS:
        if (v->series.terms) train_next_term(v);
        break;
    case REQ_BACK:
        if (v->cursor < 0 && !v->shown_task && !v->shown_term && !v->chart) return false;
        if (v->cursor < 0) v->shown_task = v->shown_term = 0, v->chart = CHART_LOSS, v->look.y.set = false;
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
        ui_say(
            ui, SAY_INFO,
            "single-task run: multi-task runs (petri train --tasks, or tasks in Compose) are shown by task");
    if (r == REQ_TERMS && !ui->train.series.terms)
        ui_say(ui, SAY_INFO, "the loss has one component; methods with a retriever (pha) have more");
    if (r == REQ_BESIDE) {
        train_next_x(ui);
        train_changed(&ui->train);
        return true;
    }
    if (r == REQ_MARK_ALL) {
        overlay_all(ui, out);
        return true;
    }
    if (text_request(ui, r) || chart_request(&ui->train, r)) return true;
    if (r == REQ_BACK && ui->train.besides) {
        train_overlay(ui, NULL, 0, out);
        return true;
    }
    return r != REQ_BACK && job_request(ui, r, out);
}
