#include "views/plot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "views/plot_axis.h"

/* Pixels of one layer, a bit mask a cell. */
struct raster {
    int w, h;            /* cells */
    int px, py;          /* pixels a cell */
    uint8_t *bits;
};

double plot_smooth_weight(int level) {
    static const double weights[] = {0, 0.5, 0.8, 0.9, 0.95, 0.98, 0.99};
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

/* First index with step ≥ s. */
static size_t lower(const struct plot_data *d, double s) {
    size_t lo = 0, hi = d->count;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (d->step[mid] < s) lo = mid + 1;
        else hi = mid;
    }
    return lo;
}

size_t plot_nearest(const struct plot_data *d, double step) {
    if (!d->count) return 0;
    size_t i = lower(d, step);
    if (i == d->count) return i - 1;
    if (i && step - d->step[i - 1] <= d->step[i] - step) i--;
    return i;
}

bool plot_extent(const struct plot_data *d, double from, double to, bool positive, double *lo,
                 double *hi) {
    bool any = false;
    for (size_t i = lower(d, from); i < d->count && d->step[i] <= to; i++) {
        double v = d->value[i];
        if (!isfinite(v) || (positive && v <= 0)) continue;
        if (!any || v < *lo) *lo = v;
        if (!any || v > *hi) *hi = v;
        any = true;
    }
    return any;
}

static void set_span(struct raster *r, int x, int y0, int y1) {
    if (x < 0 || x >= r->w * r->px) return;
    if (y0 > y1) {
        int t = y0;
        y0 = y1;
        y1 = t;
    }
    if (y0 < 0) y0 = 0;
    if (y1 > r->h * r->py - 1) y1 = r->h * r->py - 1;
    for (int y = y0; y <= y1; y++)
        r->bits[y / r->py * r->w + x / r->px] |=
            (uint8_t)(1u << ((y % r->py) * r->px + x % r->px));
}

/* A straight line of pixels. */
static void set_line(struct raster *r, int x0, int y0, int x1, int y1) {
    int before = y0;
    for (int x = x0; x <= x1; x++) {
        int y = x1 == x0 ? y1 : y0 + (int)lround((double)(y1 - y0) * (x - x0) / (x1 - x0));
        int from = y > before + 1 ? before + 1 : y < before - 1 ? before - 1 : y;
        set_span(r, x, from, y);
        before = y;
    }
}

/* The least and greatest of every pixel column, joined to the column before. */
static void trace(struct raster *r, const struct plot_frame *f, const struct plot_data *d,
                  size_t begin, size_t end, bool join) {
    int column = -1000001, lo = 0, hi = 0, last = 0;
    bool have = false;
    for (size_t i = begin; i < end; i++) {
        double v = d->value[i];
        if (!isfinite(v) || (f->y.log && v <= 0)) {
            if (have) set_span(r, column, lo, hi);
            have = false; /* a gap, not a line through it */
            continue;
        }
        int x = plot_column(f, d->step[i]), y = plot_row(f, v);
        if (have && x == column) {
            if (y < lo) lo = y;
            if (y > hi) hi = y;
        } else {
            if (have) {
                set_span(r, column, lo, hi);
                if (join) set_line(r, column, last, x, y);
            }
            column = x;
            lo = hi = y;
        }
        last = y;
        have = true;
    }
    if (have) set_span(r, column, lo, hi);
}

static uint32_t glyph(const struct raster *r, uint8_t bits, char ascii) {
    if (r->py == 4) {
        /* bit y·2+x → Unicode's order of braille dots */
        static const uint8_t dot[8] = {0x01, 0x08, 0x02, 0x10, 0x04, 0x20, 0x40, 0x80};
        uint32_t mask = 0;
        for (int i = 0; i < 8; i++)
            if (bits & (1u << i)) mask |= dot[i];
        return 0x2800 + mask;
    }
    if (r->py == 2) {
        static const uint16_t quadrant[16] = {' ',    0x2598, 0x259D, 0x2580, 0x2596, 0x258C,
                                              0x259E, 0x259B, 0x2597, 0x259A, 0x2590, 0x259C,
                                              0x2584, 0x2599, 0x259F, 0x2588};
        return quadrant[bits & 15];
    }
    return (uint32_t)ascii;
}

static void show(struct canvas *c, const struct plot_frame *f, const struct raster *r,
                 enum ink ink, char ascii) {
    struct style style = canvas_style(c, ink);
    for (int y = 0; y < r->h; y++)
        for (int x = 0; x < r->w; x++) {
            uint8_t bits = r->bits[y * r->w + x];
            if (bits)
                canvas_put(c, f->inside.x + x, f->inside.y + y, style, glyph(r, bits, ascii));
        }
}

/* A mark at the top for every column with a point that is no number. */
static void show_lost(struct canvas *c, const struct plot_frame *f, const struct plot_data *d,
                      size_t begin, size_t end) {
    struct style bad = canvas_style(c, INK_BAD);
    for (size_t i = begin; i < end; i++) {
        if (isfinite(d->value[i])) continue;
        int x = plot_column(f, d->step[i]) / f->px;
        if (x >= 0 && x < f->inside.w) canvas_put(c, f->inside.x + x, f->inside.y, bad, 0x25BC);
    }
}

static void show_cursor(struct canvas *c, const struct plot_frame *f, double cursor) {
    if (cursor < f->from || cursor > f->to) return;
    int x = f->inside.x + plot_column(f, cursor) / f->px;
    struct style style = canvas_style(c, INK_ACCENT);
    for (int y = 0; y < f->inside.h; y++) {
        const struct cell *at = canvas_at(c, x, f->inside.y + y);
        if (at && at->cp == ' ') canvas_put(c, x, f->inside.y + y, style, 0x2506);
    }
}

static void pixels(const struct canvas *c, int *px, int *py) {
    *px = c->glyphs == GLYPHS_ASCII ? 1 : 2;
    *py = c->glyphs == GLYPHS_BRAILLE ? 4 : c->glyphs == GLYPHS_BLOCKS ? 2 : 1;
}

static struct raster raster_new(const struct plot_frame *f) {
    struct raster r = {f->inside.w, f->inside.h, f->px, f->py, NULL};
    r.bits = xcalloc((size_t)r.w * (size_t)r.h, 1);
    return r;
}

struct plot_area plot_curve(struct canvas *c, struct rect r, const struct plot_data *d,
                            const struct plot_look *look, double cursor, bool x_axis) {
    struct plot_area area = {{r.x, r.y, 0, 0}, 0, 0};
    struct plot_frame f;
    int px, py;
    double lo = 0, hi = 1;
    pixels(c, &px, &py);
    plot_window(look, d, &area.from, &area.to);
    struct axis_range y = look->y;
    if (d->count && !plot_extent(d, -INFINITY, INFINITY, false, &lo, &hi)) {
        canvas_wrap(c, (struct rect){r.x + 3, r.y, r.w - 4, r.h}, INK_BAD,
                    "none of its values is a finite number: there is nothing to draw");
        return area;
    }
    lo = 0;
    hi = 1;
    if (!y.set) {
        bool positive = look->log && plot_extent(d, area.from, area.to, true, &lo, &hi);
        if (!positive) plot_extent(d, area.from, area.to, false, &lo, &hi);
        axis_fit(&y, lo, hi, positive);
    }
    if (!plot_frame(c, r, area.from, area.to, &y, px, py, x_axis, &f)) return area;
    area.inside = f.inside;
    canvas_push_clip(c, f.inside);
    /* one point more on either side, so that lines run out of the window */
    size_t begin = lower(d, f.from), end = lower(d, f.to);
    if (begin) begin--;
    if (end < d->count) end++;
    bool smooth = look->smooth > 0;
    if (!smooth || look->raw) {
        struct raster raw = raster_new(&f);
        trace(&raw, &f, d, begin, end, !smooth);
        show(c, &f, &raw, smooth ? INK_RAW : INK_CURVE, smooth ? '.' : '*');
        free(raw.bits);
    }
    if (smooth && d->count) {
        struct raster curve = raster_new(&f);
        double *mean = xmalloc(d->count * sizeof *mean);
        plot_smooth(d->value, end, plot_smooth_weight(look->smooth), mean);
        struct plot_data smoothed = {d->step, mean, end};
        trace(&curve, &f, &smoothed, begin, end, true);
        show(c, &f, &curve, INK_CURVE, '*');
        free(mean);
        free(curve.bits);
    }
    show_lost(c, &f, d, begin, end);
    if (cursor >= 0) show_cursor(c, &f, cursor);
    canvas_pop_clip(c);
    return area;
}

/* From one evaluation to the next: level, then up or down in the next one's column. */
static void join_points(struct canvas *c, const struct plot_frame *f, int x0, int y0, int x1,
                        int y1) {
    struct style style = canvas_style(c, INK_METRIC);
    style.attr = 0;
    for (int x = x0 + 1; x < x1; x++) canvas_put(c, f->inside.x + x, f->inside.y + y0, style, 0x2500);
    if (x1 <= x0 || y0 == y1) return;
    canvas_put(c, f->inside.x + x1, f->inside.y + y0, style, y1 > y0 ? 0x256E : 0x256F);
    int step = y1 > y0 ? 1 : -1;
    for (int y = y0 + step; y != y1; y += step)
        canvas_put(c, f->inside.x + x1, f->inside.y + y, style, 0x2502);
}

struct plot_area plot_points(struct canvas *c, struct rect r, const struct plot_data *d,
                             const struct plot_look *look, double baseline, double cursor,
                             double from, double to, bool x_axis) {
    struct plot_area area = {{r.x, r.y, 0, 0}, from, to};
    struct plot_frame f;
    double lo = 0, hi = 1;
    struct axis_range y = look->metric_y;
    if (!y.set) {
        bool any = plot_extent(d, -INFINITY, INFINITY, false, &lo, &hi);
        if (isfinite(baseline)) {
            lo = any && lo < baseline ? lo : baseline;
            hi = any && hi > baseline ? hi : baseline;
        }
        axis_fit(&y, lo, hi, false);
    }
    if (!plot_frame(c, r, from, to, &y, 1, 1, x_axis, &f)) return area;
    area.inside = f.inside;
    canvas_push_clip(c, f.inside);
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
    show_lost(c, &f, d, 0, d->count);
    if (cursor >= 0) show_cursor(c, &f, cursor);
    canvas_pop_clip(c);
    return area;
}
