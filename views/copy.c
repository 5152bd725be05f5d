#include "views/copy.h"

#include <stdio.h>

#include "core/base/mem.h"
#include "views/ui_parts.h"

enum { COPY_VALUE, COPY_ROW, COPY_KINDS };

/* Texts about a run that the app knows, by their names in the effect. */
static const struct {
    const char *name, *note;
} of_run[] = {
    { "command", "petri train \u2026, which trains this run again" },
    { "method", NULL },
    { "folder", "the path of its files" },
};

/* Appends the value or the row under the cursor, as shown; cells are separated by tabs. */
static void add_cells(const struct runs_view *v, int what, struct buf *out) {
    const struct run_row *row = runs_at_cursor(v);
    if (what == COPY_VALUE) buf_puts(out, runs_cell_text(v, row, v->column).text);
    for (int i = 0; what == COPY_ROW && i < v->places; i++)
        buf_printf(out, "%s%s", i ? "\t" : "", runs_cell_text(v, row, v->place[i]).text);
}

static void offer_cells(struct ui *ui, int what, const char *name) {
    struct buf text = BUF_INIT;
    char note[160];
    add_cells(&ui->runs, what, &text);
    snprintf(note, sizeof note, "%.159s", buf_text(&text));
    for (char *at = note; *at; at++)
        if (*at == '\t') *at = ' ';
    picker_add(&ui->picker, name, note, false)->tag = what;
    buf_release(&text);
}

void copy_open(struct ui *ui, int64_t run, const char *method) {
    char title[64];
    ui->ask.run[0] = run;
    snprintf(title, sizeof title, "copy of run #%lld", (long long)run);
    picker_open(&ui->picker, PICK_COPY, title);
    for (size_t i = 0; i < COUNT_OF(of_run); i++)
        picker_add(&ui->picker, of_run[i].name, of_run[i].note ? of_run[i].note : method, false)->tag =
            COPY_KINDS + (int)i;
    if (screen_at(ui->screen)->table_of != TABLE_RUNS) return;
    offer_cells(ui, COPY_VALUE, runs_column_title(&ui->runs, ui->runs.column));
    offer_cells(ui, COPY_ROW, "row");
}

void copy_picked(struct ui *ui, struct effect *out) {
    int what = ui->picker.item[ui->picker.cursor].tag;
    *out = (struct effect){ .kind = EFFECT_COPY_RUN, .run = ui->ask.run, .runs = 1 };
    if (what >= COPY_KINDS) {
        snprintf(out->text, sizeof out->text, "%s", of_run[what - COPY_KINDS].name);
        return;
    }
    struct buf text = BUF_INIT;
    out->kind = EFFECT_COPY;
    add_cells(&ui->runs, what, &text);
    snprintf(out->text, sizeof out->text, "%s", buf_text(&text));
    buf_release(&text);
}
