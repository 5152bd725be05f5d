#include "views/render.h"

#include <stdio.h>
#include <string.h>

#include "core/base/text.h"
#include "views/svg.h"

int render_size(const char *text, int *w, int *h, struct err *e) {
    char head[16];
    const char *x = strchr(text, 'x');
    int64_t a, b;
    size_t n = x ? (size_t)(x - text) : sizeof head;
    if (n < sizeof head) {
        memcpy(head, text, n);
        head[n] = 0;
        if (text_to_int(head, &a) && text_to_int(x + 1, &b) && a >= 1 && b >= 1 &&
            a <= CANVAS_SIDE && b <= CANVAS_SIDE) {
            *w = (int)a;
            *h = (int)b;
            return 0;
        }
    }
    return err_set(e, ERR_USAGE, "size \"%s\": expected COLUMNSxROWS, for example 80x24, each from 1 to %d",
                   text, CANVAS_SIDE);
}

static const struct {
    const char *word, *end;
} render_forms[RENDER_FORMS] = {
    [RENDER_TEXT] = { "text", ".txt" },
    [RENDER_ANSI] = { "ansi", ".ans" },
    [RENDER_SVG] = { "svg", ".svg" },
    [RENDER_PNG] = { "png", ".png" },
};

bool render_form_named(const char *word, enum render_form *form) {
    for (int i = 0; i < RENDER_FORMS; i++) {
        if (strcmp(word, render_forms[i].word)) continue;
        *form = (enum render_form)i;
        return true;
    }
    return false;
}

const char *render_end(enum render_form form) { return render_forms[form].end; }

void render_canvas(const struct canvas *c, enum render_form form, struct buf *out) {
    if (form == RENDER_SVG || form == RENDER_PNG) canvas_to_svg(c, out);
    else if (form == RENDER_ANSI) canvas_to_ansi(c, out);
    else canvas_to_text(c, out);
}

void render_ui(const struct ui *ui, enum render_form form, struct buf *out) {
    struct canvas c;
    canvas_init(&c, ui->w, ui->h, ui->glyphs, ui->colors);
    ui_draw(ui, &c);
    render_canvas(&c, form, out);
    canvas_release(&c);
}
