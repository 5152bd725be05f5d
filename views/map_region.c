/* The region of Map: a rectangle in the layout of a panel, and the list of its examples; and small maps of
 * all layers or steps. */
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "views/map.h"
#include "views/ui.h"
#include "views/ui_parts.h"
#include "views/zone.h"

/* Writes the bounds of the region, left, low, right, high. */
static void bounds_of(const struct map_region *g, double out[4]) {
    for (int i = 0; i < 2; i++) {
        out[i] = g->from[i] < g->to[i] ? g->from[i] : g->to[i];
        out[i + 2] = g->from[i + 2] > g->to[i + 2] ? g->from[i + 2] : g->to[i + 2];
    }
}

void map_region_follow(struct map_view *v, const struct scatter_data *points) {
    struct map_region *g = &v->region;
    int at = map_focus(v);
    if (!g->on || !g->extends) return;
    if (at != g->panel) g->extends = false; /* its layout is another one */
    else scatter_span(v->glyphs, v->pane[at], points, &v->look[at], g->to);
}

void map_region_turn(struct map_view *v) {
    struct map_region *g = &v->region;
    int at = map_focus(v);
    struct scatter_data points = { .n = v->data.n, .xy = v->data.panel[at].xy };
    if (g->on || !points.xy) {
        g->on = false;
        return;
    }
    *g = (struct map_region){ .on = true, .extends = true, .panel = at };
    scatter_span(v->glyphs, v->pane[at], &points, &v->look[at], g->from);
    memcpy(g->to, g->from, sizeof g->to);
}

bool map_in_region(const struct map_view *v, int i) {
    const struct map_region *g = &v->region;
    const double *xy = v->data.panel[g->panel].xy;
    double in[4];
    if (!g->on || !xy) return true;
    bounds_of(g, in);
    return xy[2 * i] >= in[0] && xy[2 * i] <= in[2] && xy[2 * i + 1] >= in[1] && xy[2 * i + 1] <= in[3];
}

void map_outside(const struct map_view *v, int32_t *labels) {
    for (int i = 0; i < v->data.n; i++) {
        bool hidden = labels[i] >= 0 && labels[i] < SCATTER_CLASSES && (v->hidden >> labels[i] & 1);
        if (!hidden && !map_in_region(v, i)) labels[i] = -1;
    }
}

int *map_listed(const struct map_view *v, int *count) {
    int *list = xcalloc((size_t)v->data.n + 1, sizeof *list);
    int at = v->region.on ? v->region.panel : map_focus(v);
    int32_t *labels = map_labels(v, at);
    struct scatter_data points = { v->data.n, v->data.panel[at].xy, labels, map_classes(v), NULL };
    struct scatter_look look = v->look[at];
    *count = v->region.on ? 0 : scatter_in_sight(v->glyphs, v->pane[at], &points, &look, list);
    for (int i = 0; v->region.on && points.xy && i < v->data.n; i++)
        if (map_in_region(v, i) && scatter_drawn(&points, &look, i)) list[(*count)++] = i;
    free(labels);
    return list;
}

static int place_in(const int *list, int count, int example) {
    for (int i = 0; i < count; i++)
        if (list[i] == example) return i;
    return 0;
}

bool map_list_request(struct map_view *v, enum request r, int rows) {
    int count, *list = map_listed(v, &count), at = place_in(list, count, v->chosen);
    bool moved = ui_walk(r, rows, count - 1, &at);
    if (moved && count) v->chosen = list[at];
    free(list);
    return moved;
}

void map_list_draw(const struct map_view *v, struct canvas *c, struct rect r) {
    const struct map_data *d = &v->data;
    int count, *list = map_listed(v, &count), at = place_in(list, count, v->chosen), rows = r.h - 1;
    int top = at - rows / 2, panel = map_focus(v), name = 0, end = PANE_EDGE;
    const int32_t *predicted = d->panel[panel].predicted;
    if (top > count - rows) top = count - rows;
    if (top < 0) top = 0;
    for (int i = 0; i < d->classes; i++) {
        int w = canvas_width(c, d->class_name[i]);
        if (w > name) name = w;
    }
    if (name > 12) name = 12;
    canvas_fill(c, r, INK_TEXT, ' ');
    canvas_title(c, r, v->region.on ? "examples in the region" : "visible examples",
                 count ? phrase("%d of %d", at + 1, count).text : "none");
    for (int i = top; i < count && i < top + rows; i++) {
        int k = list[i], y = r.y + 1 + i - top, x = r.x + PANE_EDGE;
        bool wrong = predicted && d->label[k] >= 0 && predicted[k] != d->label[k];
        bool here = i == at;
        zone_row(c, r, y, i - at);
        canvas_cursor(c, r.x + 1, y, here);
        canvas_fit(c, x, y, name, INK_DIM, map_name_of(d, d->label[k]));
        if (predicted) {
            canvas_fit(c, x + name + 1, y, 2, INK_WARN, wrong ? "\u2192" : "");
            canvas_fit(c, x + name + 3, y, name, INK_WARN, wrong ? map_name_of(d, predicted[k]) : "");
            x += name + 3;
        }
        x += name + 2;
        end = r.x + r.w - 1;
        canvas_fit(c, x, y, end - x, here ? INK_CURSOR : INK_TEXT, d->text[k]);
    }
    free(list);
}

void map_region_words(const struct map_view *v, struct buf *b) {
    int count, *list = map_listed(v, &count), right = 0, known = 0;
    const int32_t *predicted = v->data.panel[map_focus(v)].predicted;
    for (int i = 0; predicted && i < count; i++) {
        known += v->data.label[list[i]] >= 0;
        right += v->data.label[list[i]] >= 0 && predicted[list[i]] == v->data.label[list[i]];
    }
    buf_printf(b, "region: %d example%s", count, count == 1 ? "" : "s");
    if (known) buf_printf(b, ", %d of %d predicted correctly", right, known);
    free(list);
}

void map_region_draw(const struct map_view *v, struct canvas *c, int panel) {
    double in[4];
    struct scatter_data points = { .n = v->data.n, .xy = v->data.panel[panel].xy };
    if (!v->region.on || v->region.panel != panel || !points.xy) return;
    bounds_of(&v->region, in);
    scatter_box(c, v->pane[panel], &points, &v->look[panel], in);
}

/* ---- small maps ---- */

/* The layer or moment of the focused panel, as an index of its small maps. */
static int small_now(const struct map_panel *p) {
    return p->moments ? p->at : p->layer;
}

/* Columns of a grid of n cells with the largest sides; a row is as high as two columns are wide. */
static int small_columns(struct rect r, int n) {
    int best = 1, most = 0;
    for (int columns = 1; columns <= n; columns++) {
        int w = r.w / columns, h = r.h / ((n + columns - 1) / columns), side = w < 2 * h ? w : 2 * h;
        if (side <= most) continue;
        most = side;
        best = columns;
    }
    return best;
}

void map_many_draw(const struct map_view *v, struct canvas *c, struct rect r) {
    const struct map_panel *p = &v->data.panel[map_focus(v)];
    canvas_title(c, r, phrase("%.80s \u00B7 all %s", p->title, p->moments ? "steps" : "layers").text,
                 "o closes");
    r = rect_down(r, 1);
    if (!p->smalls)
        canvas_fit(c, r.x + PANE_EDGE, r.y + 1, r.w - PANE_EDGE, INK_DIM, "computing the layouts\u2026");
    if (!p->smalls || rect_empty(r)) return;
    int columns = small_columns(r, p->smalls), w = r.w / columns;
    int h = r.h / ((p->smalls + columns - 1) / columns);
    int32_t *labels = map_labels(v, map_focus(v));
    map_outside(v, labels);
    for (int i = 0; i < p->smalls; i++) {
        const struct map_small *k = &p->small[i];
        struct rect at = { r.x + i % columns * w, r.y + i / columns * h, w - 1, h };
        struct scatter_data points = { v->data.n, k->xy, labels, map_classes(v), NULL };
        struct scatter_look look;
        struct phrase title = phrase("%s %lld", p->moments ? "step" : "layer", (long long)k->at);
        if (!p->moments && k->at > p->layers) title = phrase("retriever");
        scatter_look_init(&look);
        look.hidden = v->hidden;
        canvas_fit(c, at.x + PANE_EDGE, at.y, at.w - PANE_EDGE, i == small_now(p) ? INK_CURSOR : INK_TITLE,
                   title.text);
        zone_add(c, (struct zone){ .at = at, .pick = i + 1 });
        at = rect_down(at, 1);
        if (k->xy) scatter_draw(c, at, &points, &look, v->chosen, false);
        else canvas_fit(c, at.x + PANE_EDGE, at.y, at.w - PANE_EDGE, INK_DIM,
                        p->moments ? "not computed yet" : "computing\u2026");
    }
    free(labels);
}

void map_many_pick(struct ui *ui, int pick, struct effect *out) {
    struct map_view *v = &ui->map;
    const struct map_panel *p = &v->data.panel[map_focus(v)];
    int by = pick - 1 - small_now(p);
    if (!by) v->many = false; /* a second click opens it */
    else *out = (struct effect){ .kind = p->moments ? EFFECT_MAP_MOMENT : EFFECT_MAP_LAYER, .by = by };
}
