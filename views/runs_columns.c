/* Runs: which columns are shown, and in which order (runs.h). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/text.h"
#include "views/runs.h"
#include "views/ui.h"
#include "views/ui_parts.h"

/* Widths of method and task: as their longest text, within bounds; where not all columns fit, at least the
 * lower bound. */
enum { METHOD_LEAST = 14, METHOD_MOST = 44, TASK_LEAST = 8, TASK_MOST = 24 };

static bool is_frozen(int column) { return column == COL_ID || column == COL_METHOD; }

static int gap_after(int column) { return is_frozen(column) ? 2 : 1; }

static int widest(const struct runs_view *v, bool method, int least, int most) {
    int w = (int)strlen("method");
    for (int i = 0; i < v->shown && w < most; i++) {
        const struct run_row *r = &v->row[v->order[i]];
        const char *text = method ? r->method : r->task;
        int of = (text ? text_width(text) : 0) + (method && r->pinned ? 2 : 0);
        w = of > w ? of : w;
    }
    return w > most ? most : w < least ? least : w;
}

static int fixed_width(const struct runs_view *v, int column) {
    return column == COL_METHOD || column == COL_TASK ? 0 : runs_column_at(v, column).width;
}

/* The width of all columns with method and task at their least. */
static int least_width(const struct runs_view *v) {
    int w = PANE_EDGE + 1;
    for (int p = 0; p < v->places; p++) {
        int i = v->place[p];
        w += (i == COL_METHOD ? METHOD_LEAST : i == COL_TASK ? TASK_LEAST : fixed_width(v, i)) + gap_after(i);
    }
    return w;
}

/* Places a column unless it is beyond the right edge; one that `must` be in sight is cut off there. */
static void put(const struct runs_view *v, struct column_places *k, int i, int *x, bool must) {
    int w = i == COL_METHOD ? v->method_width : i == COL_TASK ? v->task_width : fixed_width(v, i);
    int room = v->width - 1 - *x;
    if (w > room && must && room > 0) w = room;
    if (w > room) {
        k->more_right = true;
        *x = v->width;
        return;
    }
    k->x[i] = *x;
    k->w[i] = w;
    *x += w + gap_after(i);
}

void runs_place(const struct runs_view *v, struct column_places *k) {
    bool narrow = v->width < LAYOUT_PAGE_W; /* then only the id stays */
    int x = PANE_EDGE - 1, other = 0;
    *k = (struct column_places){ .more_left = v->left > 0 };
    for (int p = 0; p < v->places && v->left; p++)
        if (v->place[p] == COL_ID || (v->place[p] == COL_METHOD && !narrow))
            put(v, k, v->place[p], &x, true);
    for (int p = 0; p < v->places; p++) {
        int i = v->place[p];
        bool stays = is_frozen(i);
        if (stays ? !v->left : other++ >= v->left) put(v, k, i, &x, !stays && other == v->left + 1);
    }
}

/* Takes what is too wide from *w, down to `least`. */
static void shrink(int *w, int least, int *over) {
    int by = *w - least < *over ? *w - least : *over;
    if (by <= 0) return;
    *w -= by;
    *over -= by;
}

void runs_size_columns(struct runs_view *v) {
    int over = least_width(v) - v->width;
    v->method_width = v->visible[COL_METHOD] ? widest(v, true, METHOD_LEAST, METHOD_MOST) : METHOD_LEAST;
    v->task_width = v->visible[COL_TASK] ? widest(v, false, TASK_LEAST, TASK_MOST) : TASK_LEAST;
    over += v->method_width - METHOD_LEAST + v->task_width - TASK_LEAST;
    v->whole = v->width + over;
    int method = v->method_width;
    shrink(&v->method_width, METHOD_LEAST, &over);
    shrink(&v->task_width, TASK_LEAST, &over);
    if (over <= 0 || !v->visible[COL_METHOD]) return;
    /* not all fit: the method gets what those in sight leave */
    struct column_places k;
    int end = 0;
    runs_place(v, &k);
    for (int i = 0; i < COL_COUNT + v->tasks; i++) end = k.x[i] + k.w[i] > end ? k.x[i] + k.w[i] : end;
    v->method_width += v->width - 2 - end;
    if (v->method_width > method) v->method_width = method;
}

void runs_show_column(struct runs_view *v) {
    struct column_places k;
    int at = 0, others = 0;
    for (int p = 0; p < v->places; p++) {
        if (v->place[p] == v->column) at = others;
        others += !is_frozen(v->place[p]);
    }
    if (is_frozen(v->column) || least_width(v) <= v->width) v->left = 0;
    v->left = ui_into(v->left > at && !is_frozen(v->column) ? at : v->left, others - 1);
    for (runs_place(v, &k); !k.w[v->column] && v->left < others - 1; runs_place(v, &k)) v->left++;
}

/* In their order from the left: those chosen by the user, else all that are visible, then the tasks. */
void runs_order_columns(struct runs_view *v) {
    static const int automatic[] = { COL_ID,   COL_NAME,   COL_STATE, COL_METHOD, COL_TASK, COL_BEST,
                                     COL_METRIC, COL_ROWS, COL_LR,    COL_TRAINED, COL_SEED, COL_TIME };
    v->places = 0;
    for (int i = 0; i < v->picks; i++) v->place[v->places++] = v->picked[i];
    for (size_t i = 0; i < COUNT_OF(automatic) && !v->picks; i++) {
        if (automatic[i] == COL_ROWS)
            for (int t = 0; t < v->tasks; t++) v->place[v->places++] = COL_COUNT + t;
        if (v->visible[automatic[i]]) v->place[v->places++] = automatic[i];
    }
    for (int i = 0; i < v->tasks && v->picks; i++) v->place[v->places++] = COL_COUNT + i;
}

void runs_ask_columns(struct ui *ui) {
    const struct runs_view *v = &ui->runs;
    struct buf shown = BUF_INIT, label = BUF_INIT;
    bool has[COL_COUNT] = { false }, any = false;
    for (int p = 0; p < v->places; p++) {
        int i = v->place[p];
        if (i >= COL_COUNT) continue;
        buf_printf(&shown, "%s%s", shown.size ? " " : "", runs_column_name[i]);
        has[i] = true;
    }
    buf_puts(&label, "columns");
    for (int i = 0; i < COL_COUNT; i++) {
        if (has[i]) continue;
        buf_printf(&label, "%s%s", any ? " " : " (also ", runs_column_name[i]);
        any = true;
    }
    buf_puts(&label, any ? ") " : " ");
    prompt_open(&ui->prompt, buf_text(&label), buf_text(&shown), false);
    ui->use = USE_COLUMNS;
    buf_release(&shown);
    buf_release(&label);
}

/* The columns of a line, each once, into `picked`; *unknown: the first word that is none, the caller's, or
 * NULL. */
static int runs_columns_read(const char *text, int picked[COL_COUNT], char **unknown) {
    bool has[COL_COUNT] = { false };
    char *copy = xstrdup(text), *rest = copy, *word;
    int n = 0;
    *unknown = NULL;
    while ((word = strsep(&rest, " ,"))) {
        if (!*word) continue;
        int at = runs_column_by_name(word, strlen(word));
        if (at == COL_COUNT) {
            if (!*unknown) *unknown = xstrdup(word);
        } else if (!has[at]) {
            has[at] = true;
            picked[n++] = at;
        }
    }
    free(copy);
    return n;
}

static void runs_columns_take(struct runs_view *v, const int *picked, int n) {
    memmove(v->picked, picked, (size_t)n * sizeof *picked);
    v->picks = n;
    runs_changed(v);
}

/* Requests that the app stores the chosen columns. */
static void store_columns_chosen(const struct runs_view *v, struct effect *out) {
    out->kind = EFFECT_COLUMNS;
    for (int i = 0; i < v->picks; i++) {
        size_t at = strlen(out->text);
        snprintf(out->text + at, sizeof out->text - at, "%s%s", i ? " " : "", runs_column_name[v->picked[i]]);
    }
}

/* The columns shown become the chosen ones; returns the place of the one under the cursor, -1: a task's. */
static int choose_shown(struct runs_view *v) {
    int n = 0, at = -1, picked[COL_COUNT];
    for (int p = 0; p < v->places; p++) {
        if (v->place[p] >= COL_COUNT) continue;
        if (v->place[p] == v->column) at = n;
        picked[n++] = v->place[p];
    }
    memcpy(v->picked, picked, sizeof picked);
    v->picks = n;
    return at;
}

/* Moves the column under the cursor. */
static void column_moved(struct ui *ui, int by, struct effect *out) {
    struct runs_view *v = &ui->runs;
    int at = choose_shown(v), to = at + by;
    if (at < 0 || to < 0 || to >= v->picks) return;
    v->picked[at] = v->picked[to];
    v->picked[to] = v->column;
    runs_columns_take(v, v->picked, v->picks);
    store_columns_chosen(v, out);
}

static void column_hidden(struct ui *ui, struct effect *out) {
    struct runs_view *v = &ui->runs;
    int at = choose_shown(v);
    if (at < 0 || v->picks < 2) return;
    ui_say(ui, SAY_INFO, "column %s hidden; + adds columns", runs_column_name[v->picked[at]]);
    memmove(v->picked + at, v->picked + at + 1, (size_t)(v->picks - at - 1) * sizeof *v->picked);
    v->picks--;
    v->column = v->picked[at < v->picks ? at : v->picks - 1];
    runs_columns_take(v, v->picked, v->picks);
    store_columns_chosen(v, out);
}

/* Lists the columns that are not shown. */
static void column_list(struct ui *ui) {
    const struct runs_view *v = &ui->runs;
    picker_open(&ui->picker, PICK_COLUMN, "add a column");
    for (int i = 0; i < COL_COUNT; i++)
        if (!v->visible[i]) picker_add(&ui->picker, runs_column_name[i], NULL, false)->tag = i;
    if (ui->picker.count) return;
    ui->picker.open = false;
    ui_say(ui, SAY_INFO, "all columns are shown");
}

void runs_column_picked(struct ui *ui, struct effect *out) {
    struct runs_view *v = &ui->runs;
    int column = ui->picker.item[ui->picker.cursor].tag, at = choose_shown(v);
    if (at < 0) at = v->picks - 1; /* right of the cursor */
    memmove(v->picked + at + 2, v->picked + at + 1, (size_t)(v->picks - at - 1) * sizeof *v->picked);
    v->picked[at + 1] = v->column = column;
    runs_columns_take(v, v->picked, v->picks + 1);
    store_columns_chosen(v, out);
}

bool runs_columns_request(struct ui *ui, enum request r, struct effect *out) {
    switch (r) {
    case REQ_COLUMNS: runs_ask_columns(ui); return true;
    case REQ_EARLIER: column_moved(ui, -1, out); return true;
    case REQ_LATER: column_moved(ui, 1, out); return true;
    case REQ_LESS: column_hidden(ui, out); return true;
    case REQ_MORE: column_list(ui); return true;
    default: return false;
    }
}

void runs_columns_typed(struct ui *ui, const char *text, struct effect *out) {
    int picked[COL_COUNT];
    char *unknown;
    int n = runs_columns_read(text, picked, &unknown);
    if (unknown) {
        const char *near = text_nearest(unknown, runs_column_name, COL_COUNT);
        ui_say(ui, SAY_ERROR, "unknown column \"%.30s\"%s%s", unknown,
               near ? "; did you mean " : "; press c to list the columns", near ? near : "");
        free(unknown);
        return;
    }
    if (!n) ui_say(ui, SAY_INFO, "columns chosen automatically");
    runs_columns_take(&ui->runs, picked, n);
    store_columns_chosen(&ui->runs, out);
}

void runs_columns_kept(struct ui *ui, const char *names) {
    int picked[COL_COUNT];
    char *unknown;
    int n = runs_columns_read(names, picked, &unknown);
    free(unknown);
    runs_columns_take(&ui->runs, picked, n);
}
