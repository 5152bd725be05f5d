#include "views/compare.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "views/copy.h"
#include "views/ui.h"
#include "views/ui_parts.h"

/* Returns the rank, beyond all others without one. */
static double rank_of(const struct compare_group *g) { return isnan(g->rank) ? INFINITY : g->rank; }

int compare_shown(const struct compare_view *v, int **shown) {
    int n = 0, *out = *shown = xcalloc((size_t)v->data.groups + 1, sizeof *out);
    const struct compare_group *group = v->data.group;
    for (int kind = 0; kind < v->data.kinds; kind++) {
        if (v->kind >= 0 && kind != v->kind) continue;
        for (int i = 0; i < v->data.groups; i++) {
            if (group[i].kind != kind) continue;
            int at = n++;
            for (; at && group[out[at - 1]].kind == kind && rank_of(&group[out[at - 1]]) > rank_of(&group[i]);
                 at--)
                out[at] = out[at - 1];
            out[at] = i;
        }
    }
    return n;
}

int compare_tab_groups(const struct compare_view *v, int tab) {
    int n = 0;
    for (int i = 0; i < v->data.groups; i++) n += tab < 0 || v->data.group[i].kind == tab;
    return n;
}

/* Returns the tab with the most groups; that of all if no two groups can be compared. */
static int first_tab(const struct compare_view *v) {
    int best = 0;
    for (int i = 1; i < v->data.kinds; i++)
        if (compare_tab_groups(v, i) > compare_tab_groups(v, best)) best = i;
    return v->data.kinds > 1 && compare_tab_groups(v, best) < 2 ? COMPARE_ALL : best;
}

int compare_differing(const struct compare_view *v, int **out, int *partial) {
    int *shown, groups = compare_shown(v, &shown), n = 0;
    int *at = *out = xcalloc((size_t)v->data.differences + 1, sizeof *at);
    *partial = 0;
    for (int i = 0; i < v->data.differences; i++) {
        const char *const *value = v->data.difference[i].value;
        bool differ = false, all = true;
        for (int k = 0; k < groups; k++) {
            const char *own = value[shown[k]], *first = value[shown[0]];
            all &= own != NULL;
            differ |= !own != !first || (own && strcmp(own, first));
        }
        if (!differ) continue;
        if (all || v->partial) at[n++] = i;
        else ++*partial;
    }
    free(shown);
    return n;
}

static int at_cursor(const struct compare_view *v) {
    int *shown, n = compare_shown(v, &shown);
    int group = v->cursor >= 0 && v->cursor < n ? shown[v->cursor] : -1;
    free(shown);
    return group;
}

const struct compare_group *compare_at_cursor(const struct compare_view *v) {
    int group = at_cursor(v);
    return group < 0 ? NULL : &v->data.group[group];
}

const struct compare_kind *compare_kind_of(const struct compare_view *v) {
    const struct compare_group *g = compare_at_cursor(v);
    return g ? &v->data.kind[g->kind] : NULL;
}

/* Returns the rows that shown groups `from` to `to` take with the headings of their sections. */
static int rows_between(const struct compare_view *v, const int *shown, int from, int to) {
    int rows = to - from + 1;
    for (int i = from; i <= to && v->kind < 0; i++)
        rows += i == from || v->data.group[shown[i]].kind != v->data.group[shown[i - 1]].kind;
    return rows;
}

/* Keeps the tab, the cursors and the first shown rows within the data, as drawn. */
static void compare_settle(struct ui *ui) {
    struct compare_view *v = &ui->compare;
    int *shown, *differing, partial;
    if (v->data.groups && !v->busy && (v->kind == COMPARE_CHOOSE || v->kind >= v->data.kinds))
        v->kind = first_tab(v);
    struct panes p = ui_panes(ui, SCREEN_COMPARE);
    int n = compare_shown(v, &shown), keys = compare_differing(v, &differing, &partial);
    int rows = p.at[PANE_GROUPS].h - 2 - (v->data.kinds > 1);
    v->cursor = ui_into(v->cursor, n - 1);
    v->key = ui_into(v->key, keys - 1);
    ui_in_sight(&v->top, v->cursor, rows);
    while (n && v->top < v->cursor && rows_between(v, shown, v->top, v->cursor) > rows) v->top++;
    struct rect differs = p.at[PANE_DIFFERS];
    ui_in_sight(&v->key_top, v->key, differs.h - 1 - compare_effect_rows(v, differs));
    if (v->metric > v->data.metrics) v->metric = 0;
    free(shown), free(differing);
}

/* Asks for the runs anew. */
static void compare_ask(struct compare_view *v, struct effect *out) {
    v->busy = true;
    out->kind = EFFECT_COMPARE;
    out->run = v->run;
    out->runs = v->runs;
    out->keep = v->mixed;
    snprintf(out->text, sizeof out->text, "%s",
             v->metric && v->metric <= v->data.metrics ? v->data.metric[v->metric - 1] : "");
}

static int by_number(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

void compare_runs(struct ui *ui, const int64_t *run, int runs, struct effect *out) {
    struct compare_view *v = &ui->compare;
    v->left = runs > COMPARE_RUNS ? runs - COMPARE_RUNS : 0;
    v->runs = runs - v->left;
    v->run = xrealloc(v->run, (size_t)v->runs + 1, sizeof *v->run);
    memcpy(v->run, run, (size_t)v->runs * sizeof *run);
    qsort(v->run, (size_t)v->runs, sizeof *v->run,
          by_number); /* groups in the order in which they were made */
    v->kind = COMPARE_CHOOSE;
    v->cursor = v->top = v->key = v->key_top = v->part = v->metric = 0;
    compare_ask(v, out); /* the tab is chosen when the data arrive */
    ui_show(ui, SCREEN_COMPARE);
}

/* What is marked where one comes from, or on Runs; else what passes the filter there. */
static void compare_show(struct ui *ui, struct effect *out) {
    const struct screen *from = screen_at(ui->screen);
    const struct runs_view *r = &ui->runs;
    const int64_t *marked = NULL;
    int n = from->marked ? from->marked(ui, &marked) : 0;
    if (from->compared && from->compared(ui, out)) return;
    if (!n) n = screen_runs.marked(ui, &marked);
    if (n) {
        compare_runs(ui, marked, n, out);
        return;
    }
    if (from == &screen_compare) return;
    int64_t *all = xcalloc((size_t)r->shown + 1, sizeof *all);
    for (int i = 0; i < r->shown; i++) all[i] = r->row[r->order[i]].id;
    compare_runs(ui, all, r->shown, out);
    free(all);
}

static void compare_taught(struct ui *ui, const int64_t *run, int runs, struct effect *out) {
    if (!runs) {
        ui_show(ui, SCREEN_COMPARE);
        return;
    }
    compare_runs(ui, run, runs, out);
    ui->compare.losses = true; /* the curves that a lesson talks about; o changes it */
}

/* Runs with the group's runs alone. */
static void to_runs(struct ui *ui, struct effect *out) {
    const struct compare_group *g = compare_at_cursor(&ui->compare);
    if (g) runs_show_only(ui, g->run, g->runs, g->name, out);
}

static void show_tab(struct compare_view *v, int tab) {
    v->kind = tab;
    v->cursor = v->top = v->key = v->key_top = 0;
}

/* Handles a click on a tab, or on the curve of a group: moves the cursor to the group; if it is there, shows
 * its runs. */
static void compare_pick(struct ui *ui, int pick, struct effect *out) {
    struct compare_view *v = &ui->compare;
    if (pick >= PICK_TAB) {
        show_tab(v, pick - PICK_TAB < v->data.kinds ? pick - PICK_TAB : COMPARE_ALL);
        compare_settle(ui);
        return;
    }
    int *shown, n = compare_shown(v, &shown);
    bool here = !v->part && at_cursor(v) == pick - PICK_GROUP;
    v->part = 0;
    for (int i = 0; i < n; i++)
        if (shown[i] == pick - PICK_GROUP) v->cursor = i;
    free(shown);
    if (here) to_runs(ui, out);
    else compare_settle(ui);
}

static bool compare_request(struct ui *ui, enum request r, struct effect *out) {
    struct compare_view *v = &ui->compare;
    int down, right;
    switch (r) {
    case REQ_NEXT_PART:
    case REQ_PREV_PART: v->part = !v->part; break;
    case REQ_TASKS:
        if (v->data.kinds > 1) show_tab(v, v->kind + 1 < v->data.kinds ? v->kind + 1 : COMPARE_ALL);
        break;
    case REQ_SWITCH: v->partial = !v->partial; break;
    case REQ_TERMS: v->losses = !v->losses; break;
    case REQ_RAW: v->each = !v->each; break;
    case REQ_SMOOTH_MORE: v->smooth += v->smooth < PLOT_SMOOTH_MAX; break;
    case REQ_SMOOTH_LESS: v->smooth -= v->smooth > 0; break;
    case REQ_LOG: v->log = !v->log; break;
    case REQ_NEXT:
    case REQ_PREV:
        v->metric = (v->metric + (r == REQ_NEXT ? 1 : v->data.metrics)) % (v->data.metrics + 1);
        if (v->runs) compare_ask(v, out);
        break;
    case REQ_BESIDE:
        v->mixed = !v->mixed;
        ui_say(ui, SAY_INFO, v->mixed ? "runs on other examples of the task are included (marked \u2260)"
                                      : "only runs on the same examples are compared");
        if (v->runs) compare_ask(v, out);
        break;
    case REQ_OPEN: to_runs(ui, out); return true;
    default:
        if (!ui_step(r, 10, &down, &right)) return false;
        *(v->part ? &v->key : &v->cursor) += down;
    }
    compare_settle(ui);
    return true;
}

static bool compare_refresh(struct ui *ui, struct effect *out) {
    struct compare_view *v = &ui->compare;
    bool live = false;
    for (int i = 0; i < v->data.groups; i++) {
        const struct compare_group *g = &v->data.group[i];
        live |= !strcmp(g->state, "running") || !strcmp(g->state, "queued");
        for (int k = 0; k < g->runs; k++) live |= train_goes(&ui->train, g->run[k]);
    }
    if (!live || v->busy || v->runs > COMPARE_LIVE) return false;
    compare_ask(v, out);
    return true;
}

static int64_t compare_run(const struct ui *ui) {
    const struct compare_group *g = compare_at_cursor(&ui->compare);
    return g && g->runs ? g->run[0] : 0;
}

static void compare_init(struct ui *ui) {
    ui->compare.kind = COMPARE_CHOOSE;
    ui->compare.smooth = 3;
}
static void compare_release(struct ui *ui) { free(ui->compare.run); }

static const char *compare_hint(const struct ui *ui, const struct key_entry *k) {
    const struct compare_view *v = &ui->compare;
    if (!v->data.groups) return NULL;
    switch (k->request) {
    case REQ_OPEN: return "runs";
    case REQ_NEXT: return v->data.metrics ? "metric" : NULL;
    case REQ_BESIDE: return v->mixed ? "same data" : v->data.kinds > 1 ? "other data" : NULL;
    case REQ_TASKS: return v->data.kinds > 1 ? "next tab" : NULL;
    case REQ_SWITCH: {
        int *out, partial, n = compare_differing(v, &out, &partial);
        (void)n;
        free(out);
        return partial || v->partial ? v->partial ? "fewer settings" : "more settings" : NULL;
    }
    case REQ_TERMS: return v->losses ? "metric" : "losses";
    case REQ_RAW: return v->data.curves == v->data.means ? NULL : v->each ? "means" : "each run";
    case REQ_DOWN: return "group";
    default: return k->hint;
    }
}

static void compare_pictured(const struct ui *ui, struct buf *out) {
    const struct compare_view *v = &ui->compare;
    for (int i = 0; i < v->runs && i < 6; i++)
        buf_printf(out, "%s%lld", i ? "-" : "runs-", (long long)v->run[i]);
    if (v->runs > 6) buf_printf(out, "-and-%d", v->runs - 6);
}

static void compare_table(const struct ui *ui, char out[120]) {
    int n = ui->compare.data.groups;
    if (n) snprintf(out, 120, n == 1 ? "the group" : "the %d groups", n);
}

static const enum request compare_keys[] = { REQ_OPEN,    REQ_NEXT_PART,   REQ_PREV_PART,   REQ_DOWN,
                                             REQ_UP,      REQ_FIRST,       REQ_LAST,        REQ_PAGE_DOWN,
                                             REQ_PAGE_UP, REQ_NEXT,        REQ_PREV,        REQ_TASKS,
                                             REQ_TERMS,   REQ_SMOOTH_MORE, REQ_SMOOTH_LESS, REQ_LOG,
                                             REQ_BESIDE,  REQ_SWITCH,      REQ_RAW,         REQ_NONE };

/* Appends the runs on the tab, each after `first` or `next`. */
static void compare_ids(const struct compare_view *v, const char *first, const char *next, struct buf *out) {
    for (int i = 0, n = 0; i < v->data.groups; i++)
        for (int k = 0; k < v->data.group[i].runs && (v->kind < 0 || v->data.group[i].kind == v->kind); k++)
            buf_printf(out, "%s%lld", n++ ? next : first, (long long)v->data.group[i].run[k]);
}

static void compare_printed(const struct ui *ui, struct buf *out) {
    buf_puts(out, "compare");
    compare_ids(&ui->compare, " ", " ", out);
}

static void compare_rendered(const struct ui *ui, struct buf *out) {
    compare_ids(&ui->compare, " --filter id=", ",", out);
}

static enum pane_id compare_focus(const struct ui *ui) {
    return ui->compare.part ? PANE_DIFFERS : PANE_GROUPS;
}

const struct screen screen_compare = {
    .tip = { REQ_OPEN, "Enter lists the runs of a group; n shows the next metric, o the losses" },
    .name = "compare",
    .about =
        "Compare shows the marked runs, or those that match the filter of Runs, side by side. Runs that "
        "differ only in the seed form a group with mean, standard deviation and n. Below are the statistical "
        "evidence for the group under the cursor, the settings that differ between groups, and the curves. "
        "Ranks and differences are computed only between runs with the same metric, task and examples; each "
        "such combination has a tab (b: next tab).",
    .keys = compare_keys,
    .tab = "4 Compare",
    .to = REQ_TO_COMPARE,
    .show = compare_show,
    .taught = compare_taught,
    .init = compare_init,
    .release = compare_release,
    .changed = compare_settle,
    .request = compare_request,
    .pick = compare_pick,
    .run = compare_run,
    .refresh = compare_refresh,
    .panes = layout_compare,
    .need = compare_need,
    .focus = compare_focus,
    .draw = compare_draw,
    .readout = compare_readout,
    .hint = compare_hint,
    .pictured = compare_pictured,
    .table = compare_table,
    .copies = copy_readout,
    .table_of = TABLE_GROUPS,
    .printed = compare_printed,
    .rendered = compare_rendered,
};
