#include "views/plot_axis.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/mem.h"
#include "views/plot_raster.h"

/* Rounding errors of this share of a step do not count. */
static const double slack = 1e-9;

double axis_step(double span, int parts) {
    if (!(span > 0) || parts < 1) return 1;
    double raw = span / parts, ten = pow(10, floor(log10(raw)));
    if (!(ten > 0) || !isfinite(ten)) return raw > 0 ? raw : 1;
    double share = raw / ten;
    if (share <= 1 + slack) return ten;
    return share <= 2 + slack ? 2 * ten : share <= 5 + slack ? 5 * ten : 10 * ten;
}

/* The 1-2-5 number at or below (up: above) v > 0. */
static double round_log(double v, bool up) {
    double ten = pow(10, floor(log10(v) + slack)), share = v / ten;
    static const double marks[] = { 1, 2, 5, 10 };
    if (up) {
        for (int i = 0; i < 4; i++)
            if (share <= marks[i] * (1 + slack)) return marks[i] * ten;
        return 10 * ten;
    }
    for (int i = 3; i > 0; i--)
        if (share >= marks[i] * (1 - slack)) return marks[i] * ten;
    return ten;
}

static void fit_log(struct axis_range *a, double lo, double hi) {
    if (a->set && a->log && lo >= a->lo && hi <= a->hi &&
        (hi <= lo || log(hi / lo) * 3 >= log(a->hi / a->lo)))
        return;
    a->lo = round_log(lo, false);
    a->hi = round_log(hi, true);
    if (a->hi <= a->lo * (1 + slack)) a->hi = round_log(a->lo * 1.5, true);
    a->step = 0;
    a->log = a->set = true;
}

void axis_fit(struct axis_range *a, double lo, double hi, bool log_scale) {
    if (!isfinite(lo) || !isfinite(hi) || lo > hi) return;
    if (log_scale && lo > 0) {
        fit_log(a, lo, hi);
        return;
    }
    double span = hi - lo;
    if (a->set && !a->log && lo >= a->lo && hi <= a->hi) {
        if (span >= 0.4 * (a->hi - a->lo)) return;
        /* a constant line stays in the range it lies in, when that is about its size */
        if (span <= 0 && a->hi - a->lo <= fmax(fabs(lo), 1)) return;
    }
    if (!(span > fabs(hi) * 1e-12)) span = fabs(hi) > 0 ? fabs(hi) * 0.2 : 1;
    if (!isfinite(span)) span = 1e300;
    double step = axis_step(span, 4);
    a->step = step;
    a->lo = floor(lo / step + slack) * step;
    a->hi = ceil(hi / step - slack) * step;
    if (a->hi - a->lo < step * 1.5) { /* a flat line lies inside, not on an edge */
        a->lo -= step;
        a->hi += step;
    }
    a->log = false;
    a->set = true;
}

/* Digits behind the point of value·10^-power that tell ticks this far apart from each other. */
static int digits_of(double step, int power) {
    double at = -log10(step) + power;
    return at > 0 ? (int)ceil(at - slack) : 0;
}

void axis_label(double value, double step, char out[16]) {
    double size = fabs(value);
    if (!isfinite(value)) {
        snprintf(out, 16, "%g", value);
    } else if (value == 0 || (step > 0 && size < step * slack)) {
        snprintf(out, 16, "0");
    } else if (size >= 1e6 || size < 1e-3) {
        char text[32];
        int power = (int)floor(log10(size) + slack), digits = step > 0 ? digits_of(step, power) : 0;
        snprintf(text, sizeof text, "%.*e", digits > 4 ? 4 : digits, value);
        char *e = strchr(text, 'e');
        sscanf(e + 1, "%d", &power);
        *e = 0;
        if (strchr(text, '.')) {
            char *end = text + strlen(text);
            while (end[-1] == '0') *--end = 0;
            if (end[-1] == '.') *--end = 0;
        }
        snprintf(out, 16, "%.8se%d", text, power);
    } else if (size >= 10000) {
        int digits = step > 0 ? digits_of(step, 3) : 0;
        if (step > 0) snprintf(out, 16, "%.*fk", digits > 3 ? 3 : digits, value / 1000);
        else snprintf(out, 16, "%gk", value / 1000);
    } else {
        int digits = digits_of(step > 0 ? step : size, 0);
        snprintf(out, 16, "%.*f", digits > 6 ? 6 : digits, value);
    }
}

int plot_column(const struct plot_frame *f, double step) {
    int last = f->inside.w * f->px - 1;
    if (f->to <= f->from) return 0;
    double x = f->log_x ? log(step / f->from) / log(f->to / f->from) * last
                        : (step - f->from) / (f->to - f->from) * last;
    if (!(x > -1e6)) return -1000000;
    return x > 1e6 ? 1000000 : (int)floor(x + 0.5);
}

int plot_row(const struct plot_frame *f, double value) {
    int last = f->inside.h * f->py - 1;
    const struct axis_range *y = &f->y;
    double share = y->log ? log(y->hi / value) / log(y->hi / y->lo)
                          : (y->hi - value) / (y->hi - y->lo);
    double row = share * last;
    if (!(row > -1e6)) return row != row ? 1000000 : -1000000;
    return row > 1e6 ? 1000000 : (int)floor(row + 0.5);
}

void plot_window(const struct plot_look *look, const struct plot_data *d, double *from,
                 double *to) {
    if (look->to > look->from) {
        *from = look->from;
        *to = look->to;
        return;
    }
    *from = 0;
    *to = d->count ? d->step[d->count - 1] : 1;
    if (*to < 10 && look->x == PLOT_X_STEP) *to = 10;
    if (look->to > 0 && look->from >= look->to && *to < look->to) *to = look->to;
}

/* ---- ticks ---- */

enum { TICKS = 80 };
struct ticks {
    int count;
    double at[TICKS], step; /* step 0: of a log axis */
};

/* The 1-2-5 number above one. */
static double next_step(double step) { return axis_step(step * 1.5, 1); }

static void linear_ticks(double lo, double hi, double step, struct ticks *t) {
    double first = ceil(lo / step - slack) * step;
    t->count = 0;
    t->step = step;
    for (int i = 0; i < TICKS && first + i * step <= hi + step * slack; i++)
        t->at[t->count++] = first + i * step;
}

/* Of every `decades`th decade its 1, or of each 1, 2 and 5 (decades 0). */
static void log_ticks(double lo, double hi, int decades, struct ticks *t) {
    static const double marks[] = { 1, 2, 5 };
    int each = decades ? 1 : 3, by = decades ? decades : 1;
    t->count = 0;
    t->step = 0;
    for (int ten = (int)floor(log10(lo) / by + slack) * by; t->count < TICKS; ten += by)
        for (int i = 0; i < each; i++) {
            double v = marks[i] * pow(10, ten);
            if (!isfinite(v) || v > hi * (1 + slack)) return;
            if (v >= lo * (1 - slack) && t->count < TICKS) t->at[t->count++] = v;
        }
}

/* Writes the ticks of an axis at a level, 0 the finest; false: there are no coarser ones.  Those of a level
 * are evenly spaced: 1-2-5 steps, or decades of a log axis that has several of its 1-2-5 numbers. */
static bool ticks_of(double lo, double hi, bool log_scale, bool whole, int level, struct ticks *t) {
    static const int decades[] = { 0, 1, 2, 5, 10, 20, 50, 100 };
    if (log_scale) {
        log_ticks(lo, hi, 0, t);
        if (t->count >= 2) {
            if (level >= (int)COUNT_OF(decades)) return false;
            log_ticks(lo, hi, decades[level], t);
            return true;
        }
    }
    double step = axis_step(hi - lo, TICKS - 2);
    if (whole && step < 1) step = 1;
    for (int i = 0; i < level; i++) step = next_step(step);
    linear_ticks(lo, hi, step, t);
    return level < 20;
}

static int row_of(const struct plot_frame *f, double v) { return plot_row(f, v) / f->py; }

/* Chooses the finest ticks with a row between each two; the ends of the axis where there are no two such. */
static void y_ticks(const struct plot_frame *f, struct ticks *t) {
    const struct axis_range *y = &f->y;
    for (int level = 0; ticks_of(y->lo, y->hi, y->log, false, level, t) && t->count >= 2; level++) {
        bool apart = true;
        for (int i = 1; i < t->count; i++) apart &= row_of(f, t->at[i - 1]) - row_of(f, t->at[i]) >= 2;
        if (apart) return;
    }
    *t = (struct ticks){ 2, { y->lo, y->hi }, y->step };
    if (f->inside.h < 2) t->count = 1;
}

/* Labels are a block that begins at the left edge of the chart. */
static void draw_y(struct canvas *c, const struct plot_frame *f, int left) {
    struct ticks t, fine;
    char label[TICKS][16];
    int w = 0, axis = f->inside.x - 1;
    struct style dim = canvas_style(c, INK_DIM);
    for (int i = 0; i < f->inside.h; i++) canvas_put(c, axis, f->inside.y + i, dim, 0x2502);
    y_ticks(f, &t);
    for (int i = 0; i < t.count; i++) {
        axis_label(t.at[i], t.step, label[i]);
        if ((int)strlen(label[i]) > w) w = (int)strlen(label[i]);
    }
    int end = left + w < axis ? left + w : axis;
    for (int i = 0; i < t.count; i++) {
        int y = f->inside.y + row_of(f, t.at[i]);
        canvas_put(c, axis, y, dim, 0x2524);
        canvas_text(c, end - (int)strlen(label[i]), y, INK_DIM, label[i]);
    }
    if (!f->y.log || t.step > 0) return;
    log_ticks(f->y.lo, f->y.hi, 0, &fine); /* those between decades have no label */
    for (int i = 0; i < fine.count; i++)
        canvas_put(c, axis, f->inside.y + row_of(f, fine.at[i]), dim, 0x2524);
}

/* Columns of the label of a tick, which is below it as far as the chart goes. */
static void place_label(const struct plot_frame *f, double v, double step, char label[16], int *left,
                        int *end) {
    int x = f->inside.x, at = plot_column(f, v) / f->px;
    axis_label(v, step, label);
    int w = (int)strlen(label);
    *left = x + at - w / 2;
    if (*left + w > x + f->inside.w) *left = x + f->inside.w - w;
    *end = *left + w;
}

/* Whether the labels of these ticks are apart. */
static bool labels_apart(const struct plot_frame *f, const struct ticks *t) {
    int before = -1000;
    for (int i = 0; i < t->count; i++) {
        char label[16];
        int left, end;
        place_label(f, t->at[i], t->step, label, &left, &end);
        if (left < before + 3) return false;
        before = end;
    }
    return true;
}

static void x_tick(struct canvas *c, const struct plot_frame *f, double v) {
    int at = plot_column(f, v) / f->px;
    if (at >= 0 && at < f->inside.w)
        canvas_put(c, f->inside.x + at, f->inside.y + f->inside.h, canvas_style(c, INK_DIM), 0x252C);
}

/* The line under the whole chart with its ticks; labels and, at the right end, what x is. */
static void draw_x(struct canvas *c, const struct plot_frame *f, bool labeled) {
    struct style dim = canvas_style(c, INK_DIM);
    int y = f->inside.y + f->inside.h, x = f->inside.x;
    struct ticks t = { 0 }, fine;
    bool whole = f->x == PLOT_X_STEP || f->x == PLOT_X_TOKENS;
    canvas_put(c, x - 1, y, dim, 0x2514);
    for (int i = 0; i < f->inside.w; i++) canvas_put(c, x + i, y, dim, 0x2500);
    if (!(f->to > f->from)) return;
    for (int level = 0; ticks_of(f->from, f->to, f->log_x, whole, level, &t); level++)
        if (labels_apart(f, &t)) break;
    if (f->log_x && !(t.step > 0)) {
        log_ticks(f->from, f->to, 0, &fine);
        for (int i = 0; i < fine.count; i++) x_tick(c, f, fine.at[i]);
    }
    const char *unit = plot_x_unit(f->x);
    int unit_x = x + f->inside.w - (int)strlen(unit);
    if (unit_x < x + 8) unit_x = x + f->inside.w;
    else if (labeled) canvas_text(c, unit_x, y + 1, INK_DIM, unit);
    for (int i = 0; i < t.count; i++) {
        char label[16];
        int left, end;
        x_tick(c, f, t.at[i]);
        place_label(f, t.at[i], t.step, label, &left, &end);
        if (labeled && end < unit_x) canvas_text(c, left, y + 1, INK_DIM, label);
    }
}

bool plot_open(struct canvas *c, struct rect r, double from, double to, const struct axis_range *y, bool fine,
               const struct plot_look *look, bool with_x, struct plot_frame *f) {
    int below = !with_x || r.h < 4 ? 0 : r.h < 7 ? 1 : 2; /* a line, and its labels */
    memset(f, 0, sizeof *f);
    f->inside = (struct rect){ r.x + AXIS_GUTTER, r.y, r.w - AXIS_GUTTER - 1, r.h - below };
    f->px = f->py = 1;
    if (fine) raster_pixels(c, &f->px, &f->py);
    f->x = look ? look->x : PLOT_X_STEP;
    f->log_x = look && look->log_x && to > 0;
    f->from = f->log_x && !(from > 0) ? fmin(1, to / 1000) : from;
    f->to = to;
    f->y = *y;
    if (rect_empty(f->inside)) return false;
    draw_y(c, f, r.x + PANE_EDGE);
    if (below) draw_x(c, f, below > 1);
    canvas_push_clip(c, f->inside);
    return true;
}

struct rect plot_close(struct canvas *c, const struct plot_frame *f, const struct plot_look *look,
                       double cursor) {
    if (look) plot_stages(c, f, look);
    if (look && cursor >= 0) plot_cursor(c, f, cursor);
    canvas_pop_clip(c);
    return f->inside;
}
