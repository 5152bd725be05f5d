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
#include "views/term_guard.h"

enum { KEY_PASTE_BEGIN = KEY_MAX + 1, KEY_PASTE_END, KEY_REPORT, KEY_OLD_REPORT, PASTE_LIMIT = 65536, PAIRS = 600 };
enum { REPORT = 24, OLD_REPORT = 3 }; /* longest report of the mouse; codes of one in the form of before 2012 */

/* One terminal a process, all of it used by one thread. */
static struct {
    bool active;
    SCREEN *screen;
    enum glyphs glyphs;
    enum colours colours;
    bool pastes;             /* bracketed paste was asked for */
    bool pasting;            /* between its two marks */
    struct buf paste;
    bool mouse;              /* reports were asked for */
    bool reporting;          /* inside one, of which so much was read */
    char report[REPORT];
    size_t report_size;
    int old_report;          /* codes of an old one still to be dropped */
    struct key_code {
        int kind;            /* OK, KEY_CODE_YES */
        wint_t code;
    } *pending;              /* read ahead, still to be handed out */
    size_t pending_at, pending_count, pending_room;
    int w, h;                /* as last told */
    struct cell *shown;      /* what curses has */
    int shown_w, shown_h;
    int pairs;
    short pair_fg[PAIRS], pair_bg[PAIRS];
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

static bool is_utf8(void) { return !strcmp(nl_langinfo(CODESET), "UTF-8"); }

void term_abilities(struct term_abilities *out) {
    const char *name = getenv("TERM");
    int found = 0;
    memset(out, 0, sizeof *out);
    out->name = name ? name : "";
    out->utf8 = is_utf8();
    if (!*out->name || setupterm(out->name, STDOUT_FILENO, &found) != OK) return;
    out->known = true;
    int colours = tigetnum("colors");
    out->colours = colours > 0 ? colours : 0;
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
                       "the screens need a terminal on standard input and output; the verbs work "
                       "without one (petri --help)");
    if (!name || !*name)
        return err_set(e, ERR_USAGE,
                       "TERM is not set: try  TERM=xterm-256color petri ; the verbs work without "
                       "(petri --help)");
    if (setupterm(name, STDOUT_FILENO, &found) != OK) {
        return err_set(e, ERR_USAGE,
                       "the terminal type TERM=%s is not known on this machine: try  "
                       "TERM=xterm-256color petri ; the verbs work without (petri --help)",
                       name);
    }
    bool moves = cursor_address != NULL;
    if (moves) guard_strings(exit_ca_mode, cursor_normal, exit_attribute_mode, keypad_local);
    del_curterm(cur_term);
    if (!moves)
        return err_set(e, ERR_USAGE,
                       "the terminal type TERM=%s cannot place a cursor, so no screen can be drawn; "
                       "the verbs work on it (petri --help)",
                       name);
    return 0;
}

static void term_choose(const struct term_choice *choice) {
    const char *no_color = getenv("NO_COLOR");
    term.glyphs = choice->ascii || !is_utf8() ? GLYPHS_ASCII : GLYPHS_BRAILLE;
    term.colours = COLOURS_NONE;
    if (choice->no_colour || (no_color && *no_color)) return;
    /* never touch pairs where there are no colours: ncurses crashes there */
    if (!has_colors() || start_color() != OK || COLORS < 8 || COLOR_PAIRS < 8) return;
    use_default_colors();
    term.colours = COLORS >= 256 ? COLOURS_256 : COLOURS_8;
}

int term_start(const struct term_choice *choice, struct err *e) {
    if (term.active) return 0;
    int rc = check_terminal(e);
    if (rc) return rc;
    unsetenv("LINES");
    unsetenv("COLUMNS");
    guard_begin();
    set_escdelay(25);
    term.screen = newterm(NULL, stdout, stdin);
    if (!term.screen) {
        guard_end();
        return err_set(e, ERR_USAGE, "the terminal TERM=%s does not start", getenv("TERM"));
    }
    set_term(term.screen);
    raw();
    noecho();
    nonl();
    intrflush(stdscr, FALSE);
    keypad(stdscr, TRUE);
    nodelay(stdscr, TRUE);
    curs_set(0);
    term_choose(choice);
    define_key("\033[200~", KEY_PASTE_BEGIN);
    define_key("\033[201~", KEY_PASTE_END);
    define_key("\033[<", KEY_REPORT); /* also where none was asked for: a stray one is no keys */
    define_key("\033[M", KEY_OLD_REPORT);
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
    free(term.pending);
    buf_release(&term.paste);
    memset(&term, 0, sizeof term);
    guard_end();
}

void term_emergency(void) { guard_restore(); }

void term_size(int *w, int *h) {
    *w = term.w;
    *h = term.h;
}

enum glyphs term_glyphs(void) { return term.glyphs; }
enum colours term_colours(void) { return term.colours; }
int term_fd(void) { return STDIN_FILENO; }

/* ---- input ---- */

static bool take_key(struct key_code *k) {
    if (term.pending_at < term.pending_count) {
        *k = term.pending[term.pending_at++];
        return true;
    }
    k->kind = get_wch(&k->code);
    return k->kind != ERR;
}

static void put_back(const struct key_code *k, size_t n) {
    if (term.pending_at == term.pending_count) term.pending_at = term.pending_count = 0;
    if (term.pending_count + n > term.pending_room) {
        term.pending_room = 2 * (term.pending_count + n);
        term.pending = xrealloc(term.pending, term.pending_room, sizeof *term.pending);
    }
    memcpy(term.pending + term.pending_count, k, n * sizeof *k);
    term.pending_count += n;
}

static bool is_key(const struct key_code *k, int code) {
    return k->kind == KEY_CODE_YES && k->code == (wint_t)code;
}

static void add_pasted(const struct key_code *k) {
    char bytes[4];
    uint32_t cp = (uint32_t)k->code;
    if (k->kind == KEY_CODE_YES) {
        if (k->code != KEY_ENTER) return;
        cp = '\n';
    }
    if (term.paste.size < PASTE_LIMIT) buf_add(&term.paste, bytes, utf8_encode(cp, bytes));
}

/* The end mark was read.  A paste may hold an end mark of its own: what stands behind the
 * first and before a later one, in the same burst, is still pasted. */
static void end_paste(void) {
    struct key_code burst[4096];
    size_t n = 0, last = 0;
    while (n < COUNT_OF(burst) && take_key(&burst[n])) {
        n++;
        if (is_key(&burst[n - 1], KEY_PASTE_END)) last = n;
    }
    for (size_t i = 0; i < last; i++)
        if (!is_key(&burst[i], KEY_PASTE_END) && !is_key(&burst[i], KEY_PASTE_BEGIN)) add_pasted(&burst[i]);
    if (n > last) put_back(burst + last, n - last);
    term.pasting = false;
}

static uint32_t special(wint_t code) {
    switch (code) {
    case KEY_ENTER: return PRESS_ENTER;
    case KEY_BTAB: return PRESS_BACKTAB;
    case KEY_BACKSPACE: return PRESS_BACKSPACE;
    case KEY_DC: return PRESS_DELETE;
    case KEY_IC: return PRESS_INSERT;
    case KEY_UP: return PRESS_UP;
    case KEY_DOWN: return PRESS_DOWN;
    case KEY_LEFT: return PRESS_LEFT;
    case KEY_RIGHT: return PRESS_RIGHT;
    case KEY_HOME: return PRESS_HOME;
    case KEY_END: return PRESS_END;
    case KEY_PPAGE: return PRESS_PAGE_UP;
    case KEY_NPAGE: return PRESS_PAGE_DOWN;
    default: return code == (wint_t)KEY_F(1) ? PRESS_F1 : PRESS_OTHER;
    }
}

static uint32_t press_code(const struct key_code *k) {
    if (k->kind == KEY_CODE_YES) return special(k->code);
    switch (k->code) {
    case '\r':
    case '\n': return PRESS_ENTER;
    case '\t': return PRESS_TAB;
    case 27: return PRESS_ESC;
    case 8:
    case 127: return PRESS_BACKSPACE;
    default: return (uint32_t)k->code;
    }
}

static void tell_size(struct term_input *out) {
    getmaxyx(stdscr, term.h, term.w);
    out->kind = INPUT_RESIZE;
    out->w = term.w;
    out->h = term.h;
}

static bool term_hung_up(void) {
    struct pollfd p = {STDIN_FILENO, POLLIN, 0};
    return poll(&p, 1, 0) > 0 && (p.revents & (POLLHUP | POLLERR | POLLNVAL));
}

/* Takes the terminal's size where it differs from the last one seen: the signal of a change
 * that comes on the heels of another can be lost. */
static bool follow_size(void) {
    struct winsize size;
    int h, w;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) || !size.ws_row || !size.ws_col) return false;
    if (size.ws_row == term.h && size.ws_col == term.w) return false;
    resizeterm(size.ws_row, size.ws_col);
    getmaxyx(stdscr, h, w);
    return h != term.h || w != term.w;
}

/* The next code of a report of the mouse, "button;column;row" and M or m; true when it is one that means something. */
static bool take_report(const struct key_code *k, struct term_input *out) {
    int button, x, y;
    if (k->kind == OK && term.report_size < REPORT - 1 && k->code < 0x80 && strchr("0123456789;", (int)k->code) && k->code) {
        term.report[term.report_size++] = (char)k->code;
        return false;
    }
    term.reporting = false;
    term.report[term.report_size] = 0;
    bool pressed = k->kind == OK && k->code == 'M';
    if (!term.mouse || !pressed || sscanf(term.report, "%d;%d;%d", &button, &x, &y) != 3) return false;
    bool wheel = button >= 64 && button < 68, left = button >= 0 && (button & ~28) == 0; /* with any of Shift, Alt, Ctrl */
    if ((!wheel && !left) || x < 1 || y < 1 || x > CANVAS_SIDE || y > CANVAS_SIDE) return false;
    out->kind = INPUT_MOUSE;
    out->mouse = (struct mouse){wheel ? button & 1 ? MOUSE_DOWN : MOUSE_UP : MOUSE_CLICK, x - 1, y - 1, clock_ms()};
    return true;
}

void term_read(struct term_input *out) {
    struct key_code k, next;
    memset(out, 0, sizeof *out);
    if (!term.active) return;
    for (;;) {
        if (!take_key(&k)) {
            if (term_hung_up()) out->kind = INPUT_HANGUP;
            else if (follow_size()) tell_size(out);
            return;
        }
        if (is_key(&k, KEY_RESIZE)) {
            tell_size(out);
            return;
        }
        if (term.pasting) {
            if (!is_key(&k, KEY_PASTE_END)) {
                add_pasted(&k);
                continue;
            }
            end_paste();
            out->kind = INPUT_PASTE;
            out->text = buf_text(&term.paste);
            out->size = term.paste.size;
            return;
        }
        if (term.old_report) {
            term.old_report--;
            continue;
        }
        if (term.reporting) {
            if (take_report(&k, out)) return;
            continue;
        }
        if (is_key(&k, KEY_REPORT)) {
            term.reporting = true;
            term.report_size = 0;
            continue;
        }
        if (is_key(&k, KEY_OLD_REPORT)) {
            term.old_report = OLD_REPORT;
            continue;
        }
        if (is_key(&k, KEY_PASTE_BEGIN)) {
            buf_clear(&term.paste);
            term.pasting = true;
            continue;
        }
        if (is_key(&k, KEY_PASTE_END)) continue;
        break;
    }
    out->kind = INPUT_PRESS;
    out->press.ms = clock_ms();
    out->press.code = press_code(&k);
    if (out->press.code != PRESS_ESC || !take_key(&next)) return;
    if (next.kind == OK && next.code >= 0x20 && next.code != 127) {
        out->press.code = (uint32_t)next.code; /* Alt: Esc and the key in one burst */
        out->press.alt = true;
    } else {
        put_back(&next, 1);
    }
}

void term_flush(void) {
    if (!term.active) return;
    term.pending_at = term.pending_count = 0;
    flushinp();
}

/* ---- output ---- */

static short pair_of(struct style s) {
    if (term.colours == COLOURS_NONE || (s.fg < 0 && s.bg < 0)) return 0;
    if (s.fg >= COLORS) s.fg = -1;
    if (s.bg >= COLORS) s.bg = -1;
    for (int i = 0; i < term.pairs; i++)
        if (term.pair_fg[i] == s.fg && term.pair_bg[i] == s.bg) return (short)(i + 1);
    if (term.pairs == PAIRS || term.pairs + 1 >= COLOR_PAIRS) return 0;
    if (init_pair((short)(term.pairs + 1), s.fg, s.bg) == ERR) return 0;
    term.pair_fg[term.pairs] = s.fg;
    term.pair_bg[term.pairs] = s.bg;
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
    wchar_t text[4] = {(wchar_t)at->cp, 0, 0, 0};
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
    return a->cp == b->cp && a->mark[0] == b->mark[0] && a->mark[1] == b->mark[1] && a->style.fg == b->style.fg &&
           a->style.bg == b->style.bg && a->style.attr == b->style.attr;
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

void term_suspend(void) {
    bool mouse = term.mouse;
    if (!term.active) return;
    term_mouse(false);
    term_say(paste_off, sizeof paste_off - 1);
    curs_set(1);
    endwin();
    void (*before)(int) = signal(SIGTSTP, SIG_DFL);
    raise(SIGTSTP);
    signal(SIGTSTP, before);
    term_say(paste_on, sizeof paste_on - 1);
    term_mouse(mouse);
    if (follow_size()) {
        struct key_code k = {KEY_CODE_YES, KEY_RESIZE};
        put_back(&k, 1);
    }
    term_redraw();
    wrefresh(stdscr);
}

bool term_copy(const char *text) {
    static const char code[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t n = strlen(text);
    if (!term.active || term.colours == COLOURS_NONE || n > 4096) return false;
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
