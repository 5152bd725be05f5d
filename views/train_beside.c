/* Several curves in one chart of Train; and of runs overlaid a line of words for each in place of the
 * jobs. */
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
#include "views/zone.h"

/* The one in focus as it grows; the others as they were read. */
static const struct series *series_of(const struct train_view *v, int i) {
    const struct series *own = &v->series, *read = v->beside[i].series;
    return own->run == v->beside[i].id && own->count >= read->count ? own : read;
}

bool train_many(const struct train_view *v) { return v->besides || train_all_tasks(v) || train_all_terms(v); }

static int curves(const struct train_view *v) {
    return v->besides ? v->besides : train_all_tasks(v) ? v->series.tasks : v->series.terms;
}

/* What a chart shows of one, with x as the look has it; false: nothing.  *own: as series_xs. */
static bool curve_of(const struct train_view *v, int i, bool metric, struct plot_data *out, double **own) {
    const struct series *s = v->besides ? series_of(v, i) : &v->series;
    *own = NULL;
    if (!v->besides && !train_all_tasks(v) && metric) return false;
    if (!v->besides) {
        *out = train_all_tasks(v) ? train_task_data(&s->task[i], !metric) : train_term_data(&s->term[i]);
    } else {
        /* values of another metric than the first run's are on another scale */
        const char *first = series_of(v, 0)->metric;
        if (metric && (!first || !s->metric || strcmp(first, s->metric) != 0)) return false;
        if (series_lacks(s, v->look.x)) return false;
        *out = metric ? (struct plot_data){ s->eval_step, s->eval_value, s->evals } : train_chart_of(v, s);
        if (!out->count || !out->value) return false;
    }
    out->step = series_xs(s, v->look.x, out->step, out->count, own);
    return true;
}

double train_beside_end(const struct train_view *v) {
    double end = 0;
    for (int i = 0; i < v->besides; i++) {
        const struct series *s = series_of(v, i);
        if (s->count && !series_lacks(s, v->look.x))
            end = fmax(end, series_x(s, v->look.x, s->step[s->count - 1]));
    }
    return end;
}

void train_fit(struct train_view *v, const struct plot_span *losses, const struct plot_span *metrics) {
    if (losses->any) axis_fit(&v->look.y, losses->lo, losses->hi, losses->log);
    if (metrics->any) axis_fit(&v->look.metric_y, metrics->lo, metrics->hi, false);
}

void train_fit_many(struct train_view *v) {
    struct plot_span losses = { 0 }, metrics = { 0 };
    struct plot_look look = train_chart_look(v);
    for (int i = 0; i < curves(v); i++) {
        struct plot_data d;
        double *own;
        if (curve_of(v, i, false, &d, &own)) plot_widen(&losses, &d, &look);
        free(own);
        if (curve_of(v, i, true, &d, &own)) plot_widen_metric(&metrics, &d, NAN);
        free(own);
    }
    train_fit(v, &losses, &metrics);
}

void train_draw_many(const struct train_view *v, struct canvas *c, struct rect r, struct plot_look look,
                     bool metric) {
    int all = curves(v), n = 0;
    struct plot_line *line = xcalloc((size_t)all + 1, sizeof *line);
    double **own = xcalloc((size_t)all + 1, sizeof *own), cursor = train_cursor_x(v);
    for (int i = 0; i < all; i++) {
        struct plot_data d;
        if (curve_of(v, i, metric, &d, &own[n]))
            line[n++] = (struct plot_line){ d, plot_mark(i), scatter_style(c, i), i, 0 };
    }
    if (metric && v->besides) { /* few points, each with its mark, joined */
        look.y = look.metric_y;
        look.smooth = 0;
        look.log = false;
        look.whole = true;
    }
    if (!n) canvas_fit(c, r.x + 3, r.y, r.w - 4, INK_DIM, metric ? "no evaluation yet" : "no points yet");
    else if (metric && !v->besides) plot_marks(c, r, line, n, &look, cursor, true);
    else plot_lines(c, r, line, n, &look, cursor, true);
    for (int i = 0; i < n; i++) free(own[i]);
    free(own);
    free(line);
}

void train_beside_readout(const struct train_view *v, double x, struct buf *out) {
    for (int i = 0; i < v->besides; i++) {
        struct plot_data d;
        double *own;
        struct phrase text = { "\u2013" };
        if (curve_of(v, i, false, &d, &own)) { /* of the point nearest to it */
            double value = d.value[plot_nearest(&d, x)];
            text = v->chart == CHART_LOSS && isfinite(value) ? phrase("%.4f", value) : show_short(value);
        }
        free(own);
        buf_printf(out, "  %c #%lld %s", (int)plot_mark(i), (long long)v->beside[i].id, text.text);
    }
}

void train_beside_list(const struct train_view *v, struct canvas *c, struct rect r) {
    int rows = r.h - 1, at = 0;
    for (int i = 0; i < v->besides; i++)
        if (v->beside[i].id == v->focus) at = i;
    int top = at >= rows ? at - rows + 1 : 0;
    canvas_title(c, r, phrase("%d runs overlaid", v->besides).text,
                 v->besides > rows ? "j and k scroll" : NULL);
    canvas_push_clip(c, r);
    for (int i = top; i < v->besides && i - top < rows; i++) {
        const struct train_run *b = &v->beside[i];
        const struct series *s = series_of(v, i);
        const char *lacks = series_lacks(s, v->look.x);
        int y = r.y + 1 + i - top, room = r.w - 5;
        struct phrase note = { "" };
        zone_pick(c, r.x, y, r.w, PICK_RUN + i);
        canvas_cursor(c, r.x, y, b->id == v->focus);
        canvas_put(c, r.x + 1, y, scatter_style(c, i), plot_mark(i));
        if (lacks) note = phrase("%.150s", lacks);
        else if (s->metric && isfinite(s->best))
            note =
                phrase("best %.40s %s @ %lld", s->metric, show_value(s->best).text, (long long)s->best_step);
        else if (!s->count) note = phrase("no points yet");
        int w = canvas_width(c, note.text) > room / 2 ? room / 2 : canvas_width(c, note.text);
        canvas_fit(c, r.x + 3, y, room - w - 1, b->id == v->focus ? INK_TITLE : INK_TEXT, b->name);
        canvas_fit(c, r.x + 3 + room - w, y, w, lacks ? INK_WARN : INK_DIM, note.text);
    }
    canvas_pop_clip(c);
}
