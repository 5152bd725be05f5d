#include "views/first.h"

#include <math.h>
#include <stdio.h>

#include "core/base/text.h"
#include "views/ui.h"
#include "views/ui_parts.h"

static int first_line(struct canvas *c, struct rect r, int y, const char *key, const char *says,
                      const char *right) {
    if (y >= r.h) return y;
    canvas_text(c, r.x + 3, r.y + y, INK_KEY, key);
    int used = canvas_text(c, r.x + 12, r.y + y, INK_TEXT, says);
    if (right) {
        int x = r.w > 70 ? 50 : 14 + used;
        if (x < 14 + used) x = 14 + used;
        canvas_fit(c, r.x + x, r.y + y, r.w - x - 1, INK_DIM, right);
    }
    return y + 1;
}

static const char *marks_sample(enum glyphs g) {
    static const char *const samples[] = { "\u28FF\u2847\u2809\u2824", "\u2588\u2599\u2596",
                                          "#*.:" };
    return samples[g];
}

static int first_machine(const struct ui *ui, struct canvas *c, struct rect r, int y) {
    const struct first_view *v = &ui->first;
    struct phrase text = phrase("%d core%s", v->cores, v->cores == 1 ? "" : "s");
    if (v->kernel) phrase_add(&text, " \u00B7 %.30s kernels", v->kernel);
    if (v->gflops > 0)
        phrase_add(&text, ", %.0f GFLOP/s per core", v->gflops);
    if (v->terminal_colors)
        phrase_add(&text, " \u00B7 %d colors", v->terminal_colors);
    else phrase_add(&text, " \u00B7 no colors");
    phrase_add(&text, " \u00B7 %s %s", marks_sample(ui->glyphs),
             glyphs_name(ui->glyphs));
    canvas_fit(c, r.x + 3, r.y + y, r.w - 4, INK_DIM, text.text);
    if (ui->ascii_only) return y + 1;
    int x = canvas_text(c, r.x + 3, r.y + y + 1, INK_DIM, "(press ");
    x += canvas_text(c, r.x + 3 + x, r.y + y + 1, INK_KEY, "B");
    if (ui->glyphs != GLYPHS_ASCII)
        canvas_printf(c, r.x + 3 + x, r.y + y + 1, INK_DIM,
                      " if the characters before \"%s\" look broken)", glyphs_name(ui->glyphs));
    else canvas_text(c, r.x + 3 + x, r.y + y + 1, INK_DIM, " for finer glyphs)");
    return y + 2;
}

static void first_draw(const struct ui *ui, struct canvas *c, struct rect r) {
    const struct first_view *v = &ui->first;
    bool low = r.h < 14;
    int y = low ? 0 : 1;
    struct rect text = { r.x + 3, r.y + y, r.w < 80 ? r.w - 6 : 74, r.h - y };
    y += canvas_wrap(c, text, INK_TITLE,
                     "Fine-tune a pretrained transformer by training a few thousand parameters, "
                     "and see why it works.") + !low;
    if (v->model_ready && v->task_ready) {
        y = first_line(c, r, y, "Enter",
                       phrase("train a LoRA on %.40s", v->task ? v->task : "the built-in task").text,
                       v->seconds > 0 ? phrase("about %.0f s on this machine", ceil(v->seconds)).text : NULL);
        if (v->stand_in && !low) canvas_fit(c, r.x + 12, r.y + y++, r.w - 13, INK_DIM, v->stand_in);
    } else {
        char what[160];
        snprintf(what, sizeof what, "The default %s %s not installed. Download %s with:",
                 v->model_ready ? "task" : v->task_ready ? "model" : "model and task",
                 !v->model_ready && !v->task_ready ? "are" : "is",
                 !v->model_ready && !v->task_ready ? "them" : "it");
        canvas_fit(c, r.x + 3, r.y + y, r.w - 4, INK_WARN, what);
        canvas_fit(c, r.x + 7, r.y + y + 1, r.w - 8, INK_ACCENT, v->fetch ? v->fetch : "make fetch");
        y += low ? 2 : 3;
    }
    y = first_line(c, r, y, "c", "compose a method", NULL);
    y = first_line(c, r, y, "T", "choose your own data, another task or model", NULL);
    y = first_line(c, r, y, "8", "lessons: adapters, prefixes, prototypes", NULL);
    y = first_line(c, r, y, "?", "keys", NULL);
    y = first_line(c, r, y, "q", "quit", NULL);
    if (y + 3 < r.h) y += low ? 0 : 2;
    if (v->cores) y = first_machine(ui, c, r, y);
    if (y < r.h)
        canvas_fit(c, r.x + 3, r.y + y, r.w - 4, INK_DIM,
                   "search path: hub cache, ./assets, $XDG_DATA_HOME/petri, PREFIX/share/petri");
}

static void line_1(const struct ui *ui, struct canvas *c, struct rect r) {
    const struct first_view *v = &ui->first;
    canvas_text(c, r.x + 1, r.y, INK_ACCENT, "petri");
    if (v->model)
        canvas_right(c, r.x + 8, r.y, r.w - 9, v->model_ready ? INK_TEXT : INK_WARN,
                     phrase("%.100s %s", v->model, v->model_ready ? "\u2713" : "\u2717 not found").text);
}

static bool first_request(struct ui *ui, enum request r, struct effect *out) {
    const struct first_view *v = &ui->first;
    if (r == REQ_COMPOSE) {
        ui_show(ui, SCREEN_COMPOSE);
        return true;
    }
    if (r != REQ_TRAIN) return false;
    if (v->model_ready && v->task_ready) out->kind = EFFECT_TRAIN_FIRST;
    else
        ui_say(ui, SAY_WARNING, "no model or task to train yet: quit and run: %s",
               v->fetch ? v->fetch : "make fetch");
    return true;
}

static const char *first_hint(const struct ui *ui, const struct key_entry *k) {
    bool ready = ui->first.model_ready && ui->first.task_ready;
    return k->request == REQ_TRAIN && !ready ? NULL : k->hint;
}

static const enum request first_keys[] = {
    REQ_TRAIN, REQ_COMPOSE, REQ_CHOOSE, REQ_NONE
};

const struct screen screen_first = {
    .name = "first", .about = method_about, .keys = first_keys,
    .request = first_request, .line = line_1, .draw = first_draw, .hint = first_hint,
};
