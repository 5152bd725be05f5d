#include "views/term_guard.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/mem.h"
#include "core/base/text.h"

enum { SHOWN_LIMIT = 16384, STACK_SIZE = 65536 };

static const int fatal[] = { SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGTERM, SIGINT, SIGQUIT };

static char strings[512];
static size_t strings_size;
static struct termios term_guard_line;
static bool has_line;
static volatile sig_atomic_t active;
static int stderr_copy = -1, stderr_file = -1;
static struct sigaction term_guard_before[COUNT_OF(fatal)];
static bool installed[COUNT_OF(fatal)];
static char stack[STACK_SIZE];

static void term_guard_keep(const char *s) {
    char plain[128];
    size_t n = 0;
    /* the padding "$<50>" is for terminals of another age */
    for (; s && *s && n < sizeof plain; s++) {
        if (s[0] == '$' && s[1] == '<') {
            s = strchr(s, '>');
            if (!s) break;
            continue;
        }
        plain[n++] = *s;
    }
    if (strings_size + n > sizeof strings) return;
    memcpy(strings + strings_size, plain, n);
    strings_size += n;
}

void guard_strings(const char *leave, const char *cursor, const char *attributes,
                   const char *keypad) {
    strings_size = 0;
    term_guard_keep("\033[?2004l\033[?1006l\033[?1000l"); /* pastes and the mouse as they were */
    term_guard_keep(attributes);
    term_guard_keep(keypad);
    term_guard_keep(leave);
    term_guard_keep(cursor);
}

void guard_line(void) {
    if (has_line) tcsetattr(STDIN_FILENO, TCSANOW, &term_guard_line);
}

void guard_restore(void) {
    if (!active) return;
    active = 0;
    size_t at = 0;
    while (at < strings_size) {
        ssize_t n = write(STDOUT_FILENO, strings + at, strings_size - at);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) break;
        at += (size_t)n;
    }
    guard_line();
    if (stderr_copy >= 0) dup2(stderr_copy, STDERR_FILENO);
}

static void term_guard_on_signal(int number) {
    int kept = errno;
    guard_restore();
    if (number != SIGTERM && number != SIGINT) {
        static const char text[] = "petri crashed; resume continues runs from their last checkpoint\n";
        ssize_t n = write(STDERR_FILENO, text, sizeof text - 1);
        (void)n;
    }
    signal(number, SIG_DFL);
    errno = kept;
    raise(number);
}

static void redirect_stderr(void) {
    const char *folder = getenv("TMPDIR");
    char path[512];
    snprintf(path, sizeof path, "%.400s/petri-stderr-XXXXXX", folder && *folder ? folder : "/tmp");
    int file = mkstemp(path);
    if (file < 0) return;
    unlink(path);
    stderr_copy = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
    if (stderr_copy < 0) {
        close(file);
        return;
    }
    fcntl(file, F_SETFD, FD_CLOEXEC);
    fflush(stderr);
    dup2(file, STDERR_FILENO);
    stderr_file = file;
}

void guard_begin(void) {
    has_line = tcgetattr(STDIN_FILENO, &term_guard_line) == 0;
    active = 1;
    stack_t alternative = { .ss_sp = stack, .ss_size = sizeof stack };
    sigaltstack(&alternative, NULL);
    for (size_t i = 0; i < COUNT_OF(fatal); i++) {
        struct sigaction act = { .sa_handler = term_guard_on_signal, .sa_flags = SA_ONSTACK };
        sigaction(fatal[i], NULL, &term_guard_before[i]);
        installed[i] = term_guard_before[i].sa_handler == SIG_DFL;
        if (installed[i]) sigaction(fatal[i], &act, NULL);
    }
    mem_on_abort(guard_restore);
    redirect_stderr();
}

/* What was written to standard error meanwhile, made visible line by line. */
static void show_stderr(void) {
    struct buf text = BUF_INIT;
    char piece[4096];
    off_t size = lseek(stderr_file, 0, SEEK_END);
    lseek(stderr_file, size > SHOWN_LIMIT ? size - SHOWN_LIMIT : 0, SEEK_SET);
    for (ssize_t n; (n = read(stderr_file, piece, sizeof piece)) > 0;) buf_add(&text, piece, (size_t)n);
    for (char *at = text.data; at && *at;) {
        size_t n = strcspn(at, "\n");
        char *safe = text_visible(at, n);
        fprintf(stderr, "%s\n", safe);
        free(safe);
        at += n + (at[n] == '\n');
    }
    buf_release(&text);
}

void guard_end(void) {
    active = 0;
    guard_line();
    mem_on_abort(NULL);
    for (size_t i = 0; i < COUNT_OF(fatal); i++)
        if (installed[i]) sigaction(fatal[i], &term_guard_before[i], NULL);
    memset(installed, 0, sizeof installed);
    if (stderr_copy < 0) return;
    fflush(stderr);
    dup2(stderr_copy, STDERR_FILENO);
    close(stderr_copy);
    stderr_copy = -1;
    show_stderr();
    close(stderr_file);
    stderr_file = -1;
}
