#include "app/session/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/base/text.h"

extern char **environ;

struct child {
    pid_t pid;
    int fd, code;
    struct buf tail; /* the incomplete last line */
    char **line;
    size_t lines, room;
    bool cut;
};

static int child_spawn(pid_t *pid, int out, char **argv) {
    posix_spawn_file_actions_t files;
    posix_spawnattr_t how;
    sigset_t usual, none;
    sigemptyset(&none);
    sigemptyset(&usual);
    sigaddset(&usual, SIGPIPE); /* the screen ignores it, and children inherit that */
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&files, out, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&files, out, STDERR_FILENO);
    posix_spawnattr_init(&how);
    posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
    posix_spawnattr_setsigdefault(&how, &usual);
    posix_spawnattr_setsigmask(&how, &none);
    posix_spawnattr_setpgroup(&how, 0); /* it must not receive the terminal's signals */
    int rc = posix_spawn(pid, "/proc/self/exe", &files, &how, argv, environ);
    posix_spawnattr_destroy(&how);
    posix_spawn_file_actions_destroy(&files);
    return rc;
}

struct child *child_new(char *const *word, size_t words, struct err *e) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC)) {
        err_set(e, ERR_SYSTEM, "cannot create a pipe for the command: %s", strerror(errno));
        return NULL;
    }
    struct child *c = xcalloc(1, sizeof *c);
    char **argv = xcalloc(words + 2, sizeof *argv);
    argv[0] = (char *)"petri";
    memcpy(argv + 1, word, words * sizeof *argv);
    int rc = child_spawn(&c->pid, ends[1], argv);
    free(argv);
    close(ends[1]);
    if (rc) {
        close(ends[0]);
        free(c);
        err_set(e, ERR_SYSTEM, "cannot start the command: %s", strerror(rc));
        return NULL;
    }
    c->fd = ends[0];
    fcntl(c->fd, F_SETFL, O_NONBLOCK);
    return c;
}

static int child_exit(pid_t pid) {
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {}
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* Runs a program on this terminal and waits.  folder: where, with standard error on the terminal too; NULL:
 * here, with this program's. */
static int run_on_terminal(const char *program, char **argv, const char *folder, int *code, struct err *e) {
    pid_t pid;
    posix_spawn_file_actions_t files;
    posix_spawnattr_t how;
    sigset_t usual;
    void (*before)(int) = signal(SIGINT, SIG_IGN);
    sigemptyset(&usual);
    sigaddset(&usual, SIGINT);
    sigaddset(&usual, SIGPIPE); /* the screens ignore it */
    posix_spawn_file_actions_init(&files);
    if (folder) posix_spawn_file_actions_addchdir_np(&files, folder);
    if (folder) posix_spawn_file_actions_adddup2(&files, STDOUT_FILENO, STDERR_FILENO); /* a terminal again */
    posix_spawnattr_init(&how);
    posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setsigdefault(&how, &usual);
    int rc = posix_spawnp(&pid, program, &files, &how, argv, environ);
    posix_spawnattr_destroy(&how);
    posix_spawn_file_actions_destroy(&files);
    if (!rc) *code = child_exit(pid);
    signal(SIGINT, before);
    return rc ? err_set(e, ERR_SYSTEM, "cannot start %s: %s", argv[0], strerror(rc)) : 0;
}

int child_run(char *const *word, size_t words, int *code, struct err *e) {
    char **argv = xcalloc(words + 2, sizeof *argv);
    argv[0] = (char *)"petri";
    memcpy(argv + 1, word, words * sizeof *argv);
    int rc = run_on_terminal("/proc/self/exe", argv, NULL, code, e);
    free(argv);
    return rc;
}

int child_shell(const char *folder, struct err *e) {
    const char *shell = getenv("SHELL");
    int code;
    if (!shell || !*shell) shell = "/bin/sh";
    char *argv[] = { (char *)(uintptr_t)shell, NULL };
    int rc = run_on_terminal(shell, argv, folder, &code, e);
    /* a shell with job control may not have given the terminal back */
    void (*before)(int) = signal(SIGTTOU, SIG_IGN);
    tcsetpgrp(STDIN_FILENO, getpgrp());
    signal(SIGTTOU, before);
    return rc;
}

int child_fd(const struct child *c) { return c ? c->fd : -1; }

/* Expands tabs, and drops text before a carriage return, which was overwritten. */
static void child_add_line(struct child *c) {
    struct buf b = BUF_INIT;
    const char *s = buf_text(&c->tail), *from = strrchr(s, '\r');
    if (from && !from[1]) from = NULL;
    for (s = from ? from + 1 : s; *s; s++) {
        if (*s == '\t') buf_printf(&b, "%*s", 8 - text_width(buf_text(&b)) % 8, "");
        else if (*s != '\r') buf_putc(&b, *s);
    }
    if (c->lines < CHILD_LINES) {
        GROW(c->line, c->room, c->lines + 1);
        c->line[c->lines++] = text_visible(buf_text(&b), b.size);
    } else {
        c->cut = true;
    }
    buf_release(&b);
    buf_clear(&c->tail);
}

static void child_over(struct child *c) {
    if (c->tail.size) child_add_line(c);
    close(c->fd);
    c->fd = -1;
    c->code = child_exit(c->pid);
}

bool child_read(struct child *c) {
    enum { AT_ONCE = 64, LONGEST = 1 << 16 };
    char chunk[8192];
    for (int i = 0; c->fd >= 0 && i < AT_ONCE; i++) {
        ssize_t n = read(c->fd, chunk, sizeof chunk);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && errno == EAGAIN) return false;
        if (n <= 0) {
            child_over(c);
            return true;
        }
        for (ssize_t k = 0; k < n; k++) {
            if (chunk[k] == '\n') child_add_line(c);
            else if (c->tail.size < LONGEST) buf_putc(&c->tail, chunk[k] ? chunk[k] : ' ');
        }
    }
    return false;
}

const char *const *child_lines(const struct child *c, int *lines, bool *cut) {
    *lines = (int)c->lines;
    *cut = c->cut;
    return (const char *const *)c->line;
}

int child_code(const struct child *c) { return c->code; }

void child_stop(struct child *c) {
    if (c->fd >= 0) kill(c->pid, SIGTERM);
}

void child_free(struct child *c) {
    enum { PATIENCE_MS = 3000, LOOK_MS = 10 };
    if (!c) return;
    child_stop(c);
    for (int ms = 0; c->fd >= 0 && ms < PATIENCE_MS; ms += LOOK_MS)
        if (!child_read(c)) clock_sleep_ms(LOOK_MS);
    if (c->fd >= 0) {
        kill(c->pid, SIGKILL);
        child_over(c);
    }
    for (size_t i = 0; i < c->lines; i++) free(c->line[i]);
    free(c->line);
    buf_release(&c->tail);
    free(c);
}
