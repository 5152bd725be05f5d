#include "views/canvas.h"

#include <string.h>

#include "core/base/text.h"

static void add_cp(struct buf *out, uint32_t cp) {
    char bytes[4];
    buf_add(out, bytes, utf8_encode(cp, bytes));
}

static void canvas_out_add_cell(struct buf *out, const struct cell *at) {
    if (!at->cp) return;
    add_cp(out, at->cp);
    for (int i = 0; i < 2 && at->mark[i]; i++) add_cp(out, at->mark[i]);
}

static bool canvas_out_same(struct style a, struct style b) {
    return a.fg == b.fg && a.bg == b.bg && a.attr == b.attr;
}

/* Columns of the row up to its last cell that shows anything. */
static int row_end(const struct canvas *c, int y, bool styled) {
    static const struct style plain = { -1, -1, 0 };
    int end = c->w;
    while (end > 0) {
        const struct cell *at = &c->cell[y * c->w + end - 1];
        bool looks = styled && (at->style.bg >= 0 || (at->style.attr & ATTR_REVERSE) ||
                                (at->style.attr & ATTR_UNDERLINE)) && !canvas_out_same(at->style, plain);
        if (at->cp != ' ' || looks) break;
        end--;
    }
    return end;
}

void canvas_to_text(const struct canvas *c, struct buf *out) {
    for (int y = 0; y < c->h; y++) {
        int end = row_end(c, y, false);
        for (int x = 0; x < end; x++) canvas_out_add_cell(out, &c->cell[y * c->w + x]);
        buf_putc(out, '\n');
    }
}

static void add_color(struct buf *out, int index, bool ground) {
    if (index < 0) return;
    if (index < 8) buf_printf(out, ";%d", (ground ? 40 : 30) + index);
    else buf_printf(out, ";%d;5;%d", ground ? 48 : 38, index);
}

static void add_sgr(struct buf *out, struct style s) {
    buf_puts(out, "\x1b[0");
    if (s.attr & ATTR_BOLD) buf_puts(out, ";1");
    if (s.attr & ATTR_DIM) buf_puts(out, ";2");
    if (s.attr & ATTR_UNDERLINE) buf_puts(out, ";4");
    if (s.attr & ATTR_REVERSE) buf_puts(out, ";7");
    add_color(out, s.fg, false);
    add_color(out, s.bg, true);
    buf_putc(out, 'm');
}

void canvas_to_ansi(const struct canvas *c, struct buf *out) {
    struct style now = { -1, -1, 0 };
    for (int y = 0; y < c->h; y++) {
        int end = row_end(c, y, true);
        for (int x = 0; x < end; x++) {
            const struct cell *at = &c->cell[y * c->w + x];
            if (!canvas_out_same(at->style, now)) {
                now = at->style;
                add_sgr(out, now);
            }
            canvas_out_add_cell(out, at);
        }
        if (!canvas_out_same(now, (struct style){ -1, -1, 0 })) buf_puts(out, "\x1b[0m");
        now = (struct style){ -1, -1, 0 };
        buf_putc(out, '\n');
    }
}
