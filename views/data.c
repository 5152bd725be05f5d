#include "views/data.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "views/copy.h"
#include "views/data_parts.h"
#include "views/zone.h"

/* ---- what is asked ---- */

static void data_read_anew(struct data_view *v, struct effect *out) {
    v->asked++;
    out->kind = EFFECT_IMPORT;
}

static void data_change(struct ui *ui, int by, struct effect *out) {
    struct data_view *v = &ui->data;
    int line[DATA_OPTIONS], options = data_options(v, line), columns = data_columns(v), at = v->at - columns;
    if (v->at < columns) {
        data_give(v, v->at, (enum peek_role)(((int)v->role[v->at] + by + PEEK_ROLES) % PEEK_ROLES));
        data_read_anew(v, out);
    } else if (at < options && data_option_step(v, line[at], by)) {
        v->again = true;
        out->kind = EFFECT_LOOK;
        snprintf(out->text, sizeof out->text, "%s", v->look.path);
    } else if (at < options) {
        data_read_anew(v, out);
    }
}

static bool data_is_read(const struct data_view *v) { return v->read.asked && v->read.asked == v->asked; }

static void data_take(struct ui *ui, struct effect *out) {
    const struct data_view *v = &ui->data;
    if (!data_is_read(v)) ui_say(ui, SAY_INFO, "still reading the data");
    else if (!v->read.ok)
        ui_say(ui, SAY_WARNING, "cannot be read this way: %.700s", v->read.lines ? v->read.line[0] : "");
    else out->kind = EFFECT_OWN_ROWS;
}

static bool data_request(struct ui *ui, enum request r, struct effect *out) {
    struct data_view *v = &ui->data;
    int line[DATA_OPTIONS];
    switch (r) {
    case REQ_PAGE_DOWN:
    case REQ_PAGE_UP: return ui_walk(r, 8, v->read.lines - 1, &v->report_top);
    case REQ_RIGHT: data_change(ui, 1, out); return true;
    case REQ_LEFT: data_change(ui, -1, out); return true;
    case REQ_OPEN: data_take(ui, out); return true;
    default: return ui_walk(r, 0, data_columns(v) + data_options(v, line) - 1, &v->at);
    }
}

/* Back to the files, from which Esc leads to where T was pressed. */
static void data_back(struct ui *ui) {
    struct effect none = { 0 };
    data_find(ui, &none);
    *ui->message = 0;
}

/* ---- drawing ---- */

enum { DATA_NAME = 18, DATA_ROLE = 10 };

static void data_column_row(const struct data_view *v, struct canvas *c, struct rect r, int y, int i) {
    const struct peek_column *k = &v->look.peek->column[i];
    bool here = i == v->at;
    int x = r.x + 3 + DATA_NAME + 2 + DATA_ROLE;
    canvas_cursor(c, r.x + 1, y, here);
    canvas_fit(c, r.x + 3, y, DATA_NAME, here ? INK_ACCENT : INK_TEXT, k->name);
    canvas_fit(c, r.x + 3 + DATA_NAME + 1, y, DATA_ROLE, v->role[i] == PEEK_NONE ? INK_DIM : INK_TITLE,
               peek_role_name(v->role[i]));
    if (here)
        canvas_paint(c, r.x + 3 + DATA_NAME + 1, y, DATA_ROLE - 1, INK_CURSOR);
    int room = r.x + r.w - 1 - x, each = room / 2, all = 0;
    for (int n = 0; n < v->look.peek->rows; n++) all += k->cell[n] ? canvas_width(c, k->cell[n]) + 3 : 0;
    if (all <= room) each = room;
    for (int n = 0; n < v->look.peek->rows && x < r.x + r.w - 4;
         n++) { /* as many rows as there is room for */
        if (!k->cell[n]) continue;
        int w = r.x + r.w - 1 - x < each ? r.x + r.w - 1 - x : each;
        x += canvas_fit(c, x, y, w, INK_DIM, k->cell[n]);
        if (x < r.x + r.w - 4) x += canvas_text(c, x, y, INK_DIM, " \u00B7 ");
    }
}

static void data_option_row(const struct data_view *v, struct canvas *c, struct rect r, int y, int i,
                            int line) {
    const char *name;
    char value[160];
    bool here = i == v->at;
    data_option_words(v, line, &name, value);
    canvas_cursor(c, r.x + 1, y, here);
    canvas_fit(c, r.x + 3, y, DATA_NAME, here ? INK_ACCENT : INK_TEXT, name);
    int used = canvas_fit(c, r.x + 3 + DATA_NAME + 1, y, r.w - DATA_NAME - 6, INK_TITLE, value);
    if (here)
        canvas_paint(c, r.x + 3 + DATA_NAME + 1, y, used, INK_CURSOR);
}

/* Columns, then what is said of the file as a whole; returns the rows used. */
static int data_draw_lines(const struct data_view *v, struct canvas *c, struct rect r) {
    int line[DATA_OPTIONS], options = data_options(v, line), columns = data_columns(v),
                            all = columns + options;
    int rows = all < r.h ? all : r.h, top = v->first;
    ui_in_sight(&top, v->at, rows);
    if (top + rows > all) top = all - rows;
    for (int i = 0; i < rows; i++) {
        zone_add(
            c, (struct zone){ .at = { r.x, r.y + i, r.w, 1 }, .down = top + i - v->at, .key = PRESS_RIGHT });
        if (top + i < columns) data_column_row(v, c, r, r.y + i, top + i);
        else data_option_row(v, c, r, r.y + i, top + i, line[top + i - columns]);
    }
    return rows;
}

static enum ink data_report_ink(const struct data_read *k, const char *line) {
    if (!k->ok) return INK_BAD;
    if (text_starts(line, "> ")) return INK_GOOD; /* targets of an example */
    if (text_starts(line, "| ")) return INK_DIM;
    return strstr(line, "warning") || strstr(line, "skipped") ? INK_WARN : INK_TEXT;
}

static void data_draw_report(const struct data_view *v, struct canvas *c, struct rect r) {
    const struct data_read *k = &v->read;
    char right[80] = "";
    int y = r.y + 1, last = r.y + r.h;
    if (k->lines > r.h - 1)
        snprintf(right, sizeof right, "line %d of %d; ^d and ^u scroll", v->report_top + 1, k->lines);
    canvas_title(c, r, data_is_read(v) ? k->ok ? "Import report" : "Cannot be read this way" : "Examples",
                 right);
    if (!data_is_read(v) && !v->look.failed) canvas_text(c, r.x + 3, y++, INK_DIM, "reading\u2026");
    for (int i = v->report_top; i < k->lines && y < last && data_is_read(v); i++)
        y += canvas_wrap(c, rect_in(r, 3, y - r.y), data_report_ink(k, k->line[i]),
                         k->line[i]);
}

static const char *data_kind_words(const struct data_look *k) {
    if (k->list) return "task list";
    if (k->folder) return k->known ? "task folder (known layout)" : "task folder";
    if (!k->peek) return "";
    return k->peek->format == DATA_CSV ? "CSV" : k->peek->format == DATA_TSV ? "TSV" : "JSON Lines";
}

static void data_draw(const struct ui *ui, struct canvas *c, struct rect r) {
    const struct data_view *v = &ui->data;
    if (!v->look.path) {
        data_files_draw(v, ui, c, r);
        return;
    }
    canvas_title(c, r, v->look.path, data_kind_words(&v->look));
    if (v->look.failed) {
        canvas_wrap(c, rect_in(r, 3, 1), INK_BAD, v->look.failed);
        return;
    }
    struct rect in = rect_down(r, 1);
    if (v->look.peek) {
        canvas_text(c, r.x + 3, in.y, INK_DIM, "column");
        canvas_text(c, r.x + 3 + DATA_NAME + 1, in.y, INK_DIM, "role");
        canvas_text(c, r.x + 3 + DATA_NAME + 2 + DATA_ROLE, in.y++, INK_DIM, "first examples");
        in.h--;
    }
    in.h = in.h * 3 / 5; /* the report keeps the rest, and what the lines leave */
    if (in.h < 2) in.h = 2;
    int y = in.y + data_draw_lines(v, c, in);
    if (y < r.y + r.h) data_draw_report(v, c, rect_down(r, y - r.y));
}

/* What is trained on, as options. */
static void data_readout(const struct ui *ui, struct buf *out) {
    const struct data_view *v = &ui->data;
    const struct run_config *c = &v->config;
    const struct {
        const char *name, *value;
    } said[] = {
        { "text", c->text_column },     { "text-b", c->text_b_column }, { "label", c->label_column },
        { "source", c->source_column }, { "target", c->target_column }, { "delimiter", c->delimiter }
    };
    if (!v->look.path || v->look.failed) return;
    buf_puts(out, v->look.list ? "--tasks " : v->look.folder ? "--task " : "--train ");
    char *name = file_base_name(v->look.path);
    text_shell_word(out, name);
    free(name);
    for (size_t i = 0; i < COUNT_OF(said); i++) {
        if (!said[i].value) continue;
        buf_printf(out, " --%s ", said[i].name);
        text_shell_word(out, said[i].value);
    }
    if (c->split > 0) buf_printf(out, " --split %g%%", 100 * c->split);
}

static const char *data_hint(const struct ui *ui, const struct key_entry *k) {
    (void)ui;
    switch (k->request) {
    case REQ_OPEN: return "use";
    case REQ_LEFT: return "change";
    case REQ_DOWN: return "column";
    case REQ_CHOOSE: return "other file";
    default: return k->hint;
    }
}

static void data_init(struct ui *ui) { config_init(&ui->data.config); }
static void data_release(struct ui *ui) { config_release(&ui->data.config); }

static const enum request data_keys[] = { REQ_OPEN,    REQ_LEFT,   REQ_RIGHT, REQ_DOWN,
                                          REQ_UP,      REQ_FIRST,  REQ_LAST,  REQ_PAGE_DOWN,
                                          REQ_PAGE_UP, REQ_CHOOSE, REQ_NONE };

const struct screen screen_data = {
    .name = "data",
    .about =
        "Your own data: choose a file, assign roles to its columns, and check what is read before training.",
    .keys = data_keys,
    .under = &screen_compose,
    .back = data_back,
    .init = data_init,
    .release = data_release,
    .request = data_request,
    .draw = data_draw,
    .readout = data_readout,
    .copies = copy_readout,
    .hint = data_hint,
};
