#include "views/render.h"

#include <stdio.h>
#include <string.h>

#include "core/base/text.h"

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
    return err_set(e, ERR_USAGE, "size \"%s\": columns and rows are wanted, as 80x24, each 1 to %d",
                   text, CANVAS_SIDE);
}

void render_ui(const struct ui *ui, bool ansi, struct buf *out) {
    struct canvas c;
    canvas_init(&c, ui->w, ui->h, ui->glyphs, ui->colours);
    ui_draw(ui, &c);
    if (ansi) canvas_to_ansi(&c, out);
    else canvas_to_text(&c, out);
    canvas_release(&c);
}
