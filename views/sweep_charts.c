/* Draws Sweep: the main effect of each axis with its intervals, the Pareto front, and all cells as lines
 * over the axes. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "views/plot_raster.h"
#include "views/sweep.h"
#include "views/table.h"
#include "views/ui.h"
#include "views/ui_parts.h"

enum { COUNT_WIDTH = 4, VALUE_WIDTH = 8 };

/* ---- bars of intervals on one scale ---- */

struct bar_scale {
    double lo, hi;
    bool set;
};

static void sweep_widen(struct bar_scale *s, double v) {
    if (!isfinite(v)) return;
    s->lo = s->set && s->lo < v ? s->lo : v;
    s->hi = s->set && s->hi > v ? s->hi : v;
    s->set = true;
}

static int column(const struct bar_scale *s, double v, int w) {
    if (!(s->hi > s->lo)) return w / 2;
    int at = (int)lround((v - s->lo) / (s->hi - s->lo) * (w - 1));
    return at < 0 ? 0 : at > w - 1 ? w - 1 : at;
}

/* "├───●───┤": the value and its interval. */
static void draw_bar(struct canvas *c, int x, int y, int w, const struct bar_scale *s, double value,
                     double low, double high, enum ink ink, const char *mark) {
    if (w < 3 || !isfinite(value)) return;
    if (isfinite(low) && isfinite(high)) {
        int from = column(s, low, w), to = column(s, high, w);
        for (int i = from; i <= to; i++)
            canvas_text(c, x + i, y, INK_DIM, i == from ? "\u251C" : i == to ? "\u2524" : "\u2500");
    }
    canvas_text(c, x + column(s, value, w), y, ink, mark);
}

static struct phrase scale_title(const struct sweep_page *p, const struct bar_scale *s, const char *marks) {
    if (!s->set) return (struct phrase){ "" };
    return phrase("%s, scale %s to %s", marks, sweep_value(p, s->lo).text, sweep_value(p, s->hi).text);
}

/* ---- effects ---- */

void sweep_draw_effects(const struct sweep_view *v, struct canvas *c, struct rect r) {
    const struct sweep_page *p = &v->page;
    struct bar_scale s = { 0, 0, false };
    for (int i = 0; i < p->effects; i++)
        if (p->effect[i].level)
            sweep_widen(&s, p->effect[i].value), sweep_widen(&s, p->effect[i].low),
                sweep_widen(&s, p->effect[i].high);
    canvas_title(c, r, "main effect of each axis",
                 scale_title(p, &s, "\u25CF mean, \u251C\u2524 95% interval").text);
    if (p->no_effects || !p->effects) {
        canvas_wrap(c, rect_in(r, 3, 1), INK_DIM,
                    p->no_effects ? p->no_effects : "no finished runs yet");
        return;
    }
    int name = r.w / 3 > 36 ? 36 : r.w / 3, x = r.x + 3 + name + COUNT_WIDTH + VALUE_WIDTH + 1,
        w = r.x + r.w - x - 1;
    const struct table_column column[] = { { "", name - 1, 1, false },
                                           { "n", COUNT_WIDTH, 0, true },
                                           { "mean", VALUE_WIDTH, 1, true } };
    table_heads((struct table){ c, column, r.x + 3, r.y + 1 }, COUNT_OF(column));
    canvas_fit(c, x, r.y + 1, w, INK_DIM, p->effects_of ? p->effects_of : "");
    for (int i = 0; i < r.h - 2 && v->effect_top + i < p->effects; i++) {
        const struct sweep_effect *e = &p->effect[v->effect_top + i];
        int y = r.y + 2 + i;
        struct table t = { c, column, r.x + 3, y };
        enum ink ink = ui_part_row(c, r, y, PART_EFFECTS - (int)v->part, v->effect_top + i - v->effect,
                                   PRESS_ENTER)
                           ? INK_TITLE
                           : INK_TEXT;
        table_cell(&t, ink, "%.60s %.80s", e->axis, e->level ? e->level : "(slope)");
        table_cell(&t, INK_DIM, "%d", e->n);
        if (e->aliased) {
            canvas_fit(c, x - VALUE_WIDTH, y, w + VALUE_WIDTH, INK_WARN,
                       phrase("aliased with %.90s", e->aliased).text);
            continue;
        }
        table_cell(&t, INK_TEXT, "%s", sweep_value(p, e->value).text);
        if (e->level) draw_bar(c, x, y, w, &s, e->value, e->low, e->high, INK_ACCENT, "\u25CF");
        else if (isfinite(e->low))
            canvas_printf(c, x, y, INK_DIM, "[%s, %s]", sweep_value(p, e->low).text,
                          sweep_value(p, e->high).text);
    }
}

/* ---- small and good ---- */

/* What a cell costs, "–" where it is not known. */
static struct phrase cost_of(const struct sweep_tile *t, enum sweep_cost cost) {
    double x = t->cost[cost];
    if (isnan(x)) return phrase("\u2013");
    if (cost == SWEEP_SECONDS) return x < 100 ? phrase("%.1f s", x) : show_seconds(x);
    return cost == SWEEP_MEMORY ? phrase("%.1f MB", x / 1048576) : show_count((int64_t)x);
}

void sweep_draw_front(const struct sweep_view *v, struct canvas *c, struct rect r) {
    const struct sweep_page *p = &v->page;
    struct bar_scale s = { 0, 0, false };
    int *order, n = sweep_front(v, &order);
    static const char *const title[] = { "Pareto front: parameters", "Pareto front: time",
                                         "Pareto front: memory" };
    static const char *const head[] = { "trainable", "time", "memory" };
    const char *no_front = p->no_cost[v->cost];
    for (int i = 0; i < p->tiles; i++)
        sweep_widen(&s, p->tile[i].mean), sweep_widen(&s, p->tile[i].low), sweep_widen(&s, p->tile[i].high);
    canvas_title(c, r, phrase("%s%s", title[v->cost], p->mixed ? ", per metric" : "").text,
                 scale_title(p, &s, "\u251C\u2524 95% intervals").text);
    int name = r.w / 3 > 40 ? 40 : r.w / 3, size = r.x + 3 + name;
    int x = size + 10 + VALUE_WIDTH + 10 + COUNT_WIDTH + 1, w = r.x + r.w - x - 1;
    const struct table_column column[] = { { "", name - 1, 1, false },
                                           { head[v->cost], 10, 0, true },
                                           { "mean", VALUE_WIDTH, 0, true },
                                           { "sd", 9, 0, true },
                                           { "n", COUNT_WIDTH, 0, true } };
    table_heads((struct table){ c, column, r.x + 3, r.y + 1 }, COUNT_OF(column));
    canvas_fit(c, x, r.y + 1, w, no_front ? INK_WARN : INK_DIM,
               no_front ? "\u25B2 best  no Pareto front"
               : w < 42 ? "\u25B2 best  \u25CB Pareto"
                        : "\u25B2 best  \u25CB Pareto-optimal  \u251C\u2500\u2524 95% CI");
    for (int i = 0; i < r.h - 2 && v->tile_top + i < n; i++) {
        const struct sweep_tile *t = &p->tile[order[v->tile_top + i]];
        int y = r.y + 2 + i;
        struct table k = { c, column, r.x + 3, y };
        bool here = ui_part_row(c, r, y, PART_FRONT - (int)v->part, v->tile_top + i - v->tile, PRESS_ENTER);
        enum ink ink = here ? INK_TITLE : !t->valid ? INK_DIM : INK_TEXT;
        table_cell(&k, ink, "%s", t->name);
        if (!t->valid) {
            canvas_fit(c, size + 1, y, r.x + r.w - size - 2, INK_DIM, t->reason ? t->reason : t->state);
            continue;
        }
        table_cell(&k, INK_TEXT, "%s", cost_of(t, v->cost).text);
        table_cell(&k, ink, "%s", t->n ? sweep_value(p, t->mean).text : "\u2013");
        table_cell(&k, INK_DIM, "%s%s", isfinite(t->sd) ? "\u00B1" : "", sweep_value(p, t->sd).text);
        table_cell(&k, INK_DIM, "%d", t->n);
        uint32_t sign = sweep_sign(v, t);
        if (t->n) draw_bar(c, x, y, w, &s, t->mean, t->low, t->high, sign ? INK_ACCENT : INK_TEXT,
                           sign == SWEEP_BEST ? "\u25B2" : sign ? "\u25CB" : "\u00B7");
        else canvas_fit(c, x, y, w, INK_DIM, t->state);
    }
    int below = r.y + 3 + n - v->tile_top;
    if (no_front)
        canvas_wrap(c, rect_in(r, 3, below - r.y), INK_WARN, no_front);
    free(order);
}

/* ---- all cells as lines ---- */

/* Behind the axes: the values at the rungs, of which the last is the end, or the value alone. */
static int sweep_charts_values(const struct sweep_page *p) { return p->rungs ? p->rungs : 1; }

static double value_there(const struct sweep_page *p, int tile, int at) {
    const struct sweep_tile *t = &p->tile[tile];
    return p->rungs ? t->rung ? t->rung[at] : NAN : t->mean;
}

/* Where the cells stand on the axes, 0 … 1 from below, cells × (axes + values); NaN: none. */
static double *sweep_charts_places(const struct sweep_page *p, const struct bar_scale *s) {
    int values = sweep_charts_values(p), n = p->shown_axes + values,
        *level = xcalloc((size_t)p->tiles + 1, sizeof *level);
    const char **name = xcalloc((size_t)p->tiles + 1, sizeof *name);
    double *place = xcalloc((size_t)p->tiles * (size_t)n + 1, sizeof *place);
    for (int k = 0; k < p->shown_axes; k++) {
        int levels = sweep_levels(p, p->shown_axis[k], name, level);
        for (int i = 0; i < p->tiles; i++)
            place[i * n + k] = levels > 1 ? (double)level[i] / (levels - 1) : 0.5;
    }
    for (int i = 0; i < p->tiles; i++) {
        for (int k = 0; k < values; k++) {
            double v = value_there(p, i, k);
            place[i * n + p->shown_axes + k] = !isfinite(v)    ? NAN
                                               : s->hi > s->lo ? (v - s->lo) / (s->hi - s->lo)
                                                               : 0.5;
        }
    }
    free(level), free(name);
    return place;
}

/* A cell's line over n places. */
static void trace(struct canvas *c, const struct plot_frame *f, const double *place, int n,
                  struct style style, int pick) {
    double *step = xcalloc((size_t)n, sizeof *step);
    for (int k = 0; k < n; k++) step[k] = k;
    struct raster curve = raster_new(f);
    struct plot_data d = { step, place, (size_t)n };
    raster_trace(&curve, f, &d, 0, (size_t)n, true);
    raster_show(c, f, &curve, style, '*');
    raster_lead(c, f, &curve, pick);
    free(curve.bits), free(step);
}

/* The values of an axis beside it. */
static void draw_levels(const struct sweep_page *p, struct canvas *c, const struct plot_frame *f,
                        const double *place, int at, int x, int room) {
    const char *before = NULL;
    int n = p->shown_axes + sweep_charts_values(p);
    for (int i = 0; i < p->tiles; i++) {
        const char *v = sweep_value_at(p, i, p->shown_axis[at]);
        if (before && !strcmp(before, v)) continue;
        canvas_fit(c, x, f->inside.y + plot_row(f, place[i * n + at]) / f->py, room, INK_TEXT, v);
        before = v;
    }
}

void sweep_draw_lines(const struct sweep_view *v, struct canvas *c, struct rect r) {
    const struct sweep_page *p = &v->page;
    struct bar_scale s = { 0, 0, false };
    for (int i = 0; i < p->tiles; i++)
        for (int k = 0; k < sweep_charts_values(p); k++) sweep_widen(&s, value_there(p, i, k));
    canvas_title(
        c, r, p->rungs ? "parallel coordinates of the cells and rungs" : "parallel coordinates of the cells",
        p->mixed ? "different metrics: not drawn" : p->metric);
    int axes = p->shown_axes, n = axes + sweep_charts_values(p), label = 12;
    struct plot_frame f = { .inside = { r.x + PANE_EDGE, r.y + 2, r.w - label - PANE_EDGE - 2, r.h - 3 },
                            .from = 0,
                            .to = n > 1 ? n - 1 : 1,
                            .y = { 0, 1, 1, false, true } };
    if (f.inside.w < 8 || f.inside.h < 2 || p->mixed) return;
    raster_pixels(c, &f.px, &f.py);
    int chosen = v->part == PART_LINES || v->part == PART_FRONT ? sweep_at_cursor(v) : -1;
    double *place = sweep_charts_places(p, &s);
    for (int i = 0; i < p->tiles; i++)
        if (p->tile[i].valid && i != chosen)
            trace(c, &f, place + i * n, n, canvas_style(c, p->tile[i].front[v->cost] ? INK_METRIC : INK_RAW),
                  PICK_TILE + i);
    for (int i = 0; i < p->tiles; i++)
        if (p->tile[i].best && i != chosen)
            trace(c, &f, place + i * n, n, canvas_style(c, INK_TITLE), PICK_TILE + i);
    if (chosen >= 0) trace(c, &f, place + chosen * n, n, canvas_style(c, INK_ACCENT), PICK_TILE + chosen);
    for (int k = 0; k < n; k++) {
        int x = f.inside.x + (n > 1 ? k * (f.inside.w - 1) / (n - 1) : 0);
        int room = k + 1 < n ? f.inside.w / n - 2 : label + 1;
        if (room > 16) room = 16;
        for (int y = 0; y < f.inside.h; y++) canvas_text(c, x, f.inside.y + y, INK_DIM, "\u2502");
        canvas_fit(c, x, r.y + 1, room, k < axes ? INK_DIM : INK_TITLE,
                   k < axes    ? p->axis[p->shown_axis[k]]
                   : k + 1 < n ? phrase("rung %d", k - axes + 1).text
                   : p->metric ? p->metric
                               : "value");
        if (k < axes) draw_levels(p, c, &f, place, k, x + 1, room);
    }
    for (int i = 0; i < p->tiles; i++) {
        double end = place[i * n + n - 1];
        if (!sweep_sign(v, &p->tile[i]) || isnan(end)) continue;
        canvas_put(c, f.inside.x + f.inside.w - 1, f.inside.y + plot_row(&f, end) / f.py,
                   canvas_style(c, INK_ACCENT), sweep_sign(v, &p->tile[i]));
    }
    free(place);
    if (!s.set) return;
    canvas_fit(c, f.inside.x + f.inside.w + 1, f.inside.y, label, INK_TEXT, sweep_value(p, s.hi).text);
    canvas_fit(c, f.inside.x + f.inside.w + 1, f.inside.y + f.inside.h - 1, label, INK_TEXT,
               sweep_value(p, s.lo).text);
}
