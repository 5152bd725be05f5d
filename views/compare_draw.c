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
#include "views/zone.h"

enum { VALUE_WIDTH = 8, COUNT_WIDTH = 3, NAME_LEAST = 14, NAME_MOST = 34 };

enum { GROUP_LINES = 3, FOLLOWS = 2 };

static void group_lines(const struct compare_group *g, const char *line[GROUP_LINES]) {
    line[0] = g->evidence, line[1] = g->difference, line[FOLLOWS] = g->follows;
}

/* `elsewhere`: the settings are shown instead after Tab. */
static void draw_evidence(const struct compare_view *v, struct canvas *c, struct rect r, bool elsewhere) {
    const struct compare_group *g = compare_at_cursor(v);
    int *differing, partial, n = compare_differing(v, &differing, &partial);
    free(differing);
    canvas_title(c, r, phrase("evidence: %.200s", g ? g->name : "").text,
                 elsewhere ? phrase("Tab: %d setting%s", n, n == 1 ? " differs" : "s differ").text : NULL);
    const char *line[GROUP_LINES] = { NULL };
    if (g) group_lines(g, line);
    if (g && !ui_lines(c, r, line, GROUP_LINES, FOLLOWS))
        canvas_fit(c, r.x + PANE_EDGE, r.y + 1, r.w - PANE_EDGE - 1, INK_DIM, "no finished run has a value");
}

void compare_need(const struct ui *ui, const struct layout_frame *f, struct layout_need *need) {
    const struct compare_view *v = &ui->compare;
    int *differing, partial, w = f->size == LAYOUT_WIDE ? f->body.w - f->body.w * 2 / 5 : f->body.w;
    need->groups = compare_tab_groups(v, v->kind);
    if (v->data.kinds > 1) need->groups += 1 + (v->kind < 0 ? v->data.kinds : 0); /* tabs, and headings */
    need->differences = compare_differing(v, &differing, &partial);
    if (need->differences)
        need->differences += compare_effect_rows(v, (struct rect){ 0, 0, w - 2, f->body.h });
    if (partial && !need->differences) need->differences = 1;
    need->part = v->part;
    free(differing);
    const char *longest[GROUP_LINES] = { NULL }, *line[GROUP_LINES];
    for (int i = 0; i < v->data.groups; i++) {
        if (v->kind >= 0 && v->data.group[i].kind != v->kind) continue;
        group_lines(&v->data.group[i], line);
        ui_longest(longest, line, GROUP_LINES);
    }
    need->evidence = ui_lines(NULL, (struct rect){ 0, 0, w, 0 }, longest, GROUP_LINES, FOLLOWS);
}

/* ---- groups ---- */

enum { NAME, MEAN, SD, COUNT, SEEDS, BAND, TRAINED, RANK, COLUMNS };

/* Places the columns; those for which there is no room next to names of this width are left out, seeds
 * first. */
static void place(int w, int names, struct table_column k[COLUMNS]) {
    static const struct table_column all[COLUMNS] = {
        { "group", 0, 1, false },      { "", VALUE_WIDTH, 0, true }, { "sd", VALUE_WIDTH, 0, true },
        { "n", COUNT_WIDTH, 1, true }, { "seeds", 0, 1, false },     { "95% CI", 16, 1, false },
        { "trainable", 10, 0, true },    { "rank", 5, 0, true }
    };
    int rest = w - PANE_EDGE - 2 - 2 * VALUE_WIDTH - COUNT_WIDTH - 2;
    memcpy(k, all, sizeof all);
    static const int optional[] = { RANK, BAND, TRAINED };
    for (size_t i = 0; i < COUNT_OF(optional); i++) {
        struct table_column *own = &k[optional[i]];
        if (rest - own->w - own->gap >= names) rest -= own->w + own->gap;
        else own->w = 0;
    }
    k[SEEDS].w = rest >= names + 15 ? 14 : rest >= names + 8 ? 7 : 0;
    k[NAME].w = rest - 1 - (k[SEEDS].w ? k[SEEDS].w + 1 : 0);
}

static void draw_group(const struct compare_view *v, struct table t, int group, bool here) {
    const struct compare_group *g = &v->data.group[group];
    bool points = v->data.kind[g->kind].points;
    enum ink ink = here ? INK_TITLE : INK_TEXT;
    canvas_put(t.c, t.x - 2, t.y, scatter_style(t.c, group), plot_mark(group));
    int w = canvas_fit(t.c, t.x, t.y, t.next->w - (g->other_rows ? 2 : 0), ink, g->name);
    if (g->other_rows) canvas_text(t.c, t.x + w + 1, t.y, INK_WARN, "\u2260");
    table_cell(&t, ink, "%s", "");
    bool over = isfinite(g->mean) || !*g->state || !strcmp(g->state, "finished");
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
    const struct compare_kind *k = compare_kind_of(v);
    struct phrase mean = phrase("%.24s%s", k && k->metric ? k->metric : "",
                                k && k->points ? " \u00D7100" : "");
    table_heads(t, COLUMNS);
    canvas_text(t.c, t.x + t.next->w + 1 + VALUE_WIDTH - canvas_width(t.c, mean.text), t.y, INK_DIM,
                mean.text); /* also over the names */
}

/* Draws the name of a tab with the number of its groups; the current one has the cursor sign.  Returns the
 * columns used. */
static int draw_tab(const struct compare_view *v, struct canvas *c, int x, int y, int tab) {
    bool here = tab == (v->kind < 0 ? v->data.kinds : v->kind);
    struct phrase text = phrase("%.60s %d", tab < v->data.kinds ? v->data.kind[tab].name : "all",
                                compare_tab_groups(v, tab < v->data.kinds ? tab : COMPARE_ALL));
    canvas_cursor(c, x, y, here);
    int w = 2 + canvas_text(c, x + 2, y, here ? INK_TITLE : INK_DIM, text.text);
    zone_pick(c, x, y, w, PICK_TAB + tab);
    return w + 2;
}

/* Draws one tab per kind and one for all, from the first one with which the current one is visible. */
static void draw_tabs(const struct compare_view *v, struct canvas *c, struct rect r) {
    int here = v->kind < 0 ? v->data.kinds : v->kind, from = here, room = r.w - PANE_EDGE - 2;
    struct canvas none = { .glyphs = c->glyphs };
    room -= draw_tab(v, &none, 0, 0, here);
    while (from > 0 && (room -= draw_tab(v, &none, 0, 0, from - 1)) >= 0) from--;
    int x = r.x + PANE_EDGE - 2;
    if (from) x += canvas_text(c, r.x + PANE_EDGE, r.y, INK_DIM, "\u2026") + 1;
    for (int i = from; i <= v->data.kinds && x < r.x + r.w; i++) x += draw_tab(v, c, x, r.y, i);
}

/* Draws the heading of the groups of one kind: ranks before and after it are of different things. */
static void draw_section(const struct compare_view *v, struct canvas *c, struct rect r, int y, int kind) {
    const struct compare_kind *k = &v->data.kind[kind];
    int x = r.x + PANE_EDGE, end = r.x + r.w - 1;
    x += canvas_fit(c, x, y, end - x, INK_DIM, k->name) + 1;
    for (; x < end; x++) canvas_text(c, x, y, INK_DIM, "\u2500");
}

static void draw_groups(const struct compare_view *v, struct canvas *c, struct rect r) {
    char title[64];
    int *shown, n = compare_shown(v, &shown);
    const struct compare_kind *kind = compare_kind_of(v);
    int runs = 0, repeated = 0;
    for (int i = 0; i < n; i++) {
        runs += v->data.group[shown[i]].runs;
        repeated += v->data.group[shown[i]].repeated;
    }
    int at = snprintf(title, sizeof title, "%d group%s \u00B7 %d run%s", n, n == 1 ? "" : "s", runs,
                      runs == 1 ? "" : "s");
    if (repeated) snprintf(title + at, sizeof title - (size_t)at, ", %d repeated", repeated);
    const char *right = kind ? kind->rows : "";
    if (canvas_width(c, right) > r.w - canvas_width(c, title) - 8) right = kind->task;
    canvas_title(c, r, title, right);
    canvas_push_clip(c, r);
    int y = r.y + 1, end = r.y + r.h;
    if (v->data.kinds > 1) draw_tabs(v, c, (struct rect){ r.x, y++, r.w, 1 });
    struct table_column column[COLUMNS];
    int names = NAME_LEAST;
    for (int i = 0; i < n; i++) {
        int w = canvas_width(c, v->data.group[shown[i]].name) + 1;
        names = w > NAME_MOST ? NAME_MOST : w > names ? w : names;
    }
    place(r.w, r.w >= 72 ? names : NAME_LEAST, column);
    draw_heads(v, (struct table){ c, column, r.x + PANE_EDGE + 2, y++ });
    for (int i = v->top; i < n && y < end; i++, y++) {
        int of = v->data.group[shown[i]].kind;
        if (v->kind < 0 && (i == v->top || v->data.group[shown[i - 1]].kind != of))
            draw_section(v, c, r, y++, of);
        bool here = ui_part_row(c, r, y, -v->part, i - v->cursor, PRESS_ENTER);
        draw_group(v, (struct table){ c, column, r.x + PANE_EDGE + 2, y }, shown[i], here);
    }
    canvas_pop_clip(c);
    free(shown);
}

/* ---- what differs ---- */

/* Returns the width of a group's column: its longest shown value with the mark. */
static int values_width(const struct compare_view *v, const struct canvas *c, const int *differing, int n,
                        int group) {
    int most = 6;
    for (int i = 0; i < n; i++) {
        const char *value = v->data.difference[differing[i]].value[group];
        int w = value ? canvas_width(c, value) + 4 : 0;
        if (w > most) most = w;
    }
    return most < 34 ? most : 34;
}

/* Returns the main effects of a setting on the values of a kind, or NULL. */
static const char *effect_of(const struct compare_view *v, int difference, int kind) {
    const struct compare_difference *d = &v->data.difference[difference];
    return d->effect ? d->effect[kind] : NULL;
}

/* Returns the rows of the longest main effects that the settings on the tab have. */
static int effect_rows(const struct compare_view *v, const int *differing, int n, int w) {
    const char *longest = NULL, *line;
    for (int k = 0; k < v->data.kinds; k++) {
        for (int i = 0; i < n && (v->kind < 0 || v->kind == k); i++) {
            line = effect_of(v, differing[i], k);
            ui_longest(&longest, &line, 1);
        }
    }
    return ui_lines(NULL, (struct rect){ 0, 0, w, 0 }, (const char *const *)&longest, 1, 0);
}

int compare_effect_rows(const struct compare_view *v, struct rect r) {
    int *differing, partial, n = compare_differing(v, &differing, &partial);
    int rows = n ? effect_rows(v, differing, n, r.w) : 0;
    free(differing);
    return r.h - 1 - rows >= 2 ? rows : 0;
}

static void draw_differences(const struct compare_view *v, struct canvas *c, struct rect r) {
    int *shown, n = compare_shown(v, &shown), *differing, partial;
    int all = compare_differing(v, &differing, &partial);
    struct phrase more = phrase("O shows %d more that only some groups have", partial);
    canvas_title(c, r, phrase("%d setting%s", all, all == 1 ? " differs" : "s differ").text,
                 partial ? more.text : NULL);
    int key = 0, left = v->cursor;
    for (int i = 0; i < all; i++) {
        int w = canvas_width(c, v->data.difference[differing[i]].key) + 2;
        key = w > key ? w : key;
    }
    if (key > r.w / 3) key = r.w / 3;
    int effects = compare_effect_rows(v, r), rows = r.h - 1 - effects;
    const struct compare_group *g = compare_at_cursor(v);
    if (effects && g && v->key < all) {
        const char *effect = effect_of(v, differing[v->key], g->kind);
        int below = all - v->key_top < rows ? all - v->key_top : rows;
        ui_lines(c, (struct rect){ r.x, r.y + below, r.w, effects + 1 }, &effect, 1, 0);
    }
    int room = r.w - key - 3 - (n ? values_width(v, c, differing, all, shown[left]) : 0);
    while (left > 0 && (room -= values_width(v, c, differing, all, shown[left - 1])) >= 0) left--;
    for (int i = 0; i < rows && v->key_top + i < all; i++) {
        const struct compare_difference *d = &v->data.difference[differing[v->key_top + i]];
        int y = r.y + 1 + i;
        bool here = ui_part_row(c, r, y, !v->part, v->key_top + i - v->key, 0);
        canvas_fit(c, r.x + 3, y, key - 1, here ? INK_TITLE : INK_DIM, d->key);
        int x = r.x + 3 + key;
        for (int k = left; k < n && x < r.x + r.w - 5; k++) {
            int group = shown[k], w = values_width(v, c, differing, all, group);
            if (x + w > r.x + r.w) w = r.x + r.w - x;
            canvas_put(c, x, y, scatter_style(c, group), plot_mark(group));
            canvas_fit(c, x + 2, y, w - 3, INK_TEXT, d->value[group] ? d->value[group] : "\u2013");
            x += w;
        }
    }
    free(shown), free(differing);
}

/* ---- curves ---- */

/* Returns whether the chart has the curve: metrics only of the kind of g, the group under the cursor. */
static bool has_curve(const struct compare_view *v, const struct compare_group *g,
                      const struct compare_curve *k, bool losses) {
    int kind = v->data.group[k->group].kind;
    return (v->kind < 0 || kind == v->kind) && (losses || !g || kind == g->kind);
}

static void draw_chart(const struct compare_view *v, struct canvas *c, struct rect r, bool losses) {
    const struct compare_curve *curve = v->each ? v->data.curve : v->data.mean;
    int curves = v->each ? v->data.curves : v->data.means, n = 0, most = 1, least = COMPARE_CURVES;
    struct plot_line *line = xcalloc((size_t)curves + 1, sizeof *line);
    struct plot_look look = { .smooth = losses ? v->smooth : 0, .log = losses && v->log, .whole = !losses };
    const struct compare_group *g = compare_at_cursor(v);
    const char *metric = g && v->data.kind[g->kind].metric ? v->data.kind[g->kind].metric : "metric";
    for (int i = 0; i < curves; i++) {
        const struct compare_curve *k = &curve[i];
        struct plot_data d = losses ? k->loss : k->metric;
        if (!d.count || !has_curve(v, g, k, losses)) continue;
        line[n++] = (struct plot_line){ d, plot_mark(k->group), scatter_style(c, k->group), k->group,
                                        PICK_GROUP + k->group };
        if (d.step[d.count - 1] > look.to) look.to = d.step[d.count - 1];
        if (k->n > most) most = k->n;
        if (k->n < least) least = k->n;
    }
    const char *runs = losses ? "each run" : "each run; + overlap";
    struct phrase right = phrase("%s", v->each ? runs : most < 2 ? "" : "mean of ");
    if (!v->each && most > 1 && least < most) phrase_add(&right, "%d to ", least);
    if (!v->each && most > 1) phrase_add(&right, "%d seeds", most);
    if (losses)
        phrase_add(&right, "%ssmooth %g%s", *right.text ? " \u00B7 " : "", plot_smooth_weight(v->smooth),
                   v->log ? " \u00B7 log" : "");
    if (v->data.curves_left)
        phrase_add(&right, "%s%d of %d runs", *right.text ? " \u00B7 " : "", v->data.curves,
                   v->data.curves + v->data.curves_left);
    r = canvas_head(c, r, losses ? "loss" : metric, *right.text ? right.text : NULL);
    if (!n) canvas_fit(c, r.x + 3, r.y, r.w - 4, INK_DIM, "no stored points for these runs");
    else if (losses || !v->each) plot_lines(c, r, line, n, &look, -1, true);
    else plot_marks(c, r, line, n, &look, -1, true);
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
    if (!rect_empty(p.at[PANE_EVIDENCE]))
        draw_evidence(v, c, p.at[PANE_EVIDENCE], rect_empty(p.at[PANE_DIFFERS]));
    if (!rect_empty(p.at[PANE_DIFFERS])) draw_differences(v, c, p.at[PANE_DIFFERS]);
    bool both = !rect_empty(p.at[PANE_LOSS]) && !rect_empty(p.at[PANE_METRIC]);
    if (!rect_empty(p.at[PANE_METRIC])) draw_chart(v, c, p.at[PANE_METRIC], both ? false : v->losses);
    if (both) draw_chart(v, c, p.at[PANE_LOSS], true);
}

/* Appends the group under the cursor, and what follows from its runs if the evidence is not shown; in the
 * differences the whole value. */
void compare_readout(const struct ui *ui, struct buf *out) {
    const struct compare_view *v = &ui->compare;
    struct panes p = ui_panes(ui, SCREEN_COMPARE);
    const struct compare_group *g = compare_at_cursor(v);
    if (!g) return;
    if (v->part) {
        int *differing, partial, n = compare_differing(v, &differing, &partial);
        const struct compare_difference *d = v->key < n ? &v->data.difference[differing[v->key]] : NULL;
        const char *value = d ? d->value[g - v->data.group] : NULL;
        if (d) buf_printf(out, "%s: %s", d->key, value ? value : "\u2013");
        free(differing);
        if (d) return;
    }
    if (g->follows && rect_empty(p.at[PANE_EVIDENCE])) buf_puts(out, g->follows);
    else
        buf_printf(out, "%s \u00B7 n %d, seed%s %s", g->name, g->n, g->n == 1 ? "" : "s",
                   *g->seeds ? g->seeds : "\u2013");
    if (isfinite(g->seconds)) buf_printf(out, " \u00B7 %s per run", show_seconds(g->seconds).text);
    if (g->repeats) buf_printf(out, " \u00B7 %s", g->repeats);
    if (v->left) buf_printf(out, " \u00B7 %d more runs omitted: filter the list of Runs with /", v->left);
}
