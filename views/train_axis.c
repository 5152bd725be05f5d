/* What a run's points may be drawn over: steps, tokens, seconds of training, passes over the rows
 * (train.h). */
#include <math.h>
#include <stdlib.h>

#include "core/base/mem.h"
#include "views/plot_axis.h"
#include "views/plot_raster.h"
#include "views/train.h"
#include "views/ui.h"
#include "views/ui_parts.h"

const char *series_lacks(const struct series *s, enum plot_x x) {
    size_t last = s->count ? s->count - 1 : 0;
    switch (x) {
    case PLOT_X_TOKENS:
        if (!s->count || (s->tokens && isfinite(s->tokens[last]))) return NULL;
        return "the run recorded no token counts";
    case PLOT_X_TIME: /* those from before it was kept come first */
        if (!s->count || (s->seconds && isfinite(s->seconds[0]) && isfinite(s->seconds[last]))) return NULL;
        return "the run recorded no times (an older version of petri)";
    case PLOT_X_EPOCH:
        if (!s->count || s->epoch > 0) return NULL;
        return "the steps per epoch are unknown, or the run has no epochs";
    default: return NULL;
    }
}

double series_x(const struct series *s, enum plot_x x, double step) {
    if (x == PLOT_X_STEP) return step;
    if (x == PLOT_X_EPOCH) return step / s->epoch;
    const double *of = x == PLOT_X_TOKENS ? s->tokens : s->seconds;
    struct plot_data d = { s->step, s->loss, s->count };
    size_t at = plot_lower(&d, step);
    if (at < s->count && s->step[at] == step) return of[at];
    return at ? of[at - 1] : 0; /* evaluated before the first step, or where no point was kept */
}

const double *series_xs(const struct series *s, enum plot_x x, const double *step, size_t count,
                        double **own) {
    *own = NULL;
    if (x == PLOT_X_STEP) return step;
    if (step == s->step && x == PLOT_X_TOKENS) return s->tokens;
    if (step == s->step && x == PLOT_X_TIME) return s->seconds;
    *own = xmalloc((count + 1) * sizeof **own);
    for (size_t i = 0; i < count; i++) (*own)[i] = series_x(s, x, step[i]);
    return *own;
}

struct plot_data train_chart_of(const struct train_view *v, const struct series *s) {
    const double *of[CHARTS] = { s->loss, s->lr, s->grad_norm };
    return (struct plot_data){ s->step, of[v->chart], s->count };
}

struct plot_look train_chart_look(const struct train_view *v) {
    struct plot_look look = v->look;
    look.whole = v->chart == CHART_RATE;
    if (look.whole) look.smooth = 0;
    return look;
}

const char *train_chart_name(const struct train_view *v) {
    static const char *const names[CHARTS] = { NULL, "learning rate", "gradient norm" };
    return names[v->chart];
}

struct plot_data train_over(const struct train_view *v, struct plot_data d, double **own) {
    d.step = series_xs(&v->series, v->look.x, d.step, d.count, own);
    return d;
}

double train_cursor_x(const struct train_view *v) {
    return v->cursor < 0 ? -1 : series_x(&v->series, v->look.x, (double)v->cursor);
}

/* Where the curves end. */
static double end_of(const struct train_view *v) {
    const struct series *s = &v->series;
    double end = s->count ? series_x(s, v->look.x, s->step[s->count - 1]) : 0;
    return v->besides ? fmax(end, train_beside_end(v)) : end;
}

void train_window(const struct train_view *v, double *from, double *to) {
    *from = v->look.from;
    *to = v->look.to;
    if (*to > *from) return;
    *from = 0;
    *to = end_of(v) > 0 ? end_of(v) : 1;
}

/* By chart columns; it always stands on a logged step. */
void train_move_cursor(struct train_view *v, int columns) {
    double *own, from, to;
    struct plot_data d = train_over(v, train_loss(v), &own);
    if (!d.count) return;
    const double *step = train_loss(v).step;
    train_window(v, &from, &to);
    size_t last = d.count - 1, at = last, next;
    if (v->cursor >= 0) at = plot_nearest(&(struct plot_data){ step, d.value, d.count }, (double)v->cursor);
    double by = columns / (double)v->chart_w;
    bool log_x = v->look.log_x && d.step[at] > 0;
    if (log_x && !(from > 0)) from = d.step[0] > 0 ? d.step[0] : to / 1000;
    next = plot_nearest(&d, log_x ? d.step[at] * pow(to / from, by) : d.step[at] + by * (to - from));
    if (next == at && columns > 0 && at < last) next = at + 1;
    if (next == at && columns < 0 && at > 0) next = at - 1;
    v->cursor = (int64_t)step[next];
    v->look.follow = false;
    if (v->look.to > v->look.from && (d.step[next] < from || d.step[next] > to)) {
        double off = d.step[next] - (from + to) / 2;
        v->look.from += off;
        v->look.to += off;
    }
    free(own);
}

/* Onto the logged step that is nearest to a column of a chart. */
bool train_point(struct ui *ui, int x, int y, struct effect *out) {
    struct train_view *v = &ui->train;
    double *own, from, to;
    struct plot_data d = train_over(v, train_loss(v), &own);
    bool found = false;
    (void)out;
    struct panes p = ui_panes(ui, SCREEN_TRAIN);
    if (v->besides) train_window(v, &from, &to);
    else plot_window(&v->look, &d, &from, &to);
    for (int i = 0; i < PANE_COUNT && d.count && !found; i++) {
        struct rect r = p.at[i];
        bool chart = i == PANE_LOSS || i == PANE_METRIC || i == PANE_RATE || i == PANE_NORM;
        int w = r.w - AXIS_GUTTER - 1, at = x - r.x - AXIS_GUTTER;
        if (!chart || rect_empty(r) || y < r.y || y >= r.y + r.h || at < 0 || at >= w || w < 2) continue;
        if (v->look.log_x && !(from > 0)) from = d.step[0] > 0 ? d.step[0] : to / 1000;
        double share = at / (double)(w - 1),
               want = v->look.log_x ? from * pow(to / from, share) : from + share * (to - from);
        v->cursor = (int64_t)train_loss(v).step[plot_nearest(&d, want)];
        v->look.follow = false;
        found = true;
    }
    free(own);
    return found;
}

void train_zoom(struct train_view *v, double by) {
    struct plot_data d = train_loss(v);
    if (!d.count) return;
    double from, to, end = end_of(v),
                     least = end * 8 / fmax(d.step[d.count - 1], 8); /* what eight steps take, about */
    train_window(v, &from, &to);
    double middle = v->cursor >= 0 ? train_cursor_x(v) : v->look.follow ? to : (from + to) / 2;
    double span = fmax((to - from) * by, least);
    if (span >= end) {
        v->look.from = v->look.to = 0;
        return;
    }
    double share = to > from ? (middle - from) / (to - from) : 1;
    v->look.from = fmax(middle - span * share, 0);
    v->look.to = v->look.from + span;
}

void train_pan(struct train_view *v, int direction) {
    if (!(v->look.to > v->look.from) || !train_loss(v).count) return;
    double span = v->look.to - v->look.from, end = end_of(v);
    double from = v->look.from + direction * span / 2;
    if (from + span > end) from = end - span;
    if (from < 0) from = 0;
    v->look.from = from;
    v->look.to = from + span;
    v->look.follow = false;
}

void train_follow(struct train_view *v) {
    if (!v->look.follow || !(v->look.to > v->look.from) || !v->series.count) return;
    double by = end_of(v) - v->look.to;
    if (by <= 0) return;
    v->look.from += by;
    v->look.to += by;
}

void train_next_x(struct ui *ui) {
    struct train_view *v = &ui->train;
    const char *lacks = NULL;
    enum plot_x x = v->look.x;
    do {
        x = (enum plot_x)((x + 1) % PLOT_XS);
        const char *why = series_lacks(&v->series, x);
        if (why && !lacks) lacks = why;
        if (!why) break;
    } while (x != v->look.x);
    v->look.x = x;
    v->look.from = v->look.to = 0;
    ui_say(ui, lacks ? SAY_WARNING : SAY_INFO, lacks ? "over %s; %s" : "over %s",
           x == PLOT_X_STEP ? "steps" : plot_x_unit(x), lacks);
}
