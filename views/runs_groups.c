/* Runs by a column: mean and deviation of the best values of the finished ones, with n and the seeds.  Runs
 * of other tasks, metrics, splits or rows are groups of their own (runs.h). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/analysis/statistics.h"
#include "core/base/mem.h"
#include "core/data/metrics.h"
#include "core/train/config/evidence.h"
#include "views/runs.h"
#include "views/table.h"
#include "views/ui.h"
#include "views/ui_parts.h"

static bool counts_in_group(const struct run_row *r) {
    return r->state == RUN_FINISHED && isfinite(r->best) && !r->tuning;
}

struct grouped_rows {
    const struct runs_view *v;
    char **text; /* of each row, what its column holds */
};

static int by_group(const void *pa, const void *pb, void *self) {
    const struct grouped_rows *g = self;
    int a = *(const int *)pa, b = *(const int *)pb, by = runs_by_kind(&g->v->row[a], &g->v->row[b]);
    if (!by) by = strcmp(g->text[a], g->text[b]);
    if (by) return by;
    uint64_t x = g->v->row[a].seed, y = g->v->row[b].seed;
    return x != y ? (x < y ? -1 : 1) : a - b;
}

static const struct run_row *row_of(const struct runs_view *v, const struct runs_group *g) {
    return &v->row[v->member[g->first]];
}

/* Kind by kind, the best mean first. */
static int by_mean(const void *pa, const void *pb, void *self) {
    const struct runs_group *a = pa, *b = pb;
    const struct run_row *x = row_of(self, a), *y = row_of(self, b);
    int by = runs_by_kind(x, y);
    if (by) return by;
    if (isnan(a->mean) || isnan(b->mean)) return isnan(a->mean) ? !isnan(b->mean) : -1;
    if (a->mean != b->mean) return (a->mean > b->mean) == x->smaller_better ? 1 : -1;
    return a->first - b->first;
}

/* Marks which of the group's runs are counted: of those that repeat one another one. */
static void count_group(struct runs_view *v, struct runs_group *g) {
    struct evidence *of = xcalloc((size_t)g->runs, sizeof *of);
    size_t n = 0;
    for (int i = 0; i < g->runs; i++) {
        const struct run_row *r = &v->row[v->member[g->first + i]];
        if (counts_in_group(r))
            of[n++] = (struct evidence){
                .key = r->evidence, .weights = r->weights, .run = r->id, .ended = r->ended
            };
    }
    evidence_settle(of, n);
    n = 0;
    for (int i = 0; i < g->runs; i++) {
        bool counts = counts_in_group(&v->row[v->member[g->first + i]]);
        const struct evidence *x = &of[n];
        n += counts;
        v->counted[g->first + i] = counts && x->counted == x->run;
        if (!counts || x->counted == x->run) continue;
        g->repeats++;
        g->differs |= x->differs;
    }
    free(of);
}

static void measure_group(struct runs_view *v, struct runs_group *g) {
    double *value = xmalloc((size_t)g->runs * sizeof *value);
    g->best = NAN;
    count_group(v, g);
    for (int i = 0; i < g->runs; i++) {
        const struct run_row *r = &v->row[v->member[g->first + i]];
        if (!v->counted[g->first + i]) continue;
        value[g->n++] = r->best;
        if (isnan(g->best) || (r->smaller_better ? r->best < g->best : r->best > g->best)) g->best = r->best;
    }
    struct spread s = spread_of(value, (size_t)g->n);
    g->mean = s.mean;
    g->sd = s.sd;
    free(value);
}

void runs_find_groups(struct runs_view *v) {
    v->groups = 0;
    if (!v->grouped) return;
    struct grouped_rows g = { v, xcalloc((size_t)v->rows + 1, sizeof *g.text) };
    v->member = xrealloc(v->member, (size_t)v->shown + 1, sizeof *v->member);
    v->counted = xrealloc(v->counted, (size_t)v->shown + 1, sizeof *v->counted);
    v->group = xrealloc(v->group, (size_t)v->shown + 1, sizeof *v->group);
    for (int i = 0; i < v->shown; i++) {
        char text[256] = "\u2013";
        int row = v->member[i] = v->order[i];
        if (!runs_cell_value(&v->row[row], v->group_by, text)) snprintf(text, sizeof text, "\u2013");
        g.text[row] = xstrdup(text);
    }
    qsort_r(v->member, (size_t)v->shown, sizeof *v->member, by_group, &g);
    for (int i = 0; i < v->shown; i++) {
        struct runs_group *last = v->groups ? &v->group[v->groups - 1] : NULL;
        int row = v->member[i];
        if (last && !runs_by_kind(&v->row[v->member[i - 1]], &v->row[row]) &&
            !strcmp(g.text[v->member[i - 1]], g.text[row])) {
            last->runs++;
            continue;
        }
        v->group[v->groups] = (struct runs_group){ .first = i, .runs = 1 };
        snprintf(v->group[v->groups++].value, sizeof last->value, "%.60s", g.text[row]);
    }
    for (int i = 0; i < v->groups; i++) measure_group(v, &v->group[i]);
    qsort_r(v->group, (size_t)v->groups, sizeof *v->group, by_mean, v);
    for (int i = 0; i < v->rows; i++) free(g.text[i]);
    free(g.text);
    v->group_cursor = ui_into(v->group_cursor, v->groups - 1);
    ui_in_sight(&v->group_top, v->group_cursor, v->page);
}

/* "lora(r=2)", "seed 2"; with the task where the groups are of several. */
static struct phrase group_name(const struct runs_view *v, const struct runs_group *g) {
    bool alone = v->group_by == COL_METHOD || v->group_by == COL_TASK || v->group_by == COL_NAME;
    struct phrase name = alone ? phrase("%s", g->value)
                               : phrase("%s %s", runs_column_name[v->group_by], g->value);
    const char *task = row_of(v, g)->task;
    bool tasks = false;
    for (int i = 0; i < v->groups; i++) tasks = tasks || strcmp(row_of(v, &v->group[i])->task, task) != 0;
    if (tasks && v->group_by != COL_TASK) phrase_add(&name, " on %s", task);
    return name;
}

static void open_group(struct ui *ui, struct effect *out) {
    struct runs_view *v = &ui->runs;
    if (!v->groups) return;
    const struct runs_group *g = &v->group[v->group_cursor];
    int64_t *run = xcalloc((size_t)g->runs, sizeof *run);
    for (int i = 0; i < g->runs; i++) run[i] = v->row[v->member[g->first + i]].id;
    runs_show_only(ui, run, g->runs, group_name(v, g).text, out);
    free(run);
}

bool runs_groups_request(struct ui *ui, enum request r, struct effect *out) {
    struct runs_view *v = &ui->runs;
    if (ui_walk(r, v->page, v->groups - 1, &v->group_cursor)) {
        ui_in_sight(&v->group_top, v->group_cursor, v->page);
        return true;
    }
    switch (r) {
    case REQ_OPEN: open_group(ui, out); return true;
    case REQ_GROUP:
    case REQ_BACK: v->grouped = false; return true;
    case REQ_SEARCH:
    case REQ_FILTER_CLEAR: return false;
    default: ui_say(ui, SAY_INFO, "Enter shows the runs of the group, J ungroups"); return true;
    }
}

static struct phrase group_value(const struct run_row *r, double x) {
    return show_points(x, r->metric && metric_in_points(r->metric));
}

static void group_seeds(const struct runs_view *v, const struct runs_group *g, char *out, size_t room) {
    const struct run_row *last = NULL; /* they are sorted by seed */
    size_t at = 0;
    *out = 0;
    for (int i = 0; i < g->runs; i++) {
        const struct run_row *r = &v->row[v->member[g->first + i]];
        if (!v->counted[g->first + i] || (last && last->seed == r->seed)) continue;
        last = r;
        int n = snprintf(out + at, room - at, "%s%llu", at ? ", " : "", (unsigned long long)r->seed);
        if (n < 0 || at + (size_t)n + 4 >= room) {
            snprintf(out + at, room - at, "\u2026");
            return;
        }
        at += (size_t)n;
    }
}

void runs_draw_groups(const struct runs_view *v, struct canvas *c, struct rect r) {
    enum { VALUE = 9, RUNS = 6, COUNT = 4, METRIC = 10 };
    bool wide = r.w >= 100; /* else the best gives way */
    int list_w = wide ? 14 : 9, rest = r.w - 4 - (wide ? 3 : 2) * VALUE - RUNS - COUNT - list_w - METRIC,
        name = 10; /* the longest name as far as it leaves a third to the task */
    for (int i = 0; i < v->groups; i++) {
        int w = canvas_width(c, v->group[i].value) + 1;
        name = w > name ? w : name;
    }
    if (name > rest * 2 / 3 && rest >= 15) name = rest * 2 / 3;
    const struct table_column column[] = {
        { runs_column_name[v->group_by], name - 1, 1, false },
        { "task", rest - name < 6 ? 5 : rest - name - 1, 1, false },
        { "metric", METRIC - 1, 1, false },
        { "runs", RUNS, 0, true },
        { "n", COUNT, 1, true },
        { "seeds", list_w - 1, 1, false },
        { "mean", VALUE, 0, true },
        { "sd", VALUE, 0, true },
        { "best", wide ? VALUE : 0, 0, true },
    };
    struct table t = { c, column, r.x + 3, r.y };
    table_heads(t, COUNT_OF(column));
    table_cell(&t, INK_ACCENT, "%s", column->head);
    canvas_rule(c, r.x + 3, r.y + 1, r.w - 4, NULL, NULL);
    for (int i = 0; i < r.h - 2 && v->group_top + i < v->groups; i++) {
        const struct runs_group *g = &v->group[v->group_top + i];
        const struct run_row *row = row_of(v, g);
        char list[64];
        t = (struct table){ c, column, r.x + 3, r.y + 2 + i };
        enum ink ink = ui_row(c, r, t.y, v->group_top + i - v->group_cursor) ? INK_TITLE : INK_TEXT;
        table_cell(&t, ink, "%s", g->value);
        table_cell(&t, INK_TEXT, "%s", row->task);
        table_cell(&t, INK_DIM, "%s", row->metric ? row->metric : "\u2013");
        table_cell(&t, INK_DIM, "%d", g->runs);
        table_cell(&t, INK_TEXT, "%d", g->n);
        group_seeds(v, g, list, sizeof list);
        table_cell(&t, INK_DIM, "%s", list);
        table_cell(&t, ink, "%s", group_value(row, g->mean).text);
        table_cell(&t, INK_TEXT, "%s%s", isfinite(g->sd) ? "\u00B1" : "", group_value(row, g->sd).text);
        table_cell(&t, INK_TEXT, "%s", group_value(row, g->best).text);
    }
}

void runs_groups_readout(const struct runs_view *v, struct buf *out) {
    if (!v->groups) return;
    const struct runs_group *g = &v->group[v->group_cursor];
    const struct run_row *row = row_of(v, g);
    char list[256];
    group_seeds(v, g, list, sizeof list);
    buf_puts(out, group_name(v, g).text);
    if (!g->n) {
        buf_puts(out, ": no finished run has a value");
        return;
    }
    buf_printf(out, ": mean %s of %d run%s, seed%s %s", group_value(row, g->mean).text, g->n,
               g->n == 1 ? "" : "s", g->n == 1 ? "" : "s", list);
    if (g->repeats)
        buf_printf(out, " (%d repeated run%s excluded%s)", g->repeats, g->repeats == 1 ? "" : "s",
                   g->differs ? ": weights differ, only the newest is used" : "");
    buf_printf(out, ", %s of %s, %lld examples", row->decides ? row->decides : row->metric, row->task,
               (long long)row->rows);
}

void runs_group_summary(const struct runs_view *v, struct canvas *c, struct rect r) {
    enum { SEED = 8, VALUE = 7 };
    static const struct table_column column[] = { { "id", 6, 1, true },
                                                  { "seed", SEED, 1, true },
                                                  { "value", VALUE, 2, true },
                                                  { "state", 12, 0, false } };
    if (!v->groups) return;
    const struct runs_group *g = &v->group[v->group_cursor];
    const struct run_row *row = row_of(v, g);
    canvas_rule(c, r.x, r.y, r.w, group_name(v, g).text,
                phrase("%d run%s", g->runs, g->runs == 1 ? "" : "s").text);
    struct table t = { c, column, r.x + PANE_EDGE, r.y + 1 };
    table_heads(t, COUNT_OF(column));
    for (int i = 0; i < g->runs && i < r.h - 2; i++) {
        const struct run_row *of = &v->row[v->member[g->first + i]];
        bool counted = v->counted[g->first + i];
        t = (struct table){ c, column, r.x + PANE_EDGE, r.y + 2 + i };
        table_cell(&t, INK_TEXT, "%lld", (long long)of->id);
        table_cell(&t, INK_TEXT, "%llu", (unsigned long long)of->seed);
        table_cell(&t, counted ? INK_TITLE : INK_DIM, "%s", group_value(row, of->best).text);
        table_cell(&t, INK_DIM, "%s",
                   counted || of->state != RUN_FINISHED ? run_state_name(of->state) : "excluded");
    }
    if (g->runs > r.h - 2) canvas_text(c, r.x + PANE_EDGE, r.y + r.h - 1, INK_DIM, "\u2026 Enter lists all");
}
