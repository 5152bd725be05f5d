#include "views/plot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "views/plot_raster.h"

static const struct {
    const char *name, *unit;
} plot_xs[PLOT_XS] = {
    { "step", "step" }, { "tokens", "tokens" }, { "time", "seconds" }, { "epoch", "epoch" }
};

const char *plot_x_name(enum plot_x x) { return plot_xs[x].name; }
const char *plot_x_unit(enum plot_x x) { return plot_xs[x].unit; }

double plot_smooth_weight(int level) {
    static const double weights[] = { 0, 0.5, 0.8, 0.9, 0.95, 0.98, 0.99 };
    return weights[level < 0 ? 0 : level > PLOT_SMOOTH_MAX ? PLOT_SMOOTH_MAX : level];
}

void plot_smooth(const double *value, size_t n, double weight, double *out) {
    double mean = 0, seen = 0; /* seen: the weights so far, 1 − wᵏ */
    for (size_t i = 0; i < n; i++) {
        if (isfinite(value[i])) {
            /* an incremental form: a constant stays bit for bit what it is */
            seen = weight * seen + (1 - weight);
            mean += (1 - weight) / seen * (value[i] - mean);
        }
        out[i] = seen > 0 ? mean : NAN;
    }
}

size_t plot_nearest(const struct plot_data *d, double step) {
    if (!d->count) return 0;
    size_t i = plot_lower(d, step);
    if (i == d->count) return i - 1;
    if (i && step - d->step[i - 1] <= d->step[i] - step) i--;
    return i;
}

bool plot_extent(const struct plot_data *d, double from, double to, bool positive, double *lo,
                 double *hi) {
    bool any = false;
    for (size_t i = plot_lower(d, from); i < d->count && d->step[i] <= to; i++) {
        double v = d->value[i];
        if (!isfinite(v) || (positive && v <= 0)) continue;
        if (!any || v < *lo) *lo = v;
        if (!any || v > *hi) *hi = v;
        any = true;
    }
    return any;
}

bool plot_blank(const struct canvas *c, struct rect r) {
    for (int y = r.y; y < r.y + r.h; y++)
        for (int x = r.x; x < r.x + r.w; x++) {
            const struct cell *at = canvas_at(c, x, y);
            if (!at || (at->cp != ' ' && at->cp != PLOT_CURSOR)) return false;
        }
    return true;
}

struct rect plot_curve(struct canvas *c, struct rect r, const struct plot_data *d,
                       const struct plot_look *look, double cursor, bool x_axis) {
    struct plot_frame f;
    double lo = 0, hi = 1, from, to;
    plot_window(look, d, &from, &to);
    struct axis_range y = look->y;
    if (d->count && !plot_extent(d, -INFINITY, INFINITY, false, &lo, &hi)) {
        canvas_wrap(c, rect_in(r, 3, 0), INK_BAD,
                    "no finite values: nothing to draw");
        return (struct rect){ 0 };
    }
    if (!y.set) {
        struct plot_span span = { .hi = 1 };
        plot_widen(&span, d, look);
        axis_fit(&y, span.lo, span.hi, span.log);
    }
    if (!plot_open(c, r, from, to, &y, true, look, x_axis, &f)) return (struct rect){ 0 };
    size_t begin, end;
    plot_in_sight(&f, d, &begin, &end);
    bool smooth = look->smooth > 0, points = !smooth || look->raw;
    struct style raw = canvas_style(c, smooth ? INK_RAW : INK_CURVE);
    if (points) plot_trace(c, &f, d, begin, end, !smooth, raw, smooth ? '.' : '*');
    if (smooth && d->count) {
        double *mean = xmalloc(d->count * sizeof *mean);
        plot_smooth(d->value, end, plot_smooth_weight(look->smooth), mean);
        plot_trace(c, &f, &(struct plot_data){ d->step, mean, end }, begin, end, true,
                   canvas_style(c, INK_CURVE), '*');
        free(mean);
    }
    if (points) plot_outside(c, &f, d, begin, end, raw);
    plot_lost(c, &f, d, begin, end);
    return plot_close(c, &f, look, cursor);
}

/* From one evaluation to the next: level, then up or down in the next one's column. */
static void join_points(struct canvas *c, const struct plot_frame *f, int x0, int y0, int x1,
                        int y1) {
    struct style style = canvas_style(c, INK_METRIC);
    style.attr = 0;
    y0 = y0 < -1 ? -1 : y0 > f->inside.h ? f->inside.h : y0; /* what lies outside is not drawn */
    y1 = y1 < -1 ? -1 : y1 > f->inside.h ? f->inside.h : y1;
    for (int x = x0 + 1; x < x1; x++) canvas_put(c, f->inside.x + x, f->inside.y + y0, style, 0x2500);
    if (x1 <= x0 || y0 == y1) return;
    canvas_put(c, f->inside.x + x1, f->inside.y + y0, style, y1 > y0 ? 0x256E : 0x256F);
    int step = y1 > y0 ? 1 : -1;
    for (int y = y0 + step; y != y1; y += step)
        canvas_put(c, f->inside.x + x1, f->inside.y + y, style, 0x2502);
}

struct rect plot_points(struct canvas *c, struct rect r, const struct plot_data *d,
                        const struct plot_look *look, double baseline, double cursor, double from, double to,
                        bool x_axis) {
    struct plot_frame f;
    struct axis_range y = look->metric_y;
    if (!y.set) {
        struct plot_span span = { .hi = 1 };
        plot_widen_metric(&span, d, baseline);
        axis_fit(&y, span.lo, span.hi, false);
    }
    if (!plot_open(c, r, from, to, &y, false, look, x_axis, &f)) return (struct rect){ 0 };
    if (isfinite(baseline))
        for (int x = 0; x < f.inside.w; x++)
            canvas_put(c, f.inside.x + x, f.inside.y + plot_row(&f, baseline),
                       canvas_style(c, INK_BASELINE), 0x2504);
    int x0 = 0, y0 = 0;
    bool have = false;
    for (int pass = 0; pass < 2; pass++) { /* marks lie over lines */
        have = false;
        for (size_t i = 0; i < d->count; i++) {
            if (!isfinite(d->value[i])) continue;
            int x1 = plot_column(&f, d->step[i]), y1 = plot_row(&f, d->value[i]);
            if (pass) canvas_put(c, f.inside.x + x1, f.inside.y + y1, canvas_style(c, INK_METRIC), 0x25CF);
            else if (have) join_points(c, &f, x0, y0, x1, y1);
            x0 = x1;
            y0 = y1;
            have = true;
        }
    }
    plot_lost(c, &f, d, 0, d->count);
    return plot_close(c, &f, look, cursor);
}
