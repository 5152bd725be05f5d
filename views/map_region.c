/* The region of Map: a rectangle in the layout of a panel, and the list of its examples. */
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

int *map_listed(const struct map_view *v, int *count) {
    int *list = xcalloc((size_t)v->data.n + 1, sizeof *list);
    int at = v->region.on ? v->region.panel : map_focus(v);
    int32_t *labels = map_labels(v, at);
    struct scatter_data points = { v->data.n, v->data.panel[at].xy, labels, map_classes(v), NULL };
    struct scatter_look look = v->look[at];
    *count = 0;
    for (int i = 0; points.xy && i < v->data.n; i++)
        if (v->region.on ? map_in_region(v, i) && scatter_drawn(&points, &look, i)
                         : scatter_in_sight(v->glyphs, v->pane[at], &points, &look, i))
            list[(*count)++] = i;
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
    canvas_title(c, r, v->region.on ? "examples of the region" : "examples in sight",
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
