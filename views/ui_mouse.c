/* The mouse: tabs, hints, and what the screens' drawing notes as zones (views/zone.h); the wheel is j and
 * k. */
#include <stdlib.h>

#include "core/base/mem.h"
#include "views/ui.h"
#include "views/ui_parts.h"
#include "views/zone.h"

static void mouse_press(struct ui *ui, uint32_t key, int64_t ms, struct effect *out) {
    struct press p = { key, false, ms };
    ui_press(ui, &p, out);
}

/* So many presses of one key or its opposite, until one asks for something. */
static void mouse_presses(struct ui *ui, int times, uint32_t more, uint32_t less, int64_t ms,
                          struct effect *out) {
    for (int i = 0; i < (times < 0 ? -times : times) && out->kind == EFFECT_NONE; i++)
        mouse_press(ui, times < 0 ? less : more, ms, out);
}

/* The cursor to what is drawn there; where it is already, a list's entry is taken.  False: nothing is
 * there. */
static bool click_zone(struct ui *ui, const struct mouse *m, struct effect *out) {
    struct zones *all = xcalloc(1, sizeof *all);
    struct canvas c;
    canvas_init(&c, ui->window_w, ui->window_h, ui->glyphs, ui->colors);
    c.zones = all;
    ui_draw(ui, &c);
    const struct zone *found = zone_at(all, m->x, m->y);
    struct zone z = found ? *found : (struct zone){ .key = 0 };
    int right = 0, down = 0;
    if (found) zone_steps(found, m->x, m->y, &right, &down);
    canvas_release(&c);
    free(all);
    if (!found) return false;
    if (z.pick > 0) {
        if (screen_at(ui->screen)->pick) screen_at(ui->screen)->pick(ui, z.pick, out);
        return true;
    }
    if (!z.part && !right && !down && z.key) mouse_press(ui, z.key, m->ms, out);
    mouse_presses(ui, z.part, PRESS_TAB, PRESS_BACKTAB, m->ms, out);
    mouse_presses(ui, right, PRESS_RIGHT, PRESS_LEFT, m->ms, out);
    mouse_presses(ui, down, PRESS_DOWN, PRESS_UP, m->ms, out);
    return true;
}

static void click(struct ui *ui, const struct layout_frame *f, const struct mouse *m, struct effect *out) {
    const struct screen *s = screen_at(ui->screen);
    bool edge = (!rect_empty(f->tabs) && m->y == f->tabs.y) || (!rect_empty(f->hints) && m->y == f->hints.y);
    if (edge) click_zone(ui, m, out);
    else if (!click_zone(ui, m, out) && s->point) s->point(ui, m->x, m->y, out);
}

void ui_mouse(struct ui *ui, const struct mouse *m, struct effect *out) {
    enum { LINES = 3 };
    struct layout_frame f;
    *out = (struct effect){ .kind = EFFECT_NONE };
    layout_frame(ui->w, ui->h, &f);
    if (ui->ask.kind || f.size == LAYOUT_LINE) return; /* a question is answered by its keys */
    if (m->x >= ui->w || m->y >= ui->h) return; /* a lesson beside the screen */
    if (m->kind != MOUSE_CLICK) {
        mouse_presses(ui, LINES, m->kind == MOUSE_UP ? PRESS_UP : PRESS_DOWN, 0, m->ms, out);
        return;
    }
    ui->now = m->ms;
    *ui->message = 0;
    ui->line_new = ui->offers_undo = false;
    if (ui->prompt.open || ui->picker.open) click_zone(ui, m, out);
    else click(ui, &f, m, out);
}
