#include "views/heat.h"
#include "views/zone.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/mem.h"

/* From dark violet over teal to yellow, and from blue over white to orange: lightness
 * alone tells them apart too. */
static const int16_t sequential[] = { 53, 55, 61, 31, 36, 72, 78, 114, 150, 186, 228 };
static const int16_t around_zero[] = { 25, 32, 74, 110, 153, 255, 223, 216, 214, 172, 130 };
enum { LEVELS = COUNT_OF(sequential), LABEL_MOST = 22, CELL_SHAPE = 6 /* columns to a line, at most */ };

static const int cell_width[HEAT_SIZES] = { 1, 2, 2, 3, 6 };

bool heat_scale(const struct heat_data *d, double *lo, double *hi, int *undefined) {
    bool any = false;
    *undefined = 0;
    *lo = *hi = 0;
    for (int i = 0; i < d->rows * d->columns; i++) {
        double v = d->value[i];
        if (!isfinite(v)) {
            ++*undefined;
            continue;
        }
        if (!any || v < *lo) *lo = v;
        if (!any || v > *hi) *hi = v;
        any = true;
    }
    if (any && d->diverging) {
        *hi = fmax(fabs(*lo), fabs(*hi));
        *lo = -*hi;
    }
    return any;
}

static int heat_into(int v, int lo, int hi) { return v > hi ? (hi < lo ? lo : hi) : v < lo ? lo : v; }

static int heat_stored(const int *order, int i) { return order ? order[i] : i; }

double heat_value(const struct heat_data *d, int row, int column) {
    if (row < 0 || column < 0 || row >= d->rows || column >= d->columns) return NAN;
    return d->value[heat_stored(d->row_order, row) * d->columns + heat_stored(d->column_order, column)];
}

const char *heat_row_name(const struct heat_data *d, int row) {
    return row < 0 || row >= d->rows ? "" : d->row_name[heat_stored(d->row_order, row)];
}

const char *heat_column_name(const struct heat_data *d, int column) {
    return column < 0 || column >= d->columns ? "" : d->column_name[heat_stored(d->column_order, column)];
}

static int rows_a_line(enum heat_size size) { return size <= HEAT_HALF_WIDE ? 2 : 1; }

static int heat_longest(const struct canvas *c, const char *const *name, int n) {
    int most = 0;
    for (int i = 0; i < n; i++) {
        int w = canvas_width(c, name[i]);
        if (w > most) most = w;
    }
    return most;
}

static int label_width(const struct canvas *c, struct rect r, const struct heat_data *d) {
    int most = heat_longest(c, d->row_name, d->rows);
    int room = r.w / 3 < LABEL_MOST ? r.w / 3 : LABEL_MOST;
    return most < room ? most : room;
}

struct heat_page heat_page(const struct canvas *c, struct rect r, const struct heat_data *d,
                           const struct heat_look *k) {
    struct heat_page p = { .label = label_width(c, r, d) };
    /* half blocks need colors; without them a line holds one row */
    int first = c->colors == COLORS_256 && c->glyphs != GLYPHS_ASCII ? HEAT_HALF : HEAT_LINE;
    int width = r.w - p.label - 1, height = r.h - 1; /* a line of column names above */
    if (width < 0) width = 0;
    if (height < 0) height = 0;
    int size = k->fit ? HEAT_SIZES - 1 : (int)k->size < first ? first : (int)k->size;
    while (k->fit && size > first &&
           (d->columns * cell_width[size] > width || d->rows > height * rows_a_line((enum heat_size)size)))
        size--;
    p.size = (enum heat_size)size;
    p.cell = cell_width[size];
    p.tall = 1;
    if (p.size >= HEAT_LINE && k->fit) { /* small matrices fill the pane, in cells of like sides */
        int wide = width / (d->columns ? d->columns : 1), lines = height / (d->rows ? d->rows : 1);
        int name = p.size == HEAT_FULL ? heat_longest(c, d->column_name, d->columns) + 1 : 0;
        if (wide < p.cell) wide = p.cell;
        p.tall = heat_into(lines, 1, wide);
        p.cell = heat_into(wide, p.cell, name > CELL_SHAPE * p.tall ? name : CELL_SHAPE * p.tall);
    }
    p.columns = width / p.cell;
    p.rows = height / p.tall * rows_a_line(p.size);
    if (p.columns > d->columns) p.columns = d->columns;
    if (p.rows > d->rows) p.rows = d->rows;
    return p;
}

void heat_settle(struct heat_look *k, const struct heat_data *d, const struct heat_page *p) {
    k->row = heat_into(k->row, 0, d->rows - 1);
    k->column = heat_into(k->column, 0, d->columns - 1);
    k->top = heat_into(k->top, k->row - p->rows + 1, k->row);
    k->left = heat_into(k->left, k->column - p->columns + 1, k->column);
    k->top = heat_into(k->top, 0, d->rows - p->rows);
    k->left = heat_into(k->left, 0, d->columns - p->columns);
    if (rows_a_line(p->size) == 2) k->top -= k->top % 2;
}

/* ---- cells ---- */

struct scale {
    double lo, hi;
    bool diverging;
};

static int level(const struct scale *s, double v) {
    double share = s->hi > s->lo ? (v - s->lo) / (s->hi - s->lo) : s->diverging ? 0.5 : 1;
    return heat_into((int)(share * LEVELS), 0, LEVELS - 1);
}

static int16_t color(const struct scale *s, double v) {
    return (s->diverging ? around_zero : sequential)[level(s, v)];
}

/* Returns a mark whose density shows the value; the sign is drawn next to it. */
static uint32_t density(const struct canvas *c, const struct scale *s, double v) {
    static const uint32_t fine[] = { ' ', 0x2591, 0x2592, 0x2593, 0x2588 };
    static const char plain[] = " .:-=+*#%@";
    double share = s->diverging ? (s->hi > 0 ? fabs(v) / s->hi : 0)
                                : s->hi > s->lo ? (v - s->lo) / (s->hi - s->lo) : 1;
    if (c->glyphs == GLYPHS_ASCII) return (unsigned char)plain[heat_into((int)(share * 10), 0, 9)];
    return fine[heat_into((int)(share * 5), 0, 4)];
}

/* Formats a value in at most `room` characters: "0.62", or two digits of hundredths; "1" for one. */
static void heat_number(double v, int room, char out[16]) {
    if (room >= 5) {
        snprintf(out, 16, fabs(v) < 10 ? "%.2f" : "%.3g", v);
    } else if (v >= 0.995 && v < 1.005) {
        snprintf(out, 16, "1");
    } else if (v > -0.095 && v < 0.995) {
        snprintf(out, 16, "%02.0f", fabs(v) * 100);
        if (v < -0.005) snprintf(out, 16, "-%.0f", -v * 100);
    } else {
        *out = 0; /* does not fit: the color and the readout show it */
    }
    if ((int)strlen(out) > room) *out = 0;
}

/* Draws a line of a cell; `middle`: the one with its value or mark. */
static void draw_cell(struct canvas *c, int x, int y, int w, const struct scale *s, double v,
                      enum heat_size size, bool here, bool middle) {
    struct style style = canvas_style(c, here ? INK_CURSOR : INK_TEXT);
    char text[16] = "";
    if (!isfinite(v)) {
        style = canvas_style(c, here ? INK_CURSOR : INK_DIM);
        for (int i = 0; i < w; i++)
            canvas_put(c, x + i, y, style, middle && i == (w - 1) / 2 ? 0x00D7 : ' ');
        return;
    }
    if (middle && size >= HEAT_SHORT) heat_number(v, size == HEAT_FULL ? 5 : 2, text);
    bool filled = c->colors == COLORS_256;
    if (filled) {
        style.bg = color(s, v);
        int l = level(s, v);
        bool dark = s->diverging ? l < 1 || l > LEVELS - 2 : l < 3;
        style.fg = dark ? 231 : 16;
        style.attr = here ? ATTR_REVERSE | ATTR_BOLD : 0;
    }
    uint32_t mark = filled ? ' ' : density(c, s, v);
    int digits = (int)strlen(text), lead = (w - digits) / 2;
    if (size == HEAT_FULL && w == cell_width[HEAT_FULL]) lead = w - 1 - digits;
    for (int i = 0; i < w; i++) {
        bool printed = digits && i >= lead && i < lead + digits;
        uint32_t cp = printed ? (unsigned char)text[i - lead] : !filled && i > 4 && i == w - 1 ? ' ' : mark;
        if (!filled && !digits && s->diverging && i == 0 && v < 0) cp = '-';
        canvas_put(c, x + i, y, style, cp);
    }
}

/* Draws two rows in one line; an undefined half has the background's color, two have the mark. */
static void draw_halves(struct canvas *c, int x, int y, int w, const struct scale *s, double upper,
                        double lower, bool has_lower) {
    bool up = isfinite(upper), down = has_lower && isfinite(lower);
    struct style style = { -1, -1, 0 };
    uint32_t cp = 0x2580;
    if (up) style.fg = color(s, upper);
    if (down) style.bg = color(s, lower);
    if (!up && down) {
        style = (struct style){ color(s, lower), -1, 0 };
        cp = 0x2584;
    } else if (!up) {
        style = canvas_style(c, INK_DIM);
        cp = 0x00D7;
    }
    for (int i = 0; i < w; i++) canvas_put(c, x + i, y, style, cp);
}

/* ---- labels ---- */

/* Returns the columns to the left of a name that is centered over a wide cell. */
static int centered(const struct heat_page *p, int w) {
    return p->cell > cell_width[HEAT_FULL] && w < p->cell ? (p->cell - w) / 2 : 0;
}

/* Draws the column names that fit, and always the one under the cursor. */
static void draw_columns(struct canvas *c, struct rect r, const struct heat_data *d,
                         const struct heat_look *k, const struct heat_page *p) {
    int x0 = r.x + p->label + 1, end = r.x + r.w;
    int here = k->column - k->left, own = 0, own_x = 0;
    if (here >= 0 && here < p->columns) {
        own = canvas_width(c, heat_column_name(d, k->column));
        if (own < p->cell) own = p->cell;
        if (own > LABEL_MOST) own = LABEL_MOST;
        if (p->cell >= 5) own = p->cell; /* its neighbors keep their names */
        if (own > end - x0) own = end - x0;
        own_x = x0 + here * p->cell;
        if (own_x + own > end) own_x = end - own;
    }
    int free_at = x0;
    for (int i = 0; i < p->columns; i++) {
        const char *name = heat_column_name(d, k->left + i);
        int x = x0 + i * p->cell, room = i == p->columns - 1 ? end - x : 0;
        if (x < free_at || i == here) continue;
        int w = canvas_width(c, name);
        if (w > LABEL_MOST) w = LABEL_MOST;
        if (p->cell >= 5 && w > p->cell - 1) w = p->cell - 1;
        if (x + w > end) w = room;
        if (own && x < own_x + own && x + w + 1 > own_x) {
            if (x >= own_x) continue;
            w = own_x - 1 - x;
            if (w < 2) continue;
        }
        canvas_fit(c, x + centered(p, w), r.y, w, INK_DIM, name);
        free_at = x + w + 1;
    }
    if (own > 0) {
        const char *name = heat_column_name(d, k->column);
        int lead = centered(p, canvas_width(c, name));
        canvas_fill(c, (struct rect){ own_x, r.y, own, 1 }, INK_CURSOR, ' ');
        canvas_fit(c, own_x + lead, r.y, own - lead, INK_CURSOR, name);
    }
}

static void draw_row_name(struct canvas *c, int x, int y, const struct heat_data *d,
                          const struct heat_look *k, const struct heat_page *p, int row) {
    int shown = row;
    if (rows_a_line(p->size) == 2 && k->row == row + 1) shown = k->row;
    bool here = k->row == shown;
    canvas_right(c, x, y, p->label, here ? INK_CURSOR : INK_DIM, heat_row_name(d, shown));
}

/* Draws the signs of cells, in their style, to the left of the numbers, which leave that column free. */
static void draw_signs(struct canvas *c, struct rect r, const struct heat_data *d, const struct heat_look *k,
                       const struct heat_page *p) {
    for (int i = 0; i < p->rows && d->sign && p->size == HEAT_FULL; i++) {
        for (int j = 0; j < p->columns; j++) {
            int x = r.x + p->label + 1 + j * p->cell + (p->cell > 8 ? (p->cell - 8) / 2 : 0);
            int y = r.y + 1 + i * p->tall + (p->tall - 1) / 2;
            uint32_t sign = d->sign[heat_stored(d->row_order, k->top + i) * d->columns +
                                    heat_stored(d->column_order, k->left + j)];
            if (!isfinite(heat_value(d, k->top + i, k->left + j)))
                x = r.x + p->label + 1 + j * p->cell + (p->cell - 1) / 2;
            const struct cell *at = canvas_at(c, x, y);
            if (sign && at) canvas_put(c, x, y, at->style, sign);
        }
    }
}

void heat_draw(struct canvas *c, struct rect r, const struct heat_data *d, const struct heat_look *k) {
    if (rect_empty(r) || d->rows <= 0 || d->columns <= 0) return;
    struct scale s = { .diverging = d->diverging };
    int undefined, step;
    heat_scale(d, &s.lo, &s.hi, &undefined);
    struct heat_page p = heat_page(c, r, d, k);
    canvas_push_clip(c, r);
    draw_columns(c, r, d, k, &p);
    step = rows_a_line(p.size);
    zone_add(c, (struct zone){
                    .at = { r.x + p.label + 1, r.y + 1, p.columns * p.cell,
                            (p.rows + step - 1) / step * p.tall },
                    .right = k->left - k->column,
                    .down = k->top - k->row,
                    .wide = p.cell,
                    .rows = step,
                    .tall = p.tall,
                    .part = k->part,
                    .key = k->key });
    for (int i = 0; i < p.rows; i += step) {
        int y = r.y + 1 + i / step * p.tall, middle = (p.tall - 1) / 2, row = k->top + i;
        draw_row_name(c, r.x, y + middle, d, k, &p, row);
        for (int j = 0; j < p.columns; j++) {
            int x = r.x + p.label + 1 + j * p.cell, column = k->left + j;
            double v = heat_value(d, row, column);
            if (step == 2)
                draw_halves(c, x, y, p.cell, &s, v, heat_value(d, row + 1, column),
                            i + 1 < p.rows && row + 1 < d->rows);
            for (int l = 0; step == 1 && l < p.tall; l++)
                draw_cell(c, x, y + l, p.cell, &s, v, p.size, row == k->row && column == k->column,
                          l == middle);
        }
    }
    draw_signs(c, r, d, k, &p);
    canvas_pop_clip(c);
}

int heat_legend(struct canvas *c, int x, int y, int columns, const struct heat_data *d) {
    struct scale s = { .diverging = d->diverging };
    int undefined, at = x;
    bool any = heat_scale(d, &s.lo, &s.hi, &undefined);
    canvas_push_clip(c, (struct rect){ x, y, columns, 1 });
    if (!any) {
        at += canvas_text(c, at, y, INK_DIM, "all cells are undefined");
    } else {
        const double value[3] = { s.lo, s.lo / 2 + s.hi / 2, s.hi };
        for (int i = 0; i < 3; i++) {
            at += canvas_printf(c, at, y, INK_TEXT, "%.3g", fabs(value[i]) < 1e-12 ? 0.0 : value[i]) + 1;
            for (int l = 0; i < 2 && l < LEVELS / 2 + i; l++, at++) {
                double v = s.lo + (s.hi - s.lo) * (i * (LEVELS / 2) + l + 0.5) / LEVELS;
                draw_cell(c, at, y, 1, &s, v, HEAT_LINE, false, true);
            }
            if (i < 2) at++;
        }
    }
    if (undefined && !d->sign) at += canvas_printf(c, at, y, INK_WARN, "  \u00D7 undefined: %d", undefined);
    canvas_pop_clip(c);
    return at - x;
}
