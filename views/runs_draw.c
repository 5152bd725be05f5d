#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/text.h"
#include "views/copy.h"
#include "views/plot_many.h"
#include "views/runs.h"
#include "views/ui.h"
#include "views/ui_parts.h"

void run_flag(const struct run_row *r, char out[RUN_FLAG]) {
    struct phrase majority = show_value(r->majority);
    *out = 0;
    if (r->reason && (r->state == RUN_FAILED || r->state == RUN_INTERRUPTED))
        snprintf(out, RUN_FLAG, "%s: %s", run_state_name(r->state), r->reason);
    else if (r->none_valid)
        snprintf(out, RUN_FLAG, "last evaluation: no valid outputs");
    else if (r->constant && isfinite(r->majority))
        snprintf(out, RUN_FLAG, "last evaluation: predicts one class only (majority %s)", majority.text);
    else if (r->constant)
        snprintf(out, RUN_FLAG, "last evaluation: predicts one class only");
    else if (r->state > RUN_PAUSED && isfinite(r->best) && isfinite(r->majority) && !r->smaller_better &&
             r->best <= r->majority && r->metric && !strcmp(r->metric, "accuracy"))
        snprintf(out, RUN_FLAG, "not better than the majority baseline (%s)", majority.text);
    else if (r->state == RUN_INTERRUPTED)
        snprintf(out, RUN_FLAG, "interrupted at step %lld%s", (long long)r->step,
                 r->resumable && !r->fewshot ? "; R resumes" : "");
}

static struct phrase state_text(const struct run_row *r) {
    if (r->state != RUN_RUNNING || r->steps <= 0) return phrase("%s", run_state_name(r->state));
    return r->step >= r->steps ? phrase("evaluating")
                               : phrase("running %d%%", (int)(100 * r->step / r->steps));
}

/* "840", "11.2 kB", "3.4 MB"; "–" when not known. */
static struct phrase show_bytes(int64_t bytes) {
    static const char *const units[] = { "", " kB", " MB", " GB", " TB" };
    double v = (double)bytes;
    int unit = 0;
    for (; v >= 999.5 && unit < 4; unit++) v /= 1000;
    return bytes < 0 ? phrase("\u2013") : phrase(unit && v < 99.95 ? "%.1f%s" : "%.0f%s", v, units[unit]);
}

const char *runs_column_title(const struct runs_view *v, int column) {
    if (column >= COL_COUNT) return v->task[column - COL_COUNT];
    /* the common metric of all shown runs says more than "best" */
    return column == COL_BEST && v->metric ? v->metric : runs_column_name[column];
}

struct phrase runs_cell_text(const struct runs_view *v, const struct run_row *r, int column) {
    const struct task_row *t = runs_task_at(v, r, column);
    char text[256];
    struct phrase none = { "" };
    if (column >= COL_COUNT) return t ? t->undefined ? phrase("undef.") : show_value(t->value) : none;
    switch (column) {
    case COL_STATE: return state_text(r);
    case COL_METHOD: return phrase("%s%.190s", r->pinned ? "* " : "", r->method);
    case COL_BEST: return show_value(r->best);
    case COL_ROWS: return r->rows ? show_count(r->rows) : none;
    case COL_LR: return isnan(r->lr) ? none : phrase("%g", r->lr);
    case COL_TRAINED: return r->trained > 0 ? show_count(r->trained) : none;
    case COL_TIME: return show_seconds(r->seconds);
    case COL_DISK: return show_bytes(r->disk);
    default: return runs_cell_value(r, column, text) ? phrase("%s", text) : none;
    }
}

static void draw_row(const struct ui *ui, struct canvas *c, struct rect r, const struct column_places *k,
                     int y, const struct run_row *row, bool here) {
    const struct runs_view *v = &ui->runs;
    char flag[RUN_FLAG];
    enum ink ink = here ? INK_TITLE : INK_TEXT;
    if (runs_is_marked(v, row->id)) canvas_text(c, r.x + 2, y, INK_ACCENT, "\u25CF");
    run_flag(row, flag);
    bool wrong = *flag && row->state != RUN_INTERRUPTED && row->state != RUN_FAILED;
    for (int p = 0; p < v->places; p++) {
        int i = v->place[p];
        if (!k->w[i]) continue;
        const struct task_row *t = runs_task_at(v, row, i);
        bool poor = t ? isfinite(t->majority) && t->value <= t->majority && !strcmp(t->metric, "accuracy")
                      : i == COL_BEST && wrong;
        enum ink own = i == COL_TAGS    ? INK_DIM
                       : i == COL_STATE ? state_ink(row->state)
                       : poor           ? INK_WARN
                                        : ink;
        (runs_column_at(v, i).right ? canvas_right : canvas_fit)(c, r.x + k->x[i], y, k->w[i], own,
                                                                 runs_cell_text(v, row, i).text);
    }
    if (row->pinned && k->w[COL_METHOD]) canvas_text(c, r.x + k->x[COL_METHOD], y, INK_ACCENT, "*");
    if (wrong) canvas_text(c, r.x + k->x[COL_BEST] + k->w[COL_BEST] - 7, y, INK_WARN, "\u2691");
    static const double places[] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };
    int points = row->curve_points > (int)COUNT_OF(places) ? (int)COUNT_OF(places) : row->curve_points;
    struct plot_data curve = { places, row->curve, (size_t)(row->curve && points > 0 ? points : 0) };
    if (k->w[COL_CURVE] && curve.count)
        plot_spark(c, r.x + k->x[COL_CURVE], y, k->w[COL_CURVE], &curve, INK_CURVE);
    if (here)
        canvas_paint(c, r.x + k->x[v->column], y, k->w[v->column], INK_CURSOR);
}

static void runs_draw_heads(const struct ui *ui, struct canvas *c, struct rect r,
                            const struct column_places *k) {
    const struct runs_view *v = &ui->runs;
    for (int p = 0; p < v->places; p++) {
        int i = v->place[p], x = r.x + k->x[i];
        const char *mark = v->sort != i ? "" : v->reverse ? "\u2193" : "\u2191";
        struct runs_column column = runs_column_at(v, i);
        enum ink ink = v->column == i ? INK_ACCENT : INK_DIM;
        if (!k->w[i]) continue;
        if (column.task) {
            int room = k->w[i] - (*mark != 0);
            canvas_right(c, x, r.y, room, ink, column.task);
            canvas_text(c, x + room, r.y, INK_DIM, mark);
            continue;
        }
        const char *name = runs_column_title(v, i);
        (column.right ? canvas_right : canvas_fit)(c, x, r.y, k->w[i], ink,
                                                   phrase("%.8s%s", name, mark).text);
    }
    if (k->more_left) canvas_text(c, r.x + 1, r.y, INK_KEY, "<");
    if (k->more_right) canvas_text(c, r.x + r.w - 1, r.y, INK_KEY, ">");
    canvas_rule(c, r.x + 3, r.y + 1, r.w - 4, NULL, NULL);
}

static void empty(const struct ui *ui, struct canvas *c, struct rect r) {
    const char *says = *ui->runs.filter || ui->runs.only.runs ? "no runs match the filter; F clears it"
                       : ui->runs.trash ? "the trash is empty; V returns to the runs"
                                        : "no runs yet: press 1 to compose a method, Enter there to train it";
    canvas_fit(c, r.x + 3, r.y + 3, r.w - 4, INK_DIM, says);
}

static void draw_runs_screen(const struct ui *ui, struct canvas *c, struct rect body) {
    const struct runs_view *v = &ui->runs;
    (void)body;
    struct panes p = ui_panes(ui, SCREEN_RUNS);
    struct rect r = p.at[PANE_TABLE];
    struct column_places k;
    if (v->grouped) {
        runs_draw_groups(v, c, r);
        if (!rect_empty(p.at[PANE_ASIDE])) runs_group_summary(v, c, p.at[PANE_ASIDE]);
        return;
    }
    runs_place(v, &k);
    runs_draw_heads(ui, c, r, &k);
    for (int i = 0; i < r.h - 2 && v->top + i < v->shown; i++) {
        bool here = ui_row(c, r, r.y + 2 + i, v->top + i - v->cursor);
        draw_row(ui, c, r, &k, r.y + 2 + i, &v->row[v->order[v->top + i]], here);
    }
    if (!v->shown) empty(ui, c, r);
    if (rect_empty(p.at[PANE_ASIDE])) return;
    const struct run_row *row = runs_at_cursor(v);
    if (row) runs_summary(c, p.at[PANE_ASIDE], row);
}

/* What is filtered and marked; else what looks wrong about the run under the cursor. */
static void runs_draw_readout(const struct ui *ui, struct buf *out) {
    const struct runs_view *v = &ui->runs;
    const struct run_row *row = runs_at_cursor(v);
    char flag[RUN_FLAG] = "";
    if (v->trash) buf_puts(out, "trash   ");
    if (*v->filter_error) {
        buf_printf(out, "filter: %s", v->filter_error);
        return;
    }
    if (v->only.runs) runs_only_words(v, out);
    if (*v->filter) buf_printf(out, "filter: %s   %d/%d   ", v->filter, v->shown, v->rows);
    if (v->grouped) {
        runs_groups_readout(v, out);
        return;
    }
    if (v->marks) buf_printf(out, "%d marked   ", v->marks);
    if (row) run_flag(row, flag);
    const struct task_row *t = row ? runs_task_at(v, row, v->column) : NULL;
    if (t) {
        buf_printf(out, "#%lld ", (long long)row->id);
        runs_task_words(t, out);
        return;
    }
    if (*flag) buf_printf(out, "\u2691 #%lld %s", (long long)row->id, flag);
    else if (row && !*v->filter && !v->marks && !v->only.runs) {
        buf_printf(out, "#%lld  %s%s%s", (long long)row->id, row->name ? row->name : "",
                   row->name ? "   " : "", row->method);
        if (row->tags) buf_printf(out, "   tags: %s", row->tags);
        if (row->note) buf_printf(out, "   %s", row->note);
    }
}

static void runs_draw_changed(struct ui *ui) {
    struct runs_view *v = &ui->runs;
    for (int i = 0; i < 2; i++) { /* the width depends on the columns, and on it what they show */
        struct panes p = ui_panes(ui, SCREEN_RUNS);
        if (i && v->width == p.at[PANE_TABLE].w) break;
        v->width = p.at[PANE_TABLE].w;
        v->page = p.body.h > 3 ? p.body.h - 2 : 1;
        runs_changed(v);
    }
}

static int64_t runs_draw_run(const struct ui *ui) {
    const struct run_row *row = runs_at_cursor(&ui->runs);
    return row ? row->id : 0;
}

static int marked(const struct ui *ui, const int64_t **ids) {
    *ids = ui->runs.marked;
    return ui->runs.marks;
}

static void runs_taught(struct ui *ui, const int64_t *run, int runs, struct effect *out) {
    (void)run, (void)runs;
    ui->runs.only.runs = 0;
    runs_set_filter(&ui->runs, "tag=lesson", out);
    ui_show(ui, SCREEN_RUNS);
}

static void runs_draw_pictured(const struct ui *ui, struct buf *out) {
    const struct runs_view *v = &ui->runs;
    buf_printf(out, "%s%s%s", v->trash ? "trash " : "", v->only.runs ? v->only.what : "", v->filter);
    if (v->grouped) buf_printf(out, " by %s", runs_column_name[v->group_by]);
}

static void runs_draw_table(const struct ui *ui, char out[120]) {
    int n = ui->runs.shown;
    if (n) snprintf(out, 120, n == 1 ? "the run shown" : "the %d runs shown", n);
}

static bool runs_draw_refresh(struct ui *ui, struct effect *out) {
    (void)ui;
    out->kind = EFFECT_FILTER;
    return true;
}

const char *runs_again_hint(const struct ui *ui, const struct run_row *row, const char *hint) {
    if (!row || row->state <= RUN_PAUSED || ui->runs.trash || (row->fewshot && !ui->runs.marks)) return NULL;
    return row->state != RUN_FINISHED && row->resumable ? "resume" : hint;
}

static const char *runs_draw_hint(const struct ui *ui, const struct key_entry *k) {
    if (ui->runs.grouped)
        return k->request == REQ_OPEN ? "runs" : k->request == REQ_SEARCH ? k->hint : NULL;
    switch (k->request) {
    case REQ_STOP:
    case REQ_LEFT:
    case REQ_DOWN: return NULL;
    case REQ_RUN: return runs_again_hint(ui, runs_at_cursor(&ui->runs), k->hint);
    case REQ_TRASH: return ui->runs.trash ? "restore" : k->hint;
    case REQ_MORE: return "column";
    case REQ_PRESETS: return *ui->runs.filter ? "saved" : NULL;
    case REQ_TERMS: return ui->runs.marks > 1 ? "overlay" : NULL;
    case REQ_TASKS: return runs_tasks_hint(&ui->runs);
    default: return k->hint;
    }
}

static const enum request runs_draw_keys[] = {
    REQ_OPEN,    REQ_MARK,       REQ_MARK_ALL,     REQ_STOP,        REQ_LEFT,         REQ_RIGHT,  REQ_DOWN,
    REQ_UP,      REQ_FIRST,      REQ_LAST,         REQ_PAGE_DOWN,   REQ_PAGE_UP,      REQ_SEARCH, REQ_UNDO,
    REQ_REDO,    REQ_SORT,       REQ_SORT_REVERSE, REQ_FILTER_CELL, REQ_FILTER_CLEAR, REQ_CLONE,  REQ_RUN,
    REQ_TRASH,   REQ_TRASH_VIEW, REQ_TASKS,       REQ_GROUP,        REQ_BEST,   REQ_RESEED,
    REQ_WATCH,   REQ_TERMS,      REQ_PIN,          REQ_TAGS,        REQ_NOTE,         REQ_NAME,   REQ_COLUMNS,
    REQ_EARLIER, REQ_LATER,      REQ_MORE,         REQ_LESS,        REQ_SHELL,        REQ_PRESETS, REQ_NONE
};

/* The cell and the row under the cursor; cells of a row are separated by tabs. */
static void runs_draw_copies(const struct ui *ui, struct copy_list *to) {
    const struct runs_view *v = &ui->runs;
    const struct run_row *row = v->grouped ? NULL : runs_at_cursor(v);
    struct buf cells = BUF_INIT;
    for (int i = 0; row && i < v->places; i++)
        buf_printf(&cells, "%s%s", i ? "\t" : "", runs_cell_text(v, row, v->place[i]).text);
    if (row) copy_add(to, runs_column_title(v, v->column), runs_cell_text(v, row, v->column).text);
    if (row) copy_add(to, "row", buf_text(&cells));
    copy_readout(ui, to);
    buf_release(&cells);
}

/* The filter in words of a shell; restricted runs by their ids. */
static void runs_draw_printed(const struct ui *ui, struct buf *out) {
    char *filter = runs_filter_text(&ui->runs), *rest = filter, *word;
    buf_puts(out, "runs");
    while ((word = strsep(&rest, " "))) {
        if (!*word) continue;
        buf_putc(out, ' ');
        text_shell_word(out, word);
    }
    if (ui->runs.trash) buf_puts(out, " --trash");
    free(filter);
}

static void runs_draw_rendered(const struct ui *ui, struct buf *out) {
    char *filter = runs_filter_text(&ui->runs);
    text_shell_option(out, "filter", filter);
    if (ui->runs.trash) buf_puts(out, " --trash");
    free(filter);
}

/* The pane next to the table gives way to its columns. */
static void runs_draw_need(const struct ui *ui, const struct layout_frame *f, struct layout_need *need) {
    (void)f;
    if (!ui->runs.grouped) need->table = ui->runs.whole;
}

const struct screen screen_runs = {
    .tip = { REQ_MARK, "Space marks runs: 4 compares them, 7 maps them; Enter opens one" },
    .name = "runs",
    .about =
        "Runs lists all runs of this database, including those of other processes. h and l move between "
        "columns, s sorts, / filters as `petri runs` does (task=reviews lr<1e-3 lora). Enter opens a run, C "
        "clones it into Compose, d moves it to the trash. J groups runs by a column, with mean, standard "
        "deviation and n. To train the best run of a task with another seed, press X and then Z.",
    .keys = runs_draw_keys,
    .tab = "3 Runs",
    .to = REQ_TO_RUNS,
    .init = runs_init,
    .release = runs_release,
    .changed = runs_draw_changed,
    .taught = runs_taught,
    .request = runs_request,
    .run = runs_draw_run,
    .marked = marked,
    .refresh = runs_draw_refresh,
    .panes = layout_runs,
    .need = runs_draw_need,
    .draw = draw_runs_screen,
    .readout = runs_draw_readout,
    .hint = runs_draw_hint,
    .pictured = runs_draw_pictured,
    .table = runs_draw_table,
    .copies = runs_draw_copies,
    .table_of = TABLE_RUNS,
    .printed = runs_draw_printed,
    .rendered = runs_draw_rendered,
};
