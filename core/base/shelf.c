/* One file per shelf: a header of HEAD bytes, which holds its text, then the records, each after its
 * checksum.  Ranges never written are holes in the file and take no disk space. */
#include "core/base/shelf.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/base/mem.h"
#include "core/base/text.h"

enum {
    HEAD = 1024,
    SUM = 64,               /* a SHA-256 in hexadecimal; starts with a NUL: never written */
    TRIES = 8,              /* attempts to open a file that others remove meanwhile */
    FILES = 1024,           /* per folder, however small: the folder is listed often */
    STRETCH = 16 << 20,     /* bytes written between two checks of the folder, or … */
    STRETCHES = 64,         /* … this fraction of a small limit */
};
static const char shelf_ending[] = ".shelf";

struct shelf {
    char *folder, *path;
    char head[HEAD];
    int fd;
    const size_t *start;
    size_t unit;
    uint64_t limit;
    pthread_mutex_t lock;   /* protects the members below */
    uint64_t room;          /* bytes that may be written before the next check of the folder */
    bool full;              /* accepts no more records */
};

static int shelf_fault(const char *path, const char *what, struct err *e) {
    return err_set(e, ERR_SYSTEM, "%s: %s: %s", path, what, strerror(errno));
}

/* ---- the folder ---- */

struct shelf_file {
    char *name;
    uint64_t bytes;
    struct timespec used;
};

static int shelf_older(const void *a, const void *b) {
    const struct timespec *x = &((const struct shelf_file *)a)->used,
                          *y = &((const struct shelf_file *)b)->used;
    if (x->tv_sec != y->tv_sec) return x->tv_sec < y->tv_sec ? -1 : 1;
    return (x->tv_nsec > y->tv_nsec) - (x->tv_nsec < y->tv_nsec);
}

/* Returns all shelves, least recently used first; caller frees names and list. */
static size_t shelf_list(const char *folder, struct shelf_file **out) {
    size_t n = 0, room = 0;
    struct stat st;
    DIR *d = opendir(folder);
    *out = NULL;
    for (struct dirent *x; d && (x = readdir(d));) {
        if (!text_ends(x->d_name, shelf_ending) || fstatat(dirfd(d), x->d_name, &st, AT_SYMLINK_NOFOLLOW) ||
            !S_ISREG(st.st_mode))
            continue;
        GROW(*out, room, n + 1);
        (*out)[n++] = (struct shelf_file){ xstrdup(x->d_name), (uint64_t)st.st_blocks * 512, st.st_mtim };
    }
    if (d) closedir(d);
    if (n) qsort(*out, n, sizeof **out, shelf_older);
    return n;
}

static void shelf_list_free(struct shelf_file *list, size_t n) {
    for (size_t i = 0; i < n; i++) free(list[i].name);
    free(list);
}

uint64_t shelf_usage(const char *folder, size_t *shelves) {
    struct shelf_file *list;
    uint64_t bytes = 0;
    *shelves = shelf_list(folder, &list);
    for (size_t i = 0; i < *shelves; i++) bytes += list[i].bytes;
    shelf_list_free(list, *shelves);
    return bytes;
}

/* Removes a shelf that no process has open. */
static bool shelf_evict(const char *folder, const char *name) {
    char *path = file_join(folder, name);
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    bool gone = fd >= 0 && !flock(fd, LOCK_EX | LOCK_NB) && !unlink(path);
    if (fd >= 0) close(fd);
    free(path);
    return gone;
}

/* Returns whether `more` bytes fit into the folder after removing unused shelves. */
static bool shelf_make_room(const char *folder, uint64_t limit, uint64_t more) {
    struct shelf_file *list;
    size_t n = shelf_list(folder, &list);
    uint64_t used = 0;
    for (size_t i = 0; i < n; i++) used += list[i].bytes;
    for (size_t i = 0; i < n && (used + more > limit || n - i > FILES); i++)
        if (shelf_evict(folder, list[i].name)) used -= list[i].bytes;
    shelf_list_free(list, n);
    return used + more <= limit;
}

/* ---- opening ---- */

static bool shelf_has_head(const struct shelf *s) {
    char head[HEAD];
    return pread(s->fd, head, HEAD, 0) == HEAD && !memcmp(head, s->head, HEAD);
}

/* Returns 1 if the file opened at the path is the shelf; 0 if another process removed it and it must be
 * opened again.  A process with an exclusive lock may reset the file: users share the lock. */
static int shelf_settle(struct shelf *s, struct err *e) {
    struct stat st;
    bool alone = !flock(s->fd, LOCK_EX | LOCK_NB);
    if (!alone && errno != EWOULDBLOCK) return shelf_fault(s->path, "cannot be locked", e), -1;
    if (alone && !shelf_has_head(s) && (ftruncate(s->fd, 0) || pwrite(s->fd, s->head, HEAD, 0) != HEAD))
        return shelf_fault(s->path, "cannot be written", e), -1;
    if (flock(s->fd, LOCK_SH)) return shelf_fault(s->path, "cannot be locked", e), -1;
    if (fstat(s->fd, &st)) return shelf_fault(s->path, "cannot be accessed", e), -1;
    if (!S_ISREG(st.st_mode)) return err_set(e, ERR_SYSTEM, "%s: not a regular file", s->path), -1;
    return st.st_nlink && shelf_has_head(s);
}

static int shelf_begin(struct shelf *s, struct err *e) {
    int there = 0;
    for (int i = 0; i < TRIES && !there; i++) {
        if (s->fd >= 0) close(s->fd);
        s->fd = open(s->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
        if (s->fd < 0) return shelf_fault(s->path, "cannot be opened", e);
        there = shelf_settle(s, e);
    }
    if (!there) err_set(e, ERR_SYSTEM, "%s: repeatedly removed by other processes", s->path);
    return there > 0 ? 0 : e->code;
}

struct shelf *shelf_open(const char *folder, const char *text, size_t records, const size_t *start,
                         size_t unit, uint64_t limit, struct err *e) {
    char name[65];
    BUG_IF(strlen(text) >= HEAD - 32);
    if (file_make_folder(folder, e)) return NULL;
    struct shelf *s = xcalloc(1, sizeof *s);
    *s = (struct shelf){ .fd = -1, .folder = xstrdup(folder), .start = start, .unit = unit, .limit = limit };
    pthread_mutex_init(&s->lock, NULL);
    snprintf(s->head, HEAD, "%srecords %zu\n", text, records);
    sha256_hex(s->head, HEAD, name);
    s->path = xprintf("%s/%.32s%s", folder, name, shelf_ending);
    /* Removed last, but removed if it is larger than the limit by itself. */
    utimensat(AT_FDCWD, s->path, NULL, AT_SYMLINK_NOFOLLOW);
    shelf_make_room(folder, limit, 0);
    if (!shelf_begin(s, e)) return s;
    shelf_close(s);
    return NULL;
}

void shelf_close(struct shelf *s) {
    if (!s) return;
    if (s->fd >= 0) close(s->fd);
    pthread_mutex_destroy(&s->lock);
    free(s->folder);
    free(s->path);
    free(s);
}

bool shelf_empty(struct shelf *s) {
    bool alone = !flock(s->fd, LOCK_EX | LOCK_NB);
    bool done = alone && !ftruncate(s->fd, HEAD);
    flock(s->fd, LOCK_SH);
    return done;
}

/* ---- records ---- */

static size_t record_bytes(const struct shelf *s, size_t i) {
    return (s->start[i + 1] - s->start[i]) * s->unit;
}

static off_t record_place(const struct shelf *s, size_t i) {
    return (off_t)(HEAD + i * SUM + s->start[i] * s->unit);
}

/* Hashes the content of the record and its position. */
static void record_sum(const struct shelf *s, size_t i, const void *record, char out[SUM + 1]) {
    const uint64_t number = i;
    struct sha256 *h = sha256_start();
    sha256_add(h, s->head, HEAD);
    sha256_add(h, &number, sizeof number);
    sha256_add(h, record, record_bytes(s, i));
    sha256_finish(h, out);
}

bool shelf_read(const struct shelf *s, size_t i, void *out) {
    char held[SUM], sum[SUM + 1];
    size_t n = record_bytes(s, i);
    const struct iovec part[] = { { held, SUM }, { out, n } };
    if (preadv(s->fd, part, 2, record_place(s, i)) != (ssize_t)(SUM + n) || !held[0]) return false;
    record_sum(s, i, out, sum);
    return !memcmp(held, sum, SUM);
}

/* Reserves `n` bytes of the limit. */
static bool shelf_take(struct shelf *s, uint64_t n, struct err *e) {
    struct stat st;
    pthread_mutex_lock(&s->lock);
    bool taken = !s->full, asks = taken && s->room < n;
    if (asks) {
        uint64_t stretch = s->limit / STRETCHES < STRETCH ? s->limit / STRETCHES : STRETCH;
        if (stretch < n) stretch = n;
        bool gone = fstat(s->fd, &st) || !st.st_nlink; /* a removed file does not count towards the limit */
        if (gone) err_set(e, ERR_SYSTEM, "%s: removed while it was being written", s->path);
        else if (!shelf_make_room(s->folder, s->limit, stretch))
            err_set(e, ERR_SYSTEM, "%s: the cache is full: the limit is %llu MB", s->folder,
                    (unsigned long long)(s->limit >> 20));
        else s->room = stretch;
        s->full = s->room < n;
        taken = !s->full;
    }
    if (taken) s->room -= n;
    pthread_mutex_unlock(&s->lock);
    return taken;
}

int shelf_write(struct shelf *s, size_t i, const void *record, struct err *e) {
    char sum[SUM + 1];
    size_t n = record_bytes(s, i);
    if (!shelf_take(s, SUM + n, e)) return e->code;
    record_sum(s, i, record, sum);
    const struct iovec part[] = { { sum, SUM }, { (void *)(uintptr_t)record, n } };
    ssize_t written = pwritev(s->fd, part, 2, record_place(s, i));
    if (written == (ssize_t)(SUM + n)) return 0;
    if (written >= 0) errno = ENOSPC; /* a partial write: the disk is full */
    pthread_mutex_lock(&s->lock);
    bool told = s->full;
    s->full = true;
    pthread_mutex_unlock(&s->lock);
    return told ? 0 : shelf_fault(s->path, "cannot be written", e);
}
