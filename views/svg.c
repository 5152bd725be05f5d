#include "views/svg.h"

#include <stdio.h>

#include "core/base/text.h"
#include "views/theme.h"

/* A cell in units of the picture. */
enum { CELL_W = 8, CELL_H = 16 };

/* The ground of a picture and its texts, and the first 8 colors on it. */
static const struct svg_ground {
    int ground, text, dim, first[8];
} svg_light = { 0xffffff, 0x202020, 0x707070, { 0x000000, 0xa00000, 0x007000, 0x806000,
                                                0x0040b0, 0x900090, 0x007080, 0x606060 } },
  svg_dark = { 0x1c1c1c, 0xe4e4e4, 0xa8a8a8, { 0x909090, 0xff6060, 0x40c040, 0xd0b040,
                                               0x80a0ff, 0xe080e0, 0x40c0d0, 0xe4e4e4 } };

static int svg_rgb(const struct svg_ground *g, int index, int unset) {
    return index < 0 ? unset : index < 8 ? g->first[index] : theme_rgb(index);
}

/* Ink and ground of a cell as they end up, reverse video taken into account. */
static void colors_of(const struct canvas *c, struct style s, char ink[8], char ground[8], bool *filled) {
    const struct svg_ground *g = c->theme == THEME_DARK ? &svg_dark : &svg_light;
    bool reverse = s.attr & ATTR_REVERSE;
    int front = svg_rgb(g, s.fg, s.attr & ATTR_DIM ? g->dim : g->text), back = svg_rgb(g, s.bg, g->ground);
    *filled = s.bg >= 0 || reverse;
    snprintf(ink, 8, "#%06x", (unsigned)(reverse ? back : front) & 0xFFFFFFu);
    snprintf(ground, 8, "#%06x", (unsigned)(reverse ? front : back) & 0xFFFFFFu);
}

static void rectangle(struct buf *out, double x, double y, double w, double h, const char *fill) {
    buf_printf(out, "<rect x=\"%g\" y=\"%g\" width=\"%g\" height=\"%g\" fill=\"%s\"/>\n", x, y, w, h, fill);
}

static void braille(struct buf *out, int x, int y, uint32_t cp, const char *ink) {
    static const int column[8] = { 0, 0, 0, 1, 1, 1, 0, 1 }, row[8] = { 0, 1, 2, 0, 1, 2, 3, 3 };
    for (int i = 0; i < 8; i++)
        if (cp >> i & 1)
            buf_printf(out, "<circle cx=\"%d\" cy=\"%d\" r=\"1.6\" fill=\"%s\"/>\n", x + 2 + 4 * column[i],
                       y + 2 + 4 * row[i], ink);
}

/* Block elements as rectangles. */
static void svg_block(struct buf *out, int x, int y, uint32_t cp, const char *ink) {
    /* quadrants of U+2596…U+259F: bit 0 upper left, 1 upper right, 2 lower left, 3 lower right */
    static const uint8_t quadrant[10] = { 4, 8, 1, 13, 9, 7, 11, 2, 6, 14 };
    if (cp == 0x2580) rectangle(out, x, y, CELL_W, CELL_H / 2, ink);
    else if (cp >= 0x2581 && cp <= 0x2588)
        rectangle(out, x, y + CELL_H * (0x2588 - (double)cp) / 8, CELL_W, CELL_H * ((double)cp - 0x2580) / 8,
                  ink);
    else if (cp >= 0x2589 && cp <= 0x258F)
        rectangle(out, x, y, CELL_W * (0x2590 - (double)cp) / 8, CELL_H, ink);
    else if (cp == 0x2590) rectangle(out, x + CELL_W / 2, y, CELL_W / 2, CELL_H, ink);
    else if (cp >= 0x2596 && cp <= 0x259F) {
        for (int i = 0; i < 4; i++)
            if (quadrant[cp - 0x2596] >> i & 1)
                rectangle(out, x + i % 2 * CELL_W / 2, y + i / 2 * CELL_H / 2, CELL_W / 2, CELL_H / 2, ink);
    } else {
        buf_printf(out,
                   "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"%s\" fill-opacity=\"%g\"/>\n",
                   x, y, CELL_W, CELL_H, ink, 0.25 * (double)(cp - 0x2590));
    }
}

static void add_character(struct buf *out, uint32_t cp) {
    char bytes[4];
    if (cp == '&') buf_puts(out, "&amp;");
    else if (cp == '<') buf_puts(out, "&lt;");
    else if (cp == '>') buf_puts(out, "&gt;");
    else buf_add(out, bytes, utf8_encode(cp, bytes));
}

static bool svg_same(struct style a,
                     struct style b) { return a.fg == b.fg && a.bg == b.bg && a.attr == b.attr; }

static bool is_shape(uint32_t cp) {
    if (cp == 0x2594 || cp == 0x2595) return false; /* thin bars: text will do */
    return (cp >= 0x2800 && cp <= 0x28FF) || (cp >= 0x2580 && cp <= 0x259F);
}

/* A stretch of text in one style, with its place column by column, whatever the font. */
static int svg_text(struct buf *out, const struct canvas *c, int x, int y, const char *ink) {
    const struct cell *row = &c->cell[y * c->w];
    int end = x, columns = 0;
    while (end < c->w && !is_shape(row[end].cp) && row[end].cp != ' ' &&
           svg_same(row[end].style, row[x].style))
        end++;
    buf_printf(out, "<text y=\"%d\" fill=\"%s\"%s%s x=\"", y * CELL_H + 12, ink,
               row[x].style.attr & ATTR_BOLD ? " font-weight=\"bold\"" : "",
               row[x].style.attr & ATTR_UNDERLINE ? " text-decoration=\"underline\"" : "");
    for (int i = x; i < end; i++)
        if (row[i].cp) buf_printf(out, "%s%d", columns++ ? " " : "", i * CELL_W);
    buf_puts(out, "\">");
    for (int i = x; i < end; i++) {
        if (!row[i].cp) continue;
        add_character(out, row[i].cp);
        for (int k = 0; k < 2 && row[i].mark[k]; k++) add_character(out, row[i].mark[k]);
    }
    buf_puts(out, "</text>\n");
    return end;
}

static void svg_row_of(struct buf *out, const struct canvas *c, int y) {
    const struct cell *row = &c->cell[y * c->w];
    char ink[8], ground[8];
    bool filled;
    for (int x = 0, end; x < c->w; x = end) { /* grounds first, in stretches */
        for (end = x + 1; end < c->w && svg_same(row[end].style, row[x].style);) end++;
        colors_of(c, row[x].style, ink, ground, &filled);
        if (filled) rectangle(out, x * CELL_W, y * CELL_H, (end - x) * CELL_W, CELL_H, ground);
    }
    for (int x = 0; x < c->w;) {
        uint32_t cp = row[x].cp;
        colors_of(c, row[x].style, ink, ground, &filled);
        if (cp == ' ' || cp == 0 || cp == 0x2800) {
            x++;
        } else if (is_shape(cp)) {
            if (cp >= 0x2800) braille(out, x * CELL_W, y * CELL_H, cp - 0x2800, ink);
            else svg_block(out, x * CELL_W, y * CELL_H, cp, ink);
            x++;
        } else {
            x = svg_text(out, c, x, y, ink);
        }
    }
}

void canvas_to_svg(const struct canvas *c, struct buf *out) {
    buf_printf(out,
               "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" "
               "font-family=\"monospace\" font-size=\"13\">\n",
               c->w * CELL_W, c->h * CELL_H, c->w * CELL_W, c->h * CELL_H);
    char ink[8], ground[8];
    bool filled;
    colors_of(c, (struct style){ -1, -1, 0 }, ink, ground, &filled);
    rectangle(out, 0, 0, c->w * CELL_W, c->h * CELL_H, ground);
    for (int y = 0; y < c->h; y++) svg_row_of(out, c, y);
    buf_puts(out, "</svg>\n");
}
