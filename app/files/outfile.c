#include "app/files/outfile.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/mem.h"
#include "core/base/text.h"

void outfile_guard_init(struct outfile_guard *g, const char *database, bool overwrite) {
    *g = (struct outfile_guard){ .database = xstrdup(database), .overwrite = overwrite };
}

void outfile_guard_release(struct outfile_guard *g) {
    for (size_t i = 0; i < g->reads; i++) free(g->read[i]);
    free(g->read);
    free(g->database);
    *g = (struct outfile_guard){ 0 };
}

void outfile_guard_reads(struct outfile_guard *g, const char *path) {
    if (!path) return;
    GROW(g->read, g->room, g->reads + 1);
    g->read[g->reads++] = xstrdup(path);
}

void outfile_guard_run(struct outfile_guard *g, const struct run_config *c) {
    outfile_guard_reads(g, c->model_folder);
    for (int i = 0; i < config_task_count(c); i++) {
        const struct run_config *rows = config_data_of(c, i);
        outfile_guard_reads(g, rows->train_file);
        outfile_guard_reads(g, rows->dev_file);
    }
}

/* ---- files that are never overwritten ---- */

/* Returns the path without links; of a missing path, its existing folders are resolved. */
static char *resolved(const char *path) {
    char *whole = xstrdup(path), *full;
    size_t all = strlen(path), n = all;
    while (!(full = realpath(n ? whole : ".", NULL)) && n) {
        while (n && whole[n - 1] == '/') n--;
        while (n && whole[n - 1] != '/') n--;
        whole[n] = '\0'; /* the parent folder */
    }
    free(whole);
    if (!full) return xstrdup(path);
    while (all > n && path[all - 1] == '/') all--;
    char *rest = xstrndup(path + n, all - n);
    whole = *rest ? file_join(full, rest) : xstrdup(full);
    free(rest);
    free(full);
    return whole;
}

static bool outfile_same_file(const char *path, const struct stat *st) {
    struct stat other;
    return st && !stat(path, &other) && other.st_dev == st->st_dev && other.st_ino == st->st_ino;
}

/* `st`: of the target, NULL when it does not exist; `target`: the resolved path. */
static bool of_database(const char *database, const char *target, const struct stat *st) {
    static const char *const beside[] = { "", "-wal", "-shm", "-journal", "-lock", "-files" };
    bool found = false;
    for (size_t i = 0; !found && i < COUNT_OF(beside); i++) {
        char *name = xprintf("%s%s", database, beside[i]), *full = resolved(name);
        size_t n = strlen(full);
        bool inside = !strncmp(target, full, n) && (!target[n] || target[n] == '/');
        found = inside || outfile_same_file(name, st);
        free(name);
        free(full);
    }
    return found;
}

/* Compares with the names derived from the user's path and from the file that it links to. */
static bool is_database(const struct outfile_guard *g, const char *target, const struct stat *st) {
    char *full = resolved(g->database);
    bool found = of_database(g->database, target, st) || of_database(full, target, st);
    free(full);
    return found;
}

static bool is_in(const char *folder, const struct stat *st) {
    DIR *d = opendir(folder);
    bool found = false;
    for (struct dirent *x; d && !found && (x = readdir(d));) {
        char *path = file_join(folder, x->d_name);
        found = outfile_same_file(path, st);
        free(path);
    }
    if (d) closedir(d);
    return found;
}

static bool is_read(const struct outfile_guard *g, const struct stat *st) {
    for (size_t i = 0; i < g->reads; i++)
        if (outfile_same_file(g->read[i], st) || (file_is_folder(g->read[i]) && is_in(g->read[i], st)))
            return true;
    return false;
}

static bool holds_database(const char *path) {
    static const char magic[] = "SQLite format 3"; /* including its NUL */
    char first[sizeof magic];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return false;
    bool found = read(fd, first, sizeof first) == (ssize_t)sizeof first &&
                 !memcmp(first, magic, sizeof first);
    close(fd);
    return found;
}

static int check_existing(const struct outfile_guard *g, const char *path, const struct stat *st,
                          struct err *e) {
    if (S_ISDIR(st->st_mode)) return err_set(e, ERR_USAGE, "%s: is a folder; give the path of a file", path);
    if (!S_ISREG(st->st_mode)) return err_set(e, ERR_USAGE, "%s: not a regular file; give a new path", path);
    if (is_read(g, st))
        return err_set(e, ERR_USAGE, "%s: cannot be overwritten: it is an input file", path);
    if (holds_database(path))
        return err_set(e, ERR_USAGE, "%s: cannot be overwritten: it is an SQLite database", path);
    if (!g->overwrite)
        return err_set(e, ERR_USAGE, "%s: already exists; use --overwrite to replace it", path);
    return 0;
}

int outfile_check_folder(const struct outfile_guard *g, const char *path, struct err *e) {
    struct stat st;
    bool there = !stat(path, &st);
    if (!*path) return err_set(e, ERR_USAGE, "the output path is empty");
    char *target = resolved(path);
    bool taken = is_database(g, target, there ? &st : NULL);
    free(target);
    return taken ? err_set(e, ERR_USAGE, "%s: cannot be written: it belongs to the database %s",
                           path, g->database)
                 : 0;
}

/* Checked before the work starts, not after hours of it. */
static int outfile_check_place(const char *path, struct err *e) {
    char *target = resolved(path), *slash = strrchr(target, '/');
    if (slash) slash[slash == target] = '\0';
    const char *folder = slash ? target : ".";
    int rc = 0;
    if (!file_is_folder(folder))
        rc = err_set(e, ERR_NOT_FOUND, "%s: the folder %s does not exist", path, folder);
    else if (access(folder, W_OK))
        rc = err_set(e, ERR_SYSTEM, "%s: cannot write to its folder: %s", path, strerror(errno));
    free(target);
    return rc;
}

int outfile_check(const struct outfile_guard *g, const char *path, struct err *e) {
    struct stat st;
    int rc = outfile_check_folder(g, path, e);
    if (rc) return rc;
    if (!stat(path, &st)) rc = check_existing(g, path, &st, e);
    else if (!lstat(path, &st) && !g->overwrite)
        rc = err_set(e, ERR_USAGE, "%s: is a broken link; use --overwrite to replace it", path);
    return rc ? rc : outfile_check_place(path, e);
}

/* ---- writing ---- */

int outfile_open(struct file_atomic *f, const struct outfile_guard *g, const char *path, struct err *e) {
    int rc = outfile_check(g, path, e);
    if (rc) return rc;
    char *target = resolved(path); /* a link remains a link */
    rc = file_atomic_open(f, target, e);
    if (!rc) f->fresh = !g->overwrite;
    free(target);
    return rc;
}

int outfile_end(struct file_atomic *f, int rc, struct err *e) {
    if (!rc) return file_atomic_commit(f, e);
    file_atomic_abandon(f);
    return rc;
}

int outfile_sink_add(void *self, const char *bytes, size_t n) {
    struct outfile_sink *s = self;
    return file_atomic_add(&s->file, bytes, n, s->e);
}

int outfile_write(const struct outfile_guard *g, const char *path, const void *bytes, size_t n,
                  struct err *e) {
    struct file_atomic f;
    int rc = outfile_open(&f, g, path, e);
    if (rc) return rc;
    return outfile_end(&f, file_atomic_add(&f, bytes, n, e), e);
}

/* ---- names ---- */

char *outfile_new_name(const char *stem, const char *end) {
    struct stat st;
    char *path = xprintf("%s%s", stem, end);
    for (int i = 2; !lstat(path, &st); i++) {
        free(path);
        path = xprintf("%s-%d%s", stem, i, end);
    }
    return path;
}

char *outfile_slug(const char *s) {
    struct buf b = BUF_INIT;
    bool due = false;
    for (; *s; s++) {
        if (!isascii((unsigned char)*s) || !isalnum((unsigned char)*s)) {
            due = b.size > 0;
            continue;
        }
        if (due) buf_putc(&b, '-');
        due = false;
        buf_putc(&b, (char)tolower((unsigned char)*s));
    }
    return buf_take(&b);
}
