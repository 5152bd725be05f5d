#include "views/compare.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "views/ui.h"
#include "views/ui_parts.h"

int compare_shown(const struct compare_view *v, int **shown) {
    int n = 0, *out = *shown = xcalloc((size_t)v->data.groups + 1, sizeof *out);
    for (int k = -1; k < v->data.kinds; k++) {
        int kind = k + 1 == v->data.kinds ? -1 : k + 1; /* those without a value come last */
        if (v->kind >= 0 && kind != v->kind) continue;
        for (int i = 0; i < v->data.groups; i++) {
            if (v->data.group[i].kind != kind) continue;
            int at = n++;
            double rank = v->data.group[i].rank;
            for (; at && v->data.group[out[at - 1]].kind == kind && v->data.group[out[at - 1]].rank > rank;
                 at--)
                out[at] = out[at - 1];
            out[at] = i;
        }
    }
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

/* How many rows of a list are in sight: as drawn. */
static void compare_settle(struct ui *ui) {
    struct compare_view *v = &ui->compare;
    struct panes p = ui_panes(ui, SCREEN_COMPARE);
    int *shown;
    if (v->kind >= v->data.kinds) v->kind = -1;
    int n = compare_shown(v, &shown), rows = p.at[PANE_GROUPS].h - 2, keys = p.at[PANE_DIFFERS].h - 1;
    free(shown);
    if (v->data.mixed) rows--;
    v->cursor = ui_into(v->cursor, n - 1);
    v->key = ui_into(v->key, v->data.differences - 1);
    ui_in_sight(&v->top, v->cursor, rows);
    ui_in_sight(&v->key_top, v->key, keys);
    if (v->metric > v->data.metrics) v->metric = 0;
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
    v->kind = -1;
    v->cursor = v->top = v->key = v->key_top = v->part = v->metric = 0;
    ui_show(ui, SCREEN_COMPARE);
    compare_ask(v, out);
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

/* A group's curve is clicked: the cursor goes to the group; where it is, to its runs. */
static void compare_pick(struct ui *ui, int pick, struct effect *out) {
    struct compare_view *v = &ui->compare;
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
    case REQ_TASKS: v->kind = v->kind + 1 < v->data.kinds ? v->kind + 1 : -1, v->cursor = v->top = 0; break;
    case REQ_TERMS: v->losses = !v->losses; break;
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
    if (!live || v->busy || v->runs > COMPARE_CURVES) return false;
    compare_ask(v, out);
    return true;
}

static int64_t compare_run(const struct ui *ui) {
    const struct compare_group *g = compare_at_cursor(&ui->compare);
    return g && g->runs ? g->run[0] : 0;
}

static void compare_init(struct ui *ui) {
    ui->compare.kind = -1;
    ui->compare.smooth = 3;
}
static void compare_release(struct ui *ui) { free(ui->compare.run); }

static const char *compare_hint(const struct ui *ui, const struct key_entry *k) {
    const struct compare_view *v = &ui->compare;
    if (!v->data.groups) return NULL;
    switch (k->request) {
    case REQ_OPEN: return "runs";
    case REQ_NEXT: return v->data.metrics ? "metric" : NULL;
    case REQ_BESIDE: return v->mixed ? "same data" : v->data.mixed ? "other data" : NULL;
    case REQ_TASKS: return v->data.kinds > 1 ? "next task" : NULL;
    case REQ_TERMS: return v->losses ? "metric" : "losses";
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
                                             REQ_BESIDE,  REQ_NONE };

static void compare_printed(const struct ui *ui, struct buf *out) {
    buf_puts(out, "compare");
    for (int i = 0; i < ui->compare.runs; i++) buf_printf(out, " %lld", (long long)ui->compare.run[i]);
}

static void compare_rendered(const struct ui *ui, struct buf *out) {
    for (int i = 0; i < ui->compare.runs; i++)
        buf_printf(out, "%s%lld", i ? "," : " --filter id=", (long long)ui->compare.run[i]);
}

static enum pane_id compare_focus(const struct ui *ui) {
    return ui->compare.part ? PANE_DIFFERS : PANE_GROUPS;
}

const struct screen screen_compare = {
    .name = "compare",
    .about =
        "Compare shows the marked runs, or those that match the filter of Runs, side by side. Runs that "
        "differ only in the seed form a group with mean, standard deviation and n; below are the settings "
        "that differ between groups, and the curves. Ranks and differences are computed only within the same "
        "metric, task and examples.",
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
    .table_of = TABLE_GROUPS,
    .printed = compare_printed,
    .rendered = compare_rendered,
};
