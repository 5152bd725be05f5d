#include "app/files/png.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/file.h"
#include "core/base/mem.h"
#include "core/base/text.h"

extern char **environ;

static const char PNG_CONVERTER[] = "rsvg-convert";

/* Returns its path, or NULL when it is not on PATH.  Caller frees. */
static char *png_maker(void) {
    const char *path = getenv("PATH");
    char *copy = xstrdup(path ? path : "/usr/bin:/bin"), *rest = copy, *folder, *found = NULL;
    while (!found && (folder = strsep(&rest, ":"))) {
        found = file_join(*folder ? folder : ".", PNG_CONVERTER);
        if (!access(found, X_OK) && !file_is_folder(found)) continue;
        free(found);
        found = NULL;
    }
    free(copy);
    return found;
}

static int png_absent(struct err *e) {
    return err_set(e, ERR_NOT_FOUND,
                   "cannot write a PNG: %s was not found; install the Debian package librsvg2-bin, "
                   "or write a .svg, which browsers display",
                   PNG_CONVERTER);
}

int png_ready(struct err *e) {
    char *maker = png_maker();
    bool there = maker != NULL;
    free(maker);
    return there ? 0 : png_absent(e);
}

/* The child's three streams are files in memory, so that neither process blocks on the other. */
struct png_streams {
    int in, out, notes;
};

static int png_open(struct png_streams *s, const struct buf *svg, struct err *e) {
    s->in = memfd_create("petri-svg", MFD_CLOEXEC);
    s->out = memfd_create("petri-png", MFD_CLOEXEC);
    s->notes = memfd_create("petri-notes", MFD_CLOEXEC);
    bool whole = s->in >= 0 && s->out >= 0 && s->notes >= 0;
    for (size_t done = 0; whole && done < svg->size;) {
        ssize_t n = write(s->in, svg->data + done, svg->size - done);
        if (n > 0) done += (size_t)n;
        else whole = n < 0 && errno == EINTR;
    }
    if (!whole) return err_set(e, ERR_SYSTEM, "out of memory for a PNG: %s", strerror(errno));
    lseek(s->in, 0, SEEK_SET);
    return 0;
}

static void png_close(struct png_streams *s) {
    const int fd[] = { s->in, s->out, s->notes };
    for (size_t i = 0; i < COUNT_OF(fd); i++)
        if (fd[i] >= 0) close(fd[i]);
}

static int png_spawn(pid_t *pid, const char *maker, const struct png_streams *s) {
    char *words[] = { (char *)(uintptr_t)PNG_CONVERTER, (char *)"--format=png", (char *)"--zoom=2", NULL };
    posix_spawn_file_actions_t files;
    posix_spawnattr_t how;
    sigset_t usual, none;
    sigemptyset(&none);
    sigemptyset(&usual);
    sigaddset(&usual, SIGPIPE);
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, s->in, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&files, s->out, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&files, s->notes, STDERR_FILENO);
    posix_spawnattr_init(&how);
    posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
    posix_spawnattr_setsigdefault(&how, &usual);
    posix_spawnattr_setsigmask(&how, &none);
    int rc = posix_spawn(pid, maker, &files, &how, words, environ);
    posix_spawnattr_destroy(&how);
    posix_spawn_file_actions_destroy(&files);
    return rc;
}

/* Returns false when it was killed because it took too long. */
static bool png_wait(pid_t pid, int *status) {
    enum { PATIENCE_MS = 120000, LOOK_MS = 5 };
    for (int ms = 0; ms < PATIENCE_MS; ms += LOOK_MS) {
        pid_t ended = waitpid(pid, status, WNOHANG);
        if (ended == pid || (ended < 0 && errno != EINTR)) return true;
        clock_sleep_ms(LOOK_MS);
    }
    kill(pid, SIGKILL);
    while (waitpid(pid, status, 0) < 0 && errno == EINTR) {}
    return false;
}

static bool png_whole(const struct buf *b) {
    static const char head[] = "\x89PNG\r\n\x1a\n", tail[] = "IEND\xae\x42\x60\x82";
    enum { ENDS = 8 };
    return b->size > 2 * ENDS && !memcmp(b->data, head, ENDS) &&
           !memcmp(b->data + b->size - ENDS, tail, ENDS);
}

static int png_take(const struct png_streams *s, bool in_time, int status, struct buf *out, struct err *e) {
    enum { MOST = 1 << 30, MOST_NOTES = 1 << 16 };
    struct buf notes = BUF_INIT;
    lseek(s->out, 0, SEEK_SET);
    lseek(s->notes, 0, SEEK_SET);
    int rc = file_read_fd(s->out, PNG_CONVERTER, MOST, out, e);
    if (!rc && (!in_time || status || !png_whole(out))) {
        struct err ignored = ERR_INIT;
        file_read_fd(s->notes, PNG_CONVERTER, MOST_NOTES, &notes, &ignored);
        const char *why = buf_text(&notes);
        if (!in_time) why = "timed out after two minutes";
        else if (!*why) why = status ? "failed without a message" : "incomplete output";
        rc = err_set(e, ERR_FAILED, "cannot write a PNG: %s: %.*s", PNG_CONVERTER,
                      (int)strcspn(why, "\n"), why);
    }
    buf_release(&notes);
    if (rc) buf_release(out);
    return rc;
}

int png_of_svg(const struct buf *svg, struct buf *out, struct err *e) {
    struct png_streams s;
    pid_t pid;
    int status = 0;
    char *maker = png_maker();
    if (!maker) return png_absent(e);
    int rc = png_open(&s, svg, e), failed = rc ? 0 : png_spawn(&pid, maker, &s);
    if (failed) rc = err_set(e, ERR_SYSTEM, "cannot start %s: %s", maker, strerror(failed));
    if (!rc) {
        bool in_time = png_wait(pid, &status);
        rc = png_take(&s, in_time, status, out, e);
    }
    png_close(&s);
    free(maker);
    return rc;
}
