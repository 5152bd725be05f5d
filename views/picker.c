#include "views/picker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "views/palette.h"
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
    *p->filter = 0;
    snprintf(p->title, sizeof p->title, "%s", title);
}

struct pick_item *picker_add(struct picker *p, const char *name, const char *note, bool dim) {
    if (p->count == PICKER_ITEMS) return &p->item[p->count - 1];
    if (p->count == p->room) {
        p->room = p->room ? 2 * p->room : 16;
        p->item = xrealloc(p->item, (size_t)p->room, sizeof *p->item);
    }
    struct pick_item *item = &p->item[p->count++];
    *item = (struct pick_item){ .dim = dim };
    snprintf(item->name, sizeof item->name, "%s", name);
    snprintf(item->note, sizeof item->note, "%s", note ? note : "");
    return item;
}

/* Below 0: hidden. */
static int picker_score(const struct picker *p, int i) {
    return palette_score(p->filter, p->item[i].name, p->item[i].note);
}

void picker_filter(struct picker *p, const char *text) {
    snprintf(p->filter, sizeof p->filter, "%s", text);
    if (!*p->filter && p->cursor < p->count) return;
    p->cursor = p->count;
    for (int i = 0, best = -1; i < p->count; i++) {
        int score = picker_score(p, i);
        if (score <= best) continue;
        best = score;
        p->cursor = i;
    }
}

void picker_move(struct picker *p, int by) {
    for (int i = p->cursor + (by > 0 ? 1 : -1); by && i >= 0 && i < p->count; i += by > 0 ? 1 : -1) {
        if (picker_score(p, i) < 0) continue;
        p->cursor = i;
        by += by > 0 ? -1 : 1;
    }
}

struct pick_item *picker_at(const struct picker *p) {
    return p->cursor < p->count ? &p->item[p->cursor] : NULL;
}

int picker_marked(const struct picker *p, struct buf *out) {
    int n = 0;
    for (int i = 0; i < p->count; i++)
        if (p->item[i].marked) buf_printf(out, "%s%s", n++ ? "," : "", p->item[i].name);
    return n;
}

/* The shown lines: an item, or the heading of its group. */
struct pick_line {
    int item, place; /* place: among the shown items; below 0: the heading */
};

static int picker_lines(const struct picker *p, struct pick_line line[2 * PICKER_ITEMS], int *cursor) {
    const char *group = NULL;
    int n = 0, place = 0;
    *cursor = 0;
    for (int i = 0; i < p->count; i++) {
        const char *own = p->item[i].group;
        if (picker_score(p, i) < 0) continue;
        if (own && (!group || strcmp(own, group))) line[n++] = (struct pick_line){ i, -1 };
        group = own;
        if (i == p->cursor) *cursor = n;
        line[n++] = (struct pick_line){ i, place++ };
    }
    return n;
}

void picker_draw(const struct picker *p, struct canvas *c, struct rect area) {
    struct pick_line line[2 * PICKER_ITEMS];
    struct buf seen = BUF_INIT;
    int cursor, lines = picker_lines(p, line, &cursor), widest = 8, rows = area.h - 1, top = 0;
    for (int i = 0; i < p->count; i++) {
        int w = canvas_width(c, p->item[i].name);
        if (w > widest) widest = w;
    }
    if (widest > area.w / 2) widest = area.w / 2;
    ui_in_sight(&top, cursor, rows);
    ui_lines_seen(top, rows, lines, "", &seen);
    canvas_title(c, area, p->title, buf_text(&seen));
    for (int i = top; i < lines && i < top + rows; i++) {
        const struct pick_item *item = &p->item[line[i].item];
        int y = area.y + 1 + i - top;
        if (line[i].place < 0) {
            canvas_fit(c, area.x + 1, y, area.w - 2, INK_KEY, item->group);
            continue;
        }
        bool here = ui_row(c, area, y, line[i].place - line[cursor].place);
        if (item->marked) canvas_text(c, area.x + 2, y, INK_ACCENT, "\u25CF");
        canvas_fit(c, area.x + 3, y, widest, item->dim ? INK_DIM : here ? INK_ACCENT : INK_TEXT, item->name);
        canvas_fit(c, area.x + 5 + widest, y, area.w - 6 - widest, INK_DIM, item->note);
    }
    if (!lines) canvas_text(c, area.x + 3, area.y + 1, INK_DIM, "no matches");
    buf_release(&seen);
}
