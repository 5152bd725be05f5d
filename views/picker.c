#include "views/picker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "views/ui_parts.h"

void picker_init(struct picker *p) { memset(p, 0, sizeof *p); }

void picker_release(struct picker *p) {
    free(p->item);
    picker_init(p);
}

void picker_open(struct picker *p, enum pick_kind kind, const char *title) {
    p->open = true;
    p->kind = kind;
    p->count = p->cursor = 0;
    snprintf(p->title, sizeof p->title, "%s", title);
}

struct pick_item *picker_add(struct picker *p, const char *name, const char *note, bool dim) {
    if (p->count == PICKER_ITEMS) return &p->item[p->count - 1];
    if (p->count == p->room) {
        p->room = p->room ? 2 * p->room : 16;
        p->item = xrealloc(p->item, (size_t)p->room, sizeof *p->item);
    }
    struct pick_item *item = &p->item[p->count++];
    snprintf(item->name, sizeof item->name, "%s", name);
    snprintf(item->note, sizeof item->note, "%s", note ? note : "");
    item->dim = dim;
    item->tag = 0;
    return item;
}

void picker_draw(const struct picker *p, struct canvas *c, struct rect area) {
    canvas_title(c, area, p->title, NULL);
    int widest = 8, rows = area.h - 1;
    for (int i = 0; i < p->count; i++) {
        int w = canvas_width(c, p->item[i].name);
        if (w > widest) widest = w;
    }
    if (widest > area.w / 2) widest = area.w / 2;
    int top = 0;
    ui_in_sight(&top, p->cursor, rows);
    for (int i = top; i < p->count && i < top + rows; i++) {
        const struct pick_item *item = &p->item[i];
        int y = area.y + 1 + i - top;
        bool here = ui_row(c, area, y, i - p->cursor);
        canvas_fit(c, area.x + 3, y, widest, item->dim ? INK_DIM : here ? INK_ACCENT : INK_TEXT,
                   item->name);
        canvas_fit(c, area.x + 5 + widest, y, area.w - 6 - widest, INK_DIM, item->note);
    }
    if (!p->count) canvas_text(c, area.x + 3, area.y + 1, INK_DIM, "nothing found");
}
