#include "tests/bench/bench_keys.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/clock.h"
#include "core/base/file.h"
#include "core/base/mem.h"
#include "core/base/scratch.h"

extern char **environ;

enum { QUIET_MS = 4, ANSWER_MS = 400, BEGIN_MS = 60000, STEP_MS = 100 };

/* Reads the painted bytes until none arrived for `quiet` ms, or none at all within `most` ms; *last: time of the last byte.
 * Returns whether any arrived; kept: they are appended there. */
static bool bench_keys_drain(int fd, int quiet, int most, double *last, struct buf *kept) {
    char bytes[16384];
    bool any = false;
    struct pollfd p = { .fd = fd, .events = POLLIN };
    while (poll(&p, 1, any ? quiet : most) > 0) {
        ssize_t n = read(fd, bytes, sizeof bytes);
        if (n <= 0) return any;
        *last = clock_seconds();
        any = true;
        if (kept) buf_add(kept, bytes, (size_t)n);
    }
    return any;
}

static int bench_keys_by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* Returns the path of petri next to this program, which the caller frees. */
static char *bench_keys_petri(void) {
    char self[4096];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    self[n < 0 ? 0 : n] = '\0';
    char *end = strrchr(self, '/');
    if (end) *end = '\0';
    return file_join(self, "petri");
}

/* Opens the screens on a new 120x40 terminal; *fd: its other end. */
static int bench_keys_open(const char *folder, const char *model, const char *task, pid_t *pid, int *fd, struct err *e) {
    struct winsize size = { .ws_row = 40, .ws_col = 120 };
    *fd = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (*fd < 0 || grantpt(*fd) || unlockpt(*fd)) return err_set(e, ERR_SYSTEM, "cannot create a terminal: %s", strerror(errno));
    ioctl(*fd, TIOCSWINSZ, &size);
    char path[64], *db = file_join(folder, "keys.db");
    if (ptsname_r(*fd, path, sizeof path)) return err_set(e, ERR_SYSTEM, "cannot create a terminal: %s", strerror(errno));
    char *argv[] = { "petri", "--db", db, "--model", (char *)model, "--task", (char *)task, "--workers", "2", NULL };
    setenv("TERM", "xterm-256color", 1);
    setenv("XDG_CONFIG_HOME", folder, 1);
    posix_spawn_file_actions_t files;
    posix_spawnattr_t how;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, path, O_RDWR, 0); /* a new session's first terminal is its own */
    posix_spawn_file_actions_adddup2(&files, STDIN_FILENO, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&files, STDIN_FILENO, STDERR_FILENO);
    posix_spawnattr_init(&how);
    posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSID);
    char *petri = bench_keys_petri();
    int rc = posix_spawn(pid, petri, &files, &how, argv, environ);
    posix_spawnattr_destroy(&how);
    posix_spawn_file_actions_destroy(&files);
    free(db);
    if (rc) err_set(e, ERR_SYSTEM, "%s: cannot be started: %s", petri, strerror(rc));
    free(petri);
    return rc ? e->code : 0;
}

/* Waits until `word` was painted. */
static int bench_keys_await(int fd, const char *word, struct err *e) {
    struct buf seen = BUF_INIT;
    double last;
    bool found = false;
    for (int ms = 0; ms < BEGIN_MS && !found; ms += STEP_MS) {
        bench_keys_drain(fd, QUIET_MS, STEP_MS, &last, &seen);
        found = strstr(buf_text(&seen), word) != NULL;
    }
    buf_release(&seen);
    return found ? 0 : err_set(e, ERR_FAILED, "\"%s\" was not painted within %d s", word, BEGIN_MS / 1000);
}

static void bench_keys_type(int fd, const char *keys) {
    ssize_t ignored = write(fd, keys, strlen(keys));
    (void)ignored;
}

/* Presses keys that each change the screen. */
static void bench_keys_press(int fd, int keys, struct bench_keys *out) {
    static const char pressed[] = "1jkjk??1lhlh2mMmMvv2,\r?2345321:\x7f:\x7f";
    double *ms = xcalloc((size_t)keys, sizeof *ms), last = 0;
    int answered = 0;
    for (int i = 0; i < keys; i++) {
        char key[2] = { pressed[(size_t)i % (sizeof pressed - 1)], 0 };
        while (bench_keys_drain(fd, QUIET_MS, 3 * QUIET_MS, &last, NULL)) {} /* what the run paints */
        double from = clock_seconds();
        bench_keys_type(fd, key);
        out->keys++;
        if (bench_keys_drain(fd, QUIET_MS, ANSWER_MS, &last, NULL)) ms[answered++] = 1000 * (last - from);
        else out->silent++;
    }
    qsort(ms, (size_t)answered, sizeof *ms, bench_keys_by_size);
    if (answered) {
        out->median = ms[answered / 2];
        out->p95 = ms[answered * 95 / 100];
        out->worst = ms[answered - 1];
    }
    free(ms);
}

int bench_keys(const char *model, const char *task, int keys, struct bench_keys *out, struct err *e) {
    struct scratch at;
    pid_t pid = 0;
    int fd = -1, rc = scratch_make(&at, "keys", e);
    *out = (struct bench_keys){ 0 };
    if (!rc) rc = bench_keys_open(at.folder, model, task, &pid, &fd, e);
    if (!rc) rc = bench_keys_await(fd, "Enter", e);
    if (!rc) {
        char *line = xprintf(":train --method lora --steps 1000000 --batch 8 --max-length 64 --model '%s' --task '%s'\r", model, task);
        bench_keys_type(fd, line);
        free(line);
        rc = bench_keys_await(fd, "tok/s", e);
    }
    if (!rc) bench_keys_press(fd, keys, out);
    if (pid) {
        kill(pid, SIGTERM);
        double last;
        while (bench_keys_drain(fd, STEP_MS, BEGIN_MS, &last, NULL) && waitpid(pid, NULL, WNOHANG) == 0) {}
        waitpid(pid, NULL, 0);
    }
    if (fd >= 0) close(fd);
    scratch_drop(&at);
    return rc;
}
