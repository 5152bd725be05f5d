#include "tests/support/command.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/base/mem.h"
#include "tests/support/test.h"

enum { WORDS = 64 };

/* Splits in place; returns the number of words. */
static int split(char *line, char **word) {
    int n = 0;
    for (char *p = line; *p;) {
        while (*p == ' ') p++;
        if (!*p) break;
        char end = *p == '\'' || *p == '"' ? *p : ' ';
        if (end != ' ') p++;
        BUG_IF(n == WORDS - 2);
        word[n++] = p;
        while (*p && *p != end) p++;
        if (*p) *p++ = '\0';
    }
    word[n] = NULL;
    return n;
}

static pid_t start(const char *environment, char *line, int out, int err) {
    char *word[WORDS], *setting[WORDS];
    const char *program = getenv("PETRI_BIN");
    word[0] = (char *)(program ? program : "./petri");
    split(line, word + 1);
    char *copy = xstrdup(environment ? environment : "");
    int settings = split(copy, setting);
    pid_t pid = fork();
    if (pid == 0) {
        for (int i = 0; i < settings; i++) putenv(setting[i]);
        int null = open("/dev/null", O_RDONLY);
        dup2(null, 0);
        dup2(out, 1);
        dup2(err, 2);
        execv(word[0], word);
        _exit(127);
    }
    free(copy);
    if (pid < 0) fail_msg("no process");
    return pid;
}

static int status_of(int raw) { return WIFEXITED(raw) ? WEXITSTATUS(raw) : 128 + WTERMSIG(raw); }

void command_run(struct command *c, const char *environment, const char *format, ...) {
    va_list args;
    char line[8192];
    va_start(args, format);
    int n = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    BUG_IF(n < 0 || (size_t)n >= sizeof line);
    *c = (struct command){ .out = BUF_INIT, .err = BUF_INIT };
    int out[2], err[2];
    if (pipe2(out, O_CLOEXEC) || pipe2(err, O_CLOEXEC)) fail_msg("no pipe");
    pid_t pid = start(environment, line, out[1], err[1]);
    close(out[1]);
    close(err[1]);
    struct pollfd fd[2] = { { .fd = out[0], .events = POLLIN }, { .fd = err[0], .events = POLLIN } };
    int open_ends = 2;
    while (open_ends) {
        poll(fd, 2, -1);
        for (int i = 0; i < 2; i++) {
            if (fd[i].fd < 0 || !fd[i].revents) continue;
            char chunk[4096];
            ssize_t got = read(fd[i].fd, chunk, sizeof chunk);
            if (got > 0) {
                buf_add(i ? &c->err : &c->out, chunk, (size_t)got);
                continue;
            }
            close(fd[i].fd);
            fd[i].fd = -1;
            open_ends--;
        }
    }
    int raw;
    waitpid(pid, &raw, 0);
    c->status = status_of(raw);
}

void command_release(struct command *c) {
    buf_release(&c->out);
    buf_release(&c->err);
}

pid_t command_start(const char *folder, const char *format, ...) {
    va_list args;
    char line[8192];
    va_start(args, format);
    int n = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    BUG_IF(n < 0 || (size_t)n >= sizeof line);
    char *out = file_join(folder, "stdout"), *err = file_join(folder, "stderr");
    int fd_out = open(out, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    int fd_err = open(err, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    pid_t pid = start(NULL, line, fd_out, fd_err);
    close(fd_out);
    close(fd_err);
    free(out);
    free(err);
    return pid;
}

int command_wait(pid_t pid, double seconds) {
    for (int tries = (int)(seconds * 100) * TEST_PATIENCE; tries >= 0; tries--) {
        int raw;
        if (waitpid(pid, &raw, WNOHANG) == pid) return status_of(raw);
        nanosleep(&(struct timespec){ 0, 10000000 }, NULL);
    }
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    return -1;
}

void command_expect(const struct command *c, int status) {
    if (c->status != status)
        fail_msg("exit %d, not %d\n%s\n%s", c->status, status, buf_text(&c->out), buf_text(&c->err));
}

json_t *command_json(const struct command *c, int last) {
    const char *text = buf_text(&c->out);
    if (last) {
        size_t n = strlen(text);
        while (n && text[n - 1] == '\n') n--;
        const char *start = text;
        for (const char *p = text; p < text + n; p++)
            if (*p == '\n') start = p + 1;
        text = start;
    }
    json_error_t where;
    json_t *v = json_loads(text, JSON_DECODE_ANY | JSON_DISABLE_EOF_CHECK, &where);
    if (!v) fail_msg("no JSON (%s): %s", where.text, text);
    return v;
}
