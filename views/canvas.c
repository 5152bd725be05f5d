#include "views/canvas.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/text.h"
#include "views/theme.h"

static const struct style plain = { -1, -1, 0 };

struct rect rect_cut(struct rect a, struct rect b) {
    int x = a.x > b.x ? a.x : b.x, y = a.y > b.y ? a.y : b.y;
    int right = a.x + a.w < b.x + b.w ? a.x + a.w : b.x + b.w;
    int bottom = a.y + a.h < b.y + b.h ? a.y + a.h : b.y + b.h;
    struct rect r = { x, y, right > x ? right - x : 0, bottom > y ? bottom - y : 0 };
    return r;
}

const char *glyphs_name(enum glyphs g) {
    static const char *const names[] = { "braille", "blocks", "ascii" };
    return names[g];
}

static int side(int n) { return n < 0 ? 0 : n > CANVAS_SIDE ? CANVAS_SIDE : n; }

void canvas_init(struct canvas *c, int w, int h, enum glyphs glyphs, enum colors colors) {
    memset(c, 0, sizeof *c);
    c->glyphs = glyphs;
    c->colors = colors;
    canvas_resize(c, w, h);
}

void canvas_release(struct canvas *c) {
    free(c->cell);
    c->cell = NULL;
    c->w = c->h = 0;
}

void canvas_resize(struct canvas *c, int w, int h) {
    w = side(w);
    h = side(h);
    if (w != c->w || h != c->h || !c->cell) {
        free(c->cell);
        c->cell = xcalloc((size_t)w * (size_t)h + 1, sizeof *c->cell);
        c->w = w;
        c->h = h;
    }
    canvas_clear(c);
}

void canvas_clear(struct canvas *c) {
    struct cell blank = { ' ', { 0, 0 }, plain, false };
    for (int i = 0; i < c->w * c->h; i++) c->cell[i] = blank;
    c->focus = (struct rect){ 0 };
    c->clips = 1;
    c->clip[0] = (struct rect){ 0, 0, c->w, c->h };
}

void canvas_push_clip(struct canvas *c, struct rect r) {
    BUG_IF(c->clips == CANVAS_CLIPS);
    c->clip[c->clips] = rect_cut(r, c->clip[c->clips - 1]);
    c->clips++;
}

void canvas_pop_clip(struct canvas *c) {
    BUG_IF(c->clips < 2);
    c->clips--;
}

struct style canvas_style(const struct canvas *c, enum ink ink) {
    return theme_style(ink, c->theme, c->colors);
}

const struct cell *canvas_at(const struct canvas *c, int x, int y) {
    if (x < 0 || y < 0 || x >= c->w || y >= c->h) return NULL;
    return &c->cell[y * c->w + x];
}

/* A cell that is half of a wide character takes the other half with it. */
static void free_halves(struct canvas *c, int x, int y) {
    struct cell *at = &c->cell[y * c->w + x];
    if (at->cp == 0 && x > 0) {
        at[-1].cp = ' ';
        at[-1].mark[0] = at[-1].mark[1] = 0;
    }
    if (x + 1 < c->w && at[1].cp == 0) at[1].cp = ' ';
}

/* One character of w columns at (x, y); lost when it does not lie wholly in the clip. */
static void set_cell(struct canvas *c, int x, int y, struct style style, uint32_t cp, int w) {
    const struct rect *k = &c->clip[c->clips - 1];
    if (y < k->y || y >= k->y + k->h || x < k->x || x >= k->x + k->w) return;
    if (x + w > k->x + k->w) {
        cp = ' ';
        w = 1;
    }
    struct cell *at = &c->cell[y * c->w + x];
    free_halves(c, x, y);
    *at = (struct cell){ cp, { 0, 0 }, style, false };
    if (w == 2) {
        free_halves(c, x + 1, y);
        at[1] = (struct cell){ 0, { 0, 0 }, style, false };
    }
}

void canvas_put(struct canvas *c, int x, int y, struct style style, uint32_t cp) {
    if (c->glyphs == GLYPHS_ASCII && cp >= 0x80) {
        const char *ascii = theme_ascii(cp);
        cp = ascii ? (uint32_t)(unsigned char)ascii[0] : '?';
    }
    int w = text_cp_width(cp);
    set_cell(c, x, y, style, cp, w < 1 ? 1 : w);
}

/* Joiners and selectors would let a terminal melt two characters into one of another
 * width: they are left out. */
static bool canvas_joins(uint32_t cp) {
    return cp == 0x200B || cp == 0x200C || cp == 0x200D || cp == 0x2060 ||
           (cp >= 0xFE00 && cp <= 0xFE0F) || (cp >= 0xE0000 && cp <= 0xE01EF);
}

/* Combining marks stay with the character to their left. */
static void canvas_put_mark(struct canvas *c, int x, int y, uint32_t cp) {
    const struct rect *k = &c->clip[c->clips - 1];
    if (y < k->y || y >= k->y + k->h || x <= k->x || x > k->x + k->w) return;
    struct cell *at = &c->cell[y * c->w + x - 1];
    if (at->cp == 0 && x - 2 >= k->x) at--;
    if (at->cp <= ' ') return;
    if (!at->mark[0]) at->mark[0] = cp;
    else if (!at->mark[1]) at->mark[1] = cp;
}

/* Draws (c->cell written when `draw`) at most `columns` columns and returns how many; *all
 * tells whether the whole text was within them. */
static int canvas_lay(struct canvas *c, bool draw, int x, int y, int columns, struct style style,
                      const char *text, bool *all) {
    int used = 0;
    char *safe = text_visible(text, strlen(text));
    size_t n = strlen(safe), at = 0;
    *all = true;
    while (at < n) {
        uint32_t cp;
        at += utf8_decode(safe + at, n - at, &cp);
        int w = text_cp_width(cp);
        if (w == 0) {
            if (draw && !canvas_joins(cp) && c->glyphs != GLYPHS_ASCII) canvas_put_mark(c, x + used, y, cp);
            continue;
        }
        const char *ascii = NULL;
        char unknown[3] = "??";
        if (c->glyphs == GLYPHS_ASCII && cp >= 0x80) {
            ascii = theme_ascii(cp);
            if (!ascii) {
                unknown[w] = 0;
                ascii = unknown;
            }
            w = (int)strlen(ascii);
        }
        if (used + w > columns) {
            *all = false;
            break;
        }
        if (draw && !ascii) set_cell(c, x + used, y, style, cp, w);
        for (int i = 0; draw && ascii && ascii[i]; i++)
            set_cell(c, x + used + i, y, style, (unsigned char)ascii[i], 1);
        used += w;
    }
    free(safe);
    return used;
}

enum { ENDLESS = 1 << 28 };

int canvas_width(const struct canvas *c, const char *s) {
    bool all;
    struct canvas measure = { .glyphs = c->glyphs };
    return canvas_lay(&measure, false, 0, 0, ENDLESS, plain, s, &all);
}

int canvas_styled(struct canvas *c, int x, int y, struct style style, const char *s) {
    bool all;
    return canvas_lay(c, true, x, y, ENDLESS, style, s, &all);
}

int canvas_text(struct canvas *c, int x, int y, enum ink ink, const char *s) {
    return canvas_styled(c, x, y, canvas_style(c, ink), s);
}

int canvas_printf(struct canvas *c, int x, int y, enum ink ink, const char *format, ...) {
    va_list args;
    va_start(args, format);
    char *text = NULL;
    int n = vasprintf(&text, format, args);
    va_end(args);
    if (n < 0) return 0;
    int used = canvas_text(c, x, y, ink, text);
    free(text);
    return used;
}

/* Marks a visible cell as the end of a text that is cut off. */
static void mark_cut(struct canvas *c, int x, int y, const char *whole) {
    if (rect_empty(rect_cut((struct rect){ x, y, 1, 1 }, c->clip[c->clips - 1]))) return;
    c->cell[y * c->w + x].cut = true;
    if (!c->cut) return;
    struct buf line = BUF_INIT;
    buf_printf(&line, "\u00B7 %s\n", whole);
    if (!strstr(buf_text(c->cut), buf_text(&line))) buf_add(c->cut, line.data, line.size);
    buf_release(&line);
}

/* whole: the text that s is a part of. */
static int fit_part(struct canvas *c, int x, int y, int columns, enum ink ink, const char *s,
                    const char *whole) {
    if (columns <= 0) return 0;
    bool all;
    struct style style = canvas_style(c, ink);
    canvas_lay(c, false, x, y, columns, style, s, &all);
    if (all) return canvas_lay(c, true, x, y, columns, style, s, &all);
    int used = canvas_lay(c, true, x, y, columns - 1, style, s, &all);
    canvas_put(c, x + used, y, style, c->glyphs == GLYPHS_ASCII ? '~' : 0x2026);
    mark_cut(c, x + used, y, whole);
    return used + 1;
}

int canvas_fit(struct canvas *c, int x, int y, int columns, enum ink ink, const char *s) {
    return fit_part(c, x, y, columns, ink, s, s);
}

int canvas_right(struct canvas *c, int x, int y, int columns, enum ink ink, const char *s) {
    int w = canvas_width(c, s);
    if (w > columns) return canvas_fit(c, x, y, columns, ink, s);
    return canvas_text(c, x + columns - w, y, ink, s);
}

/* Bytes of the next row: as many words as fit, at least something. */
static size_t wrap_at(const struct canvas *c, const char *s, int columns) {
    size_t end = 0, best = 0;
    char piece[512];
    for (;;) {
        size_t next = end + strspn(s + end, " ");
        next += strcspn(s + next, " \n");
        if (next == end || next >= sizeof piece) break;
        memcpy(piece, s, next);
        piece[next] = 0;
        if (canvas_width(c, piece) > columns) break;
        best = end = next;
        if (s[end] == '\n') break;
    }
    if (best || !*s || *s == '\n') return best;
    size_t fit = text_fit(s, columns); /* one word longer than the row */
    if (fit) return fit;
    uint32_t cp;
    return utf8_decode(s, strlen(s), &cp);
}

/* Draws a row of a wrapped text: n bytes of s, or as much as fits of all that is left of it. */
static void wrapped_row(struct canvas *c, int x, int y, int columns, enum ink ink, const char *s, size_t n,
                        const char *whole) {
    char *line = xstrndup(s, n);
    for (char *p = line; *p; p++)
        if (*p == '\n') *p = ' ';
    fit_part(c, x, y, columns, ink, line, whole);
    free(line);
}

static int views_canvas_wrap(struct canvas *c, bool draw, struct rect r, enum ink ink, const char *s) {
    const char *whole = s;
    int row = 0;
    if (r.w <= 0) return 0;
    while (*s) {
        size_t n = wrap_at(c, s, r.w), skip = s[n] == '\n' ? 1 : strspn(s + n, " ");
        bool last = row + 1 == r.h;
        if (draw && row < r.h) wrapped_row(c, r.x, r.y + row, r.w, ink, s, last ? strlen(s) : n, whole);
        row++;
        s += n + skip;
    }
    return row;
}

int canvas_wrap(struct canvas *c, struct rect r, enum ink ink, const char *s) {
    int rows = views_canvas_wrap(c, true, r, ink, s);
    return rows < r.h ? rows : r.h;
}

int canvas_wrap_rows(const struct canvas *c, int columns, const char *s) {
    struct canvas measure = { .glyphs = c->glyphs };
    return views_canvas_wrap(&measure, false, (struct rect){ 0, 0, columns, 0 }, INK_TEXT, s);
}

void canvas_fill(struct canvas *c, struct rect r, enum ink ink, uint32_t cp) {
    struct rect k = rect_cut(r, c->clip[c->clips - 1]);
    struct style style = canvas_style(c, ink);
    for (int y = k.y; y < k.y + k.h; y++)
        for (int x = k.x; x < k.x + k.w; x++) canvas_put(c, x, y, style, cp);
}

void canvas_paint(struct canvas *c, int x, int y, int columns, enum ink ink) {
    struct rect k = rect_cut((struct rect){ x, y, columns, 1 }, c->clip[c->clips - 1]);
    for (int i = 0; i < k.w && k.h; i++) c->cell[k.y * c->w + k.x + i].style = canvas_style(c, ink);
}

void canvas_cursor(struct canvas *c, int x, int y, bool here) {
    if (here) canvas_text(c, x, y, INK_ACCENT, "\u25B8");
}

static void titled_rule(struct canvas *c, struct rect r, const char *title, const char *right, bool focused) {
    struct style line = canvas_style(c, focused ? INK_ACCENT : INK_DIM);
    int used = 0;
    for (int i = 0; i < r.w; i++) canvas_put(c, r.x + i, r.y, line, focused ? 0x2501 : 0x2500);
    if (title && *title && r.w > PANE_EDGE + 4) {
        enum { KEPT = 24 }; /* columns of a right part that a long title leaves room for */
        enum ink ink = focused ? INK_FOCUS : INK_TITLE;
        int room = r.w - PANE_EDGE - 2, beside = right ? canvas_width(c, right) : 0;
        if (beside && beside <= KEPT && room - beside - 8 >= 10) room -= beside + 8;
        used = PANE_EDGE + canvas_fit(c, r.x + PANE_EDGE, r.y, room, ink, title);
        canvas_put(c, r.x + PANE_EDGE - 1, r.y, canvas_style(c, ink), ' ');
        canvas_put(c, r.x + used, r.y, canvas_style(c, ink), ' ');
        used += 2;
    }
    if (right && *right) {
        int room = r.w - used - 6, need = canvas_width(c, right);
        if (room < 4) return;
        if (need > room) need = room;
        canvas_put(c, r.x + r.w - need - 4, r.y, line, ' ');
        canvas_fit(c, r.x + r.w - need - 3, r.y, need, INK_TEXT, right);
        canvas_put(c, r.x + r.w - 3, r.y, line, ' ');
    }
}

void canvas_rule(struct canvas *c, int x, int y, int w, const char *title, const char *right) {
    titled_rule(c, (struct rect){ x, y, w, 1 }, title, right, false);
}

void canvas_title(struct canvas *c, struct rect r, const char *title, const char *right) {
    bool focused = !rect_empty(c->focus) && c->focus.x == r.x && c->focus.y == r.y;
    titled_rule(c, r, title, right, focused);
}

struct rect canvas_head(struct canvas *c, struct rect r, const char *title, const char *right) {
    enum { ROOM = 8 };
    bool fits = !right || canvas_width(c, title) + canvas_width(c, right) + PANE_EDGE + 9 <= r.w;
    struct rect below = rect_down(r, 1);
    canvas_title(c, r, title, fits || r.h < ROOM ? right : NULL);
    if (fits || r.h < ROOM) return below;
    struct rect words = { r.x + PANE_EDGE, below.y, r.w - PANE_EDGE - 1, 2 };
    int rows = canvas_wrap(c, words, INK_TEXT, right);
    return rect_down(below, rows);
}

void canvas_bar(struct canvas *c, int x, int y, int columns, double share) {
    static const uint32_t eighth[] = { ' ',    0x258F, 0x258E, 0x258D, 0x258C,
                                      0x258B, 0x258A, 0x2589, 0x2588 };
    struct style full = canvas_style(c, INK_ACCENT), rest = canvas_style(c, INK_DIM);
    if (!(share > 0)) share = 0; /* NaN too */
    if (share > 1) share = 1;
    bool fine = c->glyphs != GLYPHS_ASCII;
    int parts = (int)(share * columns * (fine ? 8 : 1) + 1e-9);
    for (int i = 0; i < columns; i++) {
        int here = fine ? parts - 8 * i : 8 * (parts - i);
        if (here >= 8) canvas_put(c, x + i, y, full, fine ? 0x2588 : '#');
        else if (here > 0) canvas_put(c, x + i, y, full, eighth[here]);
        else canvas_put(c, x + i, y, rest, fine ? 0x2591 : '.');
    }
}
