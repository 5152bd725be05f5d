#include "views/plot_raster.h"
#include "views/zone.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/mem.h"

size_t plot_lower(const struct plot_data *d, double s) {
    size_t lo = 0, hi = d->count;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (d->step[mid] < s) lo = mid + 1;
        else hi = mid;
    }
    return lo;
}

void plot_in_sight(const struct plot_frame *f, const struct plot_data *d, size_t *begin, size_t *end) {
    *begin = plot_lower(d, f->from);
    *end = plot_lower(d, f->to);
    if (*begin) --*begin;
    if (*end < d->count) ++*end;
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

void raster_trace(struct raster *r, const struct plot_frame *f, const struct plot_data *d,
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

void raster_dash(struct raster *r, int dash) {
    static const uint16_t on[] = { 0xFFFF, 0x0FFF, 0x3333,
                                   0x33FF }; /* of sixteen pixel columns, from the right */
    uint16_t pattern = on[dash % 4];
    for (int x = 0; x < r->w * r->px; x++) {
        if (pattern >> (x % 16) & 1) continue;
        int set = 0;
        for (int pass = 0; pass < 2 && set <= 2; pass++)
            for (int y = 0; y < r->h * r->py; y++) {
                uint8_t *bits = &r->bits[y / r->py * r->w + x / r->px],
                        bit = (uint8_t)(1u << ((y % r->py) * r->px + x % r->px));
                if (!pass) set += (*bits & bit) != 0;
                else *bits &= (uint8_t)~bit;
            }
    }
}

static uint32_t glyph(const struct raster *r, uint8_t bits, char ascii) {
    if (r->py == 4) {
        /* bit y·2+x → Unicode's order of braille dots */
        static const uint8_t dot[8] = { 0x01, 0x08, 0x02, 0x10, 0x04, 0x20, 0x40, 0x80 };
        uint32_t mask = 0;
        for (int i = 0; i < 8; i++)
            if (bits & (1u << i)) mask |= dot[i];
        return 0x2800 + mask;
    }
    if (r->py == 2) {
        static const uint16_t quadrant[16] = { ' ',    0x2598, 0x259D, 0x2580, 0x2596, 0x258C,
                                              0x259E, 0x259B, 0x2597, 0x259A, 0x2590, 0x259C,
                                              0x2584, 0x2599, 0x259F, 0x2588 };
        return quadrant[bits & 15];
    }
    return (uint32_t)ascii;
}

void raster_show(struct canvas *c, const struct plot_frame *f, const struct raster *r, struct style style,
                 char ascii) {
    for (int y = 0; y < r->h; y++)
        for (int x = 0; x < r->w; x++) {
            uint8_t bits = r->bits[y * r->w + x];
            if (bits)
                canvas_put(c, f->inside.x + x, f->inside.y + y, style, glyph(r, bits, ascii));
        }
}

void raster_show_all(struct canvas *c, const struct plot_frame *f, const struct raster *r,
                     const struct style *style, int count) {
    for (int i = 0; count && i < r->w * r->h; i++) {
        int curves = 0, one = 0;
        uint8_t bits = 0;
        for (int k = 0; k < count; k++) {
            if (!r[k].bits[i]) continue;
            bits |= r[k].bits[i];
            curves++;
            one = k;
        }
        if (curves)
            canvas_put(c, f->inside.x + i % r->w, f->inside.y + i / r->w,
                       curves > 1 ? canvas_style(c, INK_TITLE) : style[one],
                       glyph(r, bits, curves > 1 ? ':' : '.'));
    }
}

void raster_lead(struct canvas *c, const struct plot_frame *f, const struct raster *r, int pick) {
    for (int y = 0; pick && c->zones && y < r->h; y++)
        for (int x = 0; x < r->w; x++)
            if (r->bits[y * r->w + x])
                zone_pick(c, f->inside.x + x, f->inside.y + y, 1, pick);
}

void raster_pixels(const struct canvas *c, int *px, int *py) {
    *px = c->glyphs == GLYPHS_ASCII ? 1 : 2;
    *py = c->glyphs == GLYPHS_BRAILLE ? 4 : c->glyphs == GLYPHS_BLOCKS ? 2 : 1;
}

struct raster raster_new(const struct plot_frame *f) {
    struct raster r = { f->inside.w, f->inside.h, f->px, f->py, NULL };
    r.bits = xcalloc((size_t)r.w * (size_t)r.h, 1);
    return r;
}

void plot_trace(struct canvas *c, const struct plot_frame *f, const struct plot_data *d, size_t begin,
                size_t end, bool join, struct style style, char ascii) {
    struct raster r = raster_new(f);
    raster_trace(&r, f, d, begin, end, join);
    raster_show(c, f, &r, style, ascii);
    free(r.bits);
}

void plot_lost(struct canvas *c, const struct plot_frame *f, const struct plot_data *d,
                      size_t begin, size_t end) {
    struct style bad = canvas_style(c, INK_BAD);
    for (size_t i = begin; i < end; i++) {
        if (isfinite(d->value[i])) continue;
        int x = plot_column(f, d->step[i]) / f->px;
        if (x >= 0 && x < f->inside.w) canvas_put(c, f->inside.x + x, f->inside.y, bad, 0x25BC);
    }
}

void plot_outside(struct canvas *c, const struct plot_frame *f, const struct plot_data *d, size_t begin,
                  size_t end, struct style style) {
    int last = f->inside.h * f->py - 1;
    for (size_t i = begin; i < end; i++) {
        double v = d->value[i];
        if (!isfinite(v) || (f->y.log && v <= 0)) continue;
        int row = plot_row(f, v), x = plot_column(f, d->step[i]) / f->px;
        if ((row >= 0 && row <= last) || x < 0 || x >= f->inside.w) continue;
        canvas_put(c, f->inside.x + x, f->inside.y + (row < 0 ? 0 : f->inside.h - 1), style,
                   row < 0 ? 0x25B4 : 0x25BE);
    }
}

/* A line through what is blank at a step; its column. */
static int plot_line_at(struct canvas *c, const struct plot_frame *f, double step, struct style style,
                        uint32_t line) {
    int x = f->inside.x + plot_column(f, step) / f->px;
    for (int y = 0; y < f->inside.h; y++) {
        const struct cell *at = canvas_at(c, x, f->inside.y + y);
        if (at && at->cp == ' ') canvas_put(c, x, f->inside.y + y, style, line);
    }
    return x;
}

void plot_cursor(struct canvas *c, const struct plot_frame *f, double cursor) {
    if (cursor < f->from || cursor > f->to) return;
    plot_line_at(c, f, cursor, canvas_style(c, INK_ACCENT), PLOT_CURSOR);
}

void plot_stages(struct canvas *c, const struct plot_frame *f, const struct plot_look *look) {
    for (int i = 0; i < look->marks; i++) {
        char label[24];
        if (look->mark[i] < f->from || look->mark[i] > f->to) continue;
        int x = plot_line_at(c, f, look->mark[i], canvas_style(c, INK_DIM), 0x254E), n;
        snprintf(label, sizeof label, "stage %d", i + 2);
        for (n = 0; label[n]; n++) {
            const struct cell *at = canvas_at(c, x + 1 + n, f->inside.y);
            if (!at || at->cp != ' ') break;
        }
        if (!label[n] && x + n < f->inside.x + f->inside.w)
            canvas_text(c, x + 1, f->inside.y, INK_DIM, label);
    }
}
