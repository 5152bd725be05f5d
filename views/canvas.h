/* The cell canvas: every screen is drawn into it, and only it reaches a terminal.
 *
 * A cell holds one code point (with up to two combining marks), palette colours and
 * attributes.  Text is drawn by display columns and clipped to the current rectangle; a
 * character is never cut in half, and control characters are shown as stand-ins, so text
 * from files can be drawn as it is.  The canvas also knows what the terminal can show (marks
 * and colours), so that one drawing code serves all.  One thread; owned by the caller.
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
/* What is below so many rows; and from so many columns on, to the last but one. */
static inline struct rect rect_down(struct rect r, int rows) {
    return (struct rect){ r.x, r.y + rows, r.w, r.h - rows };
}
static inline struct rect rect_in(struct rect r, int columns, int rows) {
    return (struct rect){ r.x + columns, r.y + rows, r.w - columns - 1, r.h - rows };
}

/* Marks that a terminal can show, from the finest: braille dots, block elements, and the
 * 7-bit characters alone (then every byte that leaves the canvas is below 0x80). */
enum glyphs { GLYPHS_BRAILLE, GLYPHS_BLOCKS, GLYPHS_ASCII, GLYPHS_COUNT };
enum colours { COLOURS_256, COLOURS_8, COLOURS_NONE };
const char *glyphs_name(enum glyphs g);

/* Which inks: the usual ones keep apart for all kinds of colour blindness on dark and light grounds; brighter
 * ones for dark grounds, deeper ones for light ones; and none, which the interface does by COLOURS_NONE. */
enum theme { THEME_SAFE, THEME_DARK, THEME_LIGHT, THEME_MONO, THEME_COUNT };
const char *theme_name(enum theme t);

enum attr { ATTR_BOLD = 1, ATTR_DIM = 2, ATTR_REVERSE = 4, ATTR_UNDERLINE = 8 };

/* Palette index, -1 for the terminal's own colour. */
struct style {
    int16_t fg, bg;
    uint8_t attr;
};

/* What a piece of text is; the theme says how that looks in each colour mode. */
enum ink {
    INK_TEXT,
    INK_DIM,      /* rules, units, what is frozen or not to be chosen */
    INK_TITLE,    /* the title on a rule */
    INK_ACCENT,   /* what is trained, what is chosen: the one accent */
    INK_CURSOR,   /* the cell, row or choice under the cursor */
    INK_TAB,      /* the current screen's tab */
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
};

enum { CANVAS_CLIPS = 16, CANVAS_SIDE = 1000 };

struct canvas {
    int w, h;           /* at most CANVAS_SIDE each */
    struct cell *cell;  /* h rows of w */
    enum glyphs glyphs;
    enum colours colours;
    enum theme theme;
    struct rect clip[CANVAS_CLIPS];
    int clips;
    struct zones *zones; /* where clicks lead is noted here (views/zone.h); NULL: it is not */
};

/* w and h may be 0 or less: an empty canvas, on which drawing does nothing. */
void canvas_init(struct canvas *c, int w, int h, enum glyphs glyphs, enum colours colours);
void canvas_release(struct canvas *c);
void canvas_resize(struct canvas *c, int w, int h); /* and clears */
void canvas_clear(struct canvas *c);

/* Drawing outside the rectangle (and those around it) is lost until the matching pop. */
void canvas_push_clip(struct canvas *c, struct rect r);
void canvas_pop_clip(struct canvas *c);

struct style canvas_style(const struct canvas *c, enum ink ink);

/* Columns that s takes when drawn on this canvas (ASCII spells some signs out). */
int canvas_width(const struct canvas *c, const char *s);
/* Draw s at (x, y) and return the columns advanced; nothing is drawn outside the clip.
 * A newline or tab in s is a control character like others. */
int canvas_text(struct canvas *c, int x, int y, enum ink ink, const char *s);
int canvas_styled(struct canvas *c, int x, int y, struct style style, const char *s);
int canvas_printf(struct canvas *c, int x, int y, enum ink ink, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
/* At most `columns` columns; longer text ends with "…".  Returns the columns used. */
int canvas_fit(struct canvas *c, int x, int y, int columns, enum ink ink, const char *s);
/* Ends at column x + columns - 1. */
int canvas_right(struct canvas *c, int x, int y, int columns, enum ink ink, const char *s);
/* Wraps at blanks within r; returns the rows used. */
int canvas_wrap(struct canvas *c, struct rect r, enum ink ink, const char *s);
/* The rows that canvas_wrap would use at this width. */
int canvas_wrap_rows(const struct canvas *c, int columns, const char *s);

void canvas_put(struct canvas *c, int x, int y, struct style style, uint32_t cp);
void canvas_fill(struct canvas *c, struct rect r, enum ink ink, uint32_t cp);
/* Gives so many columns another look without touching what is written there. */
void canvas_paint(struct canvas *c, int x, int y, int columns, enum ink ink);
/* The sign of the cursor, where it is here. */
void canvas_cursor(struct canvas *c, int x, int y, bool here);
/* A titled rule over the row: "title ─────────── right ──". Either may be NULL. */
void canvas_rule(struct canvas *c, int x, int y, int w, const char *title, const char *right);
/* The same in the first row of a pane. */
void canvas_title(struct canvas *c, struct rect r, const char *title, const char *right);
/* A bar of `columns` cells, share in 0…1. */
void canvas_bar(struct canvas *c, int x, int y, int columns, double share);

/* The cell at (x, y), or NULL outside. */
const struct cell *canvas_at(const struct canvas *c, int x, int y);

/* Rows ended by '\n', trailing blanks dropped. */
void canvas_to_text(const struct canvas *c, struct buf *out);
/* The same with SGR sequences; the last row's style is reset. */
void canvas_to_ansi(const struct canvas *c, struct buf *out);

#endif
