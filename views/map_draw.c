#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/text.h"
#include "views/copy.h"
#include "views/map.h"
#include "views/sheet.h"
#include "views/ui.h"
#include "views/ui_parts.h"
#include "views/zone.h"

static const char caution[] =
    "Distances and sizes of clusters are not meaningful; purity is measured before t-SNE.";
static const char short_caution[] =
    "Distances and sizes of clusters are not meaningful; purity: before t-SNE.";

static void put_score(struct buf *b, const char *name, const struct map_score *s, int w) {
    if (s->undefined) buf_printf(b, w < 56 ? "%s \u2013 (%s)" : "%s undefined (%s)", name, s->undefined);
    else buf_printf(b, "%s %.*f", name, w < 44 ? 2 : 3, s->value);
}

static struct phrase title_of(const struct map_view *v, int panel) {
    const struct map_panel *p = &v->data.panel[panel];
    if (p->moments) return phrase("%.70s \u00B7 step %lld", p->title, (long long)p->moment[p->at].step);
    if (p->retriever) return phrase("%.80s \u00B7 retriever", p->title);
    return phrase(p->layers == p->layer && v->sets ? "%.80s \u00B7 layer %d" : "%.80s \u00B7 layer %d of %d",
                  p->title, p->layer, p->layers);
}

/* Appends the scores of the original space, then those of the layout. */
static void numbers_of(const struct map_panel *p, bool by_task, int w, struct buf *b) {
    bool short_names = w < 44;
    put_score(b, short_names ? "silh" : "silhouette", by_task ? &p->task_silhouette : &p->silhouette, w);
    buf_puts(b, " ");
    put_score(b, short_names ? "pur" : "purity", by_task ? &p->task_purity : &p->purity, w);
    if (by_task && !short_names) buf_puts(b, " of tasks");
    if (isfinite(p->kept)) buf_printf(b, " %s %.2f", w < 84 ? "pres" : "preserved", p->kept);
    if (isfinite(p->kl)) buf_printf(b, " KL %.2f", p->kl);
    if (p->moments && isfinite(p->moment[p->at].metric)) buf_printf(b, "  dev %.3f", p->moment[p->at].metric);
    if (w >= 84 && p->purity_k) buf_printf(b, "   purity, preserved: of %d neighbors", p->purity_k);
}

/* Draws a panel: title, scores, points. */
static void draw_panel(const struct ui *ui, struct canvas *c, int panel, struct rect r) {
    const struct map_view *v = &ui->map;
    const struct map_panel *p = &v->data.panel[panel];
    bool focus = v->part == panel;
    canvas_title(c, r, title_of(v, panel).text, NULL);
    struct buf b = BUF_INIT;
    numbers_of(p, v->color == MAP_BY_TASK, r.w, &b);
    canvas_fit(c, r.x + PANE_EDGE, r.y + 1, r.w - PANE_EDGE, INK_TEXT, buf_text(&b));
    buf_release(&b);
    if (!p->xy) {
        canvas_fit(c, v->pane[panel].x + PANE_EDGE, v->pane[panel].y + 1, r.w - PANE_EDGE - 1, INK_DIM,
                   "computing the layout\u2026");
        return;
    }
    int32_t *labels = map_labels(v, panel);
    const char *name[SCATTER_CLASSES];
    struct scatter_data d = { v->data.n, p->xy, labels, map_classes(v), name };
    for (int i = 0; i < SCATTER_CLASSES; i++) name[i] = map_class_name(v, i);
    map_outside(v, labels);
    scatter_draw(c, v->pane[panel], &d, &v->look[panel], v->chosen, focus);
    map_region_draw(v, c, panel);
    free(labels);
    int x, y;
    scatter_cell(v->pane[panel], &v->look[panel], &x, &y);
    zone_add(
        c,
        (struct zone){
            .at = v->pane[panel], .part = panel - v->part, .right = -x, .down = -y, .wide = 1, .rows = 1,
            .key = 'D' });
}

static int count_of(const int32_t *labels, int n, int class) {
    int count = 0;
    for (int i = 0; i < n; i++) count += labels[i] == class;
    return count;
}

static const char *color_name(enum map_color k) {
    static const char *const names[] = { "by label", "by prediction", "by correctness", "by task" };
    return names[k];
}

/* Draws one class of the legend; returns the columns used. */
static int legend_entry(const struct map_view *v, struct canvas *c, int x, int y, int room, int class,
                        int count) {
    bool hidden = class < SCATTER_CLASSES && (v->hidden >> class & 1);
    bool here = v->part >= v->data.panels && v->class == class;
    uint32_t mark = hidden ? (c->glyphs == GLYPHS_ASCII ? '-' : 0x25CB)
                           : scatter_mark(c, map_classes(v), class);
    struct style style = hidden ? canvas_style(c, INK_DIM) : scatter_mark_style(c, map_classes(v), class);
    canvas_put(c, x, y, style, mark);
    return 2 +
           canvas_fit(c, x + 2, y, room - 2,
                      here     ? INK_CURSOR
                      : hidden ? INK_DIM
                               : INK_TEXT,
                      phrase("%.60s %d%s", map_class_name(v, class), count, hidden ? " hidden" : "").text);
}

static void draw_legend_line(const struct map_view *v, struct canvas *c, struct rect r) {
    int32_t *labels = map_labels(v, map_focus(v));
    map_outside(v, labels);
    int x = r.x, end = r.x + r.w;
    x += canvas_text(c, x, r.y, INK_DIM, color_name(v->color)) + 2;
    int first = v->part >= v->data.panels && v->class > 3 ? v->class - 3 : 0;
    for (int k = first; k < map_classes(v) && x + 8 < end; k++)
        x += legend_entry(v, c, x, r.y, end - x, k, count_of(labels, v->data.n, k)) + 2;
    free(labels);
}

static double map_draw_purity_of(const struct map_moment *k,
                                 bool by_task) { return by_task ? k->task_purity : k->purity; }

/* Appends the purity of all steps as bars (digits in ASCII), and marks the shown one. */
static void put_moments(const struct map_panel *p, bool by_task, enum glyphs g, struct buf *b) {
    double lo = INFINITY, hi = -INFINITY;
    for (int i = 0; i < p->moments; i++) {
        lo = fmin(lo, map_draw_purity_of(&p->moment[i], by_task)); /* fmin ignores NaN */
        hi = fmax(hi, map_draw_purity_of(&p->moment[i], by_task));
    }
    buf_printf(b, "step %lld, %d of %d", (long long)p->moment[p->at].step, p->at + 1, p->moments);
    if (!(hi > lo)) return;
    int first = p->at > 20 ? p->at - 20 : 0, end = p->moments < first + 24 ? p->moments : first + 24;
    buf_puts(b, "  purity ");
    for (int i = first; i < end; i++) {
        double share = (map_draw_purity_of(&p->moment[i], by_task) - lo) / (hi - lo);
        char bytes[4];
        if (!isfinite(share)) buf_putc(b, '?');
        else if (g == GLYPHS_ASCII) buf_putc(b, (char)('0' + (int)(share * 9)));
        else buf_add(b, bytes, utf8_encode(0x2581 + (uint32_t)(share * 7), bytes));
        if (i == p->at) buf_puts(b, g == GLYPHS_ASCII ? "<" : "\u25C2");
    }
    buf_puts(b, "  ");
}

static void settings(const struct map_view *v, struct buf *b) {
    const struct map_data *d = &v->data;
    char task[120];
    inspect_task_words(d->run_task, d->run_task_at, d->run_tasks, task);
    if (*task) buf_printf(b, "%s  ", task);
    if (v->region.on) {
        map_region_words(v, b);
        buf_puts(b, "  ");
    }
    if (d->training) put_moments(&d->panel[map_focus(v)], v->color == MAP_BY_TASK, v->glyphs, b);
    if (d->perplexity > 0) buf_printf(b, "perplexity %.3g", d->perplexity);
    if (d->perplexity > 0 && d->perplexity < d->asked) buf_printf(b, " (requested %g)", d->asked);
    buf_puts(b, "  ");
    if (!d->training)
        buf_printf(b, "iteration %d/%d%s  ", d->iteration, d->iterations,
                   d->playing || d->iteration >= d->iterations ? "" : " paused");
    buf_printf(b, "seed %llu", (unsigned long long)d->seed);
    if (d->rows) buf_printf(b, "  %s", d->rows);
    if (d->pool) buf_printf(b, ", %s", d->panel[map_focus(v)].retriever ? "retrieved" : d->pool);
    if (d->busy) buf_printf(b, "  %s", d->busy);
}

/* ---- the row under the cursor ---- */

/* Appends "1 → 0": the label and, with a head, the prediction. */
static void put_classes(const struct map_view *v, int panel, struct buf *b) {
    const struct map_data *d = &v->data;
    const int32_t *predicted = d->panel[panel].predicted;
    buf_puts(b, map_name_of(d, d->label[v->chosen]));
    if (predicted) buf_printf(b, " \u2192 %s", map_name_of(d, predicted[v->chosen]));
}

static void put_neighbors(const struct map_view *v, int panel, int most, struct buf *b) {
    const struct map_data *d = &v->data;
    const int32_t *near = d->panel[panel].neighbor;
    for (int k = 0; near && k < most; k++) {
        int i = near[v->chosen * MAP_NEIGHBORS + k];
        if (i < 0 || i >= d->n) break;
        buf_printf(b, "%s%s", k ? " " : " \u00B7 near ", map_name_of(d, d->label[i]));
    }
}

static void map_draw_wrapped(struct canvas *c, struct rect *r, enum ink ink, const char *text, int most) {
    struct rect at = { r->x + PANE_EDGE, r->y, r->w - PANE_EDGE, r->h < most ? r->h : most };
    if (at.h <= 0) return;
    canvas_push_clip(c, at);
    int rows = canvas_wrap(c, at, ink, text);
    if (rows == at.h && canvas_wrap_rows(c, at.w, text) > rows)
        canvas_text(c, at.x + at.w - 1, at.y + rows - 1, INK_DIM, "\u2026");
    canvas_pop_clip(c);
    r->y += rows;
    r->h -= rows;
}

static void aside_row(const struct map_view *v, struct canvas *c, struct rect r) {
    const struct map_data *d = &v->data;
    if (v->chosen < 0 || r.h < 3) return;
    canvas_title(c, r, "nearest to the cursor", NULL);
    r.y++;
    r.h--;
    map_draw_wrapped(c, &r, INK_TEXT, d->text[v->chosen], 6);
    for (int p = 0; p < d->panels; p++) {
        struct buf b = BUF_INIT;
        buf_printf(&b, "%s: ", d->panel[p].title);
        put_classes(v, p, &b);
        map_draw_wrapped(c, &r, INK_TITLE, buf_text(&b), 2);
        buf_release(&b);
    }
    int panel = map_focus(v);
    const int32_t *near = d->panel[panel].neighbor;
    if (!near || r.h < 3) return;
    r.y++;
    canvas_title(c, r, "nearest before t-SNE", NULL);
    r.y++;
    r.h -= 2;
    for (int k = 0; k < MAP_NEIGHBORS && r.h > 0; k++) {
        int i = near[v->chosen * MAP_NEIGHBORS + k];
        if (i < 0 || i >= d->n) break;
        map_draw_wrapped(c, &r, d->label[i] == d->label[v->chosen] ? INK_TEXT : INK_WARN,
                         phrase("%.60s  %.300s", map_name_of(d, d->label[i]), d->text[i]).text, 2);
    }
}

/* Draws a line per step: silhouette, purity, metric; returns the rows used. */
static int aside_moments(const struct map_view *v, struct canvas *c, struct rect r) {
    const struct map_panel *p = &v->data.panel[map_focus(v)];
    int rows = r.h - 2 < p->moments ? r.h - 2 : p->moments, first = p->at >= rows ? p->at - rows + 1 : 0;
    bool by_task = v->color == MAP_BY_TASK;
    if (rows < 1) return 0;
    canvas_title(c, r, "training steps", NULL);
    canvas_fit(
        c, r.x + PANE_EDGE, r.y + 1, r.w - PANE_EDGE, INK_DIM,
        phrase("%7s %10s %6s %8.8s", "step", "silhouette", "purity", v->data.metric ? v->data.metric : "")
            .text);
    for (int i = first; i < first + rows; i++) {
        const struct map_moment *k = &p->moment[i];
        struct phrase line =
            phrase("%7lld %10.4f %6.4f ", (long long)k->step, by_task ? k->task_silhouette : k->silhouette,
                   map_draw_purity_of(k, by_task));
        phrase_add(&line, isfinite(k->metric) ? "%8.4f" : "        ", k->metric);
        canvas_fit(c, r.x + PANE_EDGE, r.y + 2 + i - first, r.w - PANE_EDGE,
                   i == p->at ? INK_CURSOR : INK_TEXT, line.text);
    }
    return rows + 3;
}

static void draw_aside(const struct map_view *v, struct canvas *c, struct rect r) {
    int32_t *labels = map_labels(v, map_focus(v));
    map_outside(v, labels);
    int classes = map_classes(v), rows = r.h / 2 - 2, y = r.y + 1;
    int first = v->class >= rows ? v->class - rows + 1 : 0;
    canvas_title(c, r, "classes", color_name(v->color));
    for (int k = first; k < classes && k - first < rows; k++, y++)
        legend_entry(v, c, r.x + PANE_EDGE, y, r.w - PANE_EDGE, k, count_of(labels, v->data.n, k));
    free(labels);
    y++;
    if (v->data.training) y += aside_moments(v, c, (struct rect){ r.x, y, r.w, (r.y + r.h - y) / 2 });
    aside_row(v, c, rect_down(r, y - r.y));
}

static void draw_foot(const struct map_view *v, struct canvas *c, struct rect r, bool aside) {
    struct buf b = BUF_INIT;
    if (r.h >= 3 && !aside) {
        draw_legend_line(v, c, r);
        r.y++;
    }
    settings(v, &b);
    canvas_fit(c, r.x, r.y, r.w, INK_TEXT, buf_text(&b));
    bool all = canvas_width(c, caution) <= r.w;
    if (r.h >= 2) canvas_fit(c, r.x, r.y + 1, r.w, INK_DIM, all ? caution : short_caution);
    buf_release(&b);
}

void inspect_card(struct canvas *c, struct rect r, int y, void (*write)(const struct ui *ui, struct sheet *s),
                  const struct ui *ui) {
    enum { CARD_W = 90 };
    struct sheet s = { .r = { 0, 0, r.w < CARD_W ? r.w : CARD_W, 0 }, .glyphs = c->glyphs };
    write(ui, &s);
    int rows = s.rows + 1 < r.h ? s.rows + 1 : r.h;
    s = (struct sheet){ c, { r.x, 2 * (y - r.y) < r.h ? r.y + r.h - rows : r.y, s.r.w, rows },
                        .glyphs = c->glyphs };
    canvas_push_clip(c, s.r);
    canvas_fill(c, s.r, INK_TEXT, ' ');
    write(ui, &s);
    canvas_rule(c, s.r.x, s.r.y + rows - 1, s.r.w, NULL, NULL);
    canvas_pop_clip(c);
}

/* Writes the example under the cursor and its neighbors, with their texts in full. */
static void write_example(const struct ui *ui, struct sheet *s) {
    const struct map_view *v = &ui->map;
    const struct map_data *d = &v->data;
    const int32_t *near = d->panel[map_focus(v)].neighbor;
    sheet_rule(s, "example under the cursor", "D closes");
    sheet_text(s, PANE_EDGE, INK_TEXT, d->text[v->chosen]);
    for (int p = 0; p < d->panels; p++) {
        struct buf b = BUF_INIT;
        buf_printf(&b, "%s: ", d->panel[p].title);
        put_classes(v, p, &b);
        sheet_text(s, PANE_EDGE, INK_TITLE, buf_text(&b));
        buf_release(&b);
    }
    if (near) sheet_rule(s, "nearest before t-SNE", NULL);
    for (int k = 0; near && k < MAP_NEIGHBORS; k++) {
        int i = near[v->chosen * MAP_NEIGHBORS + k];
        if (i < 0 || i >= d->n) break;
        char *line = xprintf("%s: %s", map_name_of(d, d->label[i]), d->text[i]);
        sheet_text(s, PANE_EDGE, d->label[i] == d->label[v->chosen] ? INK_TEXT : INK_WARN, line);
        free(line);
    }
}

/* Returns the rectangle of both panels. */
static struct rect maps_of(const struct panes *p) {
    struct rect r = p->at[PANE_MAP], right = p->at[PANE_MAP_2];
    if (!rect_empty(right)) r.w = right.x + right.w - r.x;
    return r;
}

static void draw_map_screen(const struct ui *ui, struct canvas *c, struct rect body) {
    const struct map_view *v = &ui->map;
    struct panes p = ui_panes(ui, SCREEN_MAP);
    if (!v->data.panels || !v->data.n) {
        ui_none(c, body, v->data.failed,
                v->data.busy
                    ? v->data.busy
                    : "Examples as points: press 3 to list the runs, and 7 there to map the run under the "
                      "cursor next to the pretrained model.");
        return;
    }
    if (v->many) map_many_draw(v, c, maps_of(&p));
    else if (!rect_empty(p.at[PANE_MAP]))
        draw_panel(ui, c, v->alone || p.size == LAYOUT_PANE ? map_focus(v) : 0, p.at[PANE_MAP]);
    if (!v->many && !rect_empty(p.at[PANE_MAP_2])) draw_panel(ui, c, 1, p.at[PANE_MAP_2]);
    if (!rect_empty(p.at[PANE_ASIDE])) (v->list ? map_list_draw : draw_aside)(v, c, p.at[PANE_ASIDE]);
    if (v->list && rect_empty(p.at[PANE_ASIDE])) map_list_draw(v, c, maps_of(&p));
    if (v->whole && v->chosen >= 0) {
        int x, y;
        scatter_cell(v->pane[map_focus(v)], &v->look[map_focus(v)], &x, &y);
        inspect_card(c, maps_of(&p), v->pane[map_focus(v)].y + y, write_example, ui);
    }
    if (!rect_empty(p.at[PANE_FOOT])) draw_foot(v, c, p.at[PANE_FOOT], !rect_empty(p.at[PANE_ASIDE]));
}

static void map_draw_readout(const struct ui *ui, struct buf *out) {
    const struct map_view *v = &ui->map;
    if (v->data.failed && v->data.panels) {
        buf_puts(out, v->data.failed);
        return;
    }
    if (!v->data.panels || v->chosen < 0 || v->chosen >= v->data.n) return;
    struct buf rest = BUF_INIT;
    buf_puts(&rest, " \u00B7 ");
    put_classes(v, map_focus(v), &rest);
    put_neighbors(v, map_focus(v), ui->w < 100 ? 3 : MAP_NEIGHBORS, &rest);
    char *text = text_visible(v->data.text[v->chosen], strlen(v->data.text[v->chosen]));
    int room = ui->w - 6 - text_width(buf_text(&rest));
    size_t fit = text_fit(text, room < 8 ? 8 : room);
    buf_printf(out, "\u201C%.*s%s\u201D%s", (int)fit, text, text[fit] ? "\u2026" : "", buf_text(&rest));
    free(text);
    buf_release(&rest);
}

static void map_draw_copies(const struct ui *ui, struct copy_list *to) {
    const struct map_view *v = &ui->map;
    bool chosen = v->data.panels && v->chosen >= 0 && v->chosen < v->data.n;
    if (chosen) copy_add(to, "text", v->data.text[v->chosen]);
    copy_readout(ui, to);
}

static void map_draw_show(struct ui *ui, struct effect *out) { inspect_show(ui, SCREEN_MAP, out); }

static void map_draw_need(const struct ui *ui, const struct layout_frame *f, struct layout_need *out) {
    (void)f;
    *out = (struct layout_need){ .panels = ui->map.alone ? 1 : ui->map.data.panels };
}

static const char *map_draw_hint(const struct ui *ui, const struct key_entry *k) {
    const struct map_view *v = &ui->map;
    bool legend = v->part >= v->data.panels;
    if (!v->data.panels) return NULL;
    switch (k->request) {
    case REQ_PAUSE: return v->data.playing ? "pause" : "run";
    case REQ_OPEN: return v->list ? "go to" : legend ? "show/hide" : v->data.panels > 1 ? "maximize" : NULL;
    case REQ_LEFT: return legend ? NULL : k->hint;
    case REQ_DOWN: return legend ? "class" : NULL;
    case REQ_NEXT_PART: return "panel";
    case REQ_MORE: return "zoom";
    case REQ_DESCRIBE: return v->whole ? "close" : "text";
    case REQ_TEXTS: return v->list ? "close list" : "list";
    case REQ_TERMS: return v->many ? "one map" : v->data.training ? "all steps" : "all layers";
    case REQ_REGION: return v->region.on ? "no region" : k->hint;
    case REQ_PAN_LEFT: return v->data.training || v->sets ? NULL : k->hint;
    case REQ_FILTER_CELL: return "filter";
    case REQ_NEXT: return "wrong";
    case REQ_TASKS: return v->data.run_tasks > 1 ? "next task" : NULL;
    case REQ_UNSEEN: return v->data.run_tasks > 1 ? k->hint : NULL;
    case REQ_BESIDE: return v->data.retriever && !v->data.training ? "pooled/model" : NULL;
    case REQ_TRAINING: return v->data.training ? "layers" : v->subjects && !v->sets ? k->hint : NULL;
    default: return k->hint;
    }
}

static void map_draw_pictured(const struct ui *ui, struct buf *out) {
    if (ui->map.data.training) buf_puts(out, "training");
}

static const enum request map_draw_keys[] = {
    REQ_OPEN, REQ_PAUSE, REQ_EARLIER, REQ_LATER, REQ_NEXT_PART, REQ_PREV_PART, REQ_LEFT, REQ_RIGHT,
    REQ_DOWN, REQ_UP, REQ_PAGE_DOWN, REQ_PAGE_UP, REQ_NEXT, REQ_PREV, REQ_FILTER_CELL, REQ_FILTER_CLEAR,
    REQ_FAST_LEFT, REQ_FAST_RIGHT, REQ_MORE, REQ_LESS, REQ_PAN_LEFT, REQ_PAN_RIGHT, REQ_FIT, REQ_TASKS,
    REQ_FIRST, REQ_LAST, REQ_TEXTS, REQ_TERMS, REQ_REGION, REQ_UNSEEN, REQ_DESCRIBE, REQ_STEP, REQ_REWIND,
    REQ_COLOR, REQ_TRAINING, REQ_BESIDE, REQ_PERPLEXITY_LESS, REQ_PERPLEXITY_MORE, REQ_NONE
};

void inspect_rendered(const struct ui *ui, struct buf *out) {
    const struct map_view *v = &ui->map;
    for (int i = 0; i < v->subjects && v->sets; i++)
        buf_printf(out, "%s%lld", i ? "," : " --set ", (long long)v->subject[i]);
    if (v->subjects && !v->sets) buf_printf(out, " --run %lld", (long long)v->subject[0]);
    if (v->subjects) return;
    text_shell_option(out, "model", ui->compose.config.model);
    text_shell_option(out, "task", ui->compose.config.task);
}

static void map_draw_rendered(const struct ui *ui, struct buf *out) {
    inspect_rendered(ui, out);
    if (ui->map.data.training) buf_puts(out, " --steps");
}

static enum pane_id map_draw_focus(const struct ui *ui) {
    const struct map_view *v = &ui->map;
    if (v->many && !v->list) return PANE_MAP;
    if (v->list && rect_empty(ui_panes(ui, SCREEN_MAP).at[PANE_ASIDE])) return PANE_MAP;
    if (v->list || v->part >= v->data.panels) return PANE_ASIDE;
    return v->part && !v->alone ? PANE_MAP_2 : PANE_MAP;
}

const struct screen screen_map = {
    .tip = { REQ_NEXT, "n goes to the next misclassified example; c changes the colors" },
    .name = "map",
    .about =
        "Map shows the vectors of examples as points (t-SNE), for the pretrained model and the run under "
        "the cursor in Runs, with scores of how well the classes are separated.",
    .keys = map_draw_keys,
    .tab = "7 Map",
    .to = REQ_TO_MAP,
    .inside = INSIDE_POINTS,
    .show = map_draw_show,
    .init = map_init,
    .changed = map_place,
    .request = map_request,
    .panes = layout_map,
    .need = map_draw_need,
    .focus = map_draw_focus,
    .pick = map_many_pick,
    .draw = draw_map_screen,
    .readout = map_draw_readout,
    .copies = map_draw_copies,
    .hint = map_draw_hint,
    .pictured = map_draw_pictured,
    .rendered = map_draw_rendered,
};
