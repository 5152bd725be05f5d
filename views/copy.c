#include "views/copy.h"

#include <stdio.h>
#include <string.h>

#include "core/base/mem.h"
#include "views/ui_parts.h"

/* What the app copies: texts about the run under the cursor, by their names in the effect, the table and the
 * screen, in the form in `text`. */
static const struct {
    enum effect_kind kind;
    const char *name, *text, *note;
} of_app[] = {
    { EFFECT_COPY_RUN, "command", "command", "the petri train command that trains this run again" },
    { EFFECT_COPY_RUN, "method", "method", NULL },
    { EFFECT_COPY_RUN, "folder", "folder", "the path of its files" },
    { EFFECT_TABLE, "table", "markdown", "as Markdown" },
    { EFFECT_PICTURE, "screen", "text", "as text" },
};
enum { COPY_OF_SCREEN = (int)COUNT_OF(of_app) }; /* tags from here on: texts that the screen offers */

/* Adds the texts to the list, or (`text`) stores one of them. */
struct copy_list {
    struct ui *ui;
    struct buf *text;
    int at, wanted;
};

void copy_add(struct copy_list *to, const char *name, const char *text) {
    char note[160];
    int at = to->at++;
    if (!*text) return;
    if (to->text) {
        if (at == to->wanted) buf_puts(to->text, text);
        return;
    }
    snprintf(note, sizeof note, "%.159s", text);
    for (char *c = note; *c; c++)
        if (*c == '\t') *c = ' ';
    picker_add(&to->ui->picker, name, note, false)->tag = COPY_OF_SCREEN + at;
}

void copy_readout(const struct ui *ui, struct copy_list *to) {
    struct buf text = BUF_INIT;
    screen_at(ui->screen)->readout(ui, &text);
    copy_add(to, "line", buf_text(&text));
    buf_release(&text);
}

/* Returns the method of a run in the list of runs, or NULL. */
static const char *method_of(const struct ui *ui, int64_t run) {
    for (int i = 0; i < ui->runs.rows; i++)
        if (ui->runs.row[i].id == run) return ui->runs.row[i].method;
    return NULL;
}

void copy_open(struct ui *ui) {
    const struct screen *s = screen_at(ui->screen);
    int64_t run = s->run ? s->run(ui) : 0;
    char title[64] = "copy", table[120] = "";
    struct copy_list to = { .ui = ui };
    ui->ask.run[0] = run;
    if (s->table) s->table(ui, table);
    if (run > 0) snprintf(title, sizeof title, "copy of run #%lld", (long long)run);
    picker_open(&ui->picker, PICK_COPY, title);
    for (int i = 0; i < COPY_OF_SCREEN; i++) {
        enum effect_kind kind = of_app[i].kind;
        const char *note = of_app[i].note ? of_app[i].note : method_of(ui, run);
        if (kind == EFFECT_TABLE && s->copies) s->copies(ui, &to);
        if (kind == EFFECT_COPY_RUN ? run <= 0 : kind == EFFECT_TABLE && !*table) continue;
        picker_add(&ui->picker, of_app[i].name, note, false)->tag = i;
    }
}

void copy_picked(struct ui *ui, struct effect *out) {
    int what = ui->picker.item[ui->picker.cursor].tag;
    if (what < COPY_OF_SCREEN) {
        *out = (struct effect){ .kind = of_app[what].kind, .run = ui->ask.run, .keep = true };
        out->runs = out->kind == EFFECT_COPY_RUN;
        snprintf(out->text, sizeof out->text, "%s", of_app[what].text);
        return;
    }
    struct buf text = BUF_INIT;
    *out = (struct effect){ .kind = EFFECT_COPY, .run = ui->ask.run, .runs = ui->ask.run[0] > 0 };
    struct copy_list to = { .ui = ui, .text = &text, .wanted = what - COPY_OF_SCREEN };
    screen_at(ui->screen)->copies(ui, &to);
    snprintf(out->text, sizeof out->text, "%s", buf_text(&text));
    buf_release(&text);
}
