#include "views/plot_many.h"

#include <math.h>
#include <stdlib.h>

#include "core/base/mem.h"
#include "views/plot_raster.h"
#include "views/zone.h"

enum { MARK_EVERY = 16 }; /* columns between a curve's marks */

uint32_t plot_mark(int line) {
    static const char marks[] = "123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    return (uint32_t)(line < (int)sizeof marks - 1 ? marks[line] : '#');
}

static struct axis_range plot_many_range_of(const struct axis_range *set, const struct plot_line *line,
                                            int lines, const struct plot_look *look) {
    struct axis_range y = *set;
    struct plot_span span = { .hi = 1 };
    if (y.set) return y;
    for (int i = 0; i < lines; i++) plot_widen(&span, &line[i].data, look);
    axis_fit(&y, span.lo, span.hi, span.log);
    return y;
}

static bool is_mark(const struct plot_line *line, int lines, uint32_t cp) {
    for (int i = 0; i < lines; i++)
        if (line[i].mark == cp) return true;
    return cp == PLOT_SHARED;
}

/* Puts the mark of line i at a pixel; on the mark of an earlier line the sign that several are here. */
static void plot_many_put_mark(struct canvas *c, const struct plot_frame *f, const struct plot_line *line,
                               int i, int x, int y) {
    int column = f->inside.x + x / f->px, row = f->inside.y + y / f->py;
    const struct cell *at = canvas_at(c, column, row);
    bool shared = at && is_mark(line, i, at->cp);
    canvas_put(c, column, row, shared ? canvas_style(c, INK_TITLE) : line[i].style,
               shared ? PLOT_SHARED : line[i].mark);
    if (line[i].pick) zone_pick(c, column, row, 1, line[i].pick);
}

/* What is drawn of a line: points begin … end-1 of its smoothed values. */
struct drawn {
    const struct plot_line *line;
    double *mean; /* 0 … end-1, owned */
    size_t begin, end;
};

static struct drawn smoothed(const struct plot_frame *f, const struct plot_line *l, int smooth) {
    struct drawn d = { .line = l };
    plot_in_sight(f, &l->data, &d.begin, &d.end);
    d.mean = xmalloc((d.end + 1) * sizeof *d.mean);
    plot_smooth(l->data.value, d.end, plot_smooth_weight(smooth), d.mean);
    return d;
}

static void draw_curves(struct canvas *c, const struct plot_frame *f, const struct drawn *d, int lines) {
    struct raster *curve = xcalloc((size_t)lines + 1, sizeof *curve);
    struct style *style = xcalloc((size_t)lines + 1, sizeof *style);
    for (int i = 0; i < lines; i++) {
        struct plot_data data = { d[i].line->data.step, d[i].mean, d[i].end };
        curve[i] = raster_new(f);
        style[i] = d[i].line->style;
        raster_trace(&curve[i], f, &data, d[i].begin, d[i].end, true);
        raster_dash(&curve[i], d[i].line->dash);
        raster_lead(c, f, &curve[i], d[i].line->pick);
    }
    raster_show_all(c, f, curve, style, lines);
    for (int i = 0; i < lines; i++) free(curve[i].bits);
    free(curve);
    free(style);
}

/* At the curve's end and every so many columns, each line's at another place. */
static void draw_curve_marks(struct canvas *c, const struct plot_frame *f, const struct plot_line *line,
                             const struct drawn *d, int which, int lines) {
    const struct plot_line *l = d->line;
    int last = -MARK_EVERY, first = MARK_EVERY * (which + 1) / (lines + 1);
    bool few = (int)(d->end - d->begin) * 4 <= f->inside.w;
    for (size_t i = 0; i < d->end; i++) {
        if (!isfinite(d->mean[i]) || (f->y.log && d->mean[i] <= 0)) continue;
        int x = plot_column(f, l->data.step[i]), column = x / f->px;
        bool now = i + 1 == d->end || few || (column >= first && column - last >= MARK_EVERY);
        if (!now || x < 0) continue;
        plot_many_put_mark(c, f, line, which, x, plot_row(f, d->mean[i]));
        last = column;
    }
    plot_lost(c, f, &l->data, d->begin, d->end);
}

struct rect plot_lines(struct canvas *c, struct rect r, const struct plot_line *line, int lines,
                       const struct plot_look *look, double cursor, bool x_axis) {
    struct axis_range y = plot_many_range_of(&look->y, line, lines, look);
    struct plot_frame f;
    if (!plot_open(c, r, look->from, look->to, &y, true, look, x_axis, &f)) return (struct rect){ 0 };
    struct drawn *drawn = xcalloc((size_t)lines + 1, sizeof *drawn);
    for (int i = 0; i < lines; i++) {
        drawn[i] = smoothed(&f, &line[i], look->smooth);
        if (look->raw && look->smooth)
            plot_trace(c, &f, &line[i].data, drawn[i].begin, drawn[i].end, false, canvas_style(c, INK_RAW),
                       '.');
    }
    draw_curves(c, &f, drawn, lines);
    for (int i = 0; i < lines; i++) { /* over all curves */
        if (!look->smooth || look->raw)
            plot_outside(c, &f, &line[i].data, drawn[i].begin, drawn[i].end,
                         look->smooth ? canvas_style(c, INK_RAW) : line[i].style);
        draw_curve_marks(c, &f, line, &drawn[i], i, lines);
        free(drawn[i].mean);
    }
    free(drawn);
    return plot_close(c, &f, look, cursor);
}

static void draw_marks(struct canvas *c, const struct plot_frame *f, const struct plot_line *line, int i) {
    const struct plot_data *d = &line[i].data;
    for (size_t k = 0; k < d->count; k++) {
        int x = plot_column(f, d->step[k]);
        if (isfinite(d->value[k]) && x >= 0) plot_many_put_mark(c, f, line, i, x, plot_row(f, d->value[k]));
    }
}

struct rect plot_marks(struct canvas *c, struct rect r, const struct plot_line *line, int lines,
                       const struct plot_look *look, double cursor, bool x_axis) {
    struct plot_look points = { .whole = true, .from = look->from, .to = look->to };
    struct axis_range y = plot_many_range_of(&look->metric_y, line, lines, &points);
    struct plot_frame f;
    if (!plot_open(c, r, look->from, look->to, &y, false, look, x_axis, &f)) return (struct rect){ 0 };
    for (int i = 0; i < lines; i++) {
        draw_marks(c, &f, line, i);
        plot_lost(c, &f, &line[i].data, 0, line[i].data.count);
    }
    return plot_close(c, &f, look, cursor);
}

void plot_spark(struct canvas *c, int x, int y, int columns, const struct plot_data *d, enum ink ink) {
    static const char ascii[] = "_.-=+*#%";
    double lo = 0, hi = 0;
    if (!plot_extent(d, -INFINITY, INFINITY, false, &lo, &hi)) return;
    struct style style = canvas_style(c, ink);
    int cells = d->count < (size_t)columns ? (int)d->count : columns;
    for (int i = 0; i < cells; i++) {
        double v = d->value[d->count * (size_t)(i + 1) / (size_t)cells - 1];
        if (!isfinite(v)) continue;
        double share = (v / 2 - lo / 2) /
                       (hi / 2 - lo / 2); /* halves: the greatest numbers have a difference too */
        int level = hi > lo && share >= 0 && share <= 1 ? (int)lround(7 * share) : 3;
        uint32_t cp = c->glyphs == GLYPHS_ASCII ? (uint32_t)ascii[level] : 0x2581 + (uint32_t)level;
        canvas_put(c, x + i, y, style, cp);
    }
}
