/* The cell canvas, into which every screen is drawn and which alone is sent to a terminal.
 *
 * A cell holds one code point (with up to two combining marks), palette colors and
 * attributes.  Text is drawn by display columns and clipped to the current rectangle; a
 * character is never cut in half, and control characters are replaced by visible symbols, so text
 * from files can be drawn directly.  The canvas also holds the abilities of the terminal (glyphs
 * and colors).  Single-threaded; owned by the caller.
 *
 * In canvas.c; the text of a canvas in canvas_out.c. */
#ifndef VIEWS_CANVAS_H
#define VIEWS_CANVAS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/buf.h"

struct rect {
    int x, y, w, h;
};
static inline bool rect_empty(struct rect r) { return r.w <= 0 || r.h <= 0; }
struct rect rect_cut(struct rect a, struct rect b); /* the part of a inside b */
/* Return the rectangle without its first rows; and without its first columns and rows and the last column. */
static inline struct rect rect_down(struct rect r, int rows) {
    return (struct rect){ r.x, r.y + rows, r.w, r.h - rows };
}
static inline struct rect rect_in(struct rect r, int columns, int rows) {
    return (struct rect){ r.x + columns, r.y + rows, r.w - columns - 1, r.h - rows };
}

/* Glyphs of a terminal, from the finest: braille dots, block elements, and 7-bit characters
 * (then every byte of the output is below 0x80). */
enum glyphs { GLYPHS_BRAILLE, GLYPHS_BLOCKS, GLYPHS_ASCII, GLYPHS_COUNT };
enum colors { COLORS_256, COLORS_8, COLORS_NONE };
const char *glyphs_name(enum glyphs g);

/* Palettes (views/theme.h): for dark and light backgrounds alike; for dark ones; for light ones; and none. */
enum theme { THEME_SAFE, THEME_DARK, THEME_LIGHT, THEME_MONO, THEME_COUNT };
const char *theme_name(enum theme t);

enum attr { ATTR_BOLD = 1, ATTR_DIM = 2, ATTR_REVERSE = 4, ATTR_UNDERLINE = 8 };

/* Palette index, -1 for the default color of the terminal. */
struct style {
    int16_t fg, bg;
    uint8_t attr;
};

/* The role of a text; the theme defines its look in each color mode. */
enum ink {
    INK_TEXT,
    INK_DIM,      /* rules, units, frozen or unavailable items */
    INK_TITLE,    /* the title on a rule */
    INK_ACCENT,   /* trainable and selected items: the only accent */
    INK_CURSOR,   /* the cell, row or choice under the cursor */
    INK_TAB,      /* the current screen's tab */
    INK_FOCUS,    /* the title of the focused pane */
    INK_KEY,      /* a key's name in a hint */
    INK_GOOD, INK_WARN, INK_BAD,
    INK_CURVE,    /* smoothed curve */
    INK_RAW,      /* envelope of the raw points */
    INK_METRIC,   /* evaluation points */
    INK_BASELINE, /* majority line */
    INK_MODULE_1, INK_MODULE_2, INK_MODULE_3, /* the modules of a method, in turn */
    INK_COUNT
};

struct cell {
    uint32_t cp;        /* 0: the right half of the wide character before */
    uint32_t mark[2];   /* combining, 0 when none */
    struct style style;
    bool cut;           /* a text continues that had no room: "…" (canvas_fit) */
};

enum { CANVAS_CLIPS = 16, CANVAS_SIDE = 1000 };

/* The left edge of a pane: titles, texts, tables and charts begin in this column of it.  To the left are
 * the cursor and other signs of rows. */
enum { PANE_EDGE = 3 };

struct canvas {
    int w, h;           /* at most CANVAS_SIDE each */
    struct cell *cell;  /* h rows of w */
    enum glyphs glyphs;
    enum colors colors;
    enum theme theme;
    struct rect clip[CANVAS_CLIPS];
    int clips;
    struct rect focus;   /* the pane that keys act on: its title is highlighted; empty: none */
    struct buf *cut;     /* collects the texts that are cut off, each once; NULL: none */
    struct zones *zones; /* records clickable zones (views/zone.h); NULL: none */
};

/* Initializes a canvas; w and h of 0 or less make an empty canvas, on which drawing has no effect. */
void canvas_init(struct canvas *c, int w, int h, enum glyphs glyphs, enum colors colors);
void canvas_release(struct canvas *c);
void canvas_resize(struct canvas *c, int w, int h); /* and clears */
void canvas_clear(struct canvas *c);

/* Clips drawing to the rectangle (and the enclosing ones) until the matching pop. */
void canvas_push_clip(struct canvas *c, struct rect r);
void canvas_pop_clip(struct canvas *c);

struct style canvas_style(const struct canvas *c, enum ink ink);

/* Returns the columns of s on this canvas (ASCII spells some signs out). */
int canvas_width(const struct canvas *c, const char *s);
/* Draws s at (x, y) and returns the columns advanced; nothing is drawn outside the clip.
 * A newline or tab in s is a control character like others. */
int canvas_text(struct canvas *c, int x, int y, enum ink ink, const char *s);
int canvas_styled(struct canvas *c, int x, int y, struct style style, const char *s);
int canvas_printf(struct canvas *c, int x, int y, enum ink ink, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
/* Draws at most `columns` columns; longer text ends with "…".  Returns the columns used. */
int canvas_fit(struct canvas *c, int x, int y, int columns, enum ink ink, const char *s);
/* Draws s right-aligned, ending at column x + columns - 1. */
int canvas_right(struct canvas *c, int x, int y, int columns, enum ink ink, const char *s);
/* Wraps at blanks within r, whose last row ends with "…" if there is more; returns the rows used. */
int canvas_wrap(struct canvas *c, struct rect r, enum ink ink, const char *s);
/* Returns the rows that canvas_wrap uses at this width. */
int canvas_wrap_rows(const struct canvas *c, int columns, const char *s);

void canvas_put(struct canvas *c, int x, int y, struct style style, uint32_t cp);
void canvas_fill(struct canvas *c, struct rect r, enum ink ink, uint32_t cp);
/* Changes the style of the columns and leaves the text. */
void canvas_paint(struct canvas *c, int x, int y, int columns, enum ink ink);
/* Draws the cursor sign if the cursor is here. */
void canvas_cursor(struct canvas *c, int x, int y, bool here);
/* Draws a rule with a title over the row: "── title ─────────── right ──".  Either may be NULL. */
void canvas_rule(struct canvas *c, int x, int y, int w, const char *title, const char *right);
/* Draws the same in the first row of a pane; in bold lines if it is the focused one. */
void canvas_title(struct canvas *c, struct rect r, const char *title, const char *right);
/* Draws a title whose right part is wrapped below it if the rule is too short and the pane high; returns the
 * pane below. */
struct rect canvas_head(struct canvas *c, struct rect r, const char *title, const char *right);
/* Draws a bar of `columns` cells, share in 0…1. */
void canvas_bar(struct canvas *c, int x, int y, int columns, double share);

/* Returns the cell at (x, y), or NULL outside. */
const struct cell *canvas_at(const struct canvas *c, int x, int y);

/* Writes rows that end with '\n', without trailing blanks. */
void canvas_to_text(const struct canvas *c, struct buf *out);
/* Writes the same with SGR sequences; the style is reset at the end. */
void canvas_to_ansi(const struct canvas *c, struct buf *out);

#endif
