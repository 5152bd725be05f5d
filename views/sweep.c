#include "views/sweep.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/text.h"
#include "views/copy.h"
#include "views/ui.h"
#include "views/ui_parts.h"

/* ---- the grid ---- */

const char *sweep_value_at(const struct sweep_page *p, int tile, int axis) {
    return p->tile[tile].axis[axis] ? p->tile[tile].axis[axis] : "\u2013";
}

int sweep_levels(const struct sweep_page *p, int axis, const char **name, int *level) {
    int n = 0;
    for (int i = 0; i < p->tiles; i++) {
        const char *v = sweep_value_at(p, i, axis);
        int k = 0;
        while (k < n && strcmp(name[k], v)) k++;
        if (k == n) name[n++] = v;
        level[i] = k;
    }
    return n;
}

/* Ordered pairs of axes: the first is (0, 1). */
static void axes_of(const struct sweep_view *v, int *row, int *column) {
    int n = v->page.shown_axes;
    *row = -1;
    *column = n ? v->page.shown_axis[0] : -1;
    if (n < 2) return;
    int pair = v->pair % (n * (n - 1)), r = pair / (n - 1), c = pair % (n - 1);
    *row = v->page.shown_axis[r];
    *column = v->page.shown_axis[c < r ? c : c + 1];
}

/* Whether two cells agree in all axes that the grid does not have. */
static bool same_slice(const struct sweep_page *p, int a, int b, int row, int column) {
    for (int k = 0; k < p->shown_axes; k++) {
        int axis = p->shown_axis[k];
        if (axis != row && axis != column && strcmp(sweep_value_at(p, a, axis), sweep_value_at(p, b, axis)))
            return false;
    }
    return true;
}

/* A cell of each slice, in the order of the cells; how many. */
static int slices_of(const struct sweep_page *p, int row, int column, int *first) {
    int n = 0;
    for (int i = 0; i < p->tiles; i++) {
        int k = 0;
        while (k < n && !same_slice(p, first[k], i, row, column)) k++;
        if (k == n) first[n++] = i;
    }
    return n;
}

/* Colors are of one kind: that of the cell under the cursor, else of the first with a value. */
static void sweep_fill_values(const struct sweep_view *v, struct sweep_grid *g, int rows, int columns) {
    const struct sweep_tile *tile = v->page.tile;
    bool inside = v->look.row >= 0 && v->look.row < rows && v->look.column >= 0 &&
                  v->look.column < columns; /* not yet, after a move */
    int at = inside ? g->tile[v->look.row * columns + v->look.column] : -1;
    int kind = at < 0 ? -1 : tile[at].kind;
    for (int i = 0; i < rows * columns; i++) {
        int t = g->tile[i];
        if (kind < 0 && t >= 0) kind = tile[t].kind;
    }
    for (int i = 0; i < rows * columns; i++) {
        int t = g->tile[i];
        if (t < 0) continue;
        bool comparable = tile[t].kind == kind;
        if (comparable) g->value[i] = tile[t].mean * (v->page.points ? 100 : 1);
        if (comparable || !tile[t].n) g->sign[i] = sweep_sign(v, &tile[t]);
    }
}

uint32_t sweep_sign(const struct sweep_view *v, const struct sweep_tile *t) {
    static const char *const waiting[] = { "waiting", "queued", "paused" };
    if (t->best) return SWEEP_BEST;
    if (t->front[v->cost]) return SWEEP_FRONT;
    for (size_t i = 0; i < COUNT_OF(waiting) && !t->n; i++)
        if (!strcmp(t->state, waiting[i])) return SWEEP_WAITING;
    return !t->n && !strcmp(t->state, "running") ? SWEEP_RUNNING : 0;
}

void sweep_grid(const struct sweep_view *v, struct sweep_grid *g) {
    const struct sweep_page *p = &v->page;
    size_t room = (size_t)p->tiles + 1;
    *g = (struct sweep_grid){ .row = xcalloc(room, sizeof *g->row),
                              .column = xcalloc(room, sizeof *g->column) };
    axes_of(v, &g->row_axis, &g->column_axis);
    int *first = xcalloc(room, sizeof *first), *row = xcalloc(room, sizeof *row),
        *column = xcalloc(room, sizeof *column);
    int columns = 0, rows = 1;
    struct buf others = BUF_INIT;
    if (g->column_axis >= 0) columns = sweep_levels(p, g->column_axis, g->column, column);
    if (g->row_axis >= 0) rows = sweep_levels(p, g->row_axis, g->row, row);
    else g->row[0] = p->metric ? p->metric : "";
    if (g->column_axis < 0) columns = p->tiles > 0, g->column[0] = p->tiles ? p->tile[0].name : "";
    g->slices = slices_of(p, g->row_axis, g->column_axis, first);
    int slice = g->slices ? v->slice % g->slices : 0;
    size_t cells = (size_t)rows * (size_t)columns;
    g->value = xcalloc(cells + 1, sizeof *g->value);
    g->tile = xcalloc(cells + 1, sizeof *g->tile);
    g->sign = xcalloc(cells + 1, sizeof *g->sign);
    for (size_t i = 0; i < cells; i++) g->value[i] = NAN, g->tile[i] = -1;
    for (int i = 0; i < p->tiles; i++)
        if (same_slice(p, first[slice], i, g->row_axis, g->column_axis))
            g->tile[row[i] * columns + column[i]] = i;
    sweep_fill_values(v, g, rows, columns);
    for (int k = 0; k < p->shown_axes && p->tiles; k++) {
        int axis = p->shown_axis[k];
        if (axis != g->row_axis && axis != g->column_axis)
            buf_part(&others, "%s=%s", p->axis[axis], sweep_value_at(p, first[slice], axis));
    }
    g->others = others.size ? buf_take(&others) : xstrdup("");
    g->data = (struct heat_data){
        .rows = rows, .columns = columns, .value = g->value, .row_name = g->row, .column_name = g->column,
        .sign = g->sign
    };
    free(first), free(row), free(column);
}

void sweep_grid_release(struct sweep_grid *g) {
    free(g->value), free(g->sign), free(g->row), free(g->column), free(g->tile), free(g->others);
}

/* Those whose cost is not known come last. */
static int by_cost(const void *pa, const void *pb, void *self) {
    const struct sweep_view *v = self;
    int a = *(const int *)pa, b = *(const int *)pb;
    double x = v->page.tile[a].cost[v->cost], y = v->page.tile[b].cost[v->cost];
    if (isnan(x) || isnan(y)) return isnan(x) != isnan(y) ? (isnan(x) ? 1 : -1) : a - b;
    return x < y ? -1 : x > y ? 1 : a - b;
}

int sweep_front(const struct sweep_view *v, int **order) {
    const struct sweep_page *p = &v->page;
    int *out = *order = xcalloc((size_t)p->tiles + 1, sizeof *out);
    for (int i = 0; i < p->tiles; i++) out[i] = i;
    if (!p->no_cost[v->cost]) qsort_r(out, (size_t)p->tiles, sizeof *out, by_cost, (void *)v);
    return p->tiles;
}

const char *sweep_cost_name(enum sweep_cost c) {
    static const char *const names[] = { "trainable parameters", "time", "memory" };
    return names[c];
}

int sweep_at_cursor(const struct sweep_view *v) {
    int at = -1;
    if (!v->page.tiles || v->part == PART_EFFECTS) return -1;
    if (v->part == PART_GRID) {
        struct sweep_grid g;
        sweep_grid(v, &g);
        if (g.data.rows && g.data.columns && v->look.row < g.data.rows && v->look.column < g.data.columns)
            at = g.tile[v->look.row * g.data.columns + v->look.column];
        sweep_grid_release(&g);
        return at;
    }
    int *order, n = sweep_front(v, &order);
    if (v->tile < n) at = order[v->tile];
    free(order);
    return at;
}

/* ---- asking ---- */

/* Rows that a part's list has on the screen. */
static int rows_of(const struct ui *ui, enum sweep_part part) {
    struct panes p = ui_panes(ui, SCREEN_SWEEP);
    return p.at[PANE_SWEEP + (int)part].h - 2;
}

static void settle(struct ui *ui) {
    struct sweep_view *v = &ui->sweep;
    v->cursor = ui_into(v->cursor, v->items - 1);
    ui_in_sight(&v->top, v->cursor, ui_body(ui).h - 1);
    v->effect = ui_into(v->effect, v->page.effects - 1);
    v->tile = ui_into(v->tile, v->page.tiles - 1);
    ui_in_sight(&v->effect_top, v->effect, rows_of(ui, PART_EFFECTS));
    ui_in_sight(&v->tile_top, v->tile, rows_of(ui, PART_FRONT));
    struct sweep_grid g;
    sweep_grid(v, &g);
    v->look.row = ui_into(v->look.row, g.data.rows - 1);
    v->look.column = ui_into(v->look.column, g.data.columns - 1);
    if (g.slices) v->slice %= g.slices;
    sweep_grid_release(&g);
}

/* The list, and the sweep shown, anew. */
static void sweep_ask(struct sweep_view *v, enum effect_kind kind, int64_t id, struct effect *out) {
    v->chosen[0] = id;
    out->kind = kind;
    out->run = v->chosen;
    out->runs = 1;
}

static int64_t sweep_here(const struct sweep_view *v) {
    return v->open ? v->open : v->cursor < v->items ? v->item[v->cursor].id : 0;
}

static void show(struct ui *ui, struct effect *out) {
    ui_show(ui, SCREEN_SWEEP);
    sweep_ask(&ui->sweep, EFFECT_SWEEPS, ui->sweep.open, out);
}

void sweep_open(struct sweep_view *v, int64_t id) {
    v->open = id;
    v->part = PART_GRID;
    v->pair = v->slice = v->effect = v->tile = v->effect_top = v->tile_top = 0;
    v->look = (struct heat_look){ .fit = true };
    v->page = (struct sweep_page){ 0 };
}

static bool list_request(struct ui *ui, enum request r, struct effect *out) {
    struct sweep_view *v = &ui->sweep;
    bool open = r == REQ_OPEN && v->items;
    if (r != REQ_OPEN && !ui_walk(r, 10, v->items - 1, &v->cursor)) return false;
    if (open) sweep_open(v, v->item[v->cursor].id);
    if (open) sweep_ask(v, EFFECT_SWEEPS, v->open, out);
    settle(ui);
    return true;
}

static void add_runs(const struct sweep_tile *t, int64_t **run, int *n) {
    *run = xrealloc(*run, (size_t)(*n + t->runs) + 1, sizeof **run);
    memcpy(*run + *n, t->run, (size_t)t->runs * sizeof **run);
    *n += t->runs;
}

/* All runs of the sweep that is open. */
static bool compared(struct ui *ui, struct effect *out) {
    const struct sweep_page *p = &ui->sweep.page;
    int64_t *run = NULL;
    int n = 0;
    if (!ui->sweep.open) return false;
    for (int i = 0; i < p->tiles; i++) add_runs(&p->tile[i], &run, &n);
    if (n) compare_runs(ui, run, n, out);
    else ui_say(ui, SAY_INFO, "the sweep has no runs yet");
    free(run);
    return true;
}

/* Runs of the cell under the cursor; of a level those of all cells that have it. */
static void sweep_to_runs(struct ui *ui, struct effect *out) {
    struct sweep_view *v = &ui->sweep;
    int tile = sweep_at_cursor(v), n = 0;
    const struct sweep_effect *w = v->part == PART_EFFECTS && v->effect < v->page.effects
                                      ? &v->page.effect[v->effect]
                                      : NULL;
    int64_t *run = NULL;
    struct phrase what = phrase("sweep %lld", (long long)v->page.id);
    if (w && w->level) phrase_add(&what, ": %s=%s", w->axis, w->level);
    else if (tile >= 0) phrase_add(&what, ": %s", v->page.tile[tile].name);
    for (int i = 0; i < v->page.tiles; i++) {
        const struct sweep_tile *t = &v->page.tile[i];
        bool mine = w ? !w->level || !strcmp(t->axis[w->axis_at] ? t->axis[w->axis_at] : "none", w->level)
                      : i == tile;
        if (mine) add_runs(t, &run, &n);
    }
    if (n) runs_show_only(ui, run, n, what.text, out);
    else
        ui_say(ui, SAY_INFO, "%s",
               tile >= 0 && v->page.tile[tile].reason ? v->page.tile[tile].reason : "no runs here yet");
    free(run);
}

/* The line of a cell is clicked: the cursor goes to it; where it is, to its runs. */
static void sweep_pick(struct ui *ui, int pick, struct effect *out) {
    struct sweep_view *v = &ui->sweep;
    int tile = pick - PICK_TILE, *order, n = sweep_front(v, &order);
    bool here = v->part == PART_LINES && sweep_at_cursor(v) == tile;
    v->part = PART_LINES;
    for (int i = 0; i < n; i++)
        if (order[i] == tile) v->tile = i;
    free(order);
    if (here) sweep_to_runs(ui, out);
    else settle(ui);
}

static bool page_request(struct ui *ui, enum request r, struct effect *out) {
    struct sweep_view *v = &ui->sweep;
    int down, right;
    switch (r) {
    case REQ_NEXT_PART: v->part = (enum sweep_part)((v->part + 1) % PART_COUNT); break;
    case REQ_PREV_PART: v->part = (enum sweep_part)((v->part + PART_COUNT - 1) % PART_COUNT); break;
    case REQ_LATER: v->pair++; break;
    case REQ_EARLIER: {
        int n = v->page.shown_axes, pairs = n > 1 ? n * (n - 1) : 1;
        v->pair = (v->pair + pairs - 1) % pairs;
        break;
    }
    case REQ_NEXT: v->slice++; break;
    case REQ_PREV: {
        struct sweep_grid g;
        sweep_grid(v, &g);
        if (g.slices) v->slice = (v->slice + g.slices - 1) % g.slices;
        sweep_grid_release(&g);
        break;
    }
    case REQ_BESIDE:
        v->cost = (enum sweep_cost)((v->cost + 1) % SWEEP_COSTS);
        ui_say(ui, SAY_INFO, "Pareto front by %s%s", sweep_cost_name(v->cost),
               v->page.no_cost[v->cost] ? " (not comparable for these runs)" : "");
        break;
    case REQ_OPEN: sweep_to_runs(ui, out); return true;
    case REQ_BACK:
        v->open = 0;
        break;
    default:
        if (!ui_step(r, 10, &down, &right)) return false;
        if (v->part == PART_GRID) v->look.row += down, v->look.column += right;
        else if (v->part == PART_EFFECTS) v->effect += down;
        else v->tile += down + right;
    }
    settle(ui);
    return true;
}

const char *sweep_options(const char *text) {
    return text_starts(text, "petri sweep ") ? text + strlen("petri sweep ") : text;
}

void sweep_prompt(struct ui *ui, const char *label, const char *text, enum prompt_use use) {
    if (strlen(text) >= PROMPT_ROOM) {
        ui_say(ui, SAY_WARNING,
               "command line too long to edit here: use petri sweep in a shell");
        return;
    }
    prompt_open(&ui->prompt, label, text, false);
    ui->use = use;
}

/* What may be asked of the sweep under the cursor, in the list and on its page. */
static bool sweep_request(struct ui *ui, enum request r, struct effect *out) {
    struct sweep_view *v = &ui->sweep;
    int64_t id = sweep_here(v);
    switch (r) {
    case REQ_SWEEP: {
        char *line = compose_sweep_line(&ui->compose);
        sweep_prompt(ui, "petri sweep ", line, USE_SWEEP);
        free(line);
        return true;
    }
    case REQ_RUN:
        if (id) sweep_ask(v, EFFECT_SWEEP_GO, id, out);
        return true;
    case REQ_STOP:
        if (id)
            ui_ask(ui, ASK_SWEEP_STOP, id,
                   "stop all workers of sweep %lld?   y save checkpoints   Esc continue",
                   (long long)id);
        return true;
    case REQ_MORE:
        if (id) sweep_prompt(ui, "extend by (seeds 4,5 or --lr 1e-2) ", "", USE_MORE);
        return true;
    case REQ_CLONE: {
        const char *text = NULL;
        for (int i = 0; i < v->items; i++)
            if (v->item[i].id == id) text = v->item[i].text;
        if (!text) return true;
        sweep_prompt(ui, "petri sweep ", sweep_options(text), USE_SWEEP);
        return true;
    }
    default: break;
    }
    return v->open ? page_request(ui, r, out) : list_request(ui, r, out);
}

void sweep_show_list(struct ui *ui, struct effect *out) {
    sweep_ask(&ui->sweep, EFFECT_SWEEPS, ui->sweep.open, out);
}

void sweep_typed(struct ui *ui, const char *text, bool more, struct effect *out) {
    struct sweep_view *v = &ui->sweep;
    if (!*text) return;
    sweep_ask(v, more ? EFFECT_SWEEP_EXTEND : EFFECT_SWEEP_NEW, more ? sweep_here(v) : 0, out);
    snprintf(out->text, sizeof out->text, "%s", text);
}

static bool refresh(struct ui *ui, struct effect *out) {
    const struct sweep_page *p = &ui->sweep.page;
    if (ui->sweep.open && p->id == ui->sweep.open && p->over == p->wanted) return false;
    sweep_ask(&ui->sweep, EFFECT_SWEEPS, ui->sweep.open, out);
    return true;
}

static int64_t run(const struct ui *ui) {
    int tile = ui->sweep.open ? sweep_at_cursor(&ui->sweep) : -1;
    return tile >= 0 && ui->sweep.page.tile[tile].runs ? ui->sweep.page.tile[tile].run[0] : 0;
}

static void init(struct ui *ui) { ui->sweep.look.fit = true; }

static const char *hint(const struct ui *ui, const struct key_entry *k) {
    const struct sweep_view *v = &ui->sweep;
    bool any = v->open ? v->page.tiles > 0 : v->items > 0, own = any && !(v->open && v->page.draws);
    switch (k->request) {
    case REQ_SWEEP: return "new";
    case REQ_OPEN: return !any ? NULL : v->open ? "runs" : k->hint;
    case REQ_RUN: return own ? "resume" : NULL;
    case REQ_STOP: return any ? k->hint : NULL;
    case REQ_MORE: return own ? "extend" : NULL;
    case REQ_CLONE: return own ? "edit" : NULL;
    case REQ_EARLIER: return v->open && v->part == PART_GRID && v->page.shown_axes > 1 ? "axes" : NULL;
    case REQ_BESIDE: return v->open && v->part == PART_FRONT ? "cost" : NULL;
    case REQ_NEXT: return NULL;
    case REQ_NEXT_PART: return v->open ? k->hint : NULL;
    default: return any ? k->hint : NULL;
    }
}

static void pictured(const struct ui *ui, struct buf *out) {
    static const char *const names[] = { "grid", "effects", "front", "lines" };
    if (ui->sweep.open) buf_printf(out, "%lld %s", (long long)ui->sweep.open, names[ui->sweep.part]);
}

static void table(const struct ui *ui, char out[120]) {
    int n = ui->sweep.open ? ui->sweep.page.tiles : 0;
    if (n) snprintf(out, 120, n == 1 ? "the cell" : "the %d cells", n);
}

static const enum request keys[] = { REQ_OPEN,      REQ_STOP,   REQ_EARLIER,   REQ_LATER,   REQ_NEXT_PART,
                                     REQ_PREV_PART, REQ_LEFT,   REQ_RIGHT,     REQ_DOWN,    REQ_UP,
                                     REQ_FIRST,     REQ_LAST,   REQ_PAGE_DOWN, REQ_PAGE_UP, REQ_NEXT,
                                     REQ_PREV,      REQ_BESIDE, REQ_SWEEP,     REQ_CLONE,   REQ_RUN,
                                     REQ_MORE,      REQ_NONE };

static void printed(const struct ui *ui, struct buf *out) {
    if (ui->sweep.open) buf_printf(out, "sweep %lld", (long long)ui->sweep.open);
}

static void rendered(const struct ui *ui, struct buf *out) {
    if (ui->sweep.open) buf_printf(out, " --sweep %lld", (long long)ui->sweep.open);
}

static enum pane_id sweep_focus(const struct ui *ui) {
    return PANE_SWEEP + ui->sweep.part;
}

const struct screen screen_sweep = {
    .tip = { REQ_OPEN, "Enter opens a sweep, then the runs of a cell; A starts a new sweep" },
    .name = "sweep",
    .about = "Sweep lists the sweeps and shows one of them: a grid of two axes (< and > choose them, n steps "
             "through the values of the others), the main effect of each axis, the Pareto front (x: by "
             "parameters, time, memory), and parallel coordinates of all cells. Enter shows the runs of a "
             "cell; A starts a sweep over the values marked in Compose with Space.",
    .keys = keys,
    .tab = "5 Sweep",
    .to = REQ_TO_SWEEP,
    .show = show,
    .compared = compared,
    .init = init,
    .changed = settle,
    .request = sweep_request,
    .pick = sweep_pick,
    .run = run,
    .refresh = refresh,
    .panes = layout_sweep,
    .need = sweep_need,
    .focus = sweep_focus,
    .draw = sweep_draw,
    .readout = sweep_readout,
    .hint = hint,
    .pictured = pictured,
    .table = table,
    .copies = copy_readout,
    .table_of = TABLE_CELLS,
    .printed = printed,
    .rendered = rendered,
};
