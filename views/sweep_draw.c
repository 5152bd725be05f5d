/* Sweep, drawn: the list, the rule of a page with its progress, the grid. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/mem.h"
#include "core/base/text.h"
#include "views/sweep.h"
#include "views/table.h"
#include "views/ui.h"
#include "views/ui_parts.h"

enum { TILE_LINES = 5, FOLLOWS = 2 };

/* Writes the lines on a cell: what it costs and what is left is `cost`, one row in any window. */
static void tile_lines(const struct sweep_tile *t, const char *cost, const char *line[TILE_LINES]) {
    line[0] = t->evidence, line[1] = t->difference, line[FOLLOWS] = t->follows;
    line[3] = t->list ? t->list : t->reason ? t->reason : t->state;
    line[4] = cost;
}

static struct phrase tile_cost(const struct sweep_tile *t) {
    struct phrase out = phrase("%s trainable", show_count((int64_t)t->cost[SWEEP_TRAINED]).text);
    if (isfinite(t->cost[SWEEP_SECONDS]))
        phrase_add(&out, t->n ? " \u00B7 %s per run" : " \u00B7 %s so far",
                   show_short_seconds(t->cost[SWEEP_SECONDS]).text);
    if (isfinite(t->cost[SWEEP_MEMORY]))
        phrase_add(&out, " \u00B7 %.0f MB peak", t->cost[SWEEP_MEMORY] / 1048576);
    if (t->seconds_left > 0) phrase_add(&out, " \u00B7 about %s left", show_seconds(t->seconds_left).text);
    return out;
}

static void draw_tile(const struct sweep_view *v, struct canvas *c, struct rect r) {
    int at = sweep_at_cursor(v);
    const struct sweep_tile *t = at < 0 ? NULL : &v->page.tile[at];
    canvas_title(c, r, phrase("cell: %.200s", t ? t->name : "none").text,
                 t && t->runs ? t->runs == 1 ? "Enter: its run" : "Enter: its runs" : NULL);
    const char *line[TILE_LINES];
    if (!t) return;
    struct phrase cost = tile_cost(t);
    tile_lines(t, t->valid ? cost.text : NULL, line);
    ui_lines(c, r, line, TILE_LINES, FOLLOWS);
}

void sweep_need(const struct ui *ui, const struct layout_frame *f, struct layout_need *need) {
    const struct sweep_page *p = &ui->sweep.page;
    need->part = (int)ui->sweep.part;
    if (!ui->sweep.open || (f->size != LAYOUT_WIDE && need->part == PART_EFFECTS)) return;
    const char *longest[TILE_LINES] = { NULL }, *line[TILE_LINES];
    for (int i = 0; i < p->tiles; i++) {
        tile_lines(&p->tile[i], "-", line);
        ui_longest(longest, line, TILE_LINES);
    }
    need->evidence = ui_lines(NULL, (struct rect){ 0, 0, f->body.w, 0 }, longest, TILE_LINES, FOLLOWS);
}

struct phrase sweep_value(const struct sweep_page *p, double x) { return show_points(x, p->points); }

/* ---- the list ---- */

static void draw_list(const struct sweep_view *v, struct canvas *c, struct rect r) {
    static const struct table_column column[] = { { "", 4, 1, true },
                                                  { "", 10, 1, true },
                                                  { "", 14, 1, true },
                                                  { "", 1, 1, false } };
    canvas_title(c, r, phrase("%d sweep%s", v->items, v->items == 1 ? "" : "s").text, NULL);
    if (!v->items) {
        ui_none(
            c, rect_down(r, 1), *v->failed ? v->failed : NULL,
            "No sweeps yet. Mark values in Compose with Space and press A to sweep over them, or press A "
                "here and give lists in braces, for example --lr '{1e-3,3e-3}'.");
        return;
    }
    for (int i = 0; i < r.h - 1 && v->top + i < v->items; i++) {
        const struct sweep_item *s = &v->item[v->top + i];
        struct table t = { c, column, r.x + PANE_EDGE, r.y + 1 + i };
        enum ink ink = ui_row(c, r, t.y, v->top + i - v->cursor) ? INK_TITLE : INK_TEXT;
        table_cell(&t, ink, "%lld", (long long)s->id);
        table_cell(&t, INK_DIM, "%lld run%s", (long long)s->runs, s->runs == 1 ? "" : "s");
        if (s->live) table_cell(&t, INK_DIM, "%lld left", (long long)s->live);
        else table_cell(&t, INK_DIM, "%lld finished", (long long)s->finished);
        table_cell(&t, INK_ACCENT, "%s", s->live ? "\u25B6" : "");
        canvas_fit(c, t.x, t.y, r.x + r.w - 1 - t.x, ink, sweep_options(s->text));
    }
}

/* ---- a page ---- */

static void draw_head(const struct sweep_view *v, struct canvas *c, struct rect r) {
    const struct sweep_page *p = &v->page;
    struct phrase right = phrase("%d of %d runs", p->over, p->wanted);
    if (p->failed) phrase_add(&right, " \u00B7 %d failed", p->failed);
    if (p->live) phrase_add(&right, " \u00B7 %d running", p->live);
    if (p->over < p->wanted && isfinite(p->seconds_left))
        phrase_add(&right, " \u00B7 about %s left", show_seconds(p->seconds_left).text);
    if (p->over < p->wanted && !p->live && !p->working && !p->draws)
        phrase_add(&right, " \u00B7 R resumes");
    canvas_title(c, r, phrase("sweep %lld", (long long)p->id).text, right.text);
    if (r.h < 2) return;
    int used = 0;
    if (p->wanted > 0) {
        used = r.w / 4 > 30 ? 30 : r.w / 4;
        canvas_bar(c, r.x + PANE_EDGE, r.y + 1, used, (double)p->over / p->wanted);
        used += 2;
    }
    canvas_fit(c, r.x + PANE_EDGE + used, r.y + 1, r.w - used - PANE_EDGE - 1, INK_DIM,
               sweep_options(p->text));
    if (r.h > 2 && p->leader)
        canvas_fit(c, r.x + PANE_EDGE, r.y + 2, r.w - PANE_EDGE - 1, INK_TEXT,
                   phrase("\u25B2 %.300s", p->leader).text);
}

/* Explains the signs that the grid has. */
static struct phrase signs_of(const struct sweep_grid *g) {
    static const struct {
        uint32_t sign;
        const char *says;
    } signs[] = { { SWEEP_BEST, "\u25B2 best" }, { SWEEP_FRONT, "\u25CB Pareto" },
                  { SWEEP_RUNNING, "\u25B6 running" }, { SWEEP_WAITING, "\u2026 waiting" },
                  { 0, "\u00D7 none" } };
    struct phrase out = phrase("%s", "");
    for (size_t i = 0; i < COUNT_OF(signs); i++) {
        bool has = false;
        for (int k = 0; k < g->data.rows * g->data.columns; k++)
            has |= g->sign[k] == signs[i].sign && (signs[i].sign || !isfinite(g->value[k]));
        if (has) phrase_add(&out, "%s%s", *out.text ? "  " : "", signs[i].says);
    }
    return out;
}

static void draw_grid(const struct sweep_view *v, struct canvas *c, struct rect r) {
    const struct sweep_page *p = &v->page;
    struct sweep_grid g;
    sweep_grid(v, &g);
    canvas_title(c, r,
                 phrase("%s \u00D7 %s%s%s", g.row_axis < 0 ? "cells" : p->axis[g.row_axis],
                        g.column_axis < 0 ? "one" : p->axis[g.column_axis], *g.others ? " \u00B7 " : "",
                        g.others)
                     .text,
                 phrase("%s%s%s", p->metric ? p->metric : "no value yet",
                        p->points ? " \u00D7100, mean" : ", mean", g.slices > 1 ? " \u00B7 n others" : "")
                     .text);
    struct rect in = { r.x + PANE_EDGE, r.y + 1, r.w - PANE_EDGE - 1, r.h - 2 };
    if (g.data.rows && g.data.columns && in.h > 0) {
        struct heat_look look = v->look;
        look.part = PART_GRID - (int)v->part;
        look.key = PRESS_ENTER;
        heat_draw(c, in, &g.data, &look);
    }
    double lo, hi;
    int undefined;
    if (r.h > 4) {
        int x = r.x + PANE_EDGE, y = r.y + r.h - 1;
        if (heat_scale(&g.data, &lo, &hi, &undefined))
            x += heat_legend(c, x, y, r.w - PANE_EDGE - 1, &g.data) + 2;
        canvas_fit(c, x, y, r.x + r.w - 1 - x, INK_TEXT, signs_of(&g).text);
    }
    sweep_grid_release(&g);
}

void sweep_draw(const struct ui *ui, struct canvas *c, struct rect body) {
    const struct sweep_view *v = &ui->sweep;
    if (!v->open) {
        draw_list(v, c, body);
        return;
    }
    struct panes p = ui_panes(ui, SCREEN_SWEEP);
    if (v->page.id != v->open) {
        ui_none(c, body, *v->failed ? v->failed : NULL, "loading the sweep\u2026");
        return;
    }
    if (!rect_empty(p.at[PANE_SWEEP_HEAD])) draw_head(v, c, p.at[PANE_SWEEP_HEAD]);
    if (!rect_empty(p.at[PANE_SWEEP + PART_GRID])) draw_grid(v, c, p.at[PANE_SWEEP + PART_GRID]);
    if (!rect_empty(p.at[PANE_SWEEP + PART_EFFECTS]))
        sweep_draw_effects(v, c, p.at[PANE_SWEEP + PART_EFFECTS]);
    if (!rect_empty(p.at[PANE_SWEEP + PART_FRONT])) sweep_draw_front(v, c, p.at[PANE_SWEEP + PART_FRONT]);
    if (!rect_empty(p.at[PANE_SWEEP + PART_LINES])) sweep_draw_lines(v, c, p.at[PANE_SWEEP + PART_LINES]);
    if (!rect_empty(p.at[PANE_EVIDENCE])) draw_tile(v, c, p.at[PANE_EVIDENCE]);
}

void sweep_readout(const struct ui *ui, struct buf *out) {
    const struct sweep_view *v = &ui->sweep;
    const struct sweep_page *p = &v->page;
    int at = v->open && p->id == v->open ? sweep_at_cursor(v) : -1;
    if (!v->open || p->id != v->open) return;
    if (v->part == PART_EFFECTS) {
        const struct sweep_effect *w = v->effect < p->effects ? &p->effect[v->effect] : NULL;
        if (p->no_effects) buf_printf(out, "no effects: %s", p->no_effects);
        else if (w && isfinite(w->value)) {
            buf_printf(out, "main effect of %s: %s %s", w->axis, w->level ? w->level : "slope",
                       sweep_value(p, w->value).text);
            if (isfinite(w->low))
                buf_printf(out, ", 95%% CI [%s, %s]", sweep_value(p, w->low).text,
                           sweep_value(p, w->high).text);
            buf_printf(out, ", n %d", w->n);
        } else if (p->effects_of) buf_puts(out, p->effects_of);
        return;
    }
    if (at < 0) {
        if (p->mixed) buf_puts(out, p->mixed);
        else if (p->tiles) buf_puts(out, "no cell with these values");
        return;
    }
    if (v->part == PART_FRONT && p->no_cost[v->cost]) {
        buf_printf(out, "no Pareto front by %s: %s", sweep_cost_name(v->cost), p->no_cost[v->cost]);
        return;
    }
    const struct sweep_tile *t = &p->tile[at];
    struct panes panes = ui_panes(ui, SCREEN_SWEEP);
    buf_printf(out, "%s: ", t->name);
    if (!t->reason && t->n && !rect_empty(panes.at[PANE_EVIDENCE])) {
        int ranked = 0;
        for (int i = 0; i < p->tiles; i++) ranked += p->tile[i].kind == t->kind && isfinite(p->tile[i].rank);
        buf_printf(out, "rank %g of %d%s%s", t->rank, ranked, t->best ? ", the best" : "",
                   t->front[v->cost] ? ", Pareto-optimal" : "");
    } else if (t->reason) buf_printf(out, "%s", t->reason);
    else if (t->n) {
        buf_puts(out, sweep_value(p, t->mean).text);
        if (isfinite(t->sd)) buf_printf(out, " \u00B1 %s sd", sweep_value(p, t->sd).text);
        if (isfinite(t->low))
            buf_printf(out, ", 95%% [%s, %s]", sweep_value(p, t->low).text, sweep_value(p, t->high).text);
        buf_printf(out, ", n %d, seed%s %s%s", t->n, t->n == 1 ? "" : "s", t->seeds,
                   t->front[v->cost] ? ", Pareto-optimal" : "");
    } else buf_puts(out, t->state);
}
