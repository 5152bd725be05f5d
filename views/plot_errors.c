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
    canvas_text(c, f->inside.x - 1 - canvas_width(c, x_name), y + 1, INK_DIM, x_name);
}

/* Each line's places a cell further to the right, so that bars at one place stand side by side. */
static void plot_errors_draw_line(struct canvas *c, const struct plot_frame *f, const struct plot_errors *l,
                                  int shift, bool log_x) {
    double cell = f->inside.w > 1 ? (f->to - f->from) / (f->inside.w - 1) : 0;
    size_t n = (size_t)l->points;
    double *x = xmalloc((2 * n + 1) * sizeof *x), *bar = xmalloc((2 * n + 1) * sizeof *bar),
           *at = xmalloc((n + 1) * sizeof *at);
    for (size_t i = 0; i < n; i++) {
        at[i] = x[2 * i] = x[2 * i + 1] = place_of(l->x[i], log_x) + shift * cell;
        bar[2 * i] = l->mean[i] - sd_at(l, (int)i);
        bar[2 * i + 1] = l->mean[i] + sd_at(l, (int)i);
    }
    plot_trace(c, f, &(struct plot_data){ at, l->mean, n }, 0, n, true, l->style, '.');
    plot_trace(c, f, &(struct plot_data){ x, bar, 2 * n }, 0, 2 * n, false, l->style, '|');
    for (size_t i = 0; i < n; i++)
        if (isfinite(l->mean[i]))
            canvas_put(c, f->inside.x + plot_column(f, at[i]) / f->px,
                       f->inside.y + plot_row(f, l->mean[i]) / f->py, l->style, l->mark);
    free(x);
    free(bar);
    free(at);
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
    for (int i = 0; i < lines; i++) plot_errors_draw_line(c, &f, &line[i], i, log_x);
    plot_close(c, &f, NULL, -1);
    draw_places(c, &f, line, lines, log_x, x_name);
}
