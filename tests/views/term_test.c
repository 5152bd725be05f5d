/* The terminal on a pseudo-terminal of its own: what is written to it, and that it comes
 * back as it was, whatever ends the program. */
#include "tests/support/test.h"

#include <errno.h>
#include <locale.h>
#include <poll.h>
#include <pty.h>
#include <utmp.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/base/mem.h"
#include "tests/views/scene.h"
#include "views/term.h"

enum { WAIT_MS = 10000 };

struct child {
    pid_t pid;
    int fd;
    struct buf seen;   /* everything it wrote */
    struct termios before;
};

/* The event loop in small. */
static void run_screens(void) {
    struct term_choice choice = {false, false};
    struct err e = ERR_INIT;
    struct ui ui;
    struct canvas c;
    int w, h;
    setlocale(LC_CTYPE, "");
    if (term_start(&choice, &e)) {
        fprintf(stderr, "%s\n", e.text);
        _exit(2);
    }
    fprintf(stderr, "told \033]0;x\007 meanwhile\n");
    term_size(&w, &h);
    scene_init(&ui, w, h, term_glyphs(), term_colors());
    ui.running = ui.queued = 0;
    ui_show(&ui, SCREEN_RUNS);
    canvas_init(&c, w, h, ui.glyphs, ui.colors);
    for (;;) {
        struct pollfd p = {term_fd(), POLLIN, 0};
        struct term_input in;
        ui_draw(&ui, &c);
        term_show(&c, -1, 0);
        poll(&p, 1, 500);
        for (term_read(&in); in.kind != INPUT_NONE; term_read(&in)) {
            struct effect out = {0};
            if (in.kind == INPUT_HANGUP) _exit(7);
            if (in.kind == INPUT_RESIZE) ui_resize(&ui, in.w, in.h);
            if (in.kind == INPUT_PASTE) ui_paste(&ui, in.text, in.size, &out);
            if (in.kind == INPUT_PRESS && in.press.code == '!') raise(SIGSEGV);
            if (in.kind == INPUT_PRESS) ui_press(&ui, &in.press, &out);
            if (ui.flush) term_flush();
            ui.flush = false;
            if (out.kind == EFFECT_COPY) term_copy(out.text);
            if (out.kind == EFFECT_TRASH) ui_say(&ui, SAY_INFO, "trashed");
            if (out.kind != EFFECT_QUIT) continue;
            term_stop();
            exit(0);
        }
    }
}

static void start(struct child *k, const char *term_name, const char *locale) {
    struct winsize size = {.ws_row = 24, .ws_col = 80};
    int slave;
    memset(k, 0, sizeof *k);
    if (openpty(&k->fd, &slave, NULL, NULL, &size)) fail_msg("no pseudo-terminal");
    tcgetattr(slave, &k->before);
    k->pid = fork();
    if (!k->pid) {
        close(k->fd);
        login_tty(slave);
        for (int i = 1; i < 32; i++) signal(i, SIG_DFL); /* cmocka has handlers of its own */
        setenv("TERM", term_name, 1);
        setenv("LC_ALL", locale, 1);
        setenv("LINES", "7", 1); /* stale ones must not matter */
        run_screens();
    }
    close(slave);
}

/* Reads what there is; false at the end or after the time. */
static bool more(struct child *k, int ms) {
    struct pollfd p = {k->fd, POLLIN, 0};
    char piece[4096];
    if (poll(&p, 1, ms) <= 0) return false;
    ssize_t n = read(k->fd, piece, sizeof piece);
    if (n <= 0) return false;
    buf_add(&k->seen, piece, (size_t)n);
    return true;
}

static void wait_for(struct child *k, const char *text) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    time_t end = t.tv_sec + WAIT_MS / 1000;
    while (!memmem(buf_text(&k->seen), k->seen.size, text, strlen(text))) {
        more(k, 50);
        clock_gettime(CLOCK_MONOTONIC, &t);
        if (t.tv_sec > end) {
            kill(k->pid, SIGKILL);
            fail_msg("\"%s\" did not come; it wrote: %s", text, buf_text(&k->seen));
        }
    }
}

static void send_keys(struct child *k, const char *keys) {
    assert_int_equal(write(k->fd, keys, strlen(keys)), (ssize_t)strlen(keys));
}

/* Waits for its end; the line discipline must be the one before. */
static int finish(struct child *k) {
    int status = 0;
    struct termios after;
    for (int i = 0; i < WAIT_MS / 20; i++) {
        if (!more(k, 20)) usleep(20000);
        if (waitpid(k->pid, &status, WNOHANG) == k->pid) break;
        if (i + 1 == WAIT_MS / 20) {
            kill(k->pid, SIGKILL);
            fail_msg("it did not end");
        }
    }
    while (more(k, 20)) {}
    tcgetattr(k->fd, &after);
    assert_int_equal(after.c_lflag, k->before.c_lflag);
    assert_int_equal(after.c_iflag, k->before.c_iflag);
    assert_int_equal(after.c_oflag, k->before.c_oflag);
    close(k->fd);
    return status;
}

static bool wrote(const struct child *k, const char *text) {
    return memmem(buf_text(&k->seen), k->seen.size, text, strlen(text)) != NULL;
}

static void comes_back_after_q(void **state) {
    struct child k;
    (void)state;
    start(&k, "xterm-256color", "C.UTF-8");
    wait_for(&k, "interrupted");
    send_keys(&k, "q");
    int status = finish(&k);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_true(wrote(&k, "\033[?1049l") && wrote(&k, "\033[?2004l") && wrote(&k, "\033[?2004h"));
    /* what was said meanwhile comes after, made visible; names from files as well */
    const char *leave = memmem(k.seen.data, k.seen.size, "\033[?1049l", 8);
    assert_true(leave && strstr(leave, "told"));
    assert_false(wrote(&k, "\033]0;x"));
    assert_false(wrote(&k, "a\033[2J"));
    buf_release(&k.seen);
}

static void comes_back_after_a_signal(void **state) {
    static const int signals[] = {SIGTERM, SIGSEGV, SIGABRT, SIGQUIT};
    (void)state;
    for (size_t i = 0; i < COUNT_OF(signals); i++) {
        struct child k;
        start(&k, "xterm-256color", "C.UTF-8");
        wait_for(&k, "interrupted");
        kill(k.pid, signals[i]);
        int status = finish(&k);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == signals[i]);
        assert_true(wrote(&k, "\033[?1049l") && wrote(&k, "\033[?2004l"));
        buf_release(&k.seen);
    }
}

static void a_paste_does_nothing(void **state) {
    struct child k;
    (void)state;
    start(&k, "xterm-256color", "C.UTF-8");
    wait_for(&k, "interrupted");
    /* an end mark inside does not break out */
    send_keys(&k, "\033[200~ddd\r:purge\r3\rKy\033[201~ddd\rqq\033[201~");
    wait_for(&k, "pasted");
    while (more(&k, 100)) {}
    assert_false(wrote(&k, "trashed"));
    send_keys(&k, "d");
    wait_for(&k, "trashed");
    send_keys(&k, "q");
    int status = finish(&k);
    assert_true(WIFEXITED(status));
    buf_release(&k.seen);
}

static void resizing(void **state) {
    struct child k;
    (void)state;
    start(&k, "xterm-256color", "C.UTF-8");
    wait_for(&k, "interrupted");
    for (int i = 0; i < 20; i++) {
        struct winsize size = {.ws_row = (unsigned short)(1 + i * 7 % 60), .ws_col = (unsigned short)(1 + i * 37 % 200)};
        ioctl(k.fd, TIOCSWINSZ, &size);
        more(&k, 10);
    }
    struct winsize small = {.ws_row = 4, .ws_col = 40}, large = {.ws_row = 50, .ws_col = 150};
    ioctl(k.fd, TIOCSWINSZ, &small);
    wait_for(&k, "too small");
    buf_clear(&k.seen);
    ioctl(k.fd, TIOCSWINSZ, &large);
    wait_for(&k, "started");
    send_keys(&k, "q");
    assert_true(WIFEXITED(finish(&k)));
    buf_release(&k.seen);
}

static void terminals(void **state) {
    static const char *const names[] = {"tmux-256color", "xterm", "linux", "vt100"};
    (void)state;
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        struct child k;
        start(&k, names[i], "C.UTF-8");
        wait_for(&k, "interrupted");
        send_keys(&k, "?2");
        wait_for(&k, "jobs");
        send_keys(&k, "q");
        while (more(&k, 100)) {}
        int status = finish(&k);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
        if (i == 3) assert_false(wrote(&k, "38;5") || wrote(&k, "\033[36m") || wrote(&k, "\033[39"));
        buf_release(&k.seen);
    }
}

/* A terminal of 24-bit colors takes a color for its number: it is sent what the palette has at that place. */
static void colors_of_24_bits(void **state) {
    static const char entry[] =
        "petri-direct|24-bit colors, RGB, colors#0x1000000, pairs#0x7FFF, setab=\\E[%?%p1%{8}%<%t4%p1%d%e48\\:2\\:\\:"
        "%p1%{65536}%/%d\\:%p1%{256}%/%{255}%&%d\\:%p1%{255}%&%d%;m, setaf=\\E[%?%p1%{8}%<%t3%p1%d%e38\\:2\\:\\:"
        "%p1%{65536}%/%d\\:%p1%{256}%/%{255}%&%d\\:%p1%{255}%&%d%;m, use=xterm-256color,\n";
    struct child k;
    struct err e = ERR_INIT;
    char *folder = test_folder(), *source = xprintf("%s/direct.ti", folder);
    (void)state;
    test_ok(file_write(source, entry, sizeof entry - 1, &e), &e);
    char *line = xprintf("tic -x -o '%s' '%s'", folder, source);
    assert_int_equal(system(line), 0);
    setenv("TERMINFO", folder, 1);
    start(&k, "petri-direct", "C.UTF-8");
    wait_for(&k, "interrupted");
    assert_true(wrote(&k, "38:2::95:95:255m")); /* the accent: number 63, #5f5fff */
    assert_false(wrote(&k, "38:2::0:0:63"));
    send_keys(&k, "q");
    assert_true(WIFEXITED(finish(&k)));
    unsetenv("TERMINFO");
    buf_release(&k.seen);
    free(line);
    free(source);
    free(folder);
}

static void ascii_where_the_locale_has_no_utf8(void **state) {
    struct child k;
    (void)state;
    start(&k, "xterm-256color", "C");
    wait_for(&k, "interrupted");
    send_keys(&k, "2");
    wait_for(&k, "jobs");
    for (size_t i = 0; i < k.seen.size; i++) assert_true((unsigned char)k.seen.data[i] < 0x80);
    send_keys(&k, "q");
    finish(&k);
    buf_release(&k.seen);
}

static void refuses_what_it_cannot_draw_on(void **state) {
    static const char *const names[] = {"nonsense", "", "dumb"};
    (void)state;
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        struct child k;
        start(&k, names[i], "C.UTF-8");
        wait_for(&k, "petri --help");
        int status = finish(&k);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 2);
        assert_false(wrote(&k, "\033"));
        buf_release(&k.seen);
    }
}

static void a_closed_terminal_is_told(void **state) {
    struct child k;
    int status = 0;
    (void)state;
    start(&k, "xterm-256color", "C.UTF-8");
    wait_for(&k, "interrupted");
    close(k.fd);
    waitpid(k.pid, &status, 0);
    /* SIGHUP ends it here; an app that ignores the signal is told by INPUT_HANGUP */
    assert_true(WIFSIGNALED(status) || WEXITSTATUS(status) == 7);
    buf_release(&k.seen);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(comes_back_after_q),
        cmocka_unit_test(comes_back_after_a_signal),
        cmocka_unit_test(a_paste_does_nothing),
        cmocka_unit_test(resizing),
        cmocka_unit_test(terminals),
        cmocka_unit_test(colors_of_24_bits),
        cmocka_unit_test(ascii_where_the_locale_has_no_utf8),
        cmocka_unit_test(refuses_what_it_cannot_draw_on),
        cmocka_unit_test(a_closed_terminal_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
