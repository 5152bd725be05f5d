#include "views/plot_axis.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

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
    if (value == 0 || (step > 0 && size < step * slack)) {
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
        int digits = step > 0 ? digits_of(step, 0) : size < 0.0999 ? 3 : size < 1 ? 1 : 0;
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

static void tick(struct canvas *c, const struct plot_frame *f, int y, const char *label) {
    int x = f->inside.x - 1;
    canvas_put(c, x, y, canvas_style(c, INK_DIM), 0x2524);
    canvas_right(c, x - AXIS_GUTTER + 1, y, AXIS_GUTTER - 2, INK_DIM, label);
}

/* Ticks get a label where two rows or more lie between them. */
static void y_ticks(struct canvas *c, const struct plot_frame *f) {
    const struct axis_range *y = &f->y;
    int last = f->inside.y + f->inside.h + 2;
    char label[16];
    if (y->log) {
        static const double marks[] = { 1, 2, 5 };
        double ten = pow(10, floor(log10(y->lo) + slack));
        for (int i = 0; ten <= y->hi * (1 + slack) && i < 600; i++) {
            double v = marks[i % 3] * ten;
            if (i % 3 == 2) ten *= 10;
            if (v < y->lo * (1 - slack) || v > y->hi * (1 + slack)) continue;
            int row = f->inside.y + plot_row(f, v) / f->py;
            if (last - row < 2) continue;
            axis_label(v, 0, label);
            tick(c, f, row, label);
            last = row;
        }
        return;
    }
    int steps = (int)fmin(1000, floor((y->hi - y->lo) / y->step + 0.5));
    int every = 1;
    while (steps / every * 2 > f->inside.h && every < steps) every *= every % 5 == 2 ? 5 : 2;
    for (int i = 0; i <= steps; i += every) {
        double v = y->lo + i * y->step;
        int row = f->inside.y + plot_row(f, v) / f->py;
        if (last - row < 2 && i) continue;
        axis_label(v, y->step, label);
        tick(c, f, row, label);
        last = row;
    }
}

/* What has been labelled so far of an x axis. */
struct x_labels {
    int free_from;
};

static void x_tick(struct canvas *c, const struct plot_frame *f, double at_x, double step,
                   struct x_labels *l) {
    char label[16];
    int y = f->inside.y + f->inside.h, x = f->inside.x, at = plot_column(f, at_x) / f->px;
    if (at < 0 || at >= f->inside.w) return;
    canvas_put(c, x + at, y, canvas_style(c, INK_DIM), 0x252C);
    axis_label(at_x, step, label);
    int w = (int)strlen(label), left = x + at - w / 2;
    if (left + w > x + f->inside.w) left = x + f->inside.w - w;
    if (left < l->free_from) return;
    canvas_text(c, left, y + 1, INK_DIM, label);
    l->free_from = left + w + 1;
}

static void log_ticks(struct canvas *c, const struct plot_frame *f, struct x_labels *l) {
    static const double marks[] = { 1, 2, 5 };
    double ten = pow(10, floor(log10(f->from) + slack));
    for (int i = 0; ten <= f->to * (1 + slack) && i < 600; i++) {
        double v = marks[i % 3] * ten;
        if (i % 3 == 2) ten *= 10;
        if (v >= f->from * (1 - slack) && v <= f->to * (1 + slack)) x_tick(c, f, v, 0, l);
    }
}

static void x_axis(struct canvas *c, const struct plot_frame *f) {
    struct style dim = canvas_style(c, INK_DIM);
    int y = f->inside.y + f->inside.h, x = f->inside.x;
    struct x_labels l = { x - 2 };
    canvas_put(c, x - 1, y, dim, 0x2514);
    for (int i = 0; i < f->inside.w; i++) canvas_put(c, x + i, y, dim, 0x2500);
    double step = axis_step(f->to - f->from, f->inside.w / 8 < 1 ? 1 : f->inside.w / 8);
    bool whole = f->x == PLOT_X_STEP || f->x == PLOT_X_TOKENS;
    if (whole && step < 1) step = 1;
    double first = ceil(f->from / step) * step;
    if (f->log_x) log_ticks(c, f, &l);
    for (int i = 0; !f->log_x && first + i * step <= f->to * (1 + slack); i++)
        x_tick(c, f, first + i * step, step, &l);
    char unit[24];
    snprintf(unit, sizeof unit, " %s ", plot_x_unit(f->x));
    int end = f->inside.w - (int)strlen(unit);
    if (end > 8) canvas_text(c, x + end, y, INK_DIM, unit);
}

bool plot_open(struct canvas *c, struct rect r, double from, double to, const struct axis_range *y, bool fine,
               const struct plot_look *look, bool with_x, struct plot_frame *f) {
    int below = with_x && r.h >= 5 ? 2 : 0;
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
    struct style dim = canvas_style(c, INK_DIM);
    for (int i = 0; i < f->inside.h; i++) canvas_put(c, f->inside.x - 1, r.y + i, dim, 0x2502);
    y_ticks(c, f);
    if (below) x_axis(c, f);
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
