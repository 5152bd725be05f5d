#include "views/scatter.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "views/theme.h"

/* The mapping of data to pixels: x to the right, y up. */
struct frame {
    int px, py;          /* pixels per cell */
    double tall;         /* height of a pixel in units of its width */
    double width, height;
    double mid_x, mid_y; /* of the points */
    double half;         /* half of their larger extent, > 0 */
    double scale;        /* pixels per unit of data, with the zoom */
    double at_x, at_y;   /* data in the middle of the pane */
};

void scatter_look_init(struct scatter_look *k) {
    memset(k, 0, sizeof *k);
    k->zoom = 1;
    k->u = k->v = 0.5;
}

static bool finite_point(const struct scatter_data *d, int i) {
    return isfinite(d->xy[2 * i]) && isfinite(d->xy[2 * i + 1]);
}

bool scatter_drawn(const struct scatter_data *d, const struct scatter_look *k, int i) {
    int class = d->label[i];
    if (class >= 0 && class < SCATTER_CLASSES && (k->hidden >> class & 1)) return false;
    return finite_point(d, i);
}

static struct frame frame_of(enum glyphs g, struct rect r, const struct scatter_data *d,
                             const struct scatter_look *k) {
    struct frame f = { .px = g == GLYPHS_ASCII ? 1 : 2,
                      .py = g == GLYPHS_BRAILLE ? 4 : g == GLYPHS_BLOCKS ? 2 : 1 };
    f.tall = 2.0 * f.px / f.py;
    f.width = (double)r.w * f.px;
    f.height = (double)r.h * f.py;
    double lo[2] = { 0, 0 }, hi[2] = { 0, 0 };
    bool any = false;
    for (int i = 0; d->xy && i < d->n; i++) { /* hidden points count: the scale stays */
        if (!finite_point(d, i)) continue;
        for (int a = 0; a < 2; a++) {
            double v = d->xy[2 * i + a];
            if (!any || v < lo[a]) lo[a] = v;
            if (!any || v > hi[a]) hi[a] = v;
        }
        any = true;
    }
    f.mid_x = lo[0] / 2 + hi[0] / 2;
    f.mid_y = lo[1] / 2 + hi[1] / 2;
    double rx = hi[0] / 2 - lo[0] / 2, ry = hi[1] / 2 - lo[1] / 2;
    f.half = rx > ry ? rx : ry;
    if (!(f.half > 0)) f.half = rx = ry = 1;
    double by_x = rx > 0 ? (f.width - 2) / (2 * rx) : INFINITY;
    double by_y = ry > 0 ? (f.height - 2) * f.tall / (2 * ry) : INFINITY;
    f.scale = by_x < by_y ? by_x : by_y;
    if (!(f.scale > 0)) f.scale = 1 / f.half;
    f.scale *= k->zoom;
    f.at_x = f.mid_x + k->x * f.half;
    f.at_y = f.mid_y + k->y * f.half;
    return f;
}

/* Computes the pixel of a point, which may be outside the pane. */
static void pixel(const struct frame *f, double x, double y, int *column, int *row) {
    double px = f->width / 2 + (x - f->at_x) * f->scale;
    double py = f->height / 2 - (y - f->at_y) * f->scale / f->tall;
    *column = (int)floor(fmin(fmax(px, -1e6), 1e6));
    *row = (int)floor(fmin(fmax(py, -1e6), 1e6));
}

/* ---- classes ---- */

static const char letters[] = "ox+*#@%&abcdefghijklmnpqrstuvwyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

bool scatter_letters(const struct canvas *c, int classes) {
    return c->glyphs == GLYPHS_ASCII || classes > theme_series(c->theme, c->colors);
}

struct style scatter_style(const struct canvas *c, int class) {
    return class < 0 ? canvas_style(c, INK_DIM) : theme_series_style(class, true, c->theme, c->colors);
}

struct style scatter_mark_style(const struct canvas *c, int classes, int class) {
    if (class < 0 || scatter_letters(c, classes)) return scatter_style(c, class);
    return theme_series_style(class, false, c->theme, c->colors);
}

uint32_t scatter_mark(const struct canvas *c, int classes, int class) {
    if (class < 0) return '.';
    if (scatter_letters(c, classes)) return (unsigned char)letters[class % (int)(sizeof letters - 1)];
    return 0x25CF;
}

/* ---- drawing ---- */

/* The dots of each cell, and the number of points of each class in it. */
struct scatter_dots {
    int w, h, kinds; /* kinds: classes, and one for unlabeled points */
    uint8_t *bits;
    uint16_t *count;
};

static void raster_fill(struct scatter_dots *t, const struct frame *f, const struct scatter_data *d,
                        const struct scatter_look *k) {
    for (int i = 0; i < d->n; i++) {
        int x, y, class = d->label[i];
        if (!scatter_drawn(d, k, i)) continue;
        pixel(f, d->xy[2 * i], d->xy[2 * i + 1], &x, &y);
        if (x < 0 || y < 0 || x >= t->w * f->px || y >= t->h * f->py) continue;
        int cell = y / f->py * t->w + x / f->px;
        t->bits[cell] |= (uint8_t)(1u << (y % f->py * f->px + x % f->px));
        int kind = class < 0 || class >= t->kinds - 1 ? t->kinds - 1 : class;
        uint16_t *n = &t->count[cell * t->kinds + kind];
        if (*n < UINT16_MAX) ++*n;
    }
}

/* Returns the class with most points, the first of equals. */
static int winner(const struct scatter_dots *t, int cell) {
    const uint16_t *n = &t->count[cell * t->kinds];
    int best = t->kinds - 1;
    for (int k = t->kinds - 2; k >= 0; k--)
        if (n[k] && n[k] >= n[best]) best = k;
    return best == t->kinds - 1 ? -1 : best;
}

static uint32_t dots(const struct frame *f, uint8_t bits) {
    static const uint8_t braille[8] = { 0x01, 0x08, 0x02, 0x10, 0x04, 0x20, 0x40, 0x80 };
    static const uint16_t quadrant[16] = { ' ',    0x2598, 0x259D, 0x2580, 0x2596, 0x258C, 0x259E, 0x259B,
                                          0x2597, 0x259A, 0x2590, 0x259C, 0x2584, 0x2599, 0x259F, 0x2588 };
    if (f->py == 2) return quadrant[bits & 15];
    uint32_t mask = 0;
    for (int i = 0; i < 8; i++)
        if (bits & (1u << i)) mask |= braille[i];
    return 0x2800 + mask;
}

static void mark_chosen(struct canvas *c, struct rect r, const struct frame *f,
                        const struct scatter_data *d, int chosen) {
    int x, y;
    if (chosen < 0 || chosen >= d->n || !finite_point(d, chosen)) return;
    pixel(f, d->xy[2 * chosen], d->xy[2 * chosen + 1], &x, &y);
    if (x < 0 || y < 0) return;
    struct style s = scatter_mark_style(c, d->classes, d->label[chosen]);
    s.attr |= ATTR_REVERSE | ATTR_BOLD;
    canvas_put(c, r.x + x / f->px, r.y + y / f->py, s, scatter_mark(c, d->classes, d->label[chosen]));
}

/* ---- names ---- */

enum { NAME_MOST = 16, NAME_NEAR = 8 /* rows between a name and the middle of its points */ };

/* Counts the points of each class in sight by column and row: for each class r.w columns, then r.h rows. */
static int *counts_of(const struct frame *f, struct rect r, const struct scatter_data *d,
                      const struct scatter_look *k, int classes) {
    int *count = xcalloc((size_t)(r.w + r.h) * (size_t)classes + 1, sizeof *count);
    for (int i = 0; i < d->n; i++) {
        int x, y, class = d->label[i];
        if (class < 0 || class >= classes || !scatter_drawn(d, k, i)) continue;
        pixel(f, d->xy[2 * i], d->xy[2 * i + 1], &x, &y);
        if (x < 0 || y < 0 || x >= r.w * f->px || y >= r.h * f->py) continue;
        count[class * (r.w + r.h) + x / f->px]++;
        count[class * (r.w + r.h) + r.w + y / f->py]++;
    }
    return count;
}

/* Returns the median of a histogram; -1 if it is empty. */
static int median_of(const int *count, int n) {
    int all = 0, at = -1;
    for (int i = 0; i < n; i++) all += count[i];
    for (int sum = 0; all && 2 * sum < all; sum += count[at]) at++;
    return at;
}

/* Writes the place of a name of w columns near the middle where it covers the fewest marks; false where it
 * would cover many, or another name. */
static bool place_name(const struct scatter_dots *t, const uint8_t *named, int w, int column, int row,
                       int *at_x, int *at_y) {
    double best = INFINITY;
    for (int y = row - NAME_NEAR; y <= row + NAME_NEAR; y++)
        for (int x = column - w - 2; x <= column + 2; x++) {
            int marks = 0, names = 0;
            if (x < 0 || y < 0 || y >= t->h || x + w > t->w) continue;
            for (int i = 0; i < w; i++) {
                marks += t->bits[y * t->w + x + i] != 0;
                names += named[y * t->w + x + i];
            }
            double cost = 3 * marks + 2 * abs(y - row) + 0.5 * abs(x + w / 2 - column);
            if (names || 4 * marks > w || cost >= best) continue;
            best = cost;
            *at_x = x;
            *at_y = y;
        }
    return isfinite(best);
}

static void scatter_names(struct canvas *c, struct rect r, const struct frame *f,
                          const struct scatter_data *d, const struct scatter_look *k,
                          const struct scatter_dots *t) {
    uint8_t *named = xcalloc((size_t)r.w * (size_t)r.h, 1);
    int *counts = counts_of(f, r, d, k, t->kinds - 1);
    for (int class = 0; class < t->kinds - 1; class++) {
        const int *count = counts + class * (r.w + r.h);
        int column = median_of(count, r.w), row = median_of(count + r.w, r.h);
        int x = 0, y = 0, w = canvas_width(c, d->name[class]) + 2;
        if (w > NAME_MOST + 2) w = NAME_MOST + 2;
        if (column < 0) continue;
        if (!place_name(t, named, w + 2, column, row, &x, &y)) continue;
        canvas_fill(c, (struct rect){ r.x + x, r.y + y, w + 2, 1 }, INK_TEXT, ' ');
        canvas_put(c, r.x + x + 1, r.y + y, scatter_mark_style(c, d->classes, class),
                   scatter_mark(c, d->classes, class));
        canvas_fit(c, r.x + x + 3, r.y + y, w - 2, INK_TITLE, d->name[class]);
        memset(named + y * r.w + x, 1, (size_t)w + 2);
    }
    free(counts);
    free(named);
}

void scatter_cell(struct rect r, const struct scatter_look *k, int *x, int *y) {
    *x = (int)(k->u * r.w);
    *y = (int)(k->v * r.h);
    if (*x >= r.w) *x = r.w - 1;
    if (*y >= r.h) *y = r.h - 1;
}

void scatter_draw(struct canvas *c, struct rect r, const struct scatter_data *d,
                  const struct scatter_look *k, int chosen, bool cursor) {
    if (rect_empty(r) || !d->xy) return;
    struct frame f = frame_of(c->glyphs, r, d, k);
    int classes = d->classes < SCATTER_CLASSES ? d->classes : SCATTER_CLASSES;
    struct scatter_dots t = { .w = r.w, .h = r.h, .kinds = classes + 1 };
    size_t cells = (size_t)r.w * (size_t)r.h;
    t.bits = xcalloc(cells, 1);
    t.count = xcalloc(cells * (size_t)t.kinds, sizeof *t.count);
    raster_fill(&t, &f, d, k);
    canvas_push_clip(c, r);
    bool by_letter = scatter_letters(c, d->classes);
    for (int i = 0; i < (int)cells; i++) {
        if (!t.bits[i]) continue;
        int class = winner(&t, i);
        uint32_t cp = by_letter ? scatter_mark(c, d->classes, class) : dots(&f, t.bits[i]);
        canvas_put(c, r.x + i % r.w, r.y + i / r.w, scatter_mark_style(c, d->classes, class), cp);
    }
    if (d->name) scatter_names(c, r, &f, d, k, &t);
    mark_chosen(c, r, &f, d, chosen);
    if (cursor) {
        int x, y;
        scatter_cell(r, k, &x, &y);
        const struct cell *at = canvas_at(c, r.x + x, r.y + y);
        struct style s = canvas_style(c, INK_ACCENT);
        if (at && at->cp == ' ') canvas_put(c, r.x + x, r.y + y, s, 0x253C);
        else canvas_paint(c, r.x + x, r.y + y, 1, INK_CURSOR);
    }
    canvas_pop_clip(c);
    free(t.bits);
    free(t.count);
}

/* ---- cursor and window ---- */

int scatter_in_sight(enum glyphs g, struct rect r, const struct scatter_data *d, const struct scatter_look *k,
                     int *point) {
    int count = 0;
    if (rect_empty(r) || !d->xy) return 0;
    struct frame f = frame_of(g, r, d, k);
    for (int i = 0; i < d->n; i++) {
        int x, y;
        if (!scatter_drawn(d, k, i)) continue;
        pixel(&f, d->xy[2 * i], d->xy[2 * i + 1], &x, &y);
        if (x >= 0 && y >= 0 && x < r.w * f.px && y < r.h * f.py) point[count++] = i;
    }
    return count;
}

void scatter_span(enum glyphs g, struct rect r, const struct scatter_data *d, const struct scatter_look *k,
                  double out[4]) {
    struct frame f = frame_of(g, r, d, k);
    int x, y;
    scatter_cell(r, k, &x, &y);
    out[0] = f.at_x + (x * f.px - f.width / 2) / f.scale;
    out[1] = f.at_y - ((y + 1) * f.py - f.height / 2) * f.tall / f.scale;
    out[2] = f.at_x + ((x + 1) * f.px - f.width / 2) / f.scale;
    out[3] = f.at_y - (y * f.py - f.height / 2) * f.tall / f.scale;
}

void scatter_box(struct canvas *c, struct rect r, const struct scatter_data *d, const struct scatter_look *k,
                 const double box[4]) {
    struct frame f = frame_of(c->glyphs, r, d, k);
    int x0, y0, x1, y1;
    pixel(&f, box[0], box[3], &x0, &y0);
    pixel(&f, box[2], box[1], &x1, &y1);
    x0 = x0 / f.px - 1, y0 = y0 / f.py - 1, x1 = x1 / f.px + 1, y1 = y1 / f.py + 1; /* around its cells */
    canvas_push_clip(c, r);
    for (int y = y0; y <= y1; y++)
        for (int x = x0; x <= x1; x += y == y0 || y == y1 || x == x1 ? 1 : x1 - x0) {
            const struct cell *at = canvas_at(c, r.x + x, r.y + y);
            bool side = x == x0 || x == x1, end = y == y0 || y == y1;
            uint32_t corner = y == y0 ? (x == x0 ? 0x250C : 0x2510) : x == x0 ? 0x2514 : 0x2518;
            if (at && at->cp == ' ')
                canvas_put(c, r.x + x, r.y + y, canvas_style(c, INK_ACCENT),
                           side && end ? corner : side ? 0x2502 : 0x2500);
        }
    canvas_pop_clip(c);
}

bool scatter_under(enum glyphs g, struct rect r, const struct scatter_data *d, const struct scatter_look *k,
                   int point) {
    if (rect_empty(r) || !d->xy || point < 0 || point >= d->n || !scatter_drawn(d, k, point)) return false;
    struct frame f = frame_of(g, r, d, k);
    int x, y, column, row;
    scatter_cell(r, k, &column, &row);
    pixel(&f, d->xy[2 * point], d->xy[2 * point + 1], &x, &y);
    return x >= 0 && y >= 0 && x / f.px == column && y / f.py == row;
}

int scatter_nearest(enum glyphs g, struct rect r, const struct scatter_data *d,
                    const struct scatter_look *k) {
    if (rect_empty(r) || !d->xy) return -1;
    struct frame f = frame_of(g, r, d, k);
    int cx, cy, best = -1;
    scatter_cell(r, k, &cx, &cy);
    double want_x = (cx + 0.5) * f.px, want_y = (cy + 0.5) * f.py, least = INFINITY;
    for (int i = 0; i < d->n; i++) {
        if (!scatter_drawn(d, k, i)) continue;
        double x = f.width / 2 + (d->xy[2 * i] - f.at_x) * f.scale - want_x;
        double y = f.height / 2 - (d->xy[2 * i + 1] - f.at_y) * f.scale / f.tall - want_y;
        double far = x * x + y * y * f.tall * f.tall;
        if (far < least) {
            least = far;
            best = i;
        }
    }
    return best;
}

static double bounded(double v, double lo, double hi) { return v < lo ? lo : v > hi ? hi : v; }

/* Moves the window so that the cursor is inside it. */
static void scatter_follow(const struct frame *f, struct scatter_look *k) {
    double u = bounded(k->u, 0, 0.999), v = bounded(k->v, 0, 0.999);
    if (k->zoom > 1) {
        k->x += (k->u - u) * f->width / f->scale / f->half;
        k->y -= (k->v - v) * f->height * f->tall / f->scale / f->half;
        k->x = bounded(k->x, -1, 1);
        k->y = bounded(k->y, -1, 1);
    }
    k->u = u;
    k->v = v;
}

void scatter_move(enum glyphs g, struct rect r, const struct scatter_data *d,
                  struct scatter_look *k, int columns, int rows) {
    if (rect_empty(r)) return;
    struct frame f = frame_of(g, r, d, k);
    int x, y;
    scatter_cell(r, k, &x, &y);
    k->u = (x + columns + 0.5) / r.w;
    k->v = (y + rows + 0.5) / r.h;
    scatter_follow(&f, k);
}

void scatter_go(enum glyphs g, struct rect r, const struct scatter_data *d, struct scatter_look *k,
                int point) {
    if (rect_empty(r) || !d->xy || point < 0 || point >= d->n || !finite_point(d, point)) return;
    struct frame f = frame_of(g, r, d, k);
    k->u = 0.5 + (d->xy[2 * point] - f.at_x) * f.scale / f.width;
    k->v = 0.5 - (d->xy[2 * point + 1] - f.at_y) * f.scale / f.tall / f.height;
    scatter_follow(&f, k);
}

void scatter_zoom(enum glyphs g, struct rect r, const struct scatter_data *d,
                  struct scatter_look *k, double factor) {
    if (rect_empty(r)) return;
    double zoom = bounded(k->zoom * factor, 1, 64);
    if (zoom == 1) {
        k->zoom = 1;
        k->x = k->y = 0;
        return;
    }
    struct frame f = frame_of(g, r, d, k);
    double dx = (k->u - 0.5) * f.width, dy = (0.5 - k->v) * f.height * f.tall;
    double before = f.scale, after = f.scale / k->zoom * zoom;
    k->x = bounded(k->x + dx * (1 / before - 1 / after) / f.half, -1, 1);
    k->y = bounded(k->y + dy * (1 / before - 1 / after) / f.half, -1, 1);
    k->zoom = zoom;
}
