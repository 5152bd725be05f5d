#include "views/plot_errors.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "views/plot_raster.h"

static double sd_at(const struct plot_errors *l, int i) { return l->sd && isfinite(l->sd[i]) ? l->sd[i] : 0; }
static double place_of(double x, bool log_x) { return log_x ? log2(x) : x; }

struct errors_extent {
    double from, to, lo, hi;
    bool any;
};

static struct errors_extent extent_of(const struct plot_errors *line, int lines, bool log_x) {
    struct errors_extent e = { 0 };
    for (int k = 0; k < lines; k++)
        for (int i = 0; i < line[k].points; i++) {
            double x = place_of(line[k].x[i], log_x), v = line[k].mean[i], sd = sd_at(&line[k], i);
            if (!isfinite(v) || !isfinite(x)) continue;
            e.from = e.any ? fmin(e.from, x) : x;
            e.to = e.any ? fmax(e.to, x) : x;
            e.lo = e.any ? fmin(e.lo, v - sd) : v - sd;
            e.hi = e.any ? fmax(e.hi, v + sd) : v + sd;
            e.any = true;
        }
    return e;
}

/* A tick and its number at each place of the lines. */
static void draw_places(struct canvas *c, const struct plot_frame *f, const struct plot_errors *line,
                        int lines, bool log_x, const char *x_name) {
    struct style dim = canvas_style(c, INK_DIM);
    int y = f->inside.y + f->inside.h, free_from = f->inside.x - 2;
    canvas_put(c, f->inside.x - 1, y, dim, 0x2514);
    for (int i = 0; i < f->inside.w; i++) canvas_put(c, f->inside.x + i, y, dim, 0x2500);
    for (int k = 0; k < lines; k++)
        for (int i = 0; i < line[k].points; i++) {
            int column = plot_column(f, place_of(line[k].x[i], log_x)) / f->px, x = f->inside.x + column;
            char label[24];
            snprintf(label, sizeof label, "%g", line[k].x[i]);
            int w = (int)strlen(label), left = x - w / 2;
            if (left + w > f->inside.x + f->inside.w) left = f->inside.x + f->inside.w - w;
            canvas_put(c, x, y, dim, 0x252C);
            if (k || left < free_from) continue;
            canvas_text(c, left, y + 1, INK_DIM, label);
            free_from = left + w + 1;
        }
    canvas_text(c, f->inside.x + f->inside.w - canvas_width(c, x_name), y + 1, INK_DIM, x_name);
}

/* Returns the place of a point: each line's are a cell further to the right, so that bars at one place are
 * side by side. */
static double shifted(const struct plot_frame *f, const struct plot_errors *l, int line, size_t i,
                      bool log_x) {
    double cell = f->inside.w > 1 ? (f->to - f->from) / (f->inside.w - 1) : 0;
    return place_of(l->x[i], log_x) + line * cell;
}

/* The curve of means and the bars. */
static struct raster raster_of(const struct plot_frame *f, const struct plot_errors *l, int line,
                               bool log_x) {
    struct raster r = raster_new(f);
    size_t n = (size_t)l->points;
    double *at = xmalloc((n + 1) * sizeof *at);
    for (size_t i = 0; i < n; i++) at[i] = shifted(f, l, line, i, log_x);
    raster_trace(&r, f, &(struct plot_data){ at, l->mean, n }, 0, n, true);
    for (size_t i = 0; i < n; i++) {
        double x[2] = { at[i], at[i] }, sd = sd_at(l, (int)i), bar[2] = { l->mean[i] - sd, l->mean[i] + sd };
        raster_trace(&r, f, &(struct plot_data){ x, bar, 2 }, 0, 2, false);
    }
    free(at);
    return r;
}

static void draw_errors(struct canvas *c, const struct plot_frame *f, const struct plot_errors *line,
                        int lines, bool log_x) {
    struct raster *r = xcalloc((size_t)lines + 1, sizeof *r);
    struct style *style = xcalloc((size_t)lines + 1, sizeof *style);
    for (int k = 0; k < lines; k++) {
        r[k] = raster_of(f, &line[k], k, log_x);
        style[k] = line[k].style;
    }
    raster_show_all(c, f, r, style, lines);
    for (int k = 0; k < lines; k++) {
        for (size_t i = 0; i < (size_t)line[k].points; i++)
            if (isfinite(line[k].mean[i]))
                canvas_put(c, f->inside.x + plot_column(f, shifted(f, &line[k], k, i, log_x)) / f->px,
                           f->inside.y + plot_row(f, line[k].mean[i]) / f->py, line[k].style, line[k].mark);
        free(r[k].bits);
    }
    free(r);
    free(style);
}

void plot_errors(struct canvas *c, struct rect r, const struct plot_errors *line, int lines, bool log_x,
                 const char *x_name) {
    struct errors_extent e = extent_of(line, lines, log_x);
    struct axis_range y = { 0 };
    struct plot_frame f;
    if (!e.any || r.h < 4) return;
    axis_fit(&y, e.lo, e.hi, false);
    double room = e.to > e.from ? 0.08 * (e.to - e.from) : 1; /* bars keep off the edges */
    struct rect chart = { r.x, r.y, r.w, r.h - 2 };
    if (!plot_open(c, chart, e.from - room, e.to + room, &y, true, NULL, false, &f)) return;
    draw_errors(c, &f, line, lines, log_x);
    plot_close(c, &f, NULL, -1);
    draw_places(c, &f, line, lines, log_x, x_name);
}
