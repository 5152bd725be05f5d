#include "views/sheet.h"

int sheet_y(const struct sheet *s) { return s->r.y + s->rows - s->top; }

void sheet_rule(struct sheet *s, const char *title, const char *right) {
    if (s->apart && s->rows) s->rows++;
    if (s->c) canvas_rule(s->c, s->r.x, sheet_y(s), s->r.w, title, right);
    s->rows++;
}

void sheet_text(struct sheet *s, int x, enum ink ink, const char *text) {
    struct canvas measure = { .glyphs = s->glyphs };
    int w = s->r.w - x - 1, rows = canvas_wrap_rows(&measure, w, text);
    struct rect r = { s->r.x + x, sheet_y(s), w, rows };
    if (s->c) canvas_wrap(s->c, r, s->dim ? INK_DIM : ink, text);
    s->rows += rows;
}

void sheet_line(struct sheet *s, int x, enum ink ink, const char *text) {
    if (s->c) canvas_fit(s->c, s->r.x + x, sheet_y(s), s->r.w - x - 1, s->dim ? INK_DIM : ink, text);
    s->rows++;
}
