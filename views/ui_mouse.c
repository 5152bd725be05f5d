/* The mouse: tabs, hints, lists and the screens' own cells; the wheel is j and k. */
#include "views/ui.h"
#include "views/ui_parts.h"

static void mouse_press(struct ui *ui, uint32_t key, int64_t ms, struct effect *out) {
    struct press p = {key, false, ms};
    ui_press(ui, &p, out);
}

/* A click on what the cursor is on takes it. */
static void click_list(struct ui *ui, const struct layout_frame *f, const struct mouse *m, struct effect *out) {
    struct picker *p = &ui->picker;
    int rows = f->body.h - 1, top = p->top;
    if (p->cursor >= top + rows) top = p->cursor - rows + 1;
    if (p->cursor < top) top = p->cursor;
    int at = top + m->y - f->body.y - 1;
    if (m->y <= f->body.y || m->y >= f->body.y + f->body.h || at >= p->count) return;
    if (at == p->cursor) mouse_press(ui, PRESS_ENTER, m->ms, out);
    else p->cursor = at;
}

static void click(struct ui *ui, const struct layout_frame *f, const struct mouse *m, struct effect *out) {
    const struct screen *s = screen_at(ui->screen);
    if (!rect_empty(f->tabs) && m->y == f->tabs.y) {
        enum request to = ui_tab_at(ui, m->x);
        for (int i = 0; i < keys_count(); i++)
            if (to != REQ_NONE && keys_at(i)->request == to) mouse_press(ui, keys_at(i)->key, m->ms, out);
        return;
    }
    if (!rect_empty(f->hints) && m->y == f->hints.y) {
        const struct key_entry *k = ui_hint_at(ui, m->x);
        if (k) mouse_press(ui, k->key, m->ms, out);
        return;
    }
    if (s->point) s->point(ui, m->x, m->y, out);
}

void ui_mouse(struct ui *ui, const struct mouse *m, struct effect *out) {
    enum { LINES = 3 };
    struct layout_frame f;
    *out = (struct effect){.kind = EFFECT_NONE};
    layout_frame(ui->w, ui->h, &f);
    if (ui->ask.kind || f.size == LAYOUT_LINE) return; /* a question is answered by its keys */
    if (m->x >= ui->w || m->y >= ui->h) return; /* a lesson beside the screen */
    if (m->kind != MOUSE_CLICK) {
        uint32_t key = m->kind == MOUSE_UP ? PRESS_UP : PRESS_DOWN;
        for (int i = 0; i < LINES && out->kind == EFFECT_NONE; i++) mouse_press(ui, key, m->ms, out);
        return;
    }
    ui->now = m->ms;
    *ui->message = 0;
    ui->line_new = false;
    if (ui->prompt.open) return;
    if (ui->picker.open) click_list(ui, &f, m, out);
    else click(ui, &f, m, out);
}
