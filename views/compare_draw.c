/* Compare, drawn: the table of groups, what they differ in, the curves. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "views/compare.h"
#include "views/plot_many.h"
#include "views/scatter.h"
#include "views/table.h"
#include "views/ui.h"
#include "views/ui_parts.h"

enum { VALUE_WIDTH = 8, COUNT_WIDTH = 3, NAME_LEAST = 14 };

void compare_need(const struct ui *ui, const struct layout_frame *f, struct layout_need *need) {
    const struct compare_view *v = &ui->compare;
    (void)f;
    int *shown;
    need->groups = compare_shown(v, &shown) + (v->data.mixed != NULL);
    need->differences = v->data.differences;
    free(shown);
}

/* ---- groups ---- */

enum { NAME, MEAN, SD, COUNT, SEEDS, BAND, TRAINED, RANK, COLUMNS };

/* Those that there is no room for beside the names give way. */
static void place(int w, struct table_column k[COLUMNS]) {
    static const struct table_column all[COLUMNS] = {
        { "group", 0, 1, false },      { "", VALUE_WIDTH, 0, true }, { "sd", VALUE_WIDTH, 0, true },
        { "n", COUNT_WIDTH, 1, true }, { "seeds", 0, 1, false },     { "95% CI", 16, 1, false },
        { "trainable", 10, 0, true },    { "rank", 5, 0, true }
    };
    int rest = w - PANE_EDGE - 2 - 2 * VALUE_WIDTH - COUNT_WIDTH - 2;
    memcpy(k, all, sizeof all);
    for (int i = BAND; i < COLUMNS; i++) {
        int wide = k[i].w + k[i].gap;
        if (rest - wide >= NAME_LEAST) rest -= wide;
        else k[i].w = 0;
    }
    k[SEEDS].w = rest >= NAME_LEAST + 30 ? 14 : rest >= NAME_LEAST + 8 ? 7 : 0;
    k[NAME].w = rest - 1 - (k[SEEDS].w ? k[SEEDS].w + 1 : 0);
}

static void draw_group(const struct compare_view *v, struct table t, int group, bool here) {
    const struct compare_group *g = &v->data.group[group];
    bool points = g->kind >= 0 && v->data.kind[g->kind].points;
    enum ink ink = here ? INK_TITLE : INK_TEXT;
    canvas_put(t.c, t.x - 2, t.y, scatter_style(t.c, group), plot_mark(group));
    int w = canvas_fit(t.c, t.x, t.y, t.next->w - (g->other_rows ? 2 : 0), ink, g->name);
    if (g->other_rows) canvas_text(t.c, t.x + w + 1, t.y, INK_WARN, "\u2260");
    table_cell(&t, ink, "%s", "");
    bool over = g->kind >= 0 || !*g->state || !strcmp(g->state, "finished");
    table_cell(&t, ink, "%s", over ? show_points(g->mean, points).text : g->state);
    table_cell(&t, INK_TEXT, "%s%s", isnan(g->sd) ? "" : "\u00B1", show_points(g->sd, points).text);
    table_cell(&t, INK_TEXT, "%d", g->n);
    table_cell(&t, INK_DIM, "%s", g->seeds);
    if (isfinite(g->low))
        table_cell(&t, INK_TEXT, "[%s, %s]", show_points(g->low, points).text,
                   show_points(g->high, points).text);
    else table_cell(&t, INK_TEXT, "%s", "");
    table_cell(&t, INK_TEXT, "%s", show_count(g->trained).text);
    if (isfinite(g->rank)) table_cell(&t, INK_TEXT, "%g", g->rank);
    else table_cell(&t, INK_TEXT, "\u2013");
}

static void draw_heads(const struct compare_view *v, struct table t) {
    const struct compare_group *g = compare_at_cursor(v);
    const struct compare_kind *k = g && g->kind >= 0 ? &v->data.kind[g->kind]
                                   : v->data.kinds   ? &v->data.kind[0]
                                                     : NULL;
    struct phrase mean = phrase("%.24s%s", k ? k->metric : "", k && k->points ? " \u00D7100" : "");
    table_heads(t, COLUMNS);
    canvas_text(t.c, t.x + t.next->w + 1 + VALUE_WIDTH - canvas_width(t.c, mean.text), t.y, INK_DIM,
                mean.text); /* also over the names */
}

static void draw_groups(const struct compare_view *v, struct canvas *c, struct rect r) {
    char title[64], right[200];
    int *shown, n = compare_shown(v, &shown);
    const struct compare_group *g = compare_at_cursor(v);
    int at = snprintf(title, sizeof title, "%d group%s \u00B7 %d run%s", n, n == 1 ? "" : "s", v->data.runs,
                      v->data.runs == 1 ? "" : "s");
    if (v->data.repeats) snprintf(title + at, sizeof title - (size_t)at, ", %d repeated", v->data.repeats);
    snprintf(right, sizeof right, "%.180s",
             g && g->kind >= 0 ? v->data.kind[g->kind].rows : "without evaluations");
    int room = r.w - canvas_width(c, title) - 8;
    if (canvas_width(c, right) > room)
        snprintf(right, sizeof right, "%.100s", g && g->kind >= 0 ? v->data.kind[g->kind].task : "");
    canvas_title(c, r, title, right);
    struct table_column column[COLUMNS];
    place(r.w, column);
    draw_heads(v, (struct table){ c, column, r.x + PANE_EDGE + 2, r.y + 1 });
    int y = r.y + 2, end = r.y + r.h;
    if (v->data.mixed && y < end)
        canvas_fit(c, r.x + PANE_EDGE, y++, r.w - PANE_EDGE - 1, INK_WARN, v->data.mixed);
    canvas_push_clip(c, r);
    for (int i = v->top; i < n && y < end; i++, y++) {
        bool here = ui_part_row(c, r, y, -v->part, i - v->cursor, PRESS_ENTER);
        draw_group(v, (struct table){ c, column, r.x + PANE_EDGE + 2, y }, shown[i], here);
    }
    canvas_pop_clip(c);
    free(shown);
}

/* ---- what differs ---- */

static void draw_differences(const struct compare_view *v, struct canvas *c, struct rect r) {
    int *shown, n = compare_shown(v, &shown);
    int all = v->data.differences;
    canvas_title(c, r, phrase("%d difference%s in config and axes", all, all == 1 ? "" : "s").text, NULL);
    int key = r.w / 4 < 12 ? 12 : r.w / 4 > 24 ? 24 : r.w / 4, room = r.w - key - 3;
    int fit = room / 12 < 1   ? 1
              : room / 12 < n ? room / 12
                              : n,
        left = v->cursor >= fit ? v->cursor - fit + 1 : 0;
    int w = fit ? room / fit : room;
    if (w > 32) w = 32;
    for (int i = 0; i < r.h - 1 && v->key_top + i < all; i++) {
        const struct compare_difference *d = &v->data.difference[v->key_top + i];
        int y = r.y + 1 + i;
        bool here = ui_part_row(c, r, y, !v->part, v->key_top + i - v->key, 0);
        canvas_fit(c, r.x + 3, y, key - 1, here ? INK_TITLE : INK_DIM, d->key);
        for (int k = 0; k < fit && left + k < n; k++) {
            int group = shown[left + k], x = r.x + 3 + key + k * w;
            canvas_put(c, x, y, scatter_style(c, group), plot_mark(group));
            canvas_fit(c, x + 2, y, w - 3, INK_TEXT, d->value[group] ? d->value[group] : "\u2013");
        }
    }
    free(shown);
}

/* ---- curves ---- */

/* Metrics of the kind of g, the group under the cursor, alone: others are on another scale. */
static bool has_curve(const struct compare_view *v, const struct compare_group *g,
                      const struct compare_curve *k, bool losses) {
    int kind = v->data.group[k->group].kind;
    return (v->kind < 0 || kind == v->kind) && (losses || !g || kind == g->kind);
}

static void draw_chart(const struct compare_view *v, struct canvas *c, struct rect r, bool losses) {
    struct plot_line *line = xcalloc((size_t)v->data.curves + 1, sizeof *line);
    struct plot_look look = { .smooth = losses ? v->smooth : 0, .log = losses && v->log };
    const struct compare_group *g = compare_at_cursor(v);
    const char *metric = g && g->kind >= 0 ? v->data.kind[g->kind].metric : "metric";
    char right[120];
    int n = 0;
    for (int i = 0; i < v->data.curves; i++) {
        const struct compare_curve *k = &v->data.curve[i];
        struct plot_data d = losses ? k->loss : k->metric;
        if (!d.count || !has_curve(v, g, k, losses)) continue;
        line[n++] = (struct plot_line){ d, plot_mark(k->group), scatter_style(c, k->group), k->group,
                                        PICK_GROUP + k->group };
        if (d.step[d.count - 1] > look.to) look.to = d.step[d.count - 1];
    }
    if (losses)
        snprintf(right, sizeof right, "smooth %g%s", plot_smooth_weight(v->smooth),
                 v->log ? " \u00B7 log" : "");
    else snprintf(right, sizeof right, "marks: evaluations");
    if (v->data.curves_left)
        snprintf(right + strlen(right), sizeof right - strlen(right), " \u00B7 %d of %d runs", v->data.curves,
                 v->data.curves + v->data.curves_left);
    canvas_title(c, r, losses ? "loss" : metric, right);
    r.y++, r.h--;
    if (!n) canvas_fit(c, r.x + 3, r.y, r.w - 4, INK_DIM, "no stored points for these runs");
    else if (losses) plot_lines(c, r, line, n, &look, -1, true);
    else plot_marks(c, r, line, n, &look, -1, r.h >= 6);
    free(line);
}

void compare_draw(const struct ui *ui, struct canvas *c, struct rect body) {
    const struct compare_view *v = &ui->compare;
    struct panes p = ui_panes(ui, SCREEN_COMPARE);
    if (!v->data.groups) {
        ui_none(c, body, *v->failed ? v->failed : NULL, v->busy ? "loading the runs\u2026"
                : "No runs to compare: press 3 to list the runs, mark some with Space, and press 4.");
        return;
    }
    draw_groups(v, c, p.at[PANE_GROUPS]);
    if (!rect_empty(p.at[PANE_DIFFERS])) draw_differences(v, c, p.at[PANE_DIFFERS]);
    bool both = !rect_empty(p.at[PANE_LOSS]) && !rect_empty(p.at[PANE_METRIC]);
    if (!rect_empty(p.at[PANE_METRIC])) draw_chart(v, c, p.at[PANE_METRIC], both ? false : v->losses);
    if (both) draw_chart(v, c, p.at[PANE_LOSS], true);
}

/* What is shown of the group under the cursor beside the best; in the differences the whole value. */
void compare_readout(const struct ui *ui, struct buf *out) {
    const struct compare_view *v = &ui->compare;
    const struct compare_group *g = compare_at_cursor(v);
    if (!g) return;
    if (v->part && v->key < v->data.differences) {
        buf_printf(out, "%s: %s", v->data.difference[v->key].key,
                   v->data.difference[v->key].value[g - v->data.group]
                       ? v->data.difference[v->key].value[g - v->data.group]
                       : "\u2013");
        return;
    }
    if (g->claim) buf_puts(out, g->claim);
    else
        buf_printf(out, "%s \u00B7 n %d, seed%s %s", g->name, g->n, g->n == 1 ? "" : "s",
                   *g->seeds ? g->seeds : "\u2013");
    if (g->repeats) buf_printf(out, " \u00B7 %s", g->repeats);
    if (v->left) buf_printf(out, " \u00B7 %d more runs omitted: filter the list of Runs with /", v->left);
}
