#include "views/write.h"

#include <stdio.h>
#include <string.h>

#include "core/base/mem.h"
#include "views/ui_parts.h"

static const struct {
    enum effect_kind kind;
    const char *form, *label, *note;
} write_forms[] = {
    { EFFECT_TABLE, "csv", "as CSV", "all rows and columns" },
    { EFFECT_TABLE, "json", "as JSON", "an array of objects, for scripts" },
    { EFFECT_TABLE, "markdown", "as Markdown", "a table for documents" },
    { EFFECT_EXPORT, "csv", "as CSV",
      "loss, learning rate and gradient norm of every step, and all evaluations" },
    { EFFECT_EXPORT, "json", "as JSON Lines", "the same curves, one JSON object per line" },
    { EFFECT_EXPORT, "markdown", "as Markdown", "the same curves as a table" },
    { EFFECT_EXPORT, "hf", "as a Hugging Face folder", "the model with the method merged into its weights" },
    { EFFECT_PICTURE, "svg", "as an SVG picture", "vector graphics for documents and slides" },
    { EFFECT_PICTURE, "png", "as a PNG picture", "requires rsvg-convert (package librsvg2-bin)" },
    { EFFECT_PICTURE, "text", "as text", "the screen" },
    { EFFECT_PICTURE, "ansi", "as text with colors", "ANSI sequences: cat shows it in a terminal" },
};

static int64_t write_run(const struct ui *ui) {
    const struct screen *s = screen_at(ui->screen);
    return s->run ? s->run(ui) : 0;
}

/* What of the screen the form is of, "the 12 runs shown"; "": it has none of that. */
static void write_subject(const struct ui *ui, size_t form, char out[120]) {
    const struct screen *s = screen_at(ui->screen);
    int64_t run = write_run(ui);
    bool hf = !strcmp(write_forms[form].form, "hf");
    *out = 0;
    switch (write_forms[form].kind) {
    case EFFECT_TABLE:
        if (s->table) s->table(ui, out);
        return;
    case EFFECT_EXPORT:
        if (run > 0) snprintf(out, 120, hf ? "#%lld" : "the training curves of #%lld", (long long)run);
        return;
    default: snprintf(out, 120, "the screen"); return;
    }
}

void write_open(struct ui *ui) {
    picker_open(&ui->picker, PICK_WRITE, "write to a new file");
    for (size_t i = 0; i < COUNT_OF(write_forms); i++) {
        char subject[120], name[200];
        write_subject(ui, i, subject);
        if (!*subject) continue;
        snprintf(name, sizeof name, "%s %s", subject, write_forms[i].label);
        picker_add(&ui->picker, name, write_forms[i].note, false)->tag = (int)i;
    }
}

static void write_ask(struct ui *ui, size_t form, struct effect *out) {
    out->kind = write_forms[form].kind;
    snprintf(out->text, sizeof out->text, "%s", write_forms[form].form);
    if (out->kind != EFFECT_EXPORT) return;
    ui->ask.run[0] = write_run(ui);
    out->run = ui->ask.run;
    out->runs = 1;
}

void write_picked(struct ui *ui, struct effect *out) {
    write_ask(ui, (size_t)ui->picker.item[ui->picker.cursor].tag, out);
}

const char *write_form(size_t i) { return i < COUNT_OF(write_forms) ? write_forms[i].form : NULL; }

bool write_named(struct ui *ui, const char *form, struct effect *out) {
    bool known = false;
    for (size_t i = 0; i < COUNT_OF(write_forms); i++) {
        char subject[120];
        if (strcmp(form, write_forms[i].form)) continue;
        known = true;
        write_subject(ui, i, subject);
        if (!*subject) continue;
        write_ask(ui, i, out);
        return true;
    }
    if (known) ui_say(ui, SAY_ERROR, "export: this screen cannot be written as %.20s", form);
    else
        ui_say(ui, SAY_ERROR,
               "export: unknown format; expected csv, json, markdown, hf, svg, png, text or ansi");
    return false;
}
