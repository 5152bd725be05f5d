#include "views/term.h"

#include <curses.h>
#include <errno.h>
#include <fcntl.h>
#include <langinfo.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <term.h>
#undef columns /* terminfo names its capabilities by macros; this one is a common word */
#include <termios.h>
#include <unistd.h>
#include <wchar.h>

#include "core/base/buf.h"
#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "views/term_decode.h"
#include "views/term_guard.h"
#include "views/theme.h"

enum { PAIRS = 600, ESCAPE_MS = 25 /* how long bytes may lag behind their Escape */, READ_AHEAD = 1 << 16 };

/* One terminal a process, all of it used by one thread. */
static struct {
    bool active;
    SCREEN *screen;
    enum glyphs glyphs;
    enum colors colors;
    bool pastes;             /* bracketed paste was asked for */
    bool mouse;              /* reports were asked for */
    struct term_decoder decoder;
    int w, h;                /* as last told */
    struct cell *shown;      /* what curses has */
    int shown_w, shown_h;
    int pairs;
    int pair_fg[PAIRS], pair_bg[PAIRS];
} term;

static const char paste_on[] = "\033[?2004h", paste_off[] = "\033[?2004l";

static const char mouse_on[] = "\033[?1000h\033[?1006h", mouse_off[] = "\033[?1006l\033[?1000l";

static void term_say(const char *bytes, size_t n) {
    while (n) {
        ssize_t done = write(STDOUT_FILENO, bytes, n);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) return;
        bytes += done;
        n -= (size_t)done;
    }
}

bool term_is_console(void) {
    const char *name = getenv("TERM");
    return name && (!strcmp(name, "linux") || !strncmp(name, "linux-", 6));
}

static bool is_utf8(void) { return !strcmp(nl_langinfo(CODESET), "UTF-8"); }

void term_abilities(struct term_abilities *out) {
    const char *name = getenv("TERM");
    int found = 0;
    memset(out, 0, sizeof *out);
    out->name = name ? name : "";
    out->utf8 = is_utf8();
    if (!*out->name || setupterm(out->name, STDOUT_FILENO, &found) != OK) return;
    out->known = true;
    int colors = tigetnum("colors");
    out->colors = colors > 0 ? colors : 0;
    if (!term.active) del_curterm(cur_term);
}

bool term_is_plain(void) {
    const char *name = getenv("TERM");
    int found = 0;
    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO) || !name || !*name) return false;
    if (setupterm(name, STDOUT_FILENO, &found) != OK) return false;
    bool plain = cursor_address == NULL;
    del_curterm(cur_term);
    return plain;
}

static int check_terminal(struct err *e) {
    const char *name = getenv("TERM");
    int found = 0;
    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
        return err_set(e, ERR_USAGE,
                       "the screens need a terminal on standard input and output; commands "
                       "such as petri runs do not (petri --help)");
    if (!name || !*name)
        return err_set(e, ERR_USAGE,
                       "TERM is not set: try  TERM=xterm-256color petri ; commands such as petri "
                       "runs work without it (petri --help)");
    if (setupterm(name, STDOUT_FILENO, &found) != OK) {
        return err_set(e, ERR_USAGE,
                       "the terminal type TERM=%s is unknown on this machine: try  "
                       "TERM=xterm-256color petri ; commands such as petri runs work with any "
                       "terminal (petri --help)",
                       name);
    }
    bool moves = cursor_address != NULL;
    if (moves) guard_strings(exit_ca_mode, cursor_normal, exit_attribute_mode, keypad_local);
    del_curterm(cur_term);
    if (!moves)
        return err_set(e, ERR_USAGE,
                       "the terminal type TERM=%s cannot move the cursor, which the screens need; "
                       "commands such as petri runs work on it (petri --help)",
                       name);
    return 0;
}

static void term_choose(const struct term_choice *choice) {
    const char *no_color = getenv("NO_COLOR");
    term.glyphs = choice->ascii || !is_utf8() || term_is_console() ? GLYPHS_ASCII : GLYPHS_BRAILLE;
    term.colors = COLORS_NONE;
    if (choice->no_color || (no_color && *no_color)) return;
    /* never touch pairs where there are no colors: ncurses crashes there */
    if (!has_colors() || start_color() != OK || COLORS < 8 || COLOR_PAIRS < 8) return;
    use_default_colors();
    term.colors = COLORS >= 256 ? COLORS_256 : COLORS_8;
}

/* Keys of terminals that follow no standard. */
static void know_keys(void) {
    const struct {
        const char *bytes;
        uint32_t code;
    } key[] = {
        { key_up, PRESS_UP },
        { key_down, PRESS_DOWN },
        { key_left, PRESS_LEFT },
        { key_right, PRESS_RIGHT },
        { key_home, PRESS_HOME },
        { key_end, PRESS_END },
        { key_ppage, PRESS_PAGE_UP },
        { key_npage, PRESS_PAGE_DOWN },
        { key_dc, PRESS_DELETE },
        { key_ic, PRESS_INSERT },
        { key_btab, PRESS_BACKTAB },
        { key_f1, PRESS_F1 },
        { key_backspace, PRESS_BACKSPACE },
        { key_enter, PRESS_ENTER },
    };
    for (size_t i = 0; i < COUNT_OF(key); i++) term_decoder_key(&term.decoder, key[i].bytes, key[i].code);
}

int term_start(const struct term_choice *choice, struct err *e) {
    if (term.active) return 0;
    int rc = check_terminal(e);
    if (rc) return rc;
    unsetenv("LINES");
    unsetenv("COLUMNS");
    guard_begin();
    term.screen = newterm(NULL, stdout, stdin);
    if (!term.screen) {
        guard_end();
        return err_set(e, ERR_USAGE, "cannot start the terminal TERM=%s", getenv("TERM"));
    }
    set_term(term.screen);
    raw();
    noecho();
    nonl();
    keypad(stdscr, TRUE); /* the terminal sends its keys; what it sends is read here */
    curs_set(0);
    term_choose(choice);
    know_keys();
    getmaxyx(stdscr, term.h, term.w);
    term.pastes = true;
    term_say(paste_on, sizeof paste_on - 1);
    term.active = true;
    return 0;
}

void term_mouse(bool on) {
    if (!term.active || term.mouse == on) return;
    term.mouse = on;
    if (on) term_say(mouse_on, sizeof mouse_on - 1);
    else term_say(mouse_off, sizeof mouse_off - 1);
}

void term_stop(void) {
    if (!term.active) return;
    term_mouse(false);
    term.active = false;
    term_say(paste_off, sizeof paste_off - 1);
    curs_set(1);
    endwin();
    delscreen(term.screen);
    free(term.shown);
    term_decoder_release(&term.decoder);
    memset(&term, 0, sizeof term);
    guard_end();
}

void term_emergency(void) { guard_restore(); }

void term_size(int *w, int *h) {
    *w = term.w;
    *h = term.h;
}

enum glyphs term_glyphs(void) { return term.glyphs; }
enum colors term_colors(void) { return term.colors; }
int term_fd(void) { return STDIN_FILENO; }

/* ---- input ---- */

/* Reads a byte, waiting for it at most so long, so that what is typed ahead of leaving remains the shell's;
 * of a paste all that there is.  False when nothing came. */
static bool read_bytes(int wait_ms) {
    struct pollfd p = { STDIN_FILENO, POLLIN, 0 };
    char bytes[4096];
    size_t all = 0;
    while (all < READ_AHEAD && (!all || term.decoder.pasting)) {
        int ready = poll(&p, 1, all ? 0 : wait_ms);
        ssize_t n = ready > 0 && p.revents & POLLIN
                        ? read(STDIN_FILENO, bytes, term.decoder.pasting ? sizeof bytes : 1)
                        : 0;
        if ((ready < 0 || n < 0) && errno == EINTR) continue;
        if (n <= 0) break;
        term_decoder_feed(&term.decoder, bytes, (size_t)n, clock_ms());
        all += (size_t)n;
    }
    return all > 0;
}

static void tell_size(struct term_input *out) {
    getmaxyx(stdscr, term.h, term.w);
    out->kind = INPUT_RESIZE;
    out->w = term.w;
    out->h = term.h;
}

static bool term_hung_up(void) {
    struct pollfd p = { STDIN_FILENO, POLLIN, 0 };
    return poll(&p, 1, 0) > 0 && (p.revents & (POLLHUP | POLLERR | POLLNVAL));
}

/* Takes the terminal's size where it differs from the last one seen: the signal of a change
 * that comes on the heels of another can be lost. */
static bool follow_size(void) {
    struct winsize size;
    int h, w;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) || !size.ws_row || !size.ws_col) return false;
    if (size.ws_row == term.h && size.ws_col == term.w) return false;
    resize_term(size.ws_row, size.ws_col);
    clearok(curscr, TRUE); /* the terminal may have moved what it shows */
    getmaxyx(stdscr, h, w);
    return h != term.h || w != term.w;
}

void term_read(struct term_input *out) {
    memset(out, 0, sizeof *out);
    while (term.active) {
        while (term_decoder_next(&term.decoder, out))
            if (out->kind != INPUT_MOUSE || term.mouse) return;
        if (read_bytes(term_decoder_has_escape(&term.decoder) ? ESCAPE_MS : 0)) continue;
        if (term_decoder_has_escape(&term.decoder)) {
            term_decoder_expire(&term.decoder);
            continue;
        }
        if (term_hung_up()) out->kind = INPUT_HANGUP;
        else if (follow_size()) tell_size(out);
        return;
    }
}

void term_flush(void) {
    while (term.active && read_bytes(0)) term_decoder_drop(&term.decoder);
    term_decoder_drop(&term.decoder);
}

/* ---- output ---- */

/* The number that the terminal has for a palette index: one of 24-bit colors takes 0xRRGGBB. */
static int term_number(int index) {
    if (index >= COLORS) return -1;
    return COLORS > 256 && index >= 16 ? theme_rgb(index) : index;
}

static short pair_of(struct style s) {
    int fg = term_number(s.fg), bg = term_number(s.bg);
    if (term.colors == COLORS_NONE || (fg < 0 && bg < 0)) return 0;
    for (int i = 0; i < term.pairs; i++)
        if (term.pair_fg[i] == fg && term.pair_bg[i] == bg) return (short)(i + 1);
    if (term.pairs == PAIRS || term.pairs + 1 >= COLOR_PAIRS) return 0;
    if (init_extended_pair(term.pairs + 1, fg, bg) == ERR) return 0;
    term.pair_fg[term.pairs] = fg;
    term.pair_bg[term.pairs] = bg;
    return (short)++term.pairs;
}

static attr_t attrs_of(uint8_t attr) {
    attr_t a = A_NORMAL;
    if (attr & ATTR_BOLD) a |= A_BOLD;
    if (attr & ATTR_DIM) a |= A_DIM;
    if (attr & ATTR_REVERSE) a |= A_REVERSE;
    if (attr & ATTR_UNDERLINE) a |= A_UNDERLINE;
    return a;
}

/* A character that the C library counts otherwise than the canvas would shift the row. */
static void put_cell(int y, int x, const struct cell *at, int w) {
    wchar_t text[4] = { (wchar_t)at->cp, 0, 0, 0 };
    cchar_t out;
    short pair = pair_of(at->style);
    bool known = at->cp < 0x80 || wcwidth((wchar_t)at->cp) == w;
    for (int i = 0; known && i < 2 && at->mark[i]; i++)
        if (wcwidth((wchar_t)at->mark[i]) == 0) text[wcslen(text)] = (wchar_t)at->mark[i];
    if (!known) text[0] = '?';
    if (setcchar(&out, text, attrs_of(at->style.attr), pair, NULL) == ERR) return;
    mvadd_wch(y, x, &out);
    if (!known && w == 2) mvadd_wch(y, x + 1, &out);
}

static bool term_same_cell(const struct cell *a, const struct cell *b) {
    return a->cp == b->cp && a->mark[0] == b->mark[0] && a->mark[1] == b->mark[1] &&
           a->style.fg == b->style.fg && a->style.bg == b->style.bg && a->style.attr == b->style.attr;
}

void term_show(const struct canvas *c, int cursor_x, int cursor_y) {
    if (!term.active) return;
    size_t cells = (size_t)c->w * (size_t)c->h;
    bool fresh = !term.shown || c->w != term.shown_w || c->h != term.shown_h;
    if (fresh) {
        free(term.shown);
        term.shown = xcalloc(cells + 1, sizeof *term.shown);
        term.shown_w = c->w;
        term.shown_h = c->h;
        erase();
    }
    for (int y = 0; y < c->h && y < term.h; y++) {
        for (int x = 0; x < c->w && x < term.w; x++) {
            struct cell *was = &term.shown[y * c->w + x];
            const struct cell *at = &c->cell[y * c->w + x];
            bool wide = x + 1 < c->w && at[1].cp == 0;
            if (!fresh && term_same_cell(was, at)) continue;
            *was = *at;
            if (at->cp) put_cell(y, x, at, wide ? 2 : 1);
        }
    }
    if (cursor_x >= 0) {
        move(cursor_y, cursor_x);
        curs_set(1);
    } else {
        curs_set(0);
    }
    wnoutrefresh(stdscr);
    doupdate();
}

void term_redraw(void) {
    if (!term.active) return;
    free(term.shown);
    term.shown = NULL;
    clearok(curscr, TRUE);
}

void term_outside(void (*run)(void *), void *self) {
    bool mouse = term.mouse;
    if (!term.active) return;
    term_mouse(false);
    term_say(paste_off, sizeof paste_off - 1);
    curs_set(1);
    endwin();
    guard_line();
    run(self);
    term_say(paste_on, sizeof paste_on - 1);
    term_mouse(mouse);
    follow_size(); /* curses now, the program at its next term_read */
    term_redraw();
    wrefresh(stdscr);
}

static void stop_process(void *unused) {
    (void)unused;
    void (*before)(int) = signal(SIGTSTP, SIG_DFL);
    raise(SIGTSTP);
    signal(SIGTSTP, before);
}

void term_suspend(void) { term_outside(stop_process, NULL); }

bool term_copy(const char *text) {
    static const char code[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t n = strlen(text);
    if (!term.active || term.colors == COLORS_NONE || n > 4096) return false;
    struct buf b = BUF_INIT;
    buf_puts(&b, "\033]52;c;");
    for (size_t i = 0; i < n; i += 3) {
        uint32_t three = 0;
        for (size_t k = 0; k < 3; k++)
            three = three << 8 | (i + k < n ? (unsigned char)text[i + k] : 0);
        for (size_t k = 0; k < 4; k++)
            buf_putc(&b, i + k > n ? '=' : code[three >> (18 - 6 * k) & 63]);
    }
    buf_puts(&b, "\a");
    term_say(b.data, b.size);
    buf_release(&b);
    return true;
}
