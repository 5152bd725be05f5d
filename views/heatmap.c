#include "views/heatmap.h"

#include <math.h>
#include <stdio.h>

#include "core/base/text.h"
#include "views/copy.h"
#include "views/sheet.h"
#include "views/ui.h"
#include "views/ui_parts.h"
#include "views/zone.h"

/* Return the shown matrix, or NULL; and its data for drawing. */
static const struct heat_matrix *heatmap_matrix(const struct heatmap_view *v) {
    return v->shown < v->data.matrices ? &v->data.matrix[v->shown] : NULL;
}

static struct heat_data heatmap_shown(const struct heatmap_view *v) {
    const struct heat_matrix *m = heatmap_matrix(v);
    if (!m) return (struct heat_data){ 0 };
    return (struct heat_data){ .rows = m->rows, .columns = m->columns, .value = m->value,
                              .row_name = m->row_name, .column_name = m->column_name,
                              .diverging = m->diverging,
                              .row_order = v->cluster ? m->row_cluster : NULL,
                              .column_order = v->cluster ? m->column_cluster : NULL };
}

/* Returns the page at the size of the interface. */
static struct heat_page heatmap_page_of(const struct ui *ui, const struct heat_data *d) {
    struct canvas measure = { .glyphs = ui->glyphs, .colors = ui->colors };
    struct panes p = ui_panes(ui, SCREEN_HEATMAP);
    return heat_page(&measure, p.at[PANE_MATRIX], d, &ui->heatmap.look);
}

/* Keeps the cursor and the window inside the shown matrix. */
static void heatmap_settle(struct ui *ui) {
    struct heatmap_view *v = &ui->heatmap;
    if (v->shown >= v->data.matrices) v->shown = v->data.matrices ? v->data.matrices - 1 : 0;
    if (!heatmap_matrix(v)) return;
    struct heat_data d = heatmap_shown(v);
    struct heat_page p = heatmap_page_of(ui, &d);
    heat_settle(&v->look, &d, &p);
}

static void resize(struct ui *ui, int by) {
    struct heat_look *k = &ui->heatmap.look;
    struct heat_data d = heatmap_shown(&ui->heatmap);
    int size = (int)heatmap_page_of(ui, &d).size + by;
    k->fit = false;
    k->size = (enum heat_size)(size < 0 ? 0 : size >= HEAT_SIZES ? HEAT_SIZES - 1 : size);
}

static void heatmap_show(struct heatmap_view *v, int by) {
    int n = v->data.matrices;
    v->shown = (v->shown + by + n) % n;
    v->look = (struct heat_look){ .fit = true };
}

/* Requests another example, layer or head, and shows the attention. */
static void attend(struct ui *ui, enum effect_kind kind, int by, struct effect *out) {
    struct heatmap_view *v = &ui->heatmap;
    if (v->data.attention >= v->data.matrices) {
        ui_say(ui, SAY_INFO, "this view has no attention matrices");
        return;
    }
    if (v->shown < v->data.attention) heatmap_show(v, v->data.matrices - 1 - v->shown);
    out->kind = kind;
    out->by = by;
}

static bool heatmap_order(struct ui *ui) {
    struct heatmap_view *v = &ui->heatmap;
    const struct heat_matrix *m = heatmap_matrix(v);
    if (!m->row_cluster && !m->column_cluster) {
        ui_say(ui, SAY_INFO, "this matrix cannot be reordered");
        return true;
    }
    v->cluster = !v->cluster;
    ui_say(ui, SAY_INFO,
           v->cluster ? "ordered by clustering (average linkage)" : "ordered by name");
    return true;
}

static bool heatmap_request(struct ui *ui, enum request r, struct effect *out) {
    struct heatmap_view *v = &ui->heatmap;
    struct heat_look *k = &v->look;
    int down, right;
    if (r == REQ_UNSEEN) {
        ui_command_open(ui, "unseen ", ui->map.unseen);
        return true;
    }
    if (r == REQ_TASKS) {
        inspect_next_task(ui, v->data.run_task_at, v->data.run_tasks, true, out);
        return true;
    }
    if (!heatmap_matrix(v)) {
        if (r == REQ_BACK) return false;
        ui_say(ui, SAY_INFO, v->data.busy ? "still computing" : "nothing to show yet");
        return true;
    }
    switch (r) {
    case REQ_MORE: resize(ui, 1); break;
    case REQ_LESS: resize(ui, -1); break;
    case REQ_FIT: k->fit = true; break;
    case REQ_PAN_LEFT:
    case REQ_PREV_PART: heatmap_show(v, -1); break;
    case REQ_PAN_RIGHT:
    case REQ_NEXT_PART: heatmap_show(v, 1); break;
    case REQ_SORT: heatmap_order(ui); break;
    case REQ_DESCRIBE: v->whole = !v->whole; break;
    case REQ_BACK:
        if (!v->whole) return false;
        v->whole = false;
        break;
    case REQ_NEXT:
    case REQ_PREV: attend(ui, EFFECT_ATTENTION_ROW, r == REQ_NEXT ? 1 : -1, out); break;
    case REQ_LAYER_LESS:
    case REQ_LAYER_MORE: attend(ui, EFFECT_ATTENTION_LAYER, r == REQ_LAYER_MORE ? 1 : -1, out); break;
    case REQ_EARLIER:
    case REQ_LATER: attend(ui, EFFECT_ATTENTION_HEAD, r == REQ_LATER ? 1 : -1, out); break;
    default:
        if (!ui_step(r, 10, &down, &right)) return false;
        k->row += down;
        k->column += right;
    }
    heatmap_settle(ui);
    return true;
}

/* ---- drawing ---- */

static void heatmap_list(const struct heatmap_view *v, struct canvas *c, struct rect r) {
    canvas_title(c, r, "matrices", NULL);
    struct rect rest = { r.x + PANE_EDGE, r.y + 1, r.w - PANE_EDGE, r.h - 1 };
    for (int i = 0; i < v->data.matrices && rest.h > 0; i++) {
        bool here = i == v->shown;
        int rows = canvas_wrap(c, rest, here ? INK_TITLE : INK_TEXT, v->data.matrix[i].title);
        zone_add(c, (struct zone){ .at = { r.x, rest.y, r.w, rows }, .part = i - v->shown });
        canvas_cursor(c, r.x + 1, rest.y, here);
        rest = rect_down(rest, rows);
    }
    const struct heat_matrix *m = heatmap_matrix(v);
    rest = rect_down(rest, 1);
    if (rest.h <= 0) return;
    canvas_push_clip(c, rest);
    if (m->beside) rest.y += canvas_wrap(c, rest, INK_TITLE, m->beside) + 1;
    canvas_wrap(c, rest, INK_DIM, m->what);
    canvas_pop_clip(c);
}

static void heatmap_readout(const struct ui *ui, struct buf *out) {
    const struct heatmap_view *v = &ui->heatmap;
    const struct heat_matrix *m = heatmap_matrix(v);
    if (!m) return;
    struct heat_data d = heatmap_shown(v);
    double value = heat_value(&d, v->look.row, v->look.column);
    buf_printf(out, "%s \u00D7 %s = ", heat_row_name(&d, v->look.row), heat_column_name(&d, v->look.column));
    if (isfinite(value)) buf_printf(out, "%.4f", value);
    else buf_printf(out, "undefined%s%s", m->undefined ? ": " : "", m->undefined ? m->undefined : "");
    int row = d.row_order ? d.row_order[v->look.row] : v->look.row;
    if (m->row_note && row < m->rows) buf_printf(out, " \u00B7 %s", m->row_note[row]);
}

/* The value under the cursor and its row, each value after the name of its column. */
static void heatmap_copies(const struct ui *ui, struct copy_list *to) {
    const struct heatmap_view *v = &ui->heatmap;
    if (!heatmap_matrix(v)) return;
    struct heat_data d = heatmap_shown(v);
    struct buf row = BUF_INIT;
    char value[64];
    text_from_double(heat_value(&d, v->look.row, v->look.column), value);
    buf_puts(&row, heat_row_name(&d, v->look.row));
    for (int i = 0; i < d.columns; i++)
        buf_printf(&row, "\t%s %.6g", heat_column_name(&d, i), heat_value(&d, v->look.row, i));
    copy_add(to, "value", value);
    copy_add(to, "row", buf_text(&row));
    copy_readout(ui, to);
    buf_release(&row);
}

/* Writes the cell under the cursor, with the names and texts of its row and column in full. */
static void write_cell(const struct ui *ui, struct sheet *s) {
    const struct heatmap_view *v = &ui->heatmap;
    const struct heat_matrix *m = heatmap_matrix(v);
    struct heat_data d = heatmap_shown(v);
    const int at[] = { v->look.row, v->look.column };
    const int *const order[] = { d.row_order, d.column_order };
    struct buf b = BUF_INIT;
    sheet_rule(s, "cell under the cursor", "D closes");
    for (int i = 0; i < 2; i++) {
        buf_clear(&b);
        buf_printf(&b, "%s: %s", i ? "column" : "row",
                   i ? heat_column_name(&d, at[i]) : heat_row_name(&d, at[i]));
        if (m->text) buf_printf(&b, " \u00B7 %s", m->text[order[i] ? order[i][at[i]] : at[i]]);
        sheet_text(s, PANE_EDGE, INK_TEXT, buf_text(&b));
    }
    buf_clear(&b);
    heatmap_readout(ui, &b);
    sheet_text(s, PANE_EDGE, INK_TITLE, buf_text(&b));
    sheet_text(s, PANE_EDGE, INK_TEXT, m->what);
    if (m->beside) sheet_text(s, PANE_EDGE, INK_TEXT, m->beside);
    buf_release(&b);
}

static void heatmap_draw(const struct ui *ui, struct canvas *c, struct rect body) {
    const struct heatmap_view *v = &ui->heatmap;
    const struct heat_matrix *m = heatmap_matrix(v);
    struct panes p = ui_panes(ui, SCREEN_HEATMAP);
    if (!m) {
        ui_none(c, body, v->data.failed,
                v->data.busy
                    ? v->data.busy
                    : "Similarity matrices: press 3 to list the runs, and 6 there to compare the run under "
                      "the cursor with the pretrained model.");
        return;
    }
    struct heat_data d = heatmap_shown(v);
    struct rect r = p.at[PANE_MATRIX], foot = p.at[PANE_FOOT];
    if (!rect_empty(p.at[PANE_HEAT_TITLE])) {
        struct rect t = p.at[PANE_HEAT_TITLE];
        char task[120];
        inspect_task_words(v->data.run_task, v->data.run_task_at, v->data.run_tasks, task);
        struct phrase right = phrase("%s%s%d of %d \u00B7 %d\u00D7%d%s", task, *task ? " \u00B7 " : "",
                                     v->shown + 1, v->data.matrices, m->rows, m->columns,
                                     v->cluster && m->row_cluster ? " \u00B7 by cluster" : "");
        canvas_title(c, t, m->title, right.text);
    }
    heat_draw(c, r, &d, &v->look);
    if (v->whole) {
        struct heat_page page = heatmap_page_of(ui, &d);
        int lines = page.size <= HEAT_HALF_WIDE ? (v->look.row - v->look.top) / 2
                                                : (v->look.row - v->look.top) * page.tall;
        inspect_card(c, r, r.y + 1 + lines, write_cell, ui);
    }
    if (!rect_empty(foot)) {
        heat_legend(c, foot.x, foot.y, foot.w, &d);
        if (foot.h > 1 && m->beside) canvas_fit(c, foot.x, foot.y + 1, foot.w, INK_TEXT, m->beside);
        else if (foot.h > 1) canvas_fit(c, foot.x, foot.y + 1, foot.w, INK_DIM, m->what);
    }
    if (!rect_empty(p.at[PANE_ASIDE])) heatmap_list(v, c, p.at[PANE_ASIDE]);
}

static void heatmap_init(struct ui *ui) { ui->heatmap.look.fit = true; }
static void show_heatmap(struct ui *ui, struct effect *out) { inspect_show(ui, SCREEN_HEATMAP, out); }

static const char *heatmap_hint(const struct ui *ui, const struct key_entry *k) {
    const struct heatmap_view *v = &ui->heatmap;
    if (!v->data.matrices) return NULL;
    switch (k->request) {
    case REQ_MORE: return "size";
    case REQ_PAN_LEFT: return "matrix";
    case REQ_SORT: return "order";
    case REQ_DESCRIBE: return v->whole ? "close" : "text";
    case REQ_NEXT: return "example";
    case REQ_TASKS: return v->data.run_tasks > 1 ? "next task" : NULL;
    case REQ_UNSEEN: return v->data.run_tasks > 1 ? k->hint : NULL;
    case REQ_LAYER_LESS: return v->data.attention < v->data.matrices ? k->hint : NULL;
    case REQ_DOWN:
    case REQ_NEXT_PART: return NULL;
    default: return k->hint;
    }
}

static void heatmap_pictured(const struct ui *ui, struct buf *out) {
    const struct heat_matrix *m = heatmap_matrix(&ui->heatmap);
    if (m) buf_puts(out, m->title);
}

static const enum request heatmap_keys[] = {
    REQ_EARLIER, REQ_LATER,     REQ_NEXT_PART,  REQ_PREV_PART,  REQ_LEFT,       REQ_RIGHT,    REQ_DOWN,
    REQ_UP,      REQ_FIRST,     REQ_LAST,       REQ_PAGE_DOWN,  REQ_PAGE_UP,    REQ_NEXT,     REQ_PREV,
    REQ_SORT,    REQ_FAST_LEFT, REQ_FAST_RIGHT, REQ_MORE,       REQ_LESS,       REQ_PAN_LEFT, REQ_PAN_RIGHT,
    REQ_FIT,     REQ_DESCRIBE, REQ_TASKS,     REQ_UNSEEN,     REQ_LAYER_LESS, REQ_LAYER_MORE, REQ_NONE
};

static enum pane_id heatmap_focus(const struct ui *ui) {
    (void)ui;
    return PANE_HEAT_TITLE;
}

const struct screen screen_heatmap = {
    .tip = { REQ_PAN_RIGHT, "] and [ show the other matrices; s orders by cluster, D shows the texts" },
    .name = "heatmap",
    .about = "Heatmap shows similarity matrices of layers, classes, trained tensors and examples, and the "
             "attention of one example.",
    .keys = heatmap_keys,
    .tab = "6 Heatmap",
    .to = REQ_TO_HEATMAP,
    .inside = INSIDE_MATRICES,
    .show = show_heatmap,
    .init = heatmap_init,
    .changed = heatmap_settle,
    .request = heatmap_request,
    .panes = layout_heatmap,
    .focus = heatmap_focus,
    .draw = heatmap_draw,
    .readout = heatmap_readout,
    .copies = heatmap_copies,
    .hint = heatmap_hint,
    .pictured = heatmap_pictured,
    .rendered = inspect_rendered,
};
