/* The terminal: the only file that knows curses.  All calls come from one thread.
 *
 * While it is active, standard error goes to a file and is shown afterwards; the terminal
 * is restored on every way out, a crash included (the strings to do it are kept ready for
 * signal handlers).  The caller has set LC_CTYPE from the environment before. */
#ifndef VIEWS_TERM_H
#define VIEWS_TERM_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/err.h"
#include "views/canvas.h"
#include "views/keys.h"

enum input_kind { INPUT_NONE, INPUT_PRESS, INPUT_PASTE, INPUT_MOUSE, INPUT_RESIZE, INPUT_HANGUP };
struct term_input {
    enum input_kind kind;
    struct press press;
    const char *text;   /* paste: valid until the next term_read */
    size_t size;
    int w, h;           /* resize */
    struct mouse mouse;
};

struct term_choice {
    bool no_color;     /* --no-color; NO_COLOR and TERM=dumb are looked at anyway */
    bool ascii;         /* --ascii; a locale without UTF-8 and the console do the same */
};

/* What the terminal could show, without starting it (doctor); sane when it is none. */
struct term_abilities {
    const char *name;   /* TERM, "" when unset */
    bool known;         /* a terminfo entry exists */
    int colors;
    bool utf8;
};
void term_abilities(struct term_abilities *out);

/* Whether standard input and output are a terminal of a known type that cannot place a cursor (TERM=dumb). */
bool term_is_plain(void);
/* Returns whether it is the console of Linux: its ground is black, and its font has no braille. */
bool term_is_console(void);
/* Starts the screens.  ERR_USAGE if standard input or output is not a terminal, or TERM is unknown: one
 * sentence with a remedy, and nothing was written to the terminal. */
int term_start(const struct term_choice *choice, struct err *e);
/* Restores the terminal and prints the captured standard error.  May be called twice. */
void term_stop(void);
/* Signal handlers may call it: writes the restore strings and resets the line discipline,
 * nothing else. */
void term_emergency(void);
void term_size(int *w, int *h);
enum glyphs term_glyphs(void);
enum colors term_colors(void);

/* The descriptor to poll; then term_read until INPUT_NONE.  EINTR from poll: also read
 * (a resize). */
int term_fd(void);
void term_read(struct term_input *out);
/* Drops pending input. */
void term_flush(void);

/* The canvas onto the terminal, one write of the difference.  `cursor_x` < 0: no cursor. */
void term_show(const struct canvas *c, int cursor_x, int cursor_y);
/* Redraws everything (^l). */
void term_redraw(void);
/* Gives the terminal back, stops the process (SIGTSTP), takes it again. */
void term_suspend(void);
/* Gives the terminal back, calls `run`, takes it again. */
void term_outside(void (*run)(void *), void *self);
/* Whether the terminal reports the mouse (it does not at first): while it does, it selects no text by
 * itself. */
void term_mouse(bool on);
/* OSC 52; true when it was sent. */
bool term_copy(const char *text);

#endif
