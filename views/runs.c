#include "views/runs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/mem.h"
#include "core/base/text.h"
#include "views/ui.h"
#include "views/ui_parts.h"

void runs_init(struct ui *ui) {
    struct runs_view *v = &ui->runs;
    v->page = 20;
    v->sort = COL_ID;
    v->reverse = true; /* the newest first */
}

void runs_release(struct ui *ui) {
    struct runs_view *v = &ui->runs;
    free(v->order);
    free(v->marked);
    free(v->chosen);
    free(v->only.run);
    free(v->group);
    free(v->member);
    free(v->counted);
    memset(v, 0, sizeof *v);
}

const struct run_row *runs_at_cursor(const struct runs_view *v) {
    return v->cursor >= 0 && v->cursor < v->shown ? &v->row[v->order[v->cursor]] : NULL;
}

static int runs_by_number(double a, double b) {
    if (isnan(a) || isnan(b)) return isnan(a) ? isnan(b) ? 0 : 1 : -1; /* none comes last */
    return a < b ? -1 : a > b;
}

static int runs_by_text(const char *a, const char *b) { return strcasecmp(a ? a : "", b ? b : ""); }
static int by_int(int64_t a, int64_t b) { return a < b ? -1 : a > b; }

/* Best values are comparable on one task, by one metric, of the same split and rows. */
int runs_by_kind(const struct run_row *a, const struct run_row *b) {
    int by = runs_by_text(a->task, b->task);
    if (!by) by = runs_by_text(a->metric, b->metric);
    if (!by) by = by_int(b->rows, a->rows);
    if (!by) by = runs_by_text(a->decides, b->decides);
    return by ? by : runs_by_text(a->rows_sha256, b->rows_sha256);
}

static const struct runs_column columns[COL_COUNT] = {
    [COL_ID] = { 5, true, HOLDS_WHOLE, offsetof(struct run_row, id) },
    [COL_NAME] = { 12, false, HOLDS_TEXT, offsetof(struct run_row, name) },
    [COL_STATE] = { 11, false, HOLDS_STATE, offsetof(struct run_row, state) },
    [COL_METHOD] = { 0, false, HOLDS_TEXT, offsetof(struct run_row, method) },
    [COL_TASK] = { 0, false, HOLDS_TEXT, offsetof(struct run_row, task) },
    [COL_BEST] = { 8, true, HOLDS_REAL, offsetof(struct run_row, best) },
    [COL_METRIC] = { 8, false, HOLDS_TEXT, offsetof(struct run_row, metric) },
    [COL_ROWS] = { 9, true, HOLDS_WHOLE, offsetof(struct run_row, rows), .alias = "rows" },
    [COL_LR] = { 7, true, HOLDS_REAL, offsetof(struct run_row, lr) },
    [COL_TRAINED] = { 9, true, HOLDS_WHOLE, offsetof(struct run_row, trained), .alias = "trained" },
    [COL_TIME] = { 7, true, HOLDS_REAL, offsetof(struct run_row, seconds) },
    [COL_SEED] = { 4, true, HOLDS_SEED, offsetof(struct run_row, seed) },
    [COL_TAGS] = { 14, false, HOLDS_TEXT, offsetof(struct run_row, tags) },
    [COL_DISK] = { 9, true, HOLDS_WHOLE, offsetof(struct run_row, disk) },
    [COL_CURVE] = { 16, false, HOLDS_REAL, offsetof(struct run_row, final_loss) }, /* by which it is sorted */
};

struct runs_column runs_column_at(const struct runs_view *v, int column) {
    if (column < COL_COUNT) return columns[column];
    const char *task = v->task[column - COL_COUNT];
    return (struct runs_column){ RUNS_TASK_WIDTH - 1, true, HOLDS_RESULT, .task = task };
}

static int runs_compare(const struct run_row *a, const struct run_row *b, int column) {
    size_t offset = columns[column].offset;
    const void *x = (const char *)a + offset, *y = (const char *)b + offset;
    switch (columns[column].kind) {
    case HOLDS_STATE: return (int)a->state - (int)b->state;
    case HOLDS_WHOLE: return by_int(*(const int64_t *)x, *(const int64_t *)y);
    case HOLDS_REAL: return runs_by_number(*(const double *)x, *(const double *)y);
    case HOLDS_SEED: return a->seed < b->seed ? -1 : a->seed > b->seed;
    default:
        if (column == COL_NAME && (!a->name || !b->name)) return (a->name == NULL) - (b->name == NULL);
        return runs_by_text(*(const char *const *)x, *(const char *const *)y);
    }
}

/* Values of one task, by one metric. */
static int by_task_value(const struct runs_view *v, const struct run_row *a, const struct run_row *b) {
    const struct task_row *x = runs_task_at(v, a, v->sort), *y = runs_task_at(v, b, v->sort);
    bool none = !x || !y || isnan(x->value) || isnan(y->value);
    if (none) return runs_by_number(x ? x->value : NAN, y ? y->value : NAN);
    int by = runs_by_text(x->metric, y->metric);
    if (by) return by;
    by = runs_by_number(x->value, y->value);
    return v->reverse ? -by : by;
}

static int by_order(const void *pa, const void *pb, void *self) {
    const struct runs_view *v = self;
    const struct run_row *a = &v->row[*(const int *)pa], *b = &v->row[*(const int *)pb];
    if (a->pinned != b->pinned) return a->pinned ? -1 : 1;
    bool best = v->sort == COL_BEST;
    bool none = best              ? isnan(a->best) || isnan(b->best)
                : v->sort == COL_LR ? isnan(a->lr) || isnan(b->lr)
                                    : false;
    int by = best && !none ? runs_by_kind(a, b) : 0;
    if (!by && runs_column_at(v, v->sort).task) by = by_task_value(v, a, b);
    else if (!by) by = runs_compare(a, b, v->sort) * (v->reverse && !none ? -1 : 1);
    return by ? by : by_int(b->id, a->id);
}

const char *const runs_column_name[COL_COUNT] = { "id",   "name",   "state",    "method", "task",
                                                  "best", "metric", "examples", "lr",     "params",
                                                  "time", "seed",   "tags",     "disk",   "curve" };

static bool runs_is_named(const char *known, const char *name, size_t n) {
    return known && strlen(known) == n && !memcmp(name, known, n);
}

int runs_column_by_name(const char *name, size_t n) {
    int i = 0;
    while (i < COL_COUNT && !runs_is_named(runs_column_name[i], name, n) &&
           !runs_is_named(columns[i].alias, name, n))
        i++;
    return i;
}

/* What a column holds, as a filter says it; false: nothing. */
bool runs_cell_value(const struct run_row *r, int column, char out[256]) {
    const struct runs_column *k = &columns[column];
    const void *of = (const char *)r + k->offset;
    const char *text = "";
    double number = NAN;
    if (column == COL_DISK || column == COL_CURVE) return false;
    switch (k->kind) {
    case HOLDS_STATE: text = run_state_name(r->state); break;
    case HOLDS_TEXT: text = *(const char *const *)of; break;
    case HOLDS_SEED: snprintf(out, 256, "%llu", (unsigned long long)r->seed); return true;
    case HOLDS_WHOLE: number = column == COL_ROWS && !r->rows ? NAN : (double)*(const int64_t *)of; break;
    case HOLDS_REAL: number = *(const double *)of; break;
    default: break;
    }
    if (!isnan(number)) text_from_double(number, out);
    else snprintf(out, 256, "%s", text ? text : "");
    return k->kind == HOLDS_WHOLE || k->kind == HOLDS_REAL ? !isnan(number) : text != NULL;
}

/* From the left; below 0: it is not shown. */
static int place_of(const struct runs_view *v, int column) {
    int at = v->places - 1;
    while (at >= 0 && v->place[at] != column) at--;
    return at;
}

/* The columns chosen by the user, else those with a reason: what distinguishes runs of several kinds.  A
 * column per task replaces those of the task and of few distinct values. */
static void choose_columns(struct runs_view *v) {
    int64_t rows = -1;
    bool metrics = false, many = false, names = false;
    v->metric = NULL;
    for (int i = 0; i < v->shown; i++) {
        const struct run_row *r = &v->row[v->order[i]];
        names = names || r->name;
        if (!r->metric) continue;
        if (!v->metric) v->metric = r->metric;
        else if (strcmp(v->metric, r->metric)) metrics = true;
        many = many || (rows >= 0 && r->rows != rows);
        rows = r->rows;
    }
    if (metrics) v->metric = NULL;
    for (int i = 0; i < COL_COUNT; i++) v->visible[i] = !v->picks && i < COL_TAGS;
    runs_name_tasks(v);
    for (int i = 0; i < v->picks; i++) v->visible[v->picked[i]] = true;
    if (!v->picks) {
        v->visible[COL_METRIC] = metrics;
        v->visible[COL_ROWS] = many;
        v->visible[COL_NAME] = names;
        v->visible[COL_TASK] = !v->tasks;
    }
    runs_order_columns(v);
    if (v->sort >= COL_COUNT + v->tasks) v->sort = COL_ID;
    if (v->column >= COL_COUNT + v->tasks) v->column = v->tasks ? COL_COUNT : COL_BEST;
    while (v->column && place_of(v, v->column) < 0) v->column--;
    if (place_of(v, v->column) < 0) v->column = v->place[0];
    runs_size_columns(v);
    runs_show_column(v);
}

static int by_id(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

bool runs_is_marked(const struct runs_view *v, int64_t id) {
    return v->marks && bsearch(&id, v->marked, (size_t)v->marks, sizeof id, by_id);
}

/* Marks of runs that are gone go too. */
static void keep_marks(struct runs_view *v) {
    if (!v->marks) return;
    int64_t *ids = xmalloc((size_t)(v->rows + 1) * sizeof *ids);
    int kept = 0;
    for (int i = 0; i < v->rows; i++) ids[i] = v->row[i].id;
    qsort(ids, (size_t)v->rows, sizeof *ids, by_id);
    for (int i = 0; i < v->marks; i++)
        if (bsearch(&v->marked[i], ids, (size_t)v->rows, sizeof *ids, by_id))
            v->marked[kept++] = v->marked[i];
    v->marks = kept;
    free(ids);
}

void runs_changed(struct runs_view *v) {
    v->order = xrealloc(v->order, (size_t)v->rows + 1, sizeof *v->order);
    v->shown = 0;
    for (int i = 0; i < v->rows; i++)
        if (runs_are_listed(v, &v->row[i])) v->order[v->shown++] = i;
    choose_columns(v);
    qsort_r(v->order, (size_t)v->shown, sizeof *v->order, by_order, v);
    for (int i = 0; i < v->shown; i++)
        if (v->cursor_id && v->row[v->order[i]].id == v->cursor_id) v->cursor = i;
    v->cursor = ui_into(v->cursor, v->shown - 1);
    keep_marks(v);
    if (v->only.runs) runs_count_seeds(v);
    runs_find_groups(v);
    const struct run_row *row = runs_at_cursor(v);
    v->cursor_id = row ? row->id : 0;
    ui_in_sight(&v->top, v->cursor, v->page);
}

static void runs_move_to(struct runs_view *v, int to) {
    v->cursor = ui_into(to, v->shown - 1);
    ui_in_sight(&v->top, v->cursor, v->page);
    const struct run_row *row = runs_at_cursor(v);
    v->cursor_id = row ? row->id : 0;
}

static void add_mark(struct runs_view *v, int64_t id) {
    if (v->marks == v->marks_room) {
        v->marks_room = v->marks_room ? 2 * v->marks_room : 64;
        v->marked = xrealloc(v->marked, (size_t)v->marks_room, sizeof *v->marked);
    }
    v->marked[v->marks++] = id;
}

static void toggle_mark(struct runs_view *v) {
    const struct run_row *row = runs_at_cursor(v);
    if (!row) return;
    if (runs_is_marked(v, row->id)) {
        int kept = 0;
        for (int i = 0; i < v->marks; i++)
            if (v->marked[i] != row->id) v->marked[kept++] = v->marked[i];
        v->marks = kept;
    } else {
        add_mark(v, row->id);
        qsort(v->marked, (size_t)v->marks, sizeof *v->marked, by_id);
    }
    runs_move_to(v, v->cursor + 1);
}

static void toggle_all(struct runs_view *v) {
    int had = 0;
    for (int i = 0; i < v->shown; i++) had += runs_is_marked(v, v->row[v->order[i]].id);
    v->marks = 0;
    if (had == v->shown) return;
    for (int i = 0; i < v->shown; i++) add_mark(v, v->row[v->order[i]].id);
    qsort(v->marked, (size_t)v->marks, sizeof *v->marked, by_id);
}

/* The marked runs, or the one under the cursor; how many. */
int runs_choose(struct runs_view *v, bool marked, struct effect *out) {
    const struct run_row *row = runs_at_cursor(v);
    int n = marked && v->marks ? v->marks : row ? 1 : 0;
    v->chosen = xrealloc(v->chosen, (size_t)n + 1, sizeof *v->chosen);
    if (marked && v->marks) memcpy(v->chosen, v->marked, (size_t)n * sizeof *v->chosen);
    else if (row) v->chosen[0] = row->id;
    out->run = v->chosen;
    out->runs = n;
    return n;
}

static void move_column(struct runs_view *v, int by) {
    v->column = v->place[ui_into(place_of(v, v->column) + by, v->places - 1)];
    runs_show_column(v);
}

void runs_sort(struct runs_view *v, int column) {
    v->reverse = v->sort == column ? !v->reverse
                                   : column >= COL_COUNT || column == COL_BEST || column == COL_ID;
    v->sort = column;
    runs_changed(v);
}

static bool table_request(struct ui *ui, enum request r, struct effect *out) {
    struct runs_view *v = &ui->runs;
    int to = v->cursor;
    switch (r) {
    case REQ_LEFT: move_column(v, -1); break;
    case REQ_RIGHT: move_column(v, 1); break;
    case REQ_MARK: toggle_mark(v); break;
    case REQ_MARK_ALL: toggle_all(v); break;
    case REQ_SORT: runs_sort(v, v->column); break;
    case REQ_GROUP:
        if (runs_column_at(v, v->column).task) return true;
        v->grouped = true;
        v->group_by = v->column;
        v->group_cursor = v->group_top = 0;
        runs_find_groups(v);
        break;
    case REQ_SORT_REVERSE:
        v->reverse = !v->reverse;
        runs_changed(v);
        break;
    case REQ_FILTER_CELL: runs_filter_cell(ui, out); break;
    case REQ_FILTER_CLEAR: runs_list_all(v, out); break;
    case REQ_TASKS:
        v->by_task = !v->by_task;
        out->kind = EFFECT_BY_TASK;
        runs_changed(v);
        break;
    case REQ_SEARCH: runs_filter_open(ui); break;
    case REQ_BACK:
        if (v->marks) v->marks = 0;
        else if (*v->filter) runs_set_filter(v, "", out);
        else if (v->only.runs) runs_list_all(v, out);
        else return false;
        break;
    default:
        if (!ui_walk(r, v->page, v->shown - 1, &to)) return false;
        runs_move_to(v, to);
    }
    return true;
}

static void say_fewshot(struct ui *ui, const struct run_row *r) {
    ui_say(ui, SAY_INFO, "#%lld is a few-shot run: use petri fewshot in a shell to start another",
           (long long)r->id);
}

void runs_again(struct ui *ui, const struct run_row *r, struct effect *out) {
    if (ui->runs.trash)
        ui_say(ui, SAY_INFO, "#%lld is in the trash: restore it first (d)", (long long)r->id);
    else if (r->state <= RUN_PAUSED)
        ui_say(ui, SAY_INFO, "#%lld is %s", (long long)r->id, run_state_name(r->state));
    else if (r->fewshot && !r->resumable) say_fewshot(ui, r);
    else out->kind = r->fewshot ? EFFECT_COPY_RUN : EFFECT_AGAIN;
    if (out->kind == EFFECT_COPY_RUN) snprintf(out->text, sizeof out->text, "resume");
}

/* The best of what may be compared with the run under the cursor. */
static void to_best(struct ui *ui) {
    struct runs_view *v = &ui->runs;
    const struct run_row *row = runs_at_cursor(v), *best = NULL;
    int at = -1;
    for (int i = 0; row && i < v->shown; i++) {
        const struct run_row *r = &v->row[v->order[i]];
        if (r->state != RUN_FINISHED || isnan(r->best) || r->tuning || runs_by_kind(r, row)) continue;
        if (best && (r->smaller_better ? r->best >= best->best : r->best <= best->best)) continue;
        best = r;
        at = i;
    }
    if (best) runs_move_to(v, at);
    else ui_say(ui, SAY_INFO, "no finished run with the same metric, task and validation set");
    if (best)
        ui_say(ui, SAY_INFO, "best %s on %s; Z trains it again with another seed", best->metric,
               best->task);
}

bool runs_request(struct ui *ui, enum request r, struct effect *out) {
    struct runs_view *v = &ui->runs;
    if (v->grouped && runs_groups_request(ui, r, out)) return true;
    if (table_request(ui, r, out) || runs_keep_request(ui, r, out) || runs_columns_request(ui, r, out))
        return true;
    if (r == REQ_BACK) {
        if (!v->trash) return false;
        r = REQ_TRASH_VIEW;
    }
    if (r == REQ_TRASH_VIEW) {
        v->trash = !v->trash;
        v->marks = 0;
        out->kind = EFFECT_TRASH_VIEW;
        return true;
    }
    if (r == REQ_UNDO || r == REQ_REDO) {
        out->kind = r == REQ_UNDO ? EFFECT_UNDO : EFFECT_REDO;
        return true;
    }
    if (r == REQ_TERMS && v->marks > 1) {
        train_overlay(ui, v->marked, v->marks, out);
        return true;
    }
    bool many = r == REQ_TRASH || r == REQ_RUN;
    const struct run_row *row = runs_at_cursor(v);
    if (!runs_choose(v, many, out) || !row) return true;
    switch (r) {
    case REQ_BEST: to_best(ui); return true;
    case REQ_RESEED:
        if (row->fewshot) say_fewshot(ui, row);
        else out->kind = EFFECT_RESEED;
        return true;
    case REQ_TERMS:
        ui_say(ui, SAY_INFO, "mark two or more runs with Space; o overlays them");
        out->kind = EFFECT_NONE;
        return true;
    case REQ_RUN:
        if (v->marks) out->kind = EFFECT_AGAIN;
        else runs_again(ui, row, out);
        return true;
    case REQ_TRASH:
        out->kind = v->trash ? EFFECT_RESTORE : EFFECT_TRASH;
        v->marks = 0;
        return true;
    default: return ui_run_request(ui, r, row->state, out);
    }
}
